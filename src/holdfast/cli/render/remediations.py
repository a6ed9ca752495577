"""Remediations as a person reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.cli import console
from holdfast.cli.render.text import ago, count
from holdfast.reconcile.action_result import ActionOutcome, ActionResult
from holdfast.remediation import own_corrections
from holdfast.remediation.attempt_history import AssessedAttempt, AttemptHistory
from holdfast.remediation.core.past_attempts import AttemptEffect, StateMatch
from holdfast.remediation.core.records import RemediationRecord, Undo
from holdfast.remediation.core.state import AssessmentPhase, AssessmentState
from holdfast.remediation.core.state_hash import StateHash

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_COLOUR = {
    AttemptEffect.GOOD: "green",
    AttemptEffect.MODERATE: "yellow",
    AttemptEffect.POOR: "red",
    AttemptEffect.NOT_HELD: "magenta",
}
_MATCH = {
    StateMatch.BEFORE: "the target is back in the state it found",
    StateMatch.AFTER: "the target is in the state it left",
    StateMatch.NONE: "the target is in another state now",
}


def show_record(record: RemediationRecord, now: float) -> None:
    """Print one remediation in a line or two."""
    action = record.workflow.action_type or record.source.value
    head = console.styled(record.correlation_id, bold=True)
    console.line(f"{head}  {action} on {record.target}, {ago(record.started_at, now)}: {status(record, now)}")
    if record.undo is not Undo.NONE:
        console.line(f"  undo {record.undo.value}: {record.undo_attempts.note}", fg="yellow")


def status(record: RemediationRecord, now: float) -> str:
    """Return the progress of a remediation in a few words."""
    state = record.assessment
    if record.is_open and state is None:
        return "under way"
    if state is None:
        return "not assessed"
    if state.phase is AssessmentPhase.FAILED:
        return f"cannot be assessed: {state.message}"
    if state.reason is None:
        return f"{state.phase.value.replace('_', ' ')}, known {ago(state.timing.deadline, now)} at the latest"
    said = f": {_HASH.sub(_shortened, state.message)}" if state.message else ""
    return f"{state.reason.value}, score {score(state)}{said}"


def _shortened(found: re.Match[str]) -> str:
    return f"{found[0][:19]}…"


def score(state: AssessmentState) -> str:
    """Write a score; none is not 0."""
    return "none" if state.score is None else f"{state.score:.2f}"


def is_begun(acted: ActionResult) -> bool:
    """Return True if an action has begun an assessment."""
    return acted.result is ActionOutcome.DONE and own_corrections.is_begun(acted.checked)


def show_begun(begun: int) -> None:
    """Print that so many corrections wait to be assessed, and how to assess them."""
    if begun:
        begun_text = count(begun, "correction")
        console.line(
            f"{begun_text} to assess: a running watch does it, or holdfast remediation assess --wait", fg="bright_black"
        )


def show_details(record: RemediationRecord) -> None:
    """Print the details of one remediation."""
    state = record.assessment
    console.line(f"  state before: {record.pre.hash if record.pre is not None else record.pre_note or 'not known'}")
    if state is None:
        return
    if state.baseline is not None:
        console.line(f"  state after:  {state.baseline.hash}")
    for name, measurement in (
        ("health", state.measured.health),
        ("alerts", state.measured.alerts),
        ("metrics", state.measured.metrics),
    ):
        if measurement is not None:
            shown = "no score" if measurement.score is None else f"{measurement.score:.2f}"
            console.line(f"  {name + ':':<9} {shown}  {measurement.details}")
    for condition in state.conditions:
        said = f": {condition.message}" if condition.message else ""
        console.line(f"  {condition.type.value} {condition.status.value} ({condition.reason}){said}", fg="bright_black")


def show_all(found: Sequence[RemediationRecord], now: float) -> None:
    """Print a table of remediations."""
    rows = [
        (
            record.correlation_id,
            ago(record.started_at, now),
            record.target,
            record.workflow.action_type or "-",
            record.signal.name or "-",
            status(record, now),
        )
        for record in found
    ]
    console.table(("remediation", "when", "target", "action", "alert", "assessment"), rows)


def show(account: AttemptHistory, now: float) -> None:
    """Print the attempts on a target."""
    today = account.today
    known = today.hash if isinstance(today, StateHash) else f"not known ({today.detail})"
    console.line(f"{account.target}: today's state is {known}", bold=True)
    for told in account.told:
        _show_told(told, now)
    if not account.told:
        console.line("  nothing was tried, or no attempt was announced")
    if account.unassessed:
        said = f"{account.unassessed} writes of ours were not assessed: holdfast corrections {account.target}"
        console.line(f"  {said}", fg="bright_black")
    if account.is_regression:
        console.line("It is back in a state that was remediated before.", fg="yellow")
    for action in account.declining:
        console.line(f"{action or 'It'} helped less each time.", fg="yellow")
    for recurrence in account.recurring:
        what = f"{recurrence.action or 'the same'} for {recurrence.signal or 'no alert'}"
        stop = "; it never did any good: try something else" if recurrence.must_stop else ""
        console.line(
            f"Recurring: {what}, {recurrence.times} times{stop}.", fg="red" if recurrence.must_stop else "yellow"
        )
    if account.refusal:
        console.line(f"Another one would be refused: {account.refusal}.", fg="red")


def _show_told(told: AssessedAttempt, now: float) -> None:
    record = told.record
    is_over = told.past.reason is not None
    effect = told.effect.value if is_over else "under way"
    action = record.workflow.action_type or record.source.value
    alert = f" for {record.signal.name}" if record.signal.name else ""
    colour = _COLOUR.get(told.effect) if is_over else None
    head = f"  {record.correlation_id}  {ago(record.started_at, now)}  {action}{alert}"
    console.line(f"{head}: {console.styled(effect, fg=colour)}; {status(record, now)}")
    if told.match is not None:
        console.line(f"      {_MATCH[told.match]}", fg="bright_black")
    if told.led_to:
        console.line(f"      led to {told.led_to}", fg="bright_black")
    if record.undo is not Undo.NONE:
        console.line(f"      undo {record.undo.value}: {record.undo_attempts.note}", fg="bright_black")
