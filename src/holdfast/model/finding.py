"""One difference at one path: the values, the operation, who changed it, and the rule that applied."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Path, Pointer
from holdfast.model.record import dataclass


class Op(StrEnum):
    """The kind of difference at the path."""

    CHANGED = "changed"
    ADDED = "added"
    MISSING = "missing"
    ELEMENT_ADDED = "element_added"
    ELEMENT_MISSING = "element_missing"
    REORDERED = "reordered"


class FindingClass(StrEnum):
    """The kind of value that differs."""

    SPECIFIED = "specified"  # a declared value
    DEFAULTED = "defaulted"  # a value the service had filled in by the time of the baseline
    UNDECLARED = "undeclared"  # neither declared nor in the baseline, or deleted since the baseline
    REMOVED = "removed"  # no longer declared, still there
    ELEMENT = "element"  # an element of a list
    SECRET = "secret"  # noqa: S105 - the name of a class, not a secret
    ORDER = "order"  # the order of a list that has one


class ChangedBy(StrEnum):
    """The side that changed since the baseline."""

    DECLARED = "declared"
    LIVE = "live"
    BOTH = "both"
    UNKNOWN = "unknown"  # no baseline: declaration and live state differ


@dataclass(frozen=True, slots=True)
class Digest:
    """Stands for a subtree whose value was not kept."""

    text: str

    def __repr__(self) -> str:
        return f"Digest({self.text})"


@dataclass(frozen=True, slots=True)
class Difference:
    """An atomic difference of a declaration and a document. A known difference must match its first four fields."""

    path: Path
    op: Op
    desired: Json = ABSENT
    observed: Json = ABSENT
    rule: str = ""
    pointer: Pointer = ()


class Finding(NamedTuple):
    """A difference that the baseline does not explain. A tuple, because checks create millions of them."""

    path: Path
    op: Op
    cls: FindingClass
    changed_by: ChangedBy
    desired: Json = ABSENT
    baseline: Json = ABSENT
    observed: Json = ABSENT
    rule: str = ""
    pointer: Pointer = ()
