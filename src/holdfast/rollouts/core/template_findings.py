"""Findings about children of templates: per owner and class, each with the moment it was first seen.

One boolean for several owners and causes makes a fix of one look like a fault of another; so every owner has findings
of its own. Only `spec` and `dynamic` ask for anything; `newly-visible` and `defaults-changed` when a person promotes
them; `unknown` never does, and keeps whatever was known before from being acted on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final

from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.rollouts.core import hash_epochs, revisions
from holdfast.rollouts.core.hash_epochs import SyncStanding
from holdfast.rollouts.core.revisions import Adopted, ChildOrigin, NotAdopted, Obstacle, ParentRecord, Unstamped
from holdfast.rollouts.core.template_schemes import Keys, Schemes, is_same_content


class FindingKind(StrEnum):
    """The closed set of classes."""

    SPEC = "spec"  # the template was edited
    NEWLY_VISIBLE = "newly-visible"  # only a newer scheme sees the difference, and it was there when that took over
    DEFAULTS_CHANGED = "defaults-changed"  # no edit was made: a default has another value now
    DYNAMIC = "dynamic"  # a predicate that the child has to satisfy no longer holds
    UNKNOWN = "unknown"


ACTING: Final = frozenset({FindingKind.SPEC, FindingKind.DYNAMIC})


@dataclass(frozen=True, slots=True)
class TemplateFinding:
    """Something about one child that one owner is concerned with."""

    owner: str  # uid
    child: str
    kind: FindingKind
    reason: str  # a code: "edited", "unrecorded-template", the name of a predicate
    first_seen: float
    fields: tuple[Keys, ...] = ()  # where the template differs from what the child was made from
    times: int = 1  # of a predicate with a debounce: how often it was seen broken, in a row and on new evidence ...
    last_seen: float = 0.0  # ... and when the last of that was read

    @property
    def identity(self) -> tuple[str, str, FindingKind, str]:
        """The identity of a finding at the next check, whatever the scheme is by then."""
        return (self.owner, self.child, self.kind, self.reason)


@dataclass(frozen=True, slots=True)
class Look:
    """The inputs of one evaluation in addition to the records."""

    known: Schemes
    now: float
    unstamped: Unstamped = Unstamped.HOLD
    broken: tuple[str, ...] = ()  # the predicates of this owner that this child fails, on fresh evidence


def findings(
    record: ParentRecord, child: ChildOrigin, look: Look, previous: Iterable[TemplateFinding] = ()
) -> tuple[TemplateFinding, ...]:
    """Return the findings of an owner on a child. Earlier findings keep their first_seen, and so their turn.

    Where the answer is unknown now, earlier findings stay, and an `unknown` beside them blocks an action on them.
    """
    before = [finding for finding in previous if finding.owner == child.owner and finding.child == child.name]
    seen = {finding.identity: finding.first_seen for finding in before}
    found = [*_static(record, child, look), *_dynamic(child, look)]
    out = {item.identity: item for item in (_since(finding, seen) for finding in found)}
    if any(finding.kind is FindingKind.UNKNOWN for finding in found):
        kept = (
            finding for finding in before if finding.kind is not FindingKind.UNKNOWN and finding.identity not in out
        )
        out |= {finding.identity: finding for finding in kept}
    return tuple(out.values())


def asks_for_action(
    found: Iterable[TemplateFinding], promoted: frozenset[FindingKind] = frozenset()
) -> tuple[TemplateFinding, ...]:
    """Return the findings to act on: none of an owner that does not know."""
    listed = tuple(found)
    unsure = {finding.owner for finding in listed if finding.kind is FindingKind.UNKNOWN}
    return tuple(finding for finding in listed if finding.kind in ACTING | promoted and finding.owner not in unsure)


def _since(finding: TemplateFinding, seen: Mapping[tuple[str, str, FindingKind, str], float]) -> TemplateFinding:
    first = seen.get(finding.identity, finding.first_seen)
    return TemplateFinding(finding.owner, finding.child, finding.kind, finding.reason, first, finding.fields)


def _static(record: ParentRecord, child: ChildOrigin, look: Look) -> Iterator[TemplateFinding]:
    match revisions.adopt(record, child, look.known, look.unstamped):
        case Adopted(bound):
            yield from _of_bound(record, bound, look)
        case NotAdopted(_, obstacle, is_drifted):
            kind = FindingKind.SPEC if is_drifted else FindingKind.UNKNOWN
            yield TemplateFinding(child.owner, child.name, kind, obstacle, look.now)


def _of_bound(record: ParentRecord, child: ChildOrigin, look: Look) -> Iterator[TemplateFinding]:
    birth = None if child.birth is None else record.revision(child.birth)
    if birth is None:
        yield TemplateFinding(child.owner, child.name, FindingKind.UNKNOWN, Obstacle.UNRECORDED, look.now)
        return
    scheme = look.known.get(record.regimes[-1].scheme)
    contents = (birth.content, record.latest.content)
    fields = tuple(changed_fields(*(contents if scheme is None else map(scheme.arranged, contents))))

    def finding(kind: FindingKind, reason: str) -> TemplateFinding:
        return TemplateFinding(child.owner, child.name, kind, reason, look.now, fields)

    match hash_epochs.standing(record, child, look.known):
        case SyncStanding.DRIFTED:
            yield finding(FindingKind.SPEC, "edited")
        case SyncStanding.GRANDFATHERED:
            yield finding(FindingKind.NEWLY_VISIBLE, "seen-by-a-newer-scheme")
        case SyncStanding.UNKNOWN:
            yield finding(FindingKind.UNKNOWN, Obstacle.UNKNOWN_SCHEME)
        case SyncStanding.MATCHING if _has_other_defaults(record, child, look.known):
            yield finding(FindingKind.DEFAULTS_CHANGED, "default-moved")
        case SyncStanding.MATCHING:
            pass


def _has_other_defaults(record: ParentRecord, child: ChildOrigin, known: Schemes) -> bool:
    scheme_id = record.regimes[-1].scheme
    birth = None if child.birth is None else record.revision(child.birth)
    mine = None if birth is None else birth.digests_by(scheme_id, known)
    theirs = record.latest.digests_by(scheme_id, known)
    return mine is not None and theirs is not None and mine.effective != theirs.effective


def _dynamic(child: ChildOrigin, look: Look) -> Iterator[TemplateFinding]:
    for reason in look.broken:
        yield TemplateFinding(child.owner, child.name, FindingKind.DYNAMIC, reason, look.now)


def changed_fields(one: Json, other: Json, at: Keys = ()) -> Iterator[Keys]:
    """Yield where two contents differ, as deep as objects go; a list differs as a whole."""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        if not is_same_content(one, other):
            yield at
        return
    for key in sorted({*one, *other}):
        if key in one and key in other:
            yield from changed_fields(one[key], other[key], (*at, key))
        else:
            yield (*at, key)
