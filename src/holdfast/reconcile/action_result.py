"""Outcomes and results of carrying out a decision."""

from __future__ import annotations

from enum import StrEnum

from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.reconcile.check import CheckResult


class ActionOutcome(StrEnum):
    """Outcome of carrying out a decision."""

    DONE = "done"
    BUSY = "busy"  # another worker holds the claim on the resource
    OVERTAKEN = "overtaken"  # another worker has written the resource since our check
    MOVED = "moved"  # live state changed since the plan was made. Nothing was written
    FAILED = "failed"  # attempted without success. Will be retried
    TERMINAL = "terminal"  # refused permanently. Waits for an edit
    UNSETTLED = "unsettled"  # written, but the settled state could not be read yet
    UNDONE = "undone"  # took effect only in part, and was undone because policy requires it
    HELD = "held"  # a pause, window, budget or approval stopped the write right before it was sent
    LOST = "lost"  # another worker took over the claim while this one waited. Nothing more was sent
    UNSURE = "unsure"  # a create whose response was lost. Its result is unknown, so a person decides


@dataclass(frozen=True, slots=True)
class NotTaken:
    """A declared field of a new resource that the service stores with another value or not at all."""

    path: str
    declared: Json
    live: Json  # ABSENT: the service does not store the field


LEFT_TO_OTHERS = frozenset({ActionOutcome.BUSY, ActionOutcome.OVERTAKEN})  # no failures: another worker writes or wrote


@dataclass(frozen=True, slots=True)
class ActionResult:
    """Result of one action on a resource."""

    checked: CheckResult
    result: ActionOutcome
    message: str
    unresolved: tuple[str, ...] = ()
    correction: str | None = None  # the correction id that `undo` accepts
