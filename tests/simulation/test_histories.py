"""A fixed number of histories, each of which must keep every promise."""

from __future__ import annotations

import pytest

from tests.simulation import runner, scenarios
from tests.simulation.life import live

FEW = range(1, 41)
MORE = [range(first, first + 20) for first in range(41, 281, 20)]  # in parts, for machines with much else to do


def _lived(seeds: range) -> None:
    for seed in seeds:
        outcome = runner.run_seed(seed)
        assert not outcome.failure, f"seed {seed}\n{outcome.failure}"
        assert not outcome.violations, _told(seed)


def _told(seed: int) -> str:
    history = scenarios.make(seed)
    return f"python -m tests.simulation --story {seed} --shrink\n{live(history).story.text(history.fleet)}"


def test_a_few_histories_keep_every_promise():
    _lived(FEW)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", MORE, ids=lambda seeds: f"from-{seeds.start}")
def test_many_histories_keep_every_promise(seeds):
    _lived(seeds)


def test_a_seed_makes_one_history():
    one, other = (live(scenarios.make(7)) for _ in range(2))
    assert one.story.lines == other.story.lines


def test_every_kind_of_history_is_made():
    made = {scenarios.make(seed).scenario for seed in range(400)}
    assert made == set(scenarios.SCENARIOS)
