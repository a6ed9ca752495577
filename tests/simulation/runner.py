"""Running many histories: counted by promise, with the first seeds that broke each."""

from __future__ import annotations

import gc
import logging
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from tests.simulation import scenarios
from tests.simulation.history import History, Violation
from tests.simulation.life import live
from tests.simulation.oracle.promises import PROMISES


@dataclass
class Outcome:
    """What came of one history."""

    seed: int
    scenario: str
    violations: list[Violation]
    exercised: frozenset[str]
    seconds: float
    failure: str = ""


def run_history(history: History) -> Outcome:
    """Live one history, with logging switched off while it lasts."""
    began, disabled = time.process_time(), logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        life = live(history)
    except Exception:  # noqa: BLE001 - told with the seed
        return Outcome(history.seed, history.scenario, [], frozenset(), 0.0, traceback.format_exc())
    finally:
        logging.disable(disabled)
    kept = list(life.oracle.violations)
    return Outcome(history.seed, history.scenario, kept, frozenset(life.oracle.exercised), time.process_time() - began)


def run_seed(seed: int, only: str | None = None) -> Outcome:
    """Live the history of a seed."""
    outcome = run_history(scenarios.make(seed, only))
    if seed % 20 == 0:
        gc.collect()
    return outcome


@dataclass
class StatusCounts:
    """What many histories came to."""

    histories: int = 0
    seconds: float = 0.0
    exercised: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    seeds: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    failures: list[tuple[int, str]] = field(default_factory=list)
    by_scenario: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Count one."""
        self.histories += 1
        self.seconds += outcome.seconds
        self.by_scenario[outcome.scenario] += 1
        self.exercised.update(outcome.exercised)
        if outcome.failure:
            self.failures.append((outcome.seed, outcome.failure))
        for promise in {violation.promise for violation in outcome.violations}:
            self.broken[promise] += 1
            self.seeds.setdefault(promise, []).append((outcome.seed, outcome.scenario))

    def rows(self) -> Iterator[tuple[str, str, int, int]]:
        """Return promise, check, histories, violations."""
        for name, text in PROMISES.items():
            yield text, name, self.exercised[name], self.broken[name]


def run(
    seeds: Iterable[int],
    *,
    jobs: int = 1,
    only: str | None = None,
    told: Callable[[Outcome], None] = lambda _: None,
) -> StatusCounts:
    """Live the histories of many seeds."""
    tally = StatusCounts()
    if jobs == 1:
        for seed in seeds:
            outcome = run_seed(seed, only)
            tally.add(outcome)
            told(outcome)
        return tally
    with ProcessPoolExecutor(jobs) as pool:
        for outcome in pool.map(_apart, ((seed, only) for seed in seeds), chunksize=8):
            tally.add(outcome)
            told(outcome)
    return tally


def _apart(given: tuple[int, str | None]) -> Outcome:
    return run_seed(*given)
