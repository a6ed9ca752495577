"""The facts about our past writes that the rules of correction need, and no more.

These are Protocols, because the store keeps the records and policy must not know the store. `store.base.Correction`
fits them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.policy import write_reasons
from holdfast.policy.decide import WHOLE
from holdfast.policy.write_reasons import WriteReason

DONE: Final = "done"
INEFFECTIVE: Final = "ineffective"
_MAKING: Final = (Action.CREATE.value, Action.RECREATE.value)
_VERIFIED: Final = (DONE, INEFFECTIVE)  # a settled read told of each path whether it took


class CorrectedPath(Protocol):
    """The change of a correction at one path."""

    @property
    def path(self) -> str:
        """The path as written."""

    @property
    def before(self) -> Json:
        """The value before the write."""

    @property
    def after(self) -> Json:
        """The value that was written."""

    @property
    def took(self) -> bool:
        """True if the settled read had the value."""

    @property
    def asked(self) -> bool:
        """True if a person had edited the declaration at this path."""


class Correction(Protocol):
    """One write of ours."""

    @property
    def id(self) -> str:
        """The name of the write."""

    @property
    def address(self) -> Address:
        """The resource that was written."""

    @property
    def at(self) -> float:
        """When, in seconds since the epoch."""

    @property
    def action(self) -> str:
        """The action of the write."""

    @property
    def reason(self) -> str:
        """The code of the reason."""

    @property
    def outcome(self) -> str:
        """How it ended: begun, done, ineffective, failed or undone."""

    @property
    def paths(self) -> Sequence[CorrectedPath]:
        """The paths that the write was to change."""

    @property
    def undoes(self) -> str | None:
        """The write that this one took back."""


@dataclass(frozen=True, slots=True)
class _Whole:
    """The path of a correction that made a resource again: all of it."""

    path: str = WHOLE
    before: Json = ABSENT
    after: Json = ABSENT
    took: bool = True
    asked: bool = False


class Write(NamedTuple):
    """A correction at one of its paths."""

    at: float
    path: CorrectedPath
    correction: Correction


def verified(corrections: Iterable[Correction]) -> Iterator[Write]:
    """Go through the paths of writes whose result was read back, in order of time."""
    for correction in sorted(corrections, key=lambda each: (each.at, each.id)):
        if correction.outcome in _VERIFIED:
            changed = correction.paths or ((_Whole(),) if correction.action in _MAKING else ())
            yield from (Write(correction.at, path, correction) for path in changed)


def decided(corrections: Iterable[Correction]) -> dict[str, float]:
    """Return when a person last decided about each path, by an edit or by asking. Earlier writes are settled."""
    out: dict[str, float] = {}
    for write in verified(corrections):
        if _is_asked(write):
            out[write.path.path] = write.at
    return out


def reverts(corrections: Iterable[Correction]) -> Iterator[Write]:
    """Yield the paths where a correction reverted live state and took effect, in order of time.

    Writes for a changed declaration and undos of earlier writes are not contention. A write that took effect at some
    paths counts only there.
    """
    for write in verified(corrections):
        if write.path.took and not _is_asked(write) and write.correction.undoes is None:
            yield write


def in_sequence(corrections: Iterable[Correction], forget_after: float) -> dict[str, list[Write]]:
    """Return, by path, the corrections of it that were each undone again: those since the last that held.

    A person's decision about a path ends its sequence, and so does a correction that held for `forget_after`.
    """
    listed = list(corrections)
    since = decided(listed)
    out: dict[str, list[Write]] = {}
    for write in reverts(listed):
        path = write.path.path
        if write.at < since.get(path, write.at):
            continue
        before = out.setdefault(path, [])
        if before and write.at - before[-1].at > forget_after:
            before.clear()
        before.append(write)
    return out


def _is_asked(write: Write) -> bool:
    return write.path.asked or write_reasons.of_code(write.correction.reason) is WriteReason.INTENT
