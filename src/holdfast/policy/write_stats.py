"""Results of our writes by type and by path: needed or not, without effect, or with side effects.

They answer two questions. Is the comparison good enough, so that a type can leave `shadow` or `put_only`? And which
fields are read-only in a service, or changed by the service itself? Pure: it sums up the recorded events of writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum

from holdfast.model.json import Json
from holdfast.model.record import dataclass


class Sign(StrEnum):
    """The result of a write at one path."""

    INEFFECTIVE = "did not take"  # it was to be put right, and is as it was
    NOT_REMOVED = "not removed"  # it is declared no more, and the service keeps it
    MISJUDGED = "changed though held to be as declared"  # a write that was not needed by our reckoning changed it
    SIDE_EFFECT = "side effect"  # a write of other paths changed it


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The end of one write, as its event has it."""

    address: str
    type: str
    data: Mapping[str, Json]


@dataclass(slots=True)
class TypeRow:
    """A type, with the number of its writes by result."""

    type: str
    writes: int = 0
    ineffective: int = 0  # of them, those that left something they were to put right
    shadowed: int = 0  # of them, those sent to compare with our reckoning
    needed: int = 0  # of the shadowed
    misjudged: int = 0  # of the shadowed: not needed, and yet they changed something

    @property
    def needless(self) -> int:
        """How many would not have been sent in `get_put`."""
        return self.shadowed - self.needed


@dataclass(slots=True)
class PathRow:
    """A path of a type: the result seen there, how often, and on how many resources."""

    type: str
    path: str
    sign: Sign
    times: int = 0
    addresses: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class WriteStats:
    """The sum: types by name, paths by how often."""

    types: tuple[TypeRow, ...]
    paths: tuple[PathRow, ...]


def summed(writes: Iterable[WriteResult]) -> WriteStats:
    """Sum up writes."""
    types: dict[str, TypeRow] = {}
    paths: dict[tuple[str, str, Sign], PathRow] = {}
    for write in writes:
        row = types.setdefault(write.type, TypeRow(write.type))
        signs = _signs(write.data)
        _count(row, write.data)
        for sign, sequence in signs.items():
            for path in sequence:
                at = paths.setdefault((write.type, path, sign), PathRow(write.type, path, sign))
                at.times += 1
                at.addresses.add(write.address)
    listed = sorted(paths.values(), key=lambda row: (list(Sign).index(row.sign), -row.times, row.type, row.path))
    return WriteStats(tuple(types[name] for name in sorted(types)), tuple(listed))


def _count(row: TypeRow, data: Mapping[str, Json]) -> None:
    row.writes += 1
    row.ineffective += bool(data.get("unresolved"))
    shadow = data.get("shadow")
    if isinstance(shadow, Mapping):
        row.shadowed += 1
        row.needed += bool(shadow.get("needed"))
        row.misjudged += not shadow.get("needed") and bool(shadow.get("changed"))


def _signs(data: Mapping[str, Json]) -> dict[Sign, Sequence[str]]:
    shadow = data.get("shadow")
    judged_clean = isinstance(shadow, Mapping) and not shadow.get("needed")
    return {
        Sign.INEFFECTIVE: data.get("unresolved") or (),
        Sign.NOT_REMOVED: data.get("not_removed") or (),
        Sign.MISJUDGED: (shadow or {}).get("changed", ()) if judged_clean else (),
        Sign.SIDE_EFFECT: () if judged_clean else data.get("side_effects") or (),
    }
