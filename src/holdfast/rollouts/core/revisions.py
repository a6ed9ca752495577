"""Revisions: what the owner of a template has said, and which of it each child was made from.

Content is kept, immutable and numbered; a child points to the revision it was born from and is never pointed elsewhere.
Records only: how they come about and what they mean, and what may be forgotten, is in `regimes`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.compare.hash_schemes import StampedHash
from holdfast.model.json import Json
from holdfast.rollouts.core.template_schemes import Digests, Schemes


@dataclass(frozen=True, slots=True)
class LiveTemplate:
    """A template as it stands in the world or in the files now."""

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
        """Return what a scheme says of this content: stored, or computed if the scheme is known, or None."""
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
        return next((each for each in self.revisions if each.ordinal == ordinal), None)

    def regime(self, index: int) -> HashEpoch | None:
        """Return a regime that is still kept."""
        return next((each for each in self.regimes if each.index == index), None)

    @property
    def latest(self) -> TemplateRevision:
        """The revision that children are made from now."""
        found = self.revision(self.current)
        assert found is not None, f"owner {self.uid} has lost its current revision {self.current}"
        return found


@dataclass(frozen=True, slots=True)
class ChildOrigin:
    """What one child owes to one owner; a child of two owners has two. Written once, together with the child.

    A child that was made before we kept records has only the stamp somebody put on it, until `adoption` binds it.
    """

    name: str
    owner: str  # uid
    birth: int | None = None  # ordinal of the revision it was made from
    born_regime: int | None = None  # index
    stamp: StampedHash | None = None  # for people and for recovery; never decides about a bound child

    @property
    def is_bound(self) -> bool:
        """Whether it is known what the child was made from."""
        return self.birth is not None and self.born_regime is not None


def born(name: str, owner: ParentRecord) -> ChildOrigin:
    """Return the record of a child that is made from the owner's current revision, to be stored with the child."""
    last = owner.regimes[-1]
    digests = owner.latest.digests.get(last.scheme)
    stamp = None if digests is None else StampedHash(last.scheme, digests.declared)
    return ChildOrigin(name, owner.uid, owner.current, last.index, stamp)
