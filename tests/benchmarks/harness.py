"""Side-by-side timing: variants take turns in every round, CPU time, median of the rounds.

CPU time of this process leaves out waiting for a busy core; caches and clock speed are shared with the neighbours all
the same, hence the turns. Read the ratios of one run; never compare a microsecond with one measured elsewhere.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)

ROUND_SECONDS = 0.02


def medians(
    variants: Mapping[Name, Callable[[], object]],
    rounds: int,
    remote: Mapping[Name, Callable[[int], float]] | None = None,
) -> dict[Name, float]:
    """Return the median microseconds of one call of each variant.

    A remote variant runs in another process: it takes a number of calls and returns the CPU seconds they took there.
    """
    runs: dict[Name, Callable[[int], float]] = {name: partial(timed, call) for name, call in variants.items()}
    runs |= remote or {}
    counts = {name: _calls_per_round(run) for name, run in runs.items()}
    times: dict[Name, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(run(counts[name]) / counts[name] * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows as a Markdown table; numbers get as many decimals as they need to be read."""
    head = list(rows[0])
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(_shown(row[column]) for column in head) + " |" for row in rows]
    return "\n".join(lines)


def bar(promise: str, measured: float, *, least: float | None = None, most: float | None = None) -> dict[str, object]:
    """Return a promise beside what was measured."""
    kept = (least is None or measured >= least) and (most is None or measured <= most)
    return {"promise": promise, "measured": measured, "kept": "yes" if kept else "NO"}


def _calls_per_round(run: Callable[[int], float]) -> int:
    run(1)
    count = 1
    while (took := run(count)) < ROUND_SECONDS:
        count = max(count * 2, int(count * ROUND_SECONDS / max(took, 1e-6)))
    return count


def timed(call: Callable[[], object], count: int) -> float:
    """Return the CPU seconds of a number of calls."""
    start = time.process_time()
    for _ in range(count):
        call()
    return time.process_time() - start


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
    return str(value)
