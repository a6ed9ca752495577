"""Contention: a field that we keep reverting and another writer keeps changing.

Faster corrections of such a field do not help. So corrections of one path wait longer each time, and after a few of
them the path counts as contended: both values and the rhythm are reported, and a person decides. This module does not
know the other writer.

Corrections are counted in sequence, not by the clock: a writer that comes every ten hours counts as much as one that
comes every ten minutes. Only a correction that held for very long is forgotten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from holdfast.compare import element_identity, paths
from holdfast.model.absent import ABSENT
from holdfast.model.finding import ChangedBy
from holdfast.model.json import Json
from holdfast.model.path import Selector, Step
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status, Verdict
from holdfast.policy import durations, write_history
from holdfast.policy.decide import WHOLE
from holdfast.policy.write_history import Correction, Write

_MOST_DOUBLINGS: Final = 64  # far beyond any cap, far below what a float cannot hold
LONGEST_WAIT: Final = 3600.0  # seconds between two corrections of one path
PERIODS_HELD: Final = 10  # so many periodic checks in a row, if they take longer than `forget_after`


@dataclass(frozen=True, slots=True)
class ContentionRules:
    """When it is contention, and how patiently we go into it; times are seconds."""

    reverts: int = 3  # as many corrections of one path in sequence, and it has drifted once more
    forget_after: float = 30 * 86_400.0  # a correction that held for so long is forgotten, with all before it
    backoff: float = 10.0  # wait before the third correction; doubles with each further one; 0: never wait

    def forgotten_after(self, period: float) -> float:
        """Return how long a correction must hold to be forgotten, where checks come so many seconds apart."""
        return max(self.forget_after, PERIODS_HELD * period)


@dataclass(frozen=True, slots=True)
class Contention:
    """One path that two hands pull at."""

    path: str
    times: int  # our corrections in sequence
    first: float
    last: float
    period: float | None  # mean time between our corrections; None for a single one
    ours: Json  # what we wrote last
    theirs: tuple[Json, ...]  # what we found before our corrections, each value once, in order

    def __str__(self) -> str:
        regular = self.period is not None and self.period >= 1
        rhythm = f", about every {durations.format_seconds(round(self.period or 0))}" if regular else ""
        times = "once" if self.times == 1 else f"{self.times} times"
        if self.path == WHOLE and self.ours is ABSENT:
            return f"it was recreated {times}{rhythm}, and is missing again"
        return f"{self.path or 'the document'} was reverted {times}{rhythm}, and has been moved again"


def contentions(
    drifted: Iterable[str], put_back: Mapping[str, Sequence[Write]], rules: ContentionRules
) -> list[Contention]:
    """Return which of the paths that have drifted now were reverted often enough; see `history.in_sequence`."""
    found = ((path, put_back.get(path, ())) for path in dict.fromkeys(drifted))
    return [_contention(path, writes) for path, writes in found if len(writes) >= max(rules.reverts, 1)]


def moved_paths(verdict: Verdict) -> list[str]:
    """Return the paths that another writer changed. A missing resource counts as changed as a whole."""
    if verdict.status is Status.MISSING:
        return [WHOLE]
    return [
        paths.format_path(finding.path) for finding in verdict.findings if finding.changed_by is not ChangedBy.DECLARED
    ]


def _contention(path: str, writes: Sequence[Write]) -> Contention:
    first, last = writes[0].at, writes[-1].at
    return Contention(
        path,
        len(writes),
        first,
        last,
        (last - first) / (len(writes) - 1) if len(writes) > 1 else None,
        writes[-1].path.after,
        _distinct(write.path.before for write in writes),
    )


def _distinct(values: Iterable[Json]) -> tuple[Json, ...]:
    found: dict[object, Json] = {}
    for value in values:
        found.setdefault((value is ABSENT, element_identity.text(value)), value)
    return tuple(found.values())


def backoff_until(put_back: Sequence[Write], rules: ContentionRules) -> float | None:
    """Return before when a path should not be corrected again, or None if nothing speaks against it.

    The first correction of a sequence is followed by no wait, the second by `backoff`, each further one by twice the
    wait before it, never by more than an hour.
    """
    if len(put_back) < 2 or rules.backoff <= 0:
        return None
    doublings = min(len(put_back) - 2, _MOST_DOUBLINGS)
    return put_back[-1].at + min(rules.backoff * 2.0**doublings, LONGEST_WAIT)


def ineffective(corrections: Iterable[Correction]) -> Counter[tuple[str, str]]:
    """Count the writes without effect, by kind and path. Elements of lists count together.

    A path without effect on many resources of a kind is a property of the service: a rule for the profile, not
    contention.
    """
    return Counter(
        (write.correction.address.kind, generalised(write.path.path))
        for write in write_history.verified(corrections)
        if not write.path.took
    )


def generalised(path: str) -> str:
    """Return the pattern for a path in which any element of a list may stand in place of the one named.

    A step of digits only is taken for an index.
    """
    out = ""
    for step in paths.parse_path(path):
        out += _general_step(step, first=not out or out.endswith("/"))
    return out


def _general_step(step: Step, *, first: bool) -> str:
    if isinstance(step, Selector):
        return "/[*]" if first else "[*]"
    return "/*" if isinstance(step, int) or step.isdigit() else paths.format_path((step,))
