"""Remediating: the record of each correction of ours, kept in the very transactions that begin and end it.

So it costs no write of its own, and a crash cannot part a write from its record. What others do they announce; see
`engine.announcing`.
"""

from __future__ import annotations

from typing import Final

from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.policy import write_reasons
from holdfast.policy.settings import Assess
from holdfast.policy.write_reasons import CORRECTIONS, WriteReason
from holdfast.reconcile.check import CheckResult
from holdfast.remediation import repository, target_state
from holdfast.remediation.core import records as plain
from holdfast.remediation.core.audit_events import Workflow
from holdfast.remediation.core.records import RemediationEnding, RemediationRecord, RemediationSource
from holdfast.remediation.core.rules import AssessmentRules
from holdfast.remediation.core.state_hash import StateHash, StateReading, StateUnknown
from holdfast.remediation.repository import Closing, Kept
from holdfast.store.governance import CorrectionOutcome
from holdfast.store.protocol import Store
from holdfast.store.records import WriteOperation
from holdfast.store.transaction import Transaction

OURSELVES: Final = "holdfast"


def is_wanted(checked: CheckResult) -> bool:
    """Return True if policy wants this write assessed; of what was removed there is nothing left to look at."""
    if checked.decision.action is Action.DELETE:
        return False
    wanted = checked.prepared.settings.assessing.assess
    return wanted is Assess.WRITES or (
        wanted is Assess.CORRECTIONS and _write_reason(checked) is not WriteReason.INTENT
    )


def is_begun(checked: CheckResult) -> bool:
    """Return True if carrying a decision out has begun an assessment."""
    return checked.decision.action.is_write and is_wanted(checked)


def _write_reason(checked: CheckResult) -> WriteReason:
    """Return the reason of a write. A write that a person asks for counts as a revert as well."""
    return write_reasons.of_status(checked.verdict.status)


def before(checked: CheckResult) -> dict[str, Json]:
    """Return the event of a write with the state before it. Its correlation id is that of the operation."""
    seen = _seen_before(checked)
    return {"pre_remediation_spec_hash": seen.hash} if isinstance(seen, StateHash) else {}


def _seen_before(checked: CheckResult) -> StateReading:
    if checked.tree is None:
        return StateUnknown("nothing was compared")
    return target_state.of_document(checked.prepared, checked.observed, checked.tree)


def begin(
    transaction: Transaction, checked: CheckResult, operation: WriteOperation, rules: AssessmentRules, who: str
) -> None:
    """Record that a correction begins, with the state before it, in the transaction that begins it."""
    if not is_wanted(checked):
        return
    seen = _seen_before(checked)
    record = RemediationRecord(
        operation.id,
        str(checked.address),
        RemediationSource.OURS,
        operation.started_at,
        Workflow(OURSELVES, action_type=operation.action, signal_type=_write_reason(checked).value),
        rules.alert_for(checked.address),
        who=who,
        pre=seen if isinstance(seen, StateHash) else None,
        pre_note=seen.detail if isinstance(seen, StateUnknown) else "",
    )
    transaction.records.put.append(Kept(record).next_version(operation.started_at + rules.patience))
    transaction.events += repository.audit([plain.created(record)])


@dataclass(frozen=True, slots=True)
class WriteEnd:
    """How a write ended."""

    outcome: CorrectionOutcome
    at: float
    confirmed: StateReading | None = None  # the settled read
    was_sent: bool = True  # False: the provider refused, so nothing was executed

    @property
    def ending(self) -> RemediationEnding:
        """Return it as the ending of a remediation."""
        if self.outcome is not CorrectionOutcome.FAILED:
            return RemediationEnding.COMPLETED
        return RemediationEnding.FAILED if self.was_sent else RemediationEnding.NOT_EXECUTED


async def end(
    transaction: Transaction, store: Store, operation: WriteOperation, written: WriteEnd, rules: AssessmentRules
) -> None:
    """Record that a correction ended, and begin its assessment, in the transaction that ends it."""
    found = await repository.find(store, operation.id)
    if found is None or not found.record.is_open:
        return
    seen = await _stamped(store, found.record, written.confirmed) if written.confirmed is not None else None
    confirmed = seen if isinstance(seen, StateHash) else None
    repository.close(transaction, found, Closing(written.ending, written.at, confirmed), rules)


async def _stamped(store: Store, record: RemediationRecord, seen: StateReading) -> StateReading:
    """Return the state after a write. The last correction is this one, if it is a correction."""
    if isinstance(seen, StateHash) and record.workflow.signal_type in CORRECTIONS:
        return repository.stamp(seen, record.correlation_id)
    return await repository.stamped(store, Address.parse(record.target), seen)
