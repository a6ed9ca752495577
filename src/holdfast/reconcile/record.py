"""The records of a check that found a change: documents, state, findings, events and the decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.verdict import Status, Suppressed, SuppressionReason
from holdfast.providers.protocol import Unchanged
from holdfast.reconcile import attribution, serialize
from holdfast.reconcile.policy_evaluation import CONTENTION
from holdfast.reconcile.resolved_resource import document_bytes
from holdfast.store.governance import Quarantine
from holdfast.store.records import AuditEvent, DecisionRecord
from holdfast.store.transaction import Transaction

if TYPE_CHECKING:
    from holdfast.reconcile.check import CheckResult


def add_check(transaction: Transaction, checked: CheckResult, random01: Callable[[], float]) -> str | None:
    """Add a check to a transaction; return the id of its decision if it is one worth keeping."""
    state, evaluation = checked.state, checked.evaluation
    item, known_now, seen = evaluation.resource, evaluation.known, evaluation.observation
    kept = item.state
    known = () if kept is None else (kept.declared.document, kept.observed.document, kept.applied.baseline)
    if item.desired_digest not in known:
        transaction.documents[item.desired_digest] = document_bytes(item.desired)
    if seen.digest is not None and seen.digest not in known:
        transaction.documents[seen.digest] = document_bytes(seen.document)
    if known_now.baseline is not None and known_now.baseline_digest not in (None, *known):
        assert known_now.baseline_digest is not None
        transaction.documents[known_now.baseline_digest] = document_bytes(known_now.baseline.observed)
    if item.rules.digest not in transaction.documents:  # once for all of a kind
        transaction.documents[item.rules.digest] = item.rules.data
    if item.migration is not None:
        kept_ones = item.migration.documents.items()
        transaction.documents.update({digest: document_bytes(element) for digest, element in kept_ones})
        told: dict[str, Json] = {
            "newly-visible": list(item.migration.paths(SuppressionReason.NEWLY_VISIBLE)),
            "defaults_changed": list(item.migration.paths(SuppressionReason.DEFAULTS_CHANGED)),
            "why": item.migration.unreadable,
        }
        transaction.events.append(AuditEvent(checked.at, "rules.took_over", str(state.address), told))
    transaction.states.append(state)
    transaction.checked.add(state.address)
    if checked.verdict.status is not Status.UNKNOWN:  # an unreadable resource keeps its findings
        transaction.findings[state.address] = checked.verdict.findings
    before = item.state.observed.status if item.state is not None else None
    if before is not state.observed.status:
        data = {
            "status": state.observed.status.value if state.observed.status else None,
            "was": before.value if before else None,
        }
        transaction.events.append(
            AuditEvent(
                checked.at,
                "check.status_changed",
                str(state.address),
                {**data, "reason": state.observed.reason, "paths": serialize.finding_paths(checked.verdict.findings)},
            )
        )
    if known_now.invalid:
        why: dict[str, Json] = {"why": known_now.invalid, "carried_over": evaluation.carried_over}
        transaction.events.append(AuditEvent(checked.at, "baseline.invalid", str(state.address), why))
    if evaluation.joined:
        joined = [{"path": suppressed.path, **_observed(suppressed)} for suppressed in evaluation.joined]
        transaction.events.append(AuditEvent(checked.at, "baseline.joined", str(state.address), {"defaults": joined}))
    _add_contentions(transaction, checked)
    if checked.decision.action is Action.NONE and before is state.observed.status:
        return None
    return _add_decision(transaction, checked, random01)


def _add_contentions(transaction: Transaction, checked: CheckResult) -> None:
    """Quarantine the contended paths from now on."""
    for contention in checked.new_contentions:
        data: dict[str, Json] = {
            "times": contention.times,
            "period": contention.period,
            "since": contention.first,
            "ours": _plain(contention.ours),
            "theirs": [_plain(value) for value in contention.theirs],
            **attribution.as_data(checked.likely_actors),
        }
        transaction.governance.quarantines.append(
            Quarantine(checked.address, contention.path, CONTENTION, checked.at, data)
        )
        event = {"path": contention.path, "message": str(contention), **data}
        transaction.events.append(AuditEvent(checked.at, "contention.detected", str(checked.address), event))


def _add_decision(transaction: Transaction, checked: CheckResult, random01: Callable[[], float]) -> str:
    evaluation = checked.evaluation
    item, known, seen = evaluation.resource, evaluation.known, evaluation.observation
    before = item.state
    assert checked.inputs is not None
    assert not isinstance(seen.reading, Unchanged)
    inputs = serialize.keep(
        transaction,
        {
            "desired": item.desired_digest,
            "applied": before.applied.document if before is not None else None,
            "baseline": known.baseline_digest if known.baseline else None,
            "rules": item.rules.digest,
            "secret_rules": evaluation.secret_rules,
            "reading": serialize.reading_as_json(seen.reading, seen.digest),
            "inputs": serialize.inputs_as_json(checked.inputs),
            "suppressed": [
                [suppressed.because.value, suppressed.path, suppressed.note]
                for suppressed in checked.verdict.suppressed
            ],
            "lapsed": evaluation.lapsed,
            **({"carried_over": True} if evaluation.carried_over else {}),
            **({"unreadable": item.migration.unreadable} if item.migration and item.migration.unreadable else {}),
            "held": serialize.reason_as_json(checked.limit) if checked.limit is not None else None,
        },
    )
    output = serialize.keep(transaction, serialize.outcome_as_json(checked.verdict, checked.decision))
    chance = f"{int(random01() * 16**12):012x}"  # thousands may be decided alike in the same millisecond
    ident = f"{int(checked.at * 1000):x}-{inputs[7:13]}{chance}"
    summary = f"{checked.verdict.status.value}: {checked.decision.action.value}, {checked.decision.reasons[0].message}"
    transaction.decisions.append(
        DecisionRecord(
            ident,
            item.declaration.address,
            checked.at,
            checked.decision.action.value,
            inputs,
            output,
            summary,
            is_news=before is None or before.observed.status is not checked.state.observed.status,
        )
    )
    return ident


def _observed(suppressed: Suppressed) -> dict[str, Json]:
    return {} if suppressed.finding is None else {"value": _plain(suppressed.finding.observed)}


def _plain(value: Json) -> Json:
    """Return a value as events keep it: an absent one is null."""
    return None if value is ABSENT else value
