"""Option 1 of the drift-hash design, for those who have to speak it: hash and version annotations, back-propagated.

Compatibility only; the default is `regimes`. THE HAZARD: when the version changes, every child that is not marked as
drifted is stamped with the hash of what its owner says *now*, not of what it was made from. So an edit made while the
controller is down, or hashed but not yet evaluated, is forgotten for ever; one made half way through splits the fleet;
a child marked as drifted stays so when the edit is reverted; and a child whose version never catches up is never looked
at again. The tests keep these as facts. None can be mended here without a record of what children were made from.

Pure: returns the patches, in the order that makes a crash repeatable (children first, owner last).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from holdfast.model.json import Json
from holdfast.model.record import dataclass

NODEPOOL: Final = "karpenter.sh/nodepool-hash"


@dataclass(frozen=True, slots=True)
class Stamp:
    """The values of the annotations `<key>` and `<key>-version`."""

    digest: str
    version: str

    @classmethod
    def read(cls, annotations: Mapping[str, str], key: str = NODEPOOL) -> Stamp | None:
        """Return the stamp, or None if either of the two is missing."""
        digest, version = annotations.get(key), annotations.get(f"{key}-version")
        return None if digest is None or version is None else cls(digest, version)

    def annotations(self, key: str = NODEPOOL) -> dict[str, str]:
        """Return the annotations to write."""
        return {key: self.digest, f"{key}-version": self.version}


@dataclass(frozen=True, slots=True)
class Stamped:
    """The part of an owner or a child that Option 1 reads."""

    name: str
    stamp: Stamp | None
    is_marked: bool = False  # children: has a Drifted condition, for whatever reason


@dataclass(frozen=True, slots=True)
class StampPatch:
    """A stamp to write."""

    name: str
    stamp: Stamp


def patches(
    owner: Stamped, children: Iterable[Stamped], content: Json, version: str, digest: Callable[[Json], str]
) -> Iterator[StampPatch]:
    """Yield the patches of the hash controller one at a time. After a crash, read the objects and call it again."""
    stamp = Stamp(digest(content), version)
    if owner.stamp is None or owner.stamp.version != version:
        for child in children:
            if child.stamp is None or child.stamp.version != version:
                yield StampPatch(child.name, _restamped(child, stamp))
    if owner.stamp != stamp:
        yield StampPatch(owner.name, stamp)


def _restamped(child: Stamped, stamp: Stamp) -> Stamp:
    """Return a child's new stamp; one that is marked keeps a hash that cannot match, and so stays marked."""
    if child.is_marked and child.stamp is not None:
        return Stamp(child.stamp.digest, stamp.version)
    return stamp


def is_drifted(owner: Stamp | None, child: Stamp | None) -> bool:
    """Return the drift controller's answer. A missing stamp or another hash version means no drift, as upstream."""
    if owner is None or child is None or owner.version != child.version:
        return False
    return owner.digest != child.digest
