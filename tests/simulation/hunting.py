"""Hunting mutants: how many histories it takes until each is noticed."""

from __future__ import annotations

from dataclasses import dataclass

from tests.simulation import mutants, runner

MOST = 2000


@dataclass(frozen=True)
class Caught:
    """The history that gave a mutant away."""

    mutant: str
    histories: int  # how many it took; 0: it was not noticed
    seed: int = 0
    scenario: str = ""
    promise: str = ""
    seen: str = ""


def hunt(name: str, most: int = MOST) -> Caught:
    """Live histories with a fault revert until a promise breaks that it should break."""
    mutant = mutants.MUTANTS[name]
    with mutants.planted(name):
        for number in range(most):
            scenario = mutant.scenarios[number % len(mutant.scenarios)]
            seed = number + 1
            outcome = runner.run_seed(seed, scenario)
            assert not outcome.failure, outcome.failure
            for violation in outcome.violations:
                if violation.promise in mutant.promises:
                    seen = f"{violation.address} expected {violation.expected}; seen {violation.seen}"
                    return Caught(name, number + 1, seed, scenario, violation.promise, seen)
    return Caught(name, 0)
