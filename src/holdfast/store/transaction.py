"""A batch of facts that become true together, in parts by who writes them.

A lone surrogate, as broken JSON, headers and command lines contain them, cannot be stored as UTF-8. `escape_texts`
writes it as an escape, so that one such text does not keep a whole batch from being recorded.
"""

from __future__ import annotations

import dataclasses
from dataclasses import field
from typing import Any

from holdfast.model.address import Address
from holdfast.model.budget_charge import BudgetCharge
from holdfast.model.finding import Finding
from holdfast.model.record import dataclass
from holdfast.store.governance import AcceptedValue, Approval, CorrectionRecord, Pause, Quarantine
from holdfast.store.records import AppliedRevision, AuditEvent, Claim, DecisionRecord, VersionedRecord, WriteOperation
from holdfast.store.state import CheckRequest, Digest, Relink, ResourceState, UnchangedCheck, WithdrawnVerdict


@dataclass(slots=True)
class PartialUpdates:
    """Changes to a few columns of known resources; resources that the store does not know are skipped."""

    unchanged: list[UnchangedCheck] = field(default_factory=list)
    rescheduled: list[tuple[Address, float | None]] = field(default_factory=list)  # due times
    requested: list[CheckRequest] = field(default_factory=list)  # the only way to request a check of a known resource
    relinked: list[Relink] = field(default_factory=list)  # provider ids
    withdrawn: list[WithdrawnVerdict] = field(default_factory=list)  # verdicts: their status becomes unknown
    outdated: list[tuple[Address, float]] = field(default_factory=list)  # tags are dropped, a check is due at the time
    set_back: list[tuple[Address, float]] = field(default_factory=list)  # the last check is dropped, one is due then


@dataclass(slots=True)
class WriteChanges:
    """Writes in flight, and the claims that protect them."""

    operations: list[WriteOperation] = field(default_factory=list)  # inserted or replaced
    finished: list[str] = field(default_factory=list)  # ids of operations to delete
    fences: dict[Address, int] = field(default_factory=dict)  # the claims this transaction relies on
    renewed: list[Claim] = field(default_factory=list)  # prolonged to their `until`, if the fences hold
    released: list[Claim] = field(default_factory=list)  # released when the transaction commits


@dataclass(slots=True)
class GovernanceChanges:
    """Corrections, their charges, and the decisions of people that limit them."""

    corrections: list[CorrectionRecord] = field(default_factory=list)  # inserted or replaced, by id
    charges: dict[str, list[BudgetCharge]] = field(default_factory=dict)  # correction id -> buckets, charged once each
    pauses: list[Pause] = field(default_factory=list)  # inserted or replaced, by scope
    resumed: list[str] = field(default_factory=list)  # scopes
    approvals: list[Approval] = field(default_factory=list)  # inserted or replaced, by plan
    quarantines: list[Quarantine] = field(default_factory=list)  # inserted or replaced, by address and path
    unquarantined: list[tuple[Address, str]] = field(default_factory=list)
    accepted: list[AcceptedValue] = field(default_factory=list)  # inserted or replaced, by address and path
    unaccepted: list[tuple[Address, str]] = field(default_factory=list)


@dataclass(slots=True)
class RecordChanges:
    """Changes to versioned records."""

    put: list[VersionedRecord] = field(default_factory=list)  # each the version after the stored one
    deleted: list[tuple[str, str]] = field(default_factory=list)  # collections and keys


@dataclass(slots=True)
class Transaction:
    """A batch of facts that become true together."""

    documents: dict[Digest, bytes] = field(default_factory=dict)  # ordered canonical bytes by their digest
    states: list[ResourceState] = field(default_factory=list)
    forgotten: list[Address] = field(default_factory=list)
    findings: dict[Address, tuple[Finding, ...]] = field(default_factory=dict)  # replaces all of an address
    findings_at: float = 0.0
    checked: set[Address] = field(default_factory=set)  # states and findings of these come from a check, not a write:
    # they are dropped if a newer revision was applied since the check began, because they describe live state before it
    revisions: list[AppliedRevision] = field(default_factory=list)
    decisions: list[DecisionRecord] = field(default_factory=list)
    events: list[AuditEvent] = field(default_factory=list)
    updates: PartialUpdates = field(default_factory=PartialUpdates)
    writes: WriteChanges = field(default_factory=WriteChanges)
    governance: GovernanceChanges = field(default_factory=GovernanceChanges)
    records: RecordChanges = field(default_factory=RecordChanges)


def escape_texts(value: Any) -> Any:  # noqa: ANN401 - any part of a transaction
    """Return a copy in which every text can be stored as UTF-8, lone surrogates as escapes. Slow."""
    if type(value) is str:
        return escape_text(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {
            item.name: escape_texts(getattr(value, item.name)) for item in dataclasses.fields(value) if item.init
        }
        return dataclasses.replace(value, **changes)
    if isinstance(value, dict):
        return {escape_texts(key): escape_texts(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(escape_texts, value))
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)(map(escape_texts, value))
    return value


def escape_text(text: str) -> str:
    """Return a text with lone surrogates as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
