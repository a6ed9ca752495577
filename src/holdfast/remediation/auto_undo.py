"""Taking back what did not help: a correction of ours whose assessment falls under the threshold that policy sets.

Only a change of fields is taken back, never a thing that was made; never what somebody moved since, and never what did
not hold, for then it is not there any more. The undo itself is not assessed, and what was undone is left to a person,
so that there is no going round in circles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from holdfast.model.decision import Action
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.reconcile.undo import CannotUndo, CorrectionUndo, Postponed
from holdfast.remediation.core import events
from holdfast.remediation.core.end_reasons import Reason
from holdfast.remediation.core.events import Event, EventType
from holdfast.remediation.core.records import RemediationRecord, RemediationSource, Undo
from holdfast.store.governance import CorrectionOutcome
from holdfast.store.protocol import Store

WHO: Final = "policy undoBelow"
MOST_TRIES: Final = 8
_FIRST_WAIT: Final = 5.0  # seconds, doubled each time


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of trying."""

    undo: Undo
    note: str


def is_wanted(record: RemediationRecord, item: ResolvedResource | str) -> bool:
    """Tell whether policy wants a correction taken back now that its assessment is over."""
    state = record.assessment
    if isinstance(item, str) or state is None or state.score is None or record.source is not RemediationSource.OURS:
        return False
    is_change = record.workflow.action_type == Action.UPDATE.value
    return is_change and state.reason is not Reason.SPEC_DRIFT and state.score < item.settings.undo_below


async def undo(
    record: RemediationRecord, item: ResolvedResource | str, store: Store, undoer: CorrectionUndo | None
) -> Tried:
    """Take it back, with all the guards of an undo."""
    if record.undo_tries >= MOST_TRIES:
        return Tried(Undo.REFUSED, f"given up after {record.undo_tries} tries: {record.undo_note}")
    if undoer is None or isinstance(item, str):
        return Tried(Undo.WANTED, item if isinstance(item, str) else "nothing may be written now")
    correction = await store.correction(record.correlation_id)
    if correction is None:
        return Tried(Undo.REFUSED, "the correction is not known any more")
    if correction.outcome is CorrectionOutcome.UNDONE:
        return Tried(Undo.DONE, "undone")
    score = record.assessment.score if record.assessment is not None else None
    try:
        undone = await undoer.undo(correction, item, WHO, f"it scored {score:.2f}" if score is not None else "")
    except Postponed as error:
        return Tried(Undo.WANTED, error.message)
    except CannotUndo as error:
        return Tried(Undo.REFUSED, error.message)
    return Tried(Undo.DONE, undone.message)


def wait(tries: int) -> float:
    """Return how long to wait before the next try."""
    return float(_FIRST_WAIT * 2 ** min(tries, 6))


def told(record: RemediationRecord, at: float) -> Event:
    """Tell what came of taking a correction back."""
    fields = {"undone": record.undo is Undo.DONE, "details": record.undo_note}
    return events.told(EventType.UNDONE, record.remediation(), at, fields)
