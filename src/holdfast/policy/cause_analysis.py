"""Causes: the most likely cause of a finding, our confidence in it, and when it began.

This is a guess from our records, and is presented as one: only the provider's own audit log names the actor. Rules are
tried from the most specific to the most general, so each finding has exactly one cause.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

from holdfast.compare import element_identity, paths
from holdfast.model.absent import ABSENT
from holdfast.model.confidence import Confidence
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.policy import write_history
from holdfast.policy.write_history import Correction, Write

ALIKE: Final = 3  # other resources with the same finding, from which on one cause is likelier than several

_UNDECLARED: Final = (FindingClass.DEFAULTED, FindingClass.UNDECLARED)


class Cause(StrEnum):
    """The stories there are."""

    OTHER_WRITER_CONTROLLER = "other_writer_controller"
    OUR_PARTIAL_WRITE = "our_partial_write"
    NOT_APPLIED = "not_applied"
    TOOL_UPGRADE = "tool_upgrade"
    PROVIDER_DEFAULT_CHANGE = "provider_default_change"
    EXTERNAL_EDIT = "external_edit"


@dataclass(frozen=True, slots=True)
class CauseFacts:
    """The facts known about a path in addition to its finding."""

    corrections: Sequence[Correction] = ()  # of this resource, in any order
    rules_changed: bool = False  # the rules of comparison are others than those the baseline was captured under
    contested: bool = False  # the path is fought over, or quarantined because it was
    alike: int = 0  # other resources of the kind with the very same finding


@dataclass(frozen=True, slots=True)
class Explained:
    """A cause with how sure it is and a sentence."""

    cause: Cause
    confidence: Confidence
    sentence: str


def explain(finding: Finding, evidence: CauseFacts) -> Explained:
    """Return the most likely cause of a finding."""
    for rule in _RULES:
        found = rule(finding, evidence)
        if found is not None:
            return found
    return _edited(finding)


def _other_writer(_: Finding, evidence: CauseFacts) -> Explained | None:
    if not evidence.contested:
        return None
    return Explained(
        Cause.OTHER_WRITER_CONTROLLER,
        Confidence.MEDIUM,
        "another writer changes this field again after each correction",
    )


def _partial(finding: Finding, evidence: CauseFacts) -> Explained | None:
    """Blame our own last write of the path if it had no effect and the value is the one that it left."""
    write = _last_write(finding, evidence.corrections)
    if write is None or write.path.took:
        return None
    if _same(write.path.before, finding.observed):
        sentence = "our last write of this field did not take: the old value is still there"
        return Explained(Cause.OUR_PARTIAL_WRITE, Confidence.HIGH, sentence)
    sentence = "our last write of this field did not take, and the value is neither the old one nor ours"
    return Explained(Cause.OUR_PARTIAL_WRITE, Confidence.MEDIUM, sentence)


def _not_applied(finding: Finding, _: CauseFacts) -> Explained | None:
    if finding.changed_by is not ChangedBy.DECLARED:
        return None
    return Explained(
        Cause.NOT_APPLIED,
        Confidence.HIGH,
        "merged but not applied: the declaration changed since it was last written, the live value did not",
    )


def _upgrade(finding: Finding, evidence: CauseFacts) -> Explained | None:
    """Blame changed rules if the values are equal to a person, or if the path was not compared before."""
    if not evidence.rules_changed or finding.changed_by is ChangedBy.BOTH:
        return None
    if finding.changed_by is ChangedBy.LIVE and _same(finding.baseline, finding.observed):
        sentence = "the rules of comparison changed since the baseline, and the live value did not"
        return Explained(Cause.TOOL_UPGRADE, Confidence.HIGH, sentence)
    if finding.op is Op.REORDERED or _is_respelt(finding):
        sentence = "the rules of comparison changed since the baseline, and the values differ in spelling or order only"
        return Explained(Cause.TOOL_UPGRADE, Confidence.MEDIUM, sentence)
    if finding.cls in _UNDECLARED:
        sentence = "the rules of comparison changed since the baseline; this field was perhaps not compared before"
        return Explained(Cause.TOOL_UPGRADE, Confidence.LOW, sentence)
    return None


def _is_respelt(finding: Finding) -> bool:
    was = finding.baseline if finding.changed_by is ChangedBy.LIVE else finding.desired
    if was is ABSENT or finding.observed is ABSENT or isinstance(was, dict | list):
        return False
    return _loose(was) == _loose(finding.observed)


def _loose(value: Json) -> str:
    return "".join(str(value).split()).casefold()


def _defaults(finding: Finding, evidence: CauseFacts) -> Explained | None:
    if finding.cls not in _UNDECLARED or evidence.alike < ALIKE:
        return None
    sentence = (
        f"the service changed a default: {evidence.alike} other resources of this kind show the same change "
        "in an undeclared field"
    )
    return Explained(Cause.PROVIDER_DEFAULT_CHANGE, Confidence.MEDIUM, sentence)


_RULES: Final[tuple[Callable[[Finding, CauseFacts], Explained | None], ...]] = (
    _not_applied,
    _other_writer,
    _partial,
    _upgrade,
    _defaults,
)


def _edited(finding: Finding) -> Explained:
    match finding.changed_by:
        case ChangedBy.UNKNOWN:
            sentence = "declaration and world differ since we first looked; who moved cannot be known"
            return Explained(Cause.EXTERNAL_EDIT, Confidence.LOW, sentence)
        case ChangedBy.BOTH:
            sentence = "changed outside Holdfast, and the declaration changed too"
            return Explained(Cause.EXTERNAL_EDIT, Confidence.MEDIUM, sentence)
        case ChangedBy.LIVE | ChangedBy.DECLARED:  # intent never comes here
            declared = finding.cls in (FindingClass.SPECIFIED, FindingClass.ELEMENT, FindingClass.SECRET)
            confidence = Confidence.MEDIUM if declared else Confidence.LOW
            return Explained(Cause.EXTERNAL_EDIT, confidence, "changed outside Holdfast")


def _last_write(finding: Finding, corrections: Sequence[Correction]) -> Write | None:
    path = paths.format_path(finding.path)
    writes = [write for write in write_history.verified(corrections) if write.path.path == path]
    return writes[-1] if writes else None


def _same(one: Json, other: Json) -> bool:
    if one is ABSENT or other is ABSENT:
        return one is other
    return element_identity.text(one) == element_identity.text(other)


# -- since when


@dataclass(frozen=True, slots=True)
class Onset:
    """When it began: after the last look that did not have it, and no later than the first that had."""

    after: float | None  # None: it was there at the first look
    before: float

    def text(self, now: float, zone: dt.tzinfo = dt.UTC) -> str:
        """Return the interval as text: `between 14:02 and 14:12 (10 min apart), 3 h ago`."""
        ago = _ago(now - self.before)
        if self.after is None:
            return f"before {_time(self.before, now, zone)}, when it was first looked at, {ago}"
        if _time(self.after, now, zone) == _time(self.before, now, zone):
            return f"at {_time(self.before, now, zone)}, {ago}"
        first, last = _pair(self.after, self.before, now, zone)
        return f"between {first} and {last} ({_rough(self.before - self.after)} apart), {ago}"


def _pair(after: float, before: float, now: float, zone: dt.tzinfo) -> tuple[str, str]:
    """Return both ends in the same form: with the day, if one of them needs it."""
    days = {dt.datetime.fromtimestamp(at, zone).date() for at in (after, before, now)}
    return (_full(after, zone), _full(before, zone)) if len(days) > 1 else (_clock(after, zone), _clock(before, zone))


def _time(at: float, now: float, zone: dt.tzinfo) -> str:
    today = dt.datetime.fromtimestamp(now, zone).date() == dt.datetime.fromtimestamp(at, zone).date()
    return _clock(at, zone) if today else _full(at, zone)


def _clock(at: float, zone: dt.tzinfo) -> str:
    return dt.datetime.fromtimestamp(at, zone).strftime("%H:%M")


def _full(at: float, zone: dt.tzinfo) -> str:
    return dt.datetime.fromtimestamp(at, zone).strftime("%Y-%m-%d %H:%M")


def _ago(seconds: float) -> str:
    return "just now" if seconds < 1 else f"{_rough(seconds)} ago"


def _rough(seconds: float) -> str:
    """Return a duration in its largest whole unit, because the minutes of a week do not matter."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"
