"""One difference at one path: what differs, how, on whose side, and which rule decided so."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Path, Pointer


class Op(StrEnum):
    """How the observed document differs at the path."""

    CHANGED = "changed"
    ADDED = "added"
    MISSING = "missing"
    ELEMENT_ADDED = "element_added"
    ELEMENT_MISSING = "element_missing"
    REORDERED = "reordered"


class FindingClass(StrEnum):
    """What kind of thing moved."""

    SPECIFIED = "specified"  # a declared value
    DEFAULTED = "defaulted"  # a value the service had filled in by the time of the baseline
    UNDECLARED = "undeclared"  # neither declared nor in the baseline, or gone since the baseline
    REMOVED = "removed"  # no longer declared, still there
    ELEMENT = "element"  # an element of a list
    SECRET = "secret"  # noqa: S105 - the name of a class, not a secret
    ORDER = "order"  # the order of a list that has one


class ChangedBy(StrEnum):
    """Who moved since the baseline."""

    DECLARED = "declared"
    LIVE = "live"
    BOTH = "both"
    UNKNOWN = "unknown"  # no baseline: declaration and world differ, who moved cannot be known


@dataclass(frozen=True, slots=True)
class Difference:
    """An atomic difference between a declaration and a document: the four things a known difference must match."""

    path: Path
    op: Op
    desired: Json = ABSENT
    observed: Json = ABSENT
    rule: str = ""
    pointer: Pointer = ()


class Finding(NamedTuple):
    """A difference that is news: the baseline does not explain it. A tuple, because these are made by the million."""

    path: Path
    op: Op
    cls: FindingClass
    changed_by: ChangedBy
    desired: Json = ABSENT
    baseline: Json = ABSENT
    observed: Json = ABSENT
    rule: str = ""
    pointer: Pointer = ()
