"""Mass drift: so much drift at once that it is more likely one cause than many, and perhaps our own mistake.

If a third of a fleet has changed, or the same field has changed to the same value everywhere, then probably a default
of the service changed, a credential reads the wrong account, or a profile is wrong. Corrections would make that worse.
So corrections stop until a person decides, and detection goes on.

"At once" means within one period of checks, because checks one after another meet the same event for that long. So
automatic reverts in that period count as much as present drift.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Final

from holdfast.compare import element_identity, paths
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.finding import ChangedBy, Finding
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.policy.budgets import Sizes
from holdfast.policy.write_history import Correction

SHORTEST_WINDOW: Final = 3600.0  # seconds; checks that follow each other more closely still see one event
SAMPLE: Final = 9  # others of a kind that are read where it cannot be listed
_Same = tuple[str, str, bool, Hashable]  # kind, path with its keys, and the value observed
_Moves = Sequence[tuple[str, Json]]  # paths, and the values found there


class MassDriftKind(StrEnum):
    """The limit that the drift exceeds."""

    SHARE = "share"  # too many resources moved at once
    IDENTICAL = "identical"  # the same thing happened to too many of a kind


@dataclass(frozen=True, slots=True)
class MassDriftGuard:
    """From when on it is mass drift."""

    share: float = 0.3  # of the fleet, or of a kind
    at_least: int = 10  # resources; fewer are never mass drift
    identical: int = 10  # resources of a kind with one and the same finding


@dataclass(frozen=True, slots=True)
class MassDrift:
    """Why correction stops."""

    kind: MassDriftKind
    count: int  # resources hit
    total: int  # of so many
    example: Address
    of: str = ""  # the resources' kind, where it is about one
    path: str = ""  # the field, where it is about one

    def __str__(self) -> str:
        if self.kind is MassDriftKind.SHARE:
            return (
                f"{self.count} of {self.total} resources moved or vanished at once, such as {self.example}; "
                "nothing is corrected until a person has looked"
            )
        return (
            f"{self.path or 'the document'} moved to the same value on {self.count} of {self.total} {self.of} "
            f"resources, such as {self.example}: more likely one cause than {self.count} edits; "
            "nothing is corrected until a person has looked"
        )


def window(periods: Iterable[float]) -> float:
    """Return how far back corrections count, where checks come so many seconds apart."""
    return max((SHORTEST_WINDOW, *periods))


def is_worth_a_closer_look(hits: int, seen: int, share: float) -> bool:
    """Return True if more resources of a kind are to be read, given the drifted ones among those seen.

    A small sample is always read. More are read only if half of the guarded share has drifted.
    """
    return seen < SAMPLE or 2 * hits >= share * seen


def mass_drift(
    drifted: Mapping[Address, Sequence[Finding]],
    missing: Collection[Address],
    sizes: Sizes,
    guard: MassDriftGuard | None,
    put_back: Iterable[Correction] = (),
) -> MassDrift | None:
    """Return the mass drift there is, if any; without a guard there is none.

    `drifted` are the resources that drifted or are in conflict, `missing` those that vanished since the last look;
    `sizes` how many there are of each connection and kind, moved or not; `put_back` our own corrections within the
    `window`. Findings that the declaration alone caused do not count. The same finding everywhere is told before sheer
    number, because it says more.
    """
    if guard is None:
        return None
    moved = {address: _of_world(findings) for address, findings in drifted.items()}
    put_back = list(put_back)
    for item in put_back:
        moved[item.address] = [*moved.get(item.address, ()), *((path.path, path.before) for path in item.paths)]
    restored = {correction.address for correction in put_back if not correction.paths}
    hit = {*missing, *restored, *(address for address, moves in moved.items() if moves)}
    return _identical(moved, sizes, guard) or _share(hit, sizes, guard)


def _of_world(findings: Iterable[Finding]) -> list[tuple[str, Json]]:
    return [
        (paths.format_path(finding.path), finding.observed)
        for finding in findings
        if finding.changed_by is not ChangedBy.DECLARED
    ]


def _share(hit: Collection[Address], sizes: Sizes, guard: MassDriftGuard) -> MassDrift | None:
    total = max(sum(sizes.values()), len(hit))
    if not hit or len(hit) < guard.at_least or not _is_share(len(hit), total, guard):
        return None
    return MassDrift(MassDriftKind.SHARE, len(hit), total, min(hit, key=str))


def _identical(moved: Mapping[Address, _Moves], sizes: Sizes, guard: MassDriftGuard) -> MassDrift | None:
    hit: dict[_Same, list[Address]] = {}
    for address, moves in moved.items():
        for same in {_same(address, *move) for move in moves}:
            hit.setdefault(same, []).append(address)
    of_kind: Counter[str] = Counter()
    for (_, kind), resources in sizes.items():
        of_kind[kind] += resources
    mass_drifts = [
        MassDrift(
            MassDriftKind.IDENTICAL,
            len(item),
            max(of_kind[same[0]], len(item)),
            min(item, key=str),
            same[0],
            same[1],
        )
        for same, item in hit.items()
        if len(item) >= max(guard.identical, 1) and _is_share(len(item), of_kind[same[0]], guard)
    ]
    return min(mass_drifts, key=lambda each: (-each.count, each.of, each.path, str(each.example)), default=None)


def _same(address: Address, path: str, observed: Json) -> _Same:
    return address.kind, path, observed is ABSENT, element_identity.text(observed)


def _is_share(count: int, total: int, guard: MassDriftGuard) -> bool:
    """Return True if a count reaches the guarded share. The comparison is exact, so that 3 of 10 are 30 %."""
    return count >= Fraction(repr(float(guard.share))) * total
