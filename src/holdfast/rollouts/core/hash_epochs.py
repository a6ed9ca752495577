"""Regimes: how a new scheme takes over without rolling a fleet and without losing an edit (Option 5).

A change of scheme, forward or back, appends one record to the owner and touches no child. A child is in sync if it
matches the owner, or if it did when the scheme took over and the owner has not visibly changed since. Three rules carry
this, and a checker in the tests kills each of them in turn:

- a regime begins before the live template is looked at, so an edit made while nobody watched counts as one;
- what was in sync before never excuses a child born since;
- a revision is recorded when content changes, even where the scheme of the day does not see it.

Every step is one compare-and-swap on the owner's record, derived from that record and the live template alone: a crash
between two steps loses nothing. Refuses to know how records are stored, and what is done about a child.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from holdfast.errors import SchemeError
from holdfast.rollouts.core import template_schemes
from holdfast.rollouts.core.revisions import ChildOrigin, HashEpoch, LiveTemplate, ParentRecord, TemplateRevision
from holdfast.rollouts.core.template_schemes import Digests, Schemes, TemplateScheme

_ID: Final = re.compile(r"(.+)/([1-9][0-9]*)")


class RecordChange(StrEnum):
    """What a step does to an owner's record."""

    CREATE = "create"
    ACTIVATE = "activate"
    RECORD = "record"
    FORGET = "forget"


@dataclass(frozen=True, slots=True)
class RecordStep:
    """One write: store `record` if the stored version is still `expected` (None: if there is none); else read again."""

    change: RecordChange
    expected: int | None
    record: ParentRecord


def reconcile(record: ParentRecord | None, live: LiveTemplate, scheme_id: str, known: Schemes) -> RecordStep | None:
    """Return the next write that brings an owner's record up to a live template, or None if it is there.

    Call again after each write. A record of another uid is of an owner that is gone; its children are orphans.
    """
    scheme = known.get(scheme_id)
    if scheme is None:
        raise SchemeError(f"no template scheme {scheme_id!r} is known here; known are {', '.join(sorted(known))}")
    if record is None or record.uid != live.uid:
        return RecordStep(RecordChange.CREATE, None, _first_record(live, scheme, known))
    return _first(_STEPS, record, live, scheme, known)


_Rule = Callable[[ParentRecord, LiveTemplate, TemplateScheme, Schemes], RecordStep | None]


def _first(
    rules: Iterable[_Rule], record: ParentRecord, live: LiveTemplate, scheme: TemplateScheme, known: Schemes
) -> RecordStep | None:
    return next((step for rule in rules if (step := rule(record, live, scheme, known)) is not None), None)


def _first_record(live: LiveTemplate, scheme: TemplateScheme, known: Schemes) -> ParentRecord:
    revision = TemplateRevision(1, live.content, live.schema).digested(known)
    return ParentRecord(live.uid, (revision,), (HashEpoch(0, scheme.id, 1),), 1)


def _activate(record: ParentRecord, _live: LiveTemplate, scheme: TemplateScheme, known: Schemes) -> RecordStep | None:
    """Begin a regime. Its base is what was recorded, never what is live: nobody has judged that yet."""
    last = record.regimes[-1]
    if last.scheme == scheme.id:
        return None
    regime = HashEpoch(last.index + 1, scheme.id, record.current)
    revisions = tuple(revision.digested(known) for revision in record.revisions)
    return _step(RecordChange.ACTIVATE, record, regimes=(*record.regimes, regime), revisions=revisions)


def _record(record: ParentRecord, live: LiveTemplate, _scheme: TemplateScheme, known: Schemes) -> RecordStep | None:
    """Record what is live, if its content is not the current revision's; a revert is a new revision too."""
    if _is_recorded(record.latest, live, known, record.regimes[-1].scheme):
        return None
    ordinal = max(revision.ordinal for revision in record.revisions) + 1
    revision = TemplateRevision(ordinal, live.content, live.schema).digested(known)
    return _step(RecordChange.RECORD, record, revisions=(*record.revisions, revision), current=ordinal)


_STEPS: tuple[_Rule, ...] = (_activate, _record)  # the order is the first of the three rules


def _is_recorded(latest: TemplateRevision, live: LiveTemplate, _known: Schemes, _scheme_id: str) -> bool:
    """Compare content and not digests: a later scheme may see what this one does not."""
    return latest.schema == live.schema and template_schemes.is_same_content(latest.content, live.content)


def _step(
    change: RecordChange,
    record: ParentRecord,
    *,
    revisions: tuple[TemplateRevision, ...] | None = None,
    regimes: tuple[HashEpoch, ...] | None = None,
    current: int | None = None,
) -> RecordStep:
    new = dataclasses.replace(
        record,
        revisions=record.revisions if revisions is None else revisions,
        regimes=record.regimes if regimes is None else regimes,
        current=record.current if current is None else current,
        version=record.version + 1,
    )
    return RecordStep(change, record.version, new)


def settled(record: ParentRecord | None, live: LiveTemplate, scheme_id: str, known: Schemes) -> ParentRecord:
    """Return what the record is when every step was made: for rehearsals, and where no other writer is possible."""
    while (step := reconcile(record, live, scheme_id, known)) is not None:
        record = step.record
    assert record is not None
    return record


# --- verdicts ---------------------------------------------------------------------------------------------------------


class SyncStanding(StrEnum):
    """How a child stands to its owner."""

    MATCHING = "matching"
    GRANDFATHERED = "grandfathered"  # it matched when this scheme took over, and nothing visible changed since
    DRIFTED = "drifted"
    UNKNOWN = "unknown"  # a digest that is needed was never stored, and its scheme is not known here


def standing(record: ParentRecord, child: ChildOrigin, known: Schemes) -> SyncStanding:
    """Return how a bound child stands to the current revision under the last regime."""
    birth = None if child.birth is None else record.revision(child.birth)
    if birth is None or child.born_regime is None or child.owner != record.uid:
        return SyncStanding.UNKNOWN
    scheme_id = record.regimes[-1].scheme
    if _matches(birth, record.latest, scheme_id, known):
        return SyncStanding.MATCHING
    match in_sync(record, child, known):
        case True:
            return SyncStanding.GRANDFATHERED
        case False:
            return SyncStanding.DRIFTED
        case None:
            return SyncStanding.UNKNOWN


def in_sync(record: ParentRecord, child: ChildOrigin, known: Schemes) -> bool | None:
    """Tell whether a child is what its owner wants by the recursive rule; None where that cannot be told.

    One step of the rule for each regime since the child was born, from its first to the last: the verdict under a
    regime about the revision that the next one began with is all that the next one asks of the past.
    """
    birth = None if child.birth is None else record.revision(child.birth)
    if birth is None or child.born_regime is None or child.owner != record.uid:
        return None
    verdict = None if record.regime(child.born_regime) is None else False
    for place, regime in enumerate(record.regimes):
        if not _judges(regime, child.born_regime):
            continue
        following = record.regimes[place + 1 :][:1]
        subject = record.revision(following[0].base if following else record.current)
        verdict = _under(record.revision(regime.base), regime.scheme, (birth, subject), before=verdict, known=known)
    return verdict


def is_same(record: ParentRecord, ordinals: tuple[int | None, int | None], known: Schemes) -> bool:
    """Tell whether two revisions of an owner are the same to the scheme of now; one that is not kept is like none."""
    one, other = (None if ordinal is None else record.revision(ordinal) for ordinal in ordinals)
    return ordinals[0] == ordinals[1] or _matches(one, other, record.regimes[-1].scheme, known) is True


def _under(
    base: TemplateRevision | None,
    scheme_id: str,
    compared: tuple[TemplateRevision, TemplateRevision | None],
    *,
    before: bool | None,
    known: Schemes,
) -> bool | None:
    """Return the verdict of one regime about a child's birth and a revision, given the one before about its base."""
    birth, subject = compared
    matches = _matches(birth, subject, scheme_id, known)
    return True if matches else _either(matches, _both(_matches(base, subject, scheme_id, known), before))


def _judges(regime: HashEpoch, born_regime: int) -> bool:
    """Tell whether a child was there; nothing comes before its first regime, so nothing from before excuses it."""
    return regime.index >= born_regime


def _matches(
    one: TemplateRevision | None, other: TemplateRevision | None, scheme_id: str, known: Schemes
) -> bool | None:
    mine = _digests(one, scheme_id, known)
    theirs = _digests(other, scheme_id, known)
    return None if mine is None or theirs is None else mine.matches(theirs)


def _digests(revision: TemplateRevision | None, scheme_id: str, known: Schemes) -> Digests | None:
    return None if revision is None else revision.digests_by(scheme_id, known)


def _both(one: bool | None, other: bool | None) -> bool | None:  # noqa: FBT001 - logic with three values
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _either(one: bool | None, other: bool | None) -> bool | None:  # noqa: FBT001 - logic with three values
    if one or other:
        return True
    return None if one is None or other is None else False


# --- what may be forgotten --------------------------------------------------------------------------------------------


def forget(record: ParentRecord, children: Iterable[ChildOrigin], keep: int = 10) -> RecordStep | None:
    """Return the write that drops revisions and regimes nothing can ask for, or None; `keep` newest stay for undo.

    Pass every child of the owner, read in the transaction that makes the write: one born in between may need what
    goes. While a child is not bound nothing goes, because its stamp may name any revision.
    """
    mine = [child for child in children if child.owner == record.uid]
    births = {child.birth for child in mine}
    since = min((record.regimes[-1].index if c.born_regime is None else c.born_regime for c in mine), default=None)
    if not all(child.is_bound for child in mine):
        return None
    first = record.regimes[-1].index if since is None else since
    regimes = tuple(regime for regime in record.regimes if regime.index >= first)
    needed = births | {record.current} | {regime.base for regime in regimes if regime.index > first}
    newest = {revision.ordinal for revision in record.revisions[-keep:]} if keep else set[int]()
    revisions = tuple(each for each in record.revisions if each.ordinal in needed or each.ordinal in newest)
    if len(regimes) == len(record.regimes) and len(revisions) == len(record.revisions):
        return None
    return _step(RecordChange.FORGET, record, revisions=revisions, regimes=regimes)


def schemes_in_use(record: ParentRecord, children: Iterable[ChildOrigin]) -> frozenset[str]:
    """Return the schemes that a build has to know, or have stored digests of, to judge these children."""
    stamps = {child.stamp.scheme for child in children if not child.is_bound and child.stamp is not None}
    return frozenset(stamps | {regime.scheme for regime in record.regimes})


def removed_schemes(in_use: Iterable[str], known: Schemes) -> frozenset[str]:
    """Return the schemes in use that this build should know and does not: who starts has to refuse.

    One that is newer than the newest known of its name is not removed but not yet there: we were rolled back.
    """
    newest: dict[str, int] = {}
    for scheme_id in known:
        name, version = _parts(scheme_id)
        newest[name] = max(version, newest.get(name, 0))
    unknown = (scheme_id for scheme_id in in_use if scheme_id not in known)
    return frozenset(each for each in unknown if _parts(each)[1] < newest.get(_parts(each)[0], 0))


def _parts(scheme_id: str) -> tuple[str, int]:
    match = _ID.fullmatch(scheme_id)
    return (scheme_id, 0) if match is None else (match[1], int(match[2]))
