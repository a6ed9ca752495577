"""What the rules of correction need to know of our own past writes, and no more.

Protocols, because the store keeps the records and plan must not know the store; `store.base.Correction` fits them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.plan import motives
from holdfast.plan.motives import Motive

DONE: Final = "done"
INEFFECTIVE: Final = "ineffective"
_VERIFIED: Final = (DONE, INEFFECTIVE)  # a settled read told of each path whether it took


class CorrectedPath(Protocol):
    """What a correction meant to change at one path."""

    @property
    def path(self) -> str:
        """The path as written."""

    @property
    def before(self) -> Json:
        """What stood there."""

    @property
    def after(self) -> Json:
        """What we wrote."""

    @property
    def took(self) -> bool:
        """Whether the settled read had it."""


class Correction(Protocol):
    """One write of ours."""

    @property
    def id(self) -> str:
        """The name of the write."""

    @property
    def address(self) -> Address:
        """What was written."""

    @property
    def at(self) -> float:
        """When, in seconds since the epoch."""

    @property
    def reason(self) -> str:
        """The code of the reason."""

    @property
    def outcome(self) -> str:
        """How it ended: begun, done, ineffective, failed or undone."""

    @property
    def paths(self) -> Sequence[CorrectedPath]:
        """What it meant to change."""

    @property
    def undoes(self) -> str | None:
        """The write that this one took back."""


class Write(NamedTuple):
    """A correction at one of its paths."""

    at: float
    path: CorrectedPath
    correction: Correction


def verified(corrections: Iterable[Correction]) -> Iterator[Write]:
    """Go through the paths of writes whose result was read back, in order of time."""
    for correction in sorted(corrections, key=lambda each: (each.at, each.id)):
        if correction.outcome in _VERIFIED:
            yield from (Write(correction.at, path, correction) for path in correction.paths)


def decided(corrections: Iterable[Correction]) -> dict[str, float]:
    """Return when a person last decided about each path, by an edit or by asking: what was before is settled."""
    out: dict[str, float] = {}
    for write in verified(corrections):
        if motives.of_code(write.correction.reason) is Motive.INTENT:
            out[write.path.path] = write.at
    return out


def reverts(corrections: Iterable[Correction]) -> Iterator[Write]:
    """Go through the paths where we put the world back and it took, in order of time.

    A write for the sake of a changed declaration, or to take an earlier write back, is nobody's quarrel. A write that
    took at some paths only counts at those.
    """
    for write in verified(corrections):
        asked = motives.of_code(write.correction.reason) is Motive.INTENT or write.correction.undoes is not None
        if write.path.took and not asked:
            yield write
