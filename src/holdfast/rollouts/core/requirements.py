"""Predicates: conditions that must hold for a child, whatever its template declares today.

A predicate reads one field of the last observation. Without an observation, or with an empty list of offers, the
answer is unknown, because nothing is concluded from a missing observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from typing import Final, assert_never

from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.record import dataclass


class Asks(StrEnum):
    """The operator of a predicate."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"
    OFFERED = "Offered"  # it is still in a list that another resource shows


WITH_VALUES = frozenset({Asks.IN, Asks.NOT_IN, Asks.GT, Asks.LT})


@dataclass(frozen=True, slots=True)
class Supply:
    """Where to see what is offered: a field of another resource, as last observed."""

    resource: Address
    path: Path


@dataclass(frozen=True, slots=True)
class RequirementDebounce:
    """How often, and for how long, a predicate has to be seen broken before anything is done about it."""

    checks: int = 1  # looks in a row, each on newer evidence than the one before
    seconds: float = 0.0  # from the first to the last of them

    def is_over(self, times: int, lasted: float) -> bool:
        """Return True if it was seen often and long enough."""
        return times >= self.checks and lasted >= self.seconds


AT_ONCE: Final = RequirementDebounce()


@dataclass(frozen=True, slots=True)
class Predicate:
    """One condition on one field of an observed document."""

    name: str  # what a finding gives as its reason
    path: Path
    test: Asks
    values: tuple[Json, ...] = ()
    offer: Supply | None = None
    debounce: RequirementDebounce = field(default_factory=lambda: AT_ONCE)

    def holds(self, document: Json, offered: Json = ABSENT) -> bool | None:
        """Return True if a document meets it; None if that is unknown."""
        if document is ABSENT:
            return None
        value = paths.resolve(document, self.path)
        match self.test:
            case Asks.IN:
                return value is not ABSENT and value in self.values
            case Asks.NOT_IN:
                return value is ABSENT or value not in self.values
            case Asks.EXISTS:
                return value is not ABSENT
            case Asks.DOES_NOT_EXIST:
                return value is ABSENT
            case Asks.GT | Asks.LT:
                return _in_order(value, self.values[0], self.test)
            case Asks.OFFERED:
                return _is_offered(value, offered)
            case _:
                assert_never(self.test)


def _in_order(value: Json, bound: Json, test: Asks) -> bool:
    """Compare numbers, written as such or as texts; what is no number is on neither side."""
    mine, other = _number(value), _number(bound)
    if mine is None or other is None:
        return False
    return mine > other if test is Asks.GT else mine < other


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _is_offered(value: Json, offered: Json) -> bool | None:
    if value is ABSENT or not isinstance(offered, list | dict) or not offered:
        return None
    return value in offered


def broken(predicates: Sequence[Predicate], document: Json, offers: Sequence[Json]) -> tuple[Predicate, ...]:
    """Return those that certainly do not hold."""
    pairs = zip(predicates, offers, strict=True)
    return tuple(pair for pair, offered in pairs if pair.holds(document, offered) is False)
