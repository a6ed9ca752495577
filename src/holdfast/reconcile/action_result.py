"""How carrying out a decision may end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holdfast.model.json import Json
from holdfast.reconcile.check import CheckResult


class ActionOutcome(StrEnum):
    """How carrying out a decision ended."""

    DONE = "done"
    BUSY = "busy"  # another worker has the resource
    OVERTAKEN = "overtaken"  # another worker has written it since we looked
    MOVED = "moved"  # the world changed since the plan; nothing was written
    FAILED = "failed"  # tried, not done; will be tried again
    TERMINAL = "terminal"  # refused for good; waits for an edit
    UNSETTLED = "unsettled"  # written, but the settled state could not be read yet
    UNDONE = "undone"  # did not take everywhere, and was taken back as policy says
    HELD = "held"  # a pause, a window, a budget or an approval stopped it right before it was sent
    LOST = "lost"  # another worker took the claim over while this one waited; nothing more was sent
    UNSURE = "unsure"  # a create whose answer was lost: nobody knows whether it was made, and a person decides


@dataclass(frozen=True, slots=True)
class NotTaken:
    """A field that a creation was told and the service keeps otherwise, or not at all."""

    path: str
    declared: Json
    live: Json  # ABSENT: not at all


LEFT_TO_OTHERS = frozenset({ActionOutcome.BUSY, ActionOutcome.OVERTAKEN})  # no failures: somebody is or was at it


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What came of an action."""

    checked: CheckResult
    result: ActionOutcome
    message: str
    unresolved: tuple[str, ...] = ()
    correction: str | None = None  # what `undo` takes
