"""Records of corrections and of the decisions of people that limit them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.store.state import Digest


class CorrectionOutcome(StrEnum):
    """The result of a correction."""

    BEGUN = "begun"  # charged, perhaps sent
    DONE = "done"  # written, and verified by a settled read
    INEFFECTIVE = "ineffective"  # written, but some paths kept their old value
    FAILED = "failed"  # refused, or given up
    UNDONE = "undone"  # reversed by a later correction that names it


@dataclass(frozen=True, slots=True)
class PathCorrection:
    """The intended change of a correction at one path; values are as shown, secrets as fingerprints."""

    path: str
    before: Json = ABSENT
    after: Json = ABSENT
    took: bool = True
    asked: bool = False  # a person edited the declaration at this path


@dataclass(frozen=True, slots=True)
class CorrectionRecord:
    """One write of ours, with everything needed to assess it later and to undo it."""

    id: str  # the id of its operation
    address: Address
    at: float
    action: str
    reason: str  # the code of the decision's first reason: drift, intent, missing, conflict, ...
    outcome: CorrectionOutcome = CorrectionOutcome.BEGUN
    paths: tuple[PathCorrection, ...] = ()
    pre_image: Digest | None = None  # live state before; None: the resource did not exist
    post_image: Digest | None = None  # settled live state after
    undoes: str | None = None  # the correction that this one reverses
    who: str = ""  # the worker, or the person who asked


class BudgetSpent(Exception):  # noqa: N818 - an outcome, not a mistake
    """A bucket that a transaction charges is empty; nothing of the transaction was kept."""

    def __init__(self, bucket: str) -> None:
        self.bucket = bucket
        super().__init__(bucket)


@dataclass(frozen=True, slots=True)
class Pause:
    """A stop of corrections for a scope: "" for all, a connection, connection/Kind, or an address."""

    scope: str
    who: str
    why: str
    at: float
    until: float | None = None  # None: until resumed


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's approval of exactly one plan, named by its digest; it is used once."""

    plan: str
    address: Address
    who: str
    why: str
    at: float
    used_at: float | None = None


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A path that is only reported until a person decides, because of contention or an undone correction."""

    address: Address
    path: str
    cause: str  # contention | undone
    since: float
    data: Mapping[str, Json] = field(default_factory=dict)  # period, values, other writer, correction


@dataclass(frozen=True, slots=True)
class AcceptedValue:
    """A live value that a person accepted as baseline without changing the source; later changes are drift."""

    address: Address
    path: str
    value: Json  # as shown
    who: str
    why: str
    at: float
