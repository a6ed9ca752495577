"""The manifest index changes no output of any command in any history."""

from __future__ import annotations

import pytest

from tests.simulation import scenarios
from tests.simulation.index_comparison import difference

FEW = range(1, 13)
MORE = [range(first, first + 20) for first in range(13, 113, 20)]


def test_a_few_histories_are_the_same_with_the_index_and_without_it():
    for seed in FEW:
        assert difference(scenarios.make(seed)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("seeds", MORE, ids=lambda seeds: f"from-{seeds.start}")
def test_many_histories_are_the_same_with_the_index_and_without_it(seeds):
    for seed in seeds:
        assert difference(scenarios.make(seed)) == ""
