"""A history as data: a fleet and what happens to it, so that it can be repeated and shrunk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.simulation.fleet import Fleet


@dataclass(frozen=True)
class Step:
    """One thing that somebody does."""

    op: str
    args: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        told = ", ".join(f"{key}={value}" for key, value in self.args.items())
        return f"{self.op}({told})"


@dataclass
class History:
    """What a seed makes."""

    seed: int
    scenario: str
    fleet: Fleet
    steps: list[Step]
    looks_every: float = 300.0  # seconds: how often watch looks for edits and requests
    rests: bool = True  # whether at its end everybody rests and all must converge


@dataclass(frozen=True)
class Violation:
    """A promise that did not hold."""

    promise: str
    at: float
    step: int
    address: str
    expected: str
    seen: str
