"""Turning outcomes into facts: the transaction builder, and the documents a decision can be replayed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from holdfast.compare import canonical, diff, paths, profiles, verdict_rules
from holdfast.compare.known_differences import KnownDifference
from holdfast.errors import StoreError
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Decision, Reason
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure, ReadResult
from holdfast.model.resource import ManagementPolicy, OnDrift, Origin
from holdfast.model.verdict import Suppressed, SuppressionReason, Verdict
from holdfast.policy.decide import (
    DecisionInputs,
    Handling,
    HoldReason,
    OnImmutable,
    PathFacts,
    PathHold,
    ReconcileMode,
    Recreate,
    WriteLimits,
    WriteRecord,
    decide,
    hold,
)
from holdfast.reconcile.resolved_resource import document_bytes
from holdfast.store.protocol import BlobStore
from holdfast.store.records import DecisionRecord
from holdfast.store.state import Digest
from holdfast.store.transaction import Transaction
from holdfast.store.value_codec import encode_finding


def keep(transaction: Transaction, document: Json) -> Digest:
    """Add a document to a transaction; return its digest."""
    data = document_bytes(document)
    digest = Digest(canonical.digest_bytes(data))
    transaction.documents[digest] = data
    return digest


def inputs_as_json(decision_inputs: DecisionInputs) -> dict[str, Json]:
    """Return a situation as a document."""
    return {
        "policy": decision_inputs.handling.policy.value,
        "origin": decision_inputs.handling.origin.value,
        "on_drift": decision_inputs.handling.on_drift.value,
        "on_immutable": decision_inputs.handling.on_immutable.value,
        "recreate": decision_inputs.handling.recreate.value,
        "resyncs": decision_inputs.handling.resyncs,
        "applied": decision_inputs.record.applied,
        "edited": decision_inputs.record.edited,
        "imports": decision_inputs.handling.imports,
        "whole_writes": decision_inputs.handling.whole_writes,
        "immutable": sorted(decision_inputs.paths.immutable),
        "declared_lists": sorted(decision_inputs.paths.declared_lists),
        "unresolved": sorted(decision_inputs.paths.unresolved),
        "restrained": {
            path: [why.restraint.value, why.message] for path, why in sorted(decision_inputs.paths.restrained.items())
        },
        "free": sorted(decision_inputs.paths.free),
        "approved": decision_inputs.limits.approved,
        "paused": decision_inputs.limits.paused,
        "source": decision_inputs.limits.source,
        "frozen": decision_inputs.limits.frozen,
        "terminal": decision_inputs.record.terminal,
        "mode": decision_inputs.handling.mode.value,
        "uncompared": decision_inputs.record.uncompared,
        "damaged": decision_inputs.record.damaged,
        "failed": decision_inputs.record.failed,
        "pinnable": sorted(decision_inputs.paths.pinnable),
        **({"unsure": decision_inputs.record.unsure} if decision_inputs.record.unsure else {}),
    }


def inputs_from_json(body: Mapping[str, Any]) -> DecisionInputs:
    """Read a situation back."""
    handling = Handling(
        ManagementPolicy(body["policy"]),
        Origin(body["origin"]),
        OnDrift(body["on_drift"]),
        OnImmutable(body["on_immutable"]),
        Recreate(body["recreate"]),
        body["resyncs"],
        body["imports"],
        body["whole_writes"],
        ReconcileMode(body["mode"]),
    )
    record = WriteRecord(
        body["applied"],
        body["edited"],
        body["terminal"],
        body["damaged"],
        body["failed"],
        body.get("unsure", ""),
        body["uncompared"],
    )
    known = PathFacts(
        frozenset(body["immutable"]),
        frozenset(body["declared_lists"]),
        frozenset(body["unresolved"]),
        frozenset(body["pinnable"]),
        {path: PathHold(HoldReason(why), text) for path, (why, text) in body["restrained"].items()},
        frozenset(body["free"]),
    )
    limits = WriteLimits(body["approved"], body["paused"], body["source"], body["frozen"])
    return DecisionInputs(handling, record, known, limits)


def reading_as_json(reading: ReadResult, observed: Digest | None) -> dict[str, Json]:
    """Return a reading as a document. A found document is kept by its digest."""
    match reading:
        case Found():
            return {"result": "found", "observed": observed}
        case NotFound():
            return {"result": "gone"}
        case ReadFailure(trouble=trouble, detail=detail):
            return {"result": "unreadable", "trouble": trouble.value, "detail": detail}


def outcome_as_json(verdict: Verdict, decision: Decision) -> dict[str, Json]:
    """Return the verdict and the decision as a document. A replay must give the same bytes."""
    return {
        "status": verdict.status.value,
        "reason": verdict.reason,
        "findings": [encode_finding(finding) for finding in verdict.findings],
        "action": decision.action.value,
        "held": decision.held.value if decision.held else None,
        "reasons": [reason_as_json(reason) for reason in decision.reasons],
        "suppressed": [
            [suppressed.because.value, suppressed.path, suppressed.note] for suppressed in verdict.suppressed
        ],
    }


def reason_as_json(reason: Reason) -> dict[str, Json]:
    """Return a reason as a document."""
    return {"code": reason.code, "message": reason.message, "paths": list(reason.paths)}


async def replay(store: BlobStore, record: DecisionRecord) -> tuple[Json, Json]:
    """Recompute a decision from its stored inputs. Return the stored and the recomputed one."""
    inputs = await store.document(record.inputs)
    wanted = [inputs[name] for name in ("desired", "applied", "baseline", "rules") if inputs.get(name)]
    reading_body = inputs["reading"]
    if reading_body.get("observed"):
        wanted.append(reading_body["observed"])
    try:
        found = await store.documents([Digest(digest) for digest in wanted])
        reading = _reading_from_json(reading_body, found)
    except KeyError as error:
        message = f"decision {record.id} cannot be replayed: document {error} is not kept any more"
        raise StoreError(message) from None
    rules = profiles.stack([profiles.build(raw) for raw in found[Digest(inputs["rules"])]], None)
    if inputs.get("secret_rules"):
        rules = profiles.stack(
            [profiles.build(inputs["secret_rules"]), *map(profiles.build, found[Digest(inputs["rules"])])]
        )
    desired = found[Digest(inputs["desired"])]
    applied = found[Digest(inputs["applied"])] if inputs["applied"] else ABSENT
    baseline = None
    if inputs["baseline"]:
        baseline = diff.Baseline(applied, found[Digest(inputs["baseline"])])
    observed = reading.document if isinstance(reading, Found) else ABSENT
    decision_inputs = inputs_from_json(inputs["inputs"])
    if inputs.get("unreadable"):
        verdict = verdict_rules.unknown(inputs["unreadable"])
    elif inputs.get("carried_over"):
        verdict = verdict_rules.conclude(())
    elif not isinstance(reading, Found):
        verdict = verdict_rules.not_found(reading, was_there=applied is not ABSENT or baseline is not None)
    elif decision_inputs.record.uncompared:
        verdict = verdict_rules.uncompared()
    else:
        tree = rules.tree(desired, observed)
        findings = diff.findings(desired, observed, tree, baseline)
        live: Sequence[Finding] = findings
        if (
            decision_inputs.handling.policy is ManagementPolicy.OBSERVED
            or decision_inputs.handling.mode is ReconcileMode.OBSERVE
        ):
            live = verdict_rules.counted(findings)
        live = _counted(live, inputs)
        is_explained = baseline is None and len(live) == len(findings)  # as `evaluate` has it
        has_moved = is_explained and verdict_rules.has_moved(desired, applied, tree)
        verdict = verdict_rules.conclude(live, intent_moved=has_moved)
    suppressed = tuple(
        Suppressed(SuppressionReason(because), path, note) for because, path, note in inputs["suppressed"]
    )
    reason = f"{verdict.reason}; {inputs['lapsed']}" if inputs["lapsed"] else verdict.reason
    verdict = replace(verdict, reason=reason, suppressed=suppressed)
    decision = decide(verdict, decision_inputs)
    if inputs["held"] is not None:
        held = inputs["held"]
        decision = hold(decision, Reason(held["code"], held["message"], tuple(held["paths"])))
    return await store.document(record.output), outcome_as_json(verdict, decision)


def _counted(findings: Sequence[Finding], inputs: Mapping[str, Any]) -> list[Finding]:
    """Return the findings that were not suppressed at the time."""
    excused = {
        path
        for because, path, _ in inputs["suppressed"]
        if because in (SuppressionReason.WAIVED, SuppressionReason.NEWLY_VISIBLE)
    }
    return [finding for finding in findings if paths.format_path(finding.path) not in excused]


def _reading_from_json(body: Mapping[str, Any], documents: Mapping[Digest, Json]) -> ReadResult:
    match body["result"]:
        case "found":
            return Found(documents[Digest(body["observed"])])
        case "gone":
            return NotFound()
        case _:
            return ReadFailure(ReadError(body["trouble"]), body["detail"])


def finding_paths(findings: tuple[Finding, ...]) -> list[str]:
    """Name the paths of findings, for events."""
    return [paths.format_path(finding.path) for finding in findings]


def known_document(known: tuple[KnownDifference, ...], unresolved: tuple[str, ...], pinned: Sequence[str] = ()) -> Json:
    """Return the known differences for people and for `explain`, and the paths that the last write did not revert.

    `pinned` are the paths among these whose baseline value was sent without effect.
    """
    return {
        "unresolved": list(unresolved),
        **({"pinned": list(pinned)} if pinned else {}),
        "known": [
            {
                "path": paths.format_path(entry.path),
                "op": entry.op.value,
                "kind": entry.kind.value,
                "confidence": entry.confidence.value,
                **_value("desired", entry.desired),
                **_value("observed", entry.observed),
            }
            for entry in known
        ],
    }


def _value(name: str, value: Json) -> dict[str, Json]:
    if value is ABSENT:
        return {}
    return {name: {"digest": value.text} if hasattr(value, "text") else value}
