"""Every fault that was mended is noticed when it is reverted."""

from __future__ import annotations

import pytest

from tests.simulation import hunting, mutants, runner, shrink
from tests.simulation.scenarios import make


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(mutants.MUTANTS))
def test_a_fault_that_is_put_back_is_noticed(name):
    assert hunting.hunt(name).histories > 0


def test_what_breaks_a_promise_is_told_and_made_smaller():
    name, promise = "watch-corrects-zero", "resync-zero-left-alone"
    with mutants.planted(name):
        history = make(1, "zero")
        smaller = shrink.shrunk(history, promise)
        assert len(smaller.steps) < len(history.steps)
        assert any(violation.promise == promise for violation in runner.run_history(smaller).violations)
