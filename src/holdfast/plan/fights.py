"""Fights: a field that we put back again and again, and that somebody else moves again and again.

Correcting such a field faster helps nobody, so corrections of one path wait longer each time, and after a few of them
it is a fight: named with both values and its rhythm, and left to a person. Refuses to know who the rival is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.compare import contents, paths
from holdfast.model.absent import ABSENT
from holdfast.model.finding import Finding, Side
from holdfast.model.json import Json
from holdfast.model.path import Selector, Step
from holdfast.plan import durations, history
from holdfast.plan.history import Correction, Write

_MOST_DOUBLINGS: Final = 64  # far beyond any cap, far below what a float cannot hold


@dataclass(frozen=True, slots=True)
class FightRules:
    """When it is a fight, and how patiently we go into it; times are seconds."""

    reverts: int = 3  # as many corrections of one path ...
    within: float = 3600.0  # ... in this time, and it has drifted once more
    backoff: float = 10.0  # wait before the third correction; doubles with each further one; 0: never wait


@dataclass(frozen=True, slots=True)
class Fight:
    """One path that two hands pull at."""

    path: str
    times: int  # our corrections within the window
    first: float
    last: float
    period: float | None  # mean time between our corrections; None for a single one
    ours: Json  # what we wrote last
    theirs: tuple[Json, ...]  # what we found before our corrections, each value once, in order

    def __str__(self) -> str:
        regular = self.period is not None and self.period >= 1
        rhythm = f", about every {durations.format_seconds(round(self.period or 0))}" if regular else ""
        times = "once" if self.times == 1 else f"{self.times} times"
        return f"{self.path or 'the document'} was put back {times}{rhythm}, and has been moved again"


def fights(
    findings: Iterable[Finding], corrections: Iterable[Correction], rules: FightRules, now: float
) -> list[Fight]:
    """Return the paths that have drifted now and were put back often enough of late; corrections of one resource."""
    drifted = {paths.format_path(finding.path): None for finding in findings if finding.side is not Side.INTENT}
    by_path: dict[str, list[Write]] = {path: [] for path in drifted}
    listed = list(corrections)
    decided = history.decided(listed)
    for write in history.reverts(listed):
        recent = max(now - rules.within, decided.get(write.path.path, 0.0)) <= write.at <= now
        if write.path.path in by_path and recent:
            by_path[write.path.path].append(write)
    return [_fight(path, writes) for path, writes in by_path.items() if len(writes) >= max(rules.reverts, 1)]


def _fight(path: str, writes: Sequence[Write]) -> Fight:
    first, last = writes[0].at, writes[-1].at
    return Fight(
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
        found.setdefault((value is ABSENT, contents.text(value)), value)
    return tuple(found.values())


def backoff_until(path: str, corrections: Iterable[Correction], rules: FightRules) -> float | None:
    """Return before when the path should not be corrected again, or None if nothing speaks against it.

    The first correction of a window is followed by no wait, the second by `backoff`, each further one by twice the wait
    before it, never by more than the window.
    """
    listed = list(corrections)
    since = history.decided(listed).get(path, 0.0)
    times = [write.at for write in history.reverts(listed) if write.path.path == path and write.at >= since]
    recent = [at for at in times if at >= times[-1] - rules.within]
    if len(recent) < 2 or rules.backoff <= 0:
        return None
    doublings = min(len(recent) - 2, _MOST_DOUBLINGS)
    return recent[-1] + min(rules.backoff * 2.0**doublings, rules.within)


def ineffective(corrections: Iterable[Correction]) -> Counter[tuple[str, str]]:
    """Count the writes that did not take, by kind and path; elements of lists count together.

    What many resources of a kind do not take is a property of the service: a rule for the profile, not a fight.
    """
    return Counter(
        (write.correction.address.kind, generalised(write.path.path))
        for write in history.verified(corrections)
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
