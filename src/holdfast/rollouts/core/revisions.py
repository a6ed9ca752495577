"""Revisions: what the owner of a template has said, and which of it each child was made from.

Content is kept, immutable and numbered; a child points to the revision it was born from and is never pointed elsewhere.
Records only: how they come about and what they mean, and what may be forgotten, is in `regimes`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum

from holdfast.compare.hash_schemes import StampedHash
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.rollouts.core.template_schemes import Digests, Schemes


@dataclass(frozen=True, slots=True)
class LiveTemplate:
    """A template in its current version, live or in the files."""

    uid: str  # of this owner, not of the next one with the same name
    content: Json
    schema: str = ""  # the version of the schema that the content is written in


@dataclass(frozen=True, slots=True)
class TemplateRevision:
    """One content that an owner has had. Digests are added as schemes come, and outlive the build that knew them."""

    ordinal: int
    content: Json
    schema: str = ""
    digests: Mapping[str, Digests] = field(default_factory=dict)

    def digests_by(self, scheme_id: str, known: Schemes) -> Digests | None:
        """Return the hash of this content under a scheme: stored, or computed if the scheme is known, or None."""
        stored = self.digests.get(scheme_id)
        if stored is not None:
            return stored
        scheme = known.get(scheme_id)
        return None if scheme is None else scheme.digests(self.content, self.schema)

    def digested(self, known: Schemes) -> TemplateRevision:
        """Return the revision with the digests of every known scheme, for a later build that knows fewer."""
        missing = {
            scheme.id: scheme.digests(self.content, self.schema)
            for scheme in known.values()
            if scheme.id not in self.digests
        }
        return dataclasses.replace(self, digests={**self.digests, **missing}) if missing else self


@dataclass(frozen=True, slots=True)
class HashEpoch:
    """A stretch of time in which one scheme judged; `base` is the revision that it took over from the one before."""

    index: int
    scheme: str
    base: int  # ordinal


@dataclass(frozen=True, slots=True)
class ParentRecord:
    """All that is remembered of an owner. `version` counts the writes: each is a compare-and-swap on it."""

    uid: str
    revisions: tuple[TemplateRevision, ...]
    regimes: tuple[HashEpoch, ...]  # never empty; indexes rise but may begin late, when older ones were forgotten
    current: int  # ordinal
    version: int = 1

    def revision(self, ordinal: int) -> TemplateRevision | None:
        """Return a revision that is still kept."""
        return next((item for item in self.revisions if item.ordinal == ordinal), None)

    def regime(self, index: int) -> HashEpoch | None:
        """Return a regime that is still kept."""
        return next((epoch for epoch in self.regimes if epoch.index == index), None)

    @property
    def latest(self) -> TemplateRevision:
        """The revision that children are made from now."""
        found = self.revision(self.current)
        assert found is not None, f"owner {self.uid} has lost its current revision {self.current}"
        return found


@dataclass(frozen=True, slots=True)
class ChildOrigin:
    """The debt of one child to one owner. A child of two owners has two. Written once, together with the child.

    A child that was created before we kept records has only its stamp, until `adoption` binds it.
    """

    name: str
    owner: str  # uid
    birth: int | None = None  # ordinal of the revision it was made from
    born_regime: int | None = None  # index
    stamp: StampedHash | None = None  # for people and for recovery; never decides about a bound child

    @property
    def is_bound(self) -> bool:
        """True if it is known what the child was made from."""
        return self.birth is not None and self.born_regime is not None


def born(name: str, owner: ParentRecord) -> ChildOrigin:
    """Return the record of a child that is made from the owner's current revision, to be stored with the child."""
    last = owner.regimes[-1]
    digests = owner.latest.digests.get(last.scheme)
    stamp = None if digests is None else StampedHash(last.scheme, digests.declared)
    return ChildOrigin(name, owner.uid, owner.current, last.index, stamp)


class Unstamped(StrEnum):
    """The verdict on a child without any record."""

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
