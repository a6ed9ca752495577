"""Adoption: binding a child that has only a stamp to the revision it was made from.

Children made before we kept records, imported ones, and those of a lost store carry a hash at most. A stamp that equals
the digest of a recorded revision says where the child came from. One that equals none was made from content nobody has;
it is shown as unknown and never stamped as clean. Reconcile the owner first: then the live template is a recorded
revision, and "equals the live template" needs no rule of its own. A part that is a resource of its own may have been
something else in the world than is declared; `group_owners` records that where a stamp names it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from holdfast.compare.hash_schemes import StampedHash
from holdfast.rollouts.core.revisions import ChildOrigin, ParentRecord, TemplateRevision
from holdfast.rollouts.core.template_schemes import Schemes


class Unstamped(StrEnum):
    """What to think of a child that nothing is known about."""

    HOLD = "hold"  # unknown, for a person to look at
    ADOPT = "adopt"  # take it for made from the current revision
    DRIFT = "drift"  # take it for made from something else


class Obstacle(StrEnum):
    """Why a child could not be bound."""

    ORPHAN = "orphan"
    NO_STAMP = "no-stamp"
    UNKNOWN_SCHEME = "unknown-scheme"
    UNRECORDED = "unrecorded-template"


@dataclass(frozen=True, slots=True)
class Adopted:
    """The child's record with the revision it was made from, to be written once."""

    child: ChildOrigin


@dataclass(frozen=True, slots=True)
class NotAdopted:
    """Nothing is written, and nothing is done to the child unless the policy says that it drifted."""

    child: ChildOrigin
    obstacle: Obstacle
    is_drifted: bool = False


def adopt(
    record: ParentRecord, child: ChildOrigin, known: Schemes, unstamped: Unstamped = Unstamped.HOLD
) -> Adopted | NotAdopted:
    """Bind a child to the revision its stamp names; a child that is bound stays what it is."""
    if child.owner != record.uid:
        return NotAdopted(child, Obstacle.ORPHAN)
    if child.is_bound:
        return Adopted(child)
    if child.stamp is None:
        return _by_policy(record, child, Obstacle.NO_STAMP, unstamped)
    if not _is_readable(record, child.stamp, known):
        return _by_policy(record, child, Obstacle.UNKNOWN_SCHEME, unstamped)
    revision = named_by(record.revisions, child.stamp, known)
    if revision is None:
        return NotAdopted(child, Obstacle.UNRECORDED)
    return _bound(child, revision.ordinal, _regime_of(record, child.stamp.scheme))


def _by_policy(
    record: ParentRecord, child: ChildOrigin, obstacle: Obstacle, unstamped: Unstamped
) -> Adopted | NotAdopted:
    if unstamped is Unstamped.ADOPT:
        return _bound(child, record.current, record.regimes[-1].index)
    return NotAdopted(child, obstacle, is_drifted=unstamped is Unstamped.DRIFT)


def _bound(child: ChildOrigin, birth: int, born_regime: int) -> Adopted:
    return Adopted(dataclasses.replace(child, birth=birth, born_regime=born_regime))


def _is_readable(record: ParentRecord, stamp: StampedHash, known: Schemes) -> bool:
    return stamp.scheme in known or any(stamp.scheme in revision.digests for revision in record.revisions)


def named_by(revisions: Sequence[TemplateRevision], stamp: StampedHash, known: Schemes) -> TemplateRevision | None:
    """Return the newest revision that a stamp may mean; where it may mean several, the one that disturbs least."""
    for revision in reversed(revisions):
        digests = revision.digests_by(stamp.scheme, known)
        if digests is not None and digests.declared == stamp.digest:
            return revision
    return None


def _regime_of(record: ParentRecord, scheme_id: str) -> int:
    """Return the regime a stamp was made in: the first of its scheme, or the oldest for a scheme that never judged.

    Where a scheme judged twice the earlier may be too early. Then a difference is newly visible, where a person sees
    it; too late would roll a child that was in sync.
    """
    return next((regime.index for regime in record.regimes if regime.scheme == scheme_id), record.regimes[0].index)
