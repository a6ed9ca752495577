"""Generators of histories, each about some promises; every seed picks one of them and fills it at random."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.simulation.history import History
from tests.simulation.scenarios import faults, governing, mixtures, processes, truths, watching
from tests.simulation.scenarios.common import Maker

SCENARIOS: dict[str, Callable[[Maker], None]] = {
    **truths.SCENARIOS,
    **governing.SCENARIOS,
    **watching.SCENARIOS,
    **faults.SCENARIOS,
    **processes.SCENARIOS,
    **mixtures.SCENARIOS,
}


def make(seed: int, only: str | None = None) -> History:
    """Return the history of a seed."""
    names = sorted(SCENARIOS)
    scenario = only or names[random.Random(seed * 7919).randrange(len(names))]
    maker = Maker(seed)
    SCENARIOS[scenario](maker)
    return History(seed, scenario, maker.fleet, maker.steps, maker.looks_every)
