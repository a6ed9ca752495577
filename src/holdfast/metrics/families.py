"""Families of numbers: a meter names a measurement, and samples hold its values by their labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum

from holdfast.model.record import dataclass


class MetricType(StrEnum):
    """How values of a meter behave."""

    GAUGE = "gauge"
    COUNTER = "counter"  # only grows
    INFO = "info"  # says what it says by its labels


@dataclass(frozen=True, slots=True)
class Meter:
    """One metric. `name` is the whole name, with `_total` and `_info` where its type requires that."""

    name: str
    text: str
    labels: tuple[str, ...] = ()
    sort: MetricType = MetricType.GAUGE


@dataclass(frozen=True, slots=True)
class Family:
    """A meter with its values, by the values of its labels."""

    meter: Meter
    values: Mapping[tuple[str, ...], float]


@dataclass(slots=True)
class Samples:
    """Values while they are counted; as large as the answer, however many things are counted."""

    _values: dict[Meter, dict[tuple[str, ...], float]] = field(default_factory=dict)

    def put(self, meter: Meter, *labels: str, value: float) -> None:
        """Set a value."""
        self._of(meter)[labels] = value

    def add(self, meter: Meter, *labels: str, by: float = 1) -> None:
        """Count; by 0 says that there are none, where silence could be taken for that."""
        values = self._of(meter)
        values[labels] = values.get(labels, 0) + by

    def earliest(self, meter: Meter, *labels: str, at: float) -> None:
        """Keep the earliest of many times."""
        values = self._of(meter)
        values[labels] = min(values.get(labels, at), at)

    def families(self, meters: Iterable[Meter]) -> list[Family]:
        """Return a family for each meter, in this order, also where it has no values."""
        return [Family(meter, dict(sorted(self._values.get(meter, {}).items()))) for meter in meters]

    def _of(self, meter: Meter) -> dict[tuple[str, ...], float]:
        found = self._values.get(meter)
        if found is None:
            found = self._values[meter] = {}
        return found
