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
from holdfast.model.read_result import Found, Gone, Reading, Trouble, Unreadable
from holdfast.model.resource import ManagementPolicy, OnDrift, Origin
from holdfast.model.verdict import Aside, SetAside, Verdict
from holdfast.policy.decide import (
    Handling,
    OnImmutable,
    PathFacts,
    ReconcileMode,
    Recreate,
    Restrained,
    Restraint,
    Situation,
    WriteLimits,
    WriteRecord,
    decide,
    hold,
)
from holdfast.reconcile.resolved_resource import document_bytes
from holdfast.store.protocol import DecisionRecord, Digest, Store, Transaction
from holdfast.store.value_codec import encode_finding


def keep(transaction: Transaction, document: Json) -> Digest:
    """Add a document to a transaction; return its digest."""
    data = document_bytes(document)
    digest = Digest(canonical.digest_bytes(data))
    transaction.documents[digest] = data
    return digest


def situation_as_json(situation: Situation) -> dict[str, Json]:
    """Return a situation as a document."""
    return {
        "policy": situation.handling.policy.value,
        "origin": situation.handling.origin.value,
        "on_drift": situation.handling.on_drift.value,
        "on_immutable": situation.handling.on_immutable.value,
        "recreate": situation.handling.recreate.value,
        "resyncs": situation.handling.resyncs,
        "applied": situation.record.applied,
        "edited": situation.record.edited,
        "imports": situation.handling.imports,
        "whole_writes": situation.handling.whole_writes,
        "immutable": sorted(situation.paths.immutable),
        "declared_lists": sorted(situation.paths.declared_lists),
        "unresolved": sorted(situation.paths.unresolved),
        "restrained": {
            path: [why.restraint.value, why.message] for path, why in sorted(situation.paths.restrained.items())
        },
        "free": sorted(situation.paths.free),
        "approved": situation.limits.approved,
        "paused": situation.limits.paused,
        "source": situation.limits.source,
        "frozen": situation.limits.frozen,
        "terminal": situation.record.terminal,
        "mode": situation.handling.mode.value,
        "uncompared": situation.record.uncompared,
        "damaged": situation.record.damaged,
        "failed": situation.record.failed,
        "pinnable": sorted(situation.paths.pinnable),
        **({"unsure": situation.record.unsure} if situation.record.unsure else {}),
    }


def situation_from_json(body: Mapping[str, Any]) -> Situation:
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
        {path: Restrained(Restraint(why), text) for path, (why, text) in body["restrained"].items()},
        frozenset(body["free"]),
    )
    limits = WriteLimits(body["approved"], body["paused"], body["source"], body["frozen"])
    return Situation(handling, record, known, limits)


def reading_as_json(reading: Reading, observed: Digest | None) -> dict[str, Json]:
    """Return a reading as a document; what was found is kept by its digest."""
    match reading:
        case Found():
            return {"result": "found", "observed": observed}
        case Gone():
            return {"result": "gone"}
        case Unreadable(trouble=trouble, detail=detail):
            return {"result": "unreadable", "trouble": trouble.value, "detail": detail}


def outcome_as_json(verdict: Verdict, decision: Decision) -> dict[str, Json]:
    """Return what was concluded as a document; replaying must give these bytes."""
    return {
        "status": verdict.status.value,
        "reason": verdict.reason,
        "findings": [encode_finding(finding) for finding in verdict.findings],
        "action": decision.action.value,
        "held": decision.held.value if decision.held else None,
        "reasons": [reason_as_json(reason) for reason in decision.reasons],
        "aside": [[each.because.value, each.path, each.note] for each in verdict.aside],
    }


def reason_as_json(reason: Reason) -> dict[str, Json]:
    """Return a reason as a document."""
    return {"code": reason.code, "message": reason.message, "paths": list(reason.paths)}


async def replay(store: Store, record: DecisionRecord) -> tuple[Json, Json]:
    """Recompute a decision from its stored inputs; return what was stored and what came out."""
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
    situation = situation_from_json(inputs["situation"])
    if inputs.get("unreadable"):
        verdict = verdict_rules.unknown(inputs["unreadable"])
    elif inputs.get("carried_over"):
        verdict = verdict_rules.conclude(())
    elif not isinstance(reading, Found):
        verdict = verdict_rules.not_found(reading, was_there=applied is not ABSENT or baseline is not None)
    elif situation.record.uncompared:
        verdict = verdict_rules.uncompared()
    else:
        tree = rules.tree(desired, observed)
        findings: Sequence[Finding] = diff.findings(desired, observed, tree, baseline)
        if situation.handling.policy is ManagementPolicy.OBSERVED or situation.handling.mode is ReconcileMode.OBSERVE:
            findings = verdict_rules.counted(findings)
        has_moved = baseline is None and verdict_rules.has_moved(desired, applied, tree)
        verdict = verdict_rules.conclude(_counted(findings, inputs), intent_moved=has_moved)
    suppressed = tuple(Aside(SetAside(because), path, note) for because, path, note in inputs["aside"])
    reason = f"{verdict.reason}; {inputs['lapsed']}" if inputs["lapsed"] else verdict.reason
    verdict = replace(verdict, reason=reason, aside=suppressed)
    decision = decide(verdict, situation)
    if inputs["held"] is not None:
        held = inputs["held"]
        decision = hold(decision, Reason(held["code"], held["message"], tuple(held["paths"])))
    return await store.document(record.output), outcome_as_json(verdict, decision)


def _counted(findings: Sequence[Finding], inputs: Mapping[str, Any]) -> list[Finding]:
    """Return the findings that were not suppressed at the time."""
    excused = {path for because, path, _ in inputs["aside"] if because in (SetAside.WAIVED, SetAside.LATENT)}
    return [finding for finding in findings if paths.format_path(finding.path) not in excused]


def _reading_from_json(body: Mapping[str, Any], documents: Mapping[Digest, Json]) -> Reading:
    match body["result"]:
        case "found":
            return Found(documents[Digest(body["observed"])])
        case "gone":
            return Gone()
        case _:
            return Unreadable(Trouble(body["trouble"]), body["detail"])


def finding_paths(findings: tuple[Finding, ...]) -> list[str]:
    """Name the paths of findings, for events."""
    return [paths.format_path(finding.path) for finding in findings]


def known_document(known: tuple[KnownDifference, ...], unresolved: tuple[str, ...], pinned: Sequence[str] = ()) -> Json:
    """Return the known differences for people and for `explain`, and what the last write did not put back.

    `pinned` are the paths among these whose baseline value was sent in vain.
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
