"""Hash epochs: a new scheme takes effect without rolling all children and without losing an edit (Option 5).

A change of scheme, forward or back, appends one record to the owner and touches no child. A child is in sync if it
matches the owner, or if it did when the scheme took effect and the owner has not visibly changed since. The guarantee
rests on three rules. A checker in the tests removes each of them in turn and must fail:

- an epoch begins before the live template is read, so an edit made while no process ran counts as an edit
- a child created after the switch is never exempt, even if older children were in sync
- a revision is recorded when content changes, even if the current scheme does not see the change

Every step is one compare-and-swap on the owner's record, derived from that record and the live template alone. A crash
between two steps loses nothing. The module does not know how records are stored or how a child is corrected.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final

from holdfast.errors import SchemeError
from holdfast.model.record import dataclass
from holdfast.rollouts.core import template_schemes
from holdfast.rollouts.core.revisions import ChildOrigin, HashEpoch, LiveTemplate, ParentRecord, TemplateRevision
from holdfast.rollouts.core.template_schemes import Digests, Schemes, TemplateScheme

_ID: Final = re.compile(r"(.+)/([1-9][0-9]*)")


class RecordChange(StrEnum):
    """Kind of change that a step makes to an owner's record."""

    CREATE = "create"
    ACTIVATE = "activate"
    RECORD = "record"
    FORGET = "forget"


@dataclass(frozen=True, slots=True)
class RecordStep:
    """One write: store `record` if the stored version is `expected` (None: if no record exists), else read again."""

    change: RecordChange
    expected: int | None
    record: ParentRecord


def reconcile(record: ParentRecord | None, live: LiveTemplate, scheme_id: str, known: Schemes) -> RecordStep | None:
    """Return the next write that brings an owner's record up to a live template, or None if it is up to date.

    Call again after each write. A record with another uid belongs to a deleted owner, whose children are orphans.
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
    """Begin an epoch. Its base is the recorded revision and never the live one, because that is not judged yet."""
    last = record.regimes[-1]
    if last.scheme == scheme.id:
        return None
    regime = HashEpoch(last.index + 1, scheme.id, record.current)
    revisions = tuple(revision.digested(known) for revision in record.revisions)
    return _step(RecordChange.ACTIVATE, record, regimes=(*record.regimes, regime), revisions=revisions)


def _record(record: ParentRecord, live: LiveTemplate, _scheme: TemplateScheme, known: Schemes) -> RecordStep | None:
    """Record the live content if it differs from the current revision. A revert is a new revision as well."""
    if _is_recorded(record.latest, live, known, record.regimes[-1].scheme):
        return None
    ordinal = max(revision.ordinal for revision in record.revisions) + 1
    revision = TemplateRevision(ordinal, live.content, live.schema).digested(known)
    return _step(RecordChange.RECORD, record, revisions=(*record.revisions, revision), current=ordinal)


_STEPS: tuple[_Rule, ...] = (_activate, _record)  # the order is the first of the three rules


def _is_recorded(latest: TemplateRevision, live: LiveTemplate, _known: Schemes, _scheme_id: str) -> bool:
    """Compare content instead of digests, because a later scheme may see changes that this one does not."""
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
    """Return the record after all steps, for dry runs and for callers without concurrent writers."""
    while (step := reconcile(record, live, scheme_id, known)) is not None:
        record = step.record
    assert record is not None
    return record


# --- verdicts ---------------------------------------------------------------------------------------------------------


class SyncStanding(StrEnum):
    """Relation of a child to its owner."""

    MATCHING = "matching"
    GRANDFATHERED = "grandfathered"  # it matched when this scheme took effect, and no visible change followed
    DRIFTED = "drifted"
    UNKNOWN = "unknown"  # a required digest was never stored, and its scheme is not known here


def standing(record: ParentRecord, child: ChildOrigin, known: Schemes) -> SyncStanding:
    """Return the relation of a bound child to the current revision under the last epoch."""
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
    """Return True if a child is in sync with its owner by the recursive rule, or None if that is unknown.

    The rule takes one step for each epoch since the child was created, from the first to the last. An epoch needs only
    one fact about the past: the verdict of the previous epoch about the revision this epoch began with.
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
    """Return True if two revisions of an owner are equal under the current scheme. A deleted revision equals none."""
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
    """Return the verdict of one epoch on a child's origin and a revision, given the previous verdict on its base."""
    birth, subject = compared
    matches = _matches(birth, subject, scheme_id, known)
    return True if matches else _either(matches, _both(_matches(base, subject, scheme_id, known), before))


def _judges(regime: HashEpoch, born_regime: int) -> bool:
    """Return True if the child existed in an epoch. No epoch before its first one can exempt it."""
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


# --- retention ------------------------------------------------------------------------------------------------------


def forget(record: ParentRecord, children: Iterable[ChildOrigin], keep: int = 10) -> RecordStep | None:
    """Return the write that drops unneeded revisions and epochs, or None. The `keep` newest stay for undo.

    Pass every child of the owner, read in the transaction that makes the write, because a child created in between may
    need a dropped revision. While any child is unbound nothing is dropped, because its stamp may name any revision.
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
    revisions = tuple(item for item in record.revisions if item.ordinal in needed or item.ordinal in newest)
    if len(regimes) == len(record.regimes) and len(revisions) == len(record.revisions):
        return None
    return _step(RecordChange.FORGET, record, revisions=revisions, regimes=regimes)


def removed_schemes(in_use: Iterable[str], known: Schemes) -> frozenset[str]:
    """Return the schemes in use that this build should know and does not. A caller must refuse to start.

    A scheme newer than the newest known version of its name was not removed. This build is older because of a
    rollback.
    """
    newest: dict[str, int] = {}
    for scheme_id in known:
        name, version = _parts(scheme_id)
        newest[name] = max(version, newest.get(name, 0))
    unknown = (scheme_id for scheme_id in in_use if scheme_id not in known)
    return frozenset(text for text in unknown if _parts(text)[1] < newest.get(_parts(text)[0], 0))


def _parts(scheme_id: str) -> tuple[str, int]:
    match = _ID.fullmatch(scheme_id)
    return (scheme_id, 0) if match is None else (match[1], int(match[2]))
