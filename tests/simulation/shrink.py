"""Making a failing history smaller: steps, resources and settings are left out as long as the promise still breaks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.simulation.history import History
from tests.simulation.runner import run_history

MOST_TRIES = 150


def shrunk(history: History, promise: str | None = None) -> History:
    """Return the smallest history found that breaks the same promise."""
    if promise is None:
        found = run_history(history).violations
        if not found:
            return history
        promise = found[0].promise
    tries = 0
    progress = True
    while progress and tries < MOST_TRIES:
        progress = False
        for smaller in _smaller(history):
            tries += 1
            if tries > MOST_TRIES:
                break
            if _breaks(smaller, promise):
                history, progress = smaller, True
                break
    return history


def _breaks(history: History, promise: str) -> bool:
    outcome = run_history(history)
    return not outcome.failure and any(violation.promise == promise for violation in outcome.violations)


def _smaller(history: History) -> Iterator[History]:
    steps = history.steps
    for size in (len(steps) // 2, len(steps) // 4, 1):
        if size < 1:
            continue
        for start in range(0, len(steps), size):
            yield replace(history, steps=steps[:start] + steps[start + size :])
    named = {step.args.get("name") for step in steps}
    for resource in history.fleet.resources:
        text = str([item.spec for item in history.fleet.resources if item is not resource])
        if len(history.fleet.resources) > 1 and resource.name not in named and f"/{resource.name}." not in text:
            fleet = history.fleet.copy()
            fleet.resources = [item for item in fleet.resources if item.name != resource.name]
            yield replace(history, fleet=fleet)
    for resource in history.fleet.resources:
        for option in resource.options:
            fleet = history.fleet.copy()
            found = fleet.get(resource.name)
            assert found is not None
            del found.options[option]
            yield replace(history, fleet=fleet)
