"""Facts as rows of the SQLite schema and back; the order of fields here is the order of columns there.

The numbers that stand for enum members are part of the file format: never reuse one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Final

import orjson

from holdfast.model.address import Address
from holdfast.model.condition import Condition, ConditionType, Truth
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.resource import Origin
from holdfast.model.verdict import Status
from holdfast.store import audit_chain, blobs, value_codec
from holdfast.store.audit_chain import Link
from holdfast.store.blobs import pack_digest, unpack_digest
from holdfast.store.damage import undamaged
from holdfast.store.records import (
    AppliedRevision,
    ChainedEvent,
    DecisionRecord,
    FindingRecord,
    OperationStep,
    WriteOperation,
)
from holdfast.store.sqlite import address_ids
from holdfast.store.state import (
    AppliedState,
    DeclaredState,
    Digest,
    ObservedState,
    ResourceState,
    ScheduleState,
    UnchangedCheck,
)

Row = tuple[Any, ...]

STATUS_NUMBERS: Final = {
    Status.IN_SYNC: 1,
    Status.PENDING: 2,
    Status.DRIFTED: 3,
    Status.CONFLICTED: 4,
    Status.MISSING: 5,
    Status.UNKNOWN: 6,
}
ORIGIN_NUMBERS: Final = {Origin.CREATED: 0, Origin.IMPORTED: 1}
CONDITION_NUMBERS: Final = {
    ConditionType.PROGRESSING: 1,
    ConditionType.AVAILABLE: 2,
    ConditionType.DRIFTED: 3,
    ConditionType.FRESH: 4,
    ConditionType.CONFLICT: 5,
}
TRUTH_NUMBERS: Final = {Truth.FALSE: 0, Truth.TRUE: 1, Truth.UNKNOWN: 2}

STATUSES: Final = {number: status for status, number in STATUS_NUMBERS.items()}
_ORIGINS: Final = {number: origin for origin, number in ORIGIN_NUMBERS.items()}
_CONDITIONS: Final = {number: kind for kind, number in CONDITION_NUMBERS.items()}
_TRUTHS: Final = {number: truth for truth, number in TRUTH_NUMBERS.items()}

# Compressing the small JSON of an ordinary resource with every check would cost more than all the rest of recording it.
_PACK_REST_AT: Final = 600
_SAME: Final = b""  # applied as desired, observed as baseline: so it is at rest, and 64 bytes are saved


def resource_row(number: int, state: ResourceState, mark: int | None) -> Row:
    """Return what changes with every check."""
    status = None if state.observed.status is None else STATUS_NUMBERS[state.observed.status]
    return (
        number,
        status,
        state.schedule.failures,
        state.schedule.due_at,
        state.schedule.checked_at,
        state.schedule.good_at,
        mark,
    )


def mark_of_detail(state: ResourceState) -> int | None:
    """Return a number that is the same only for the same detail, or None where that cannot be had cheaply."""
    declared, applied, observed, schedule = state.declared, state.applied, state.observed, state.schedule
    conditions = [
        (one.type, one.status, one.reason, one.message, one.observed_generation, one.last_transition)
        for one in observed.conditions
    ]
    detail = (
        observed.provider_id, observed.raw_digest, schedule.resync_seconds, observed.etag, observed.state_hash,
        declared.generation, applied.revision, applied.origin, applied.settle_until, declared.document,
        applied.document, applied.baseline, applied.known_differences, observed.document, applied.rules,
        declared.provider, declared.source, observed.reason, schedule.terminal, schedule.requested, schedule.handled,
        conditions, declared.labels, declared.options, declared.depends_on, _more(state),
    )  # fmt: skip
    try:
        return int.from_bytes(hashlib.sha256(orjson.dumps(detail)).digest()[:8], signed=True)
    except TypeError:
        return None


def detail_row(number: int, state: ResourceState) -> Row:
    """Return what changes when something happened."""
    desired, baseline = state.declared.document, state.applied.baseline
    return (
        number,
        state.observed.provider_id,
        packed(state.observed.raw_digest),
        state.schedule.resync_seconds,
        state.observed.etag,
        packed(state.observed.state_hash),
        state.declared.generation,
        state.applied.revision,
        ORIGIN_NUMBERS[state.applied.origin],
        state.applied.settle_until,
        packed(desired),
        _SAME if desired is not None and state.applied.document == desired else packed(state.applied.document),
        packed(baseline),
        packed(state.applied.known_differences),
        _SAME if baseline is not None and state.observed.document == baseline else packed(state.observed.document),
        packed(state.applied.rules),
        state.declared.provider,
        state.declared.source,
        state.observed.reason,
        state.schedule.terminal,
        state.schedule.requested,
        state.schedule.handled,
        _rest(state),
    )


def touch_row(number: int, touch: UnchangedCheck) -> Row:
    """Return the times that move when a check finds nothing new."""
    return touch.checked_at, touch.due_at, number


def has_tags(touch: UnchangedCheck) -> bool:
    """Tell whether the last answer was tagged."""
    return touch.etag is not None or touch.raw_digest is not None


def tags(number: int, touch: UnchangedCheck) -> dict[str, Any]:
    """Return what the last answer was tagged with."""
    return {"id": number, "etag": touch.etag, "raw_digest": packed(touch.raw_digest)}


def _conditions(state: ResourceState) -> list[Row]:
    return [
        (
            CONDITION_NUMBERS[one.type],
            TRUTH_NUMBERS[one.status],
            one.reason,
            one.message,
            one.observed_generation,
            one.last_transition,
        )
        for one in state.observed.conditions
    ]


def _rest(state: ResourceState) -> bytes:
    rest: tuple[Json, ...] = (
        _conditions(state),
        state.declared.labels,
        state.declared.options,
        state.declared.depends_on,
    )
    more = _more(state)
    return blobs.pack(value_codec.dumps((*rest, more) if more else rest), _PACK_REST_AT)


def _more(state: ResourceState) -> dict[str, Json]:
    """Return what few resources have; the others pay nothing for it."""
    found: dict[str, Json] = {
        "suppressed": state.observed.suppressed,
        "identity": state.applied.identity,
        "version": state.applied.api_version,
        "missing_checks": state.observed.missing_checks if state.observed.missing_checks > 1 else None,
    }
    return {name: value for name, value in found.items() if value}


@undamaged("resource")
def state_of(row: Row) -> ResourceState:
    """Return the resource of a row of the view `state`."""
    (
        _, _, connection, kind, local, status, failures, due_at, checked_at, good_at,
        provider_id, raw_digest, resync_seconds, etag, state_hash, generation, applied_revision, origin, settle_until,
        desired, applied, baseline, known, observed, rules, provider, source, reason, terminal, requested, handled,
        rest,
    ) = row  # fmt: skip
    conditions, labels, options, depends_on, *last = value_codec.loads(blobs.unpack(rest))
    more = last[0] if last else {}
    wanted, settled = unpacked(desired), unpacked(baseline)
    return ResourceState(
        address_ids.address_of(connection, kind, local),
        DeclaredState(provider, generation, wanted, labels, options, tuple(depends_on), source),
        AppliedState(
            wanted if applied == _SAME else unpacked(applied),
            applied_revision,
            settled,
            unpacked(known),
            unpacked(rules),
            more.get("identity"),
            more.get("version"),
            settle_until,
            _ORIGINS[origin],
        ),
        ObservedState(
            settled if observed == _SAME else unpacked(observed),
            provider_id,
            etag,
            None if raw_digest is None else unpack_digest(raw_digest),
            None if state_hash is None else unpack_digest(state_hash),
            None if status is None else STATUSES[status],
            reason,
            tuple([_condition(encoded) for encoded in conditions]),
            tuple((because, path, note) for because, path, note in more.get("suppressed", ())),
            more.get("missing_checks", 1),
        ),
        ScheduleState(checked_at, good_at, resync_seconds, due_at, failures, terminal, requested, handled),
    )


def _condition(encoded: list[Json]) -> Condition:
    kind, truth, reason, message, generation, at = encoded
    return Condition(_CONDITIONS[kind], _TRUTHS[truth], reason, message, generation, at)


def finding_body(finding: Finding) -> bytes:
    """Return all of a finding as bytes."""
    return blobs.pack(value_codec.dumps(value_codec.encode_finding(finding)))


@undamaged("finding")
def findings_by_address(found: Iterable[Row]) -> dict[Address, list[FindingRecord]]:
    """Return findings with their ages by resource, in the order of the rows."""
    out: dict[Address, list[FindingRecord]] = {}
    for connection, kind, local, first_seen, last_seen, clean_at, times, body in found:
        finding = value_codec.decode_finding(value_codec.loads(blobs.unpack(body)))
        record = FindingRecord(finding, first_seen, last_seen, clean_at, times)
        out.setdefault(address_ids.address_of(connection, kind, local), []).append(record)
    return out


def revision_row(number: int, revision: AppliedRevision) -> Row:
    """Return a revision as a row."""
    return number, revision.number, pack_digest(revision.document), pack_digest(revision.stamp), revision.at


@undamaged("revision")
def revision_of(address: Address, row: Row) -> AppliedRevision:
    """Return the revision of a row."""
    number, document, stamp, at = row
    return AppliedRevision(address, number, Digest(unpack_digest(document)), unpack_digest(stamp), at)


def decision_row(number: int, decision: DecisionRecord) -> Row:
    """Return a decision as a row."""
    return (
        decision.id,
        number,
        decision.at,
        decision.action,
        pack_digest(decision.inputs),
        pack_digest(decision.output),
        decision.summary,
    )


@undamaged("decision")
def decision_of(row: Row) -> DecisionRecord:
    """Return the decision of a row."""
    identity, connection, kind, local, at, action, inputs, output, summary = row
    address = address_ids.address_of(connection, kind, local)
    return DecisionRecord(
        identity, address, at, action, Digest(unpack_digest(inputs)), Digest(unpack_digest(output)), summary
    )


def operation_row(number: int, operation: WriteOperation) -> Row:
    """Return a write in flight as a row."""
    drift = [value_codec.encode_finding(finding) for finding in operation.drift]
    return (
        operation.id,
        number,
        operation.action,
        operation.step.value,
        operation.phase,
        operation.started_at,
        operation.poll_at,
        operation.attempts,
        packed(operation.desired),
        packed(operation.pre_image),
        operation.decision,
        blobs.pack(value_codec.dumps(drift)),
        blobs.pack(value_codec.dumps(operation.token)),
    )


@undamaged("operation")
def operation_of(row: Row) -> WriteOperation:
    """Return the write in flight of a row."""
    identity, connection, kind, local, action, step, phase, started_at, poll_at, attempts, *rest = row
    desired, pre_image, decision, drift, token = rest
    return WriteOperation(
        id=identity,
        address=address_ids.address_of(connection, kind, local),
        action=action,
        step=OperationStep(step),
        started_at=started_at,
        desired=unpacked(desired),
        pre_image=unpacked(pre_image),
        drift=tuple(value_codec.decode_finding(one) for one in value_codec.loads(blobs.unpack(drift))),
        token=value_codec.loads(blobs.unpack(token)),
        poll_at=poll_at,
        attempts=attempts,
        decision=decision,
        phase=phase,
    )


def link_of(row: Row) -> Link:
    """Return the event of a row; the text of its subject is part of what was hashed."""
    sequence, at, kind_of_event, family, connection, kind, local, data, digest, _ = row
    subject = "" if family is None else address_ids.joined(connection, kind, local)
    return Link(sequence, at, kind_of_event, subject, data, digest)


@undamaged("event")
def chained(row: Row) -> ChainedEvent:
    """Return the event of a row with the hash before it."""
    return audit_chain.chained(link_of(row), row[-1] or audit_chain.START.hash)


def packed(digest: str | None) -> bytes | str | None:
    """Return a digest as it is kept, if there is one."""
    return None if digest is None else pack_digest(digest)


def unpacked(kept: bytes | str | None) -> Digest | None:
    """Return the digest that is kept, if there is one."""
    return None if kept is None else Digest(unpack_digest(kept))
