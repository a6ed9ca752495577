"""The spec drift guard: whether the target is still in the state the remediation left it in.

Only two good reads can differ. A read that failed is `Unread` and is never hashed, so it can neither be a baseline nor
drift; hashes made in different ways say nothing about each other. The state of a target that is not there has a name of
its own, because the hash of an empty object would be that of a target with an empty spec.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from holdfast.compare.hash_schemes import Comparison

ABSENT: Final = "absent"


@dataclass(frozen=True, slots=True)
class Sighted:
    """A good read, as its hash with the prefix that says how it was made; `ABSENT` for a target that is gone.

    `revision` is the service's counter of changes to the spec, where it has one; an etag that moves with the status is
    not. It shows a change that was reverted between two looks. `way` names how the hash was made where its prefix does
    not say it all (the rules of the target's kind): another release's rules must not look like a change.
    """

    hash: str
    revision: str | None = None
    way: str = ""


@dataclass(frozen=True, slots=True)
class Unread:
    """The target could not be read, or not be hashed; nothing may be concluded."""

    detail: str = ""


Sighting = Sighted | Unread
GONE: Final = Sighted(ABSENT)


def relation(one: str, other: str) -> Comparison:
    """Compare two hashes by their texts; only those made in the same way, or absence, can differ."""
    if one == other:
        return Comparison.EQUAL
    if ABSENT in (one, other):
        return Comparison.DIFFERENT
    same_way = one.rpartition(":")[0] == other.rpartition(":")[0]
    return Comparison.DIFFERENT if same_way else Comparison.INCOMPARABLE


def compare(baseline: Sighted, seen: Sighted) -> Comparison:
    """Say whether a target is as it was; a revision that moved is a difference even if the state came back."""
    if baseline.way != seen.way and ABSENT not in (baseline.hash, seen.hash):
        return Comparison.INCOMPARABLE
    found = relation(baseline.hash, seen.hash)
    moved = None not in (baseline.revision, seen.revision) and baseline.revision != seen.revision
    return Comparison.DIFFERENT if found is Comparison.EQUAL and moved else found


def match(pre: str | None, post: str) -> bool | None:
    """Return whether a remediation left the spec as it found it (a restart does); None if that cannot be told."""
    found = Comparison.INCOMPARABLE if pre is None else relation(pre, post)
    return None if found is Comparison.INCOMPARABLE else found is Comparison.EQUAL
