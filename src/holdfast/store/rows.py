"""Records as rows of the tables and back; the order of fields is the order of columns.

The numbers of enum members are part of the file format: never reuse one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import msgspec
import orjson

from holdfast.model.address import Address
from holdfast.model.condition import Condition, ConditionType, Truth
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.resource import Origin
from holdfast.model.verdict import Status
from holdfast.store import address_text, audit_chain, blobs, value_codec
from holdfast.store.audit_chain import Link
from holdfast.store.blobs import pack_digest, unpack_digest
from holdfast.store.damage import undamaged
from holdfast.store.records import (
    AppliedRevision,
    ChainedEvent,
    DecisionRecord,
    FindingRecord,
    OperationStep,
    VersionedRecord,
    WriteOperation,
)
from holdfast.store.state import (
    AppliedState,
    DeclaredState,
    Digest,
    ObservedState,
    ResourceState,
    ScheduleState,
    UnchangedCheck,
    WithdrawnVerdict,
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

# Compressing the small JSON of an ordinary resource would cost more than the rest of recording a check.
_PACK_REST_AT: Final = 600
_PARTS: Final = msgspec.json.Decoder(tuple[msgspec.Raw, ...])
_SAME: Final = b""  # applied equals desired, observed equals baseline: saves 64 bytes for every idle resource


def resource_row(number: int, state: ResourceState, mark: int | None) -> Row:
    """Return the columns that every check changes."""
    schedule, status = state.schedule, state.observed.status
    status_number = None if status is None else STATUS_NUMBERS[status]
    return number, status_number, schedule.failures, schedule.due_at, schedule.checked_at, schedule.good_at, mark


def hash_detail(state: ResourceState) -> int | None:
    """Return a hash of the detail of a state, or None if it cannot be computed cheaply."""
    declared, applied, observed, schedule = state.declared, state.applied, state.observed, state.schedule
    conditions = [
        (item.type, item.status, item.reason, item.message, item.observed_generation, item.last_transition)
        for item in observed.conditions
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
    """Return the columns that change when something happened."""
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
        packed_document(desired),
        _SAME if desired is not None and state.applied.document == desired else packed_document(state.applied.document),
        packed_document(baseline),
        packed_document(state.applied.known_differences),
        _SAME
        if baseline is not None and state.observed.document == baseline
        else packed_document(state.observed.document),
        packed_document(state.applied.rules),
        state.declared.provider,
        state.declared.source,
        state.observed.reason,
        state.schedule.terminal,
        state.schedule.requested,
        state.schedule.handled,
        _rest(state),
    )


def unchanged_row(number: int, check: UnchangedCheck) -> Row:
    """Return the times of a check that found nothing new."""
    return check.checked_at, check.due_at, number


def has_tags(check: UnchangedCheck) -> bool:
    """Return True if the answer had an etag or a digest."""
    return check.etag is not None or check.raw_digest is not None


def tags_row(number: int, check: UnchangedCheck) -> dict[str, Any]:
    """Return the etag and digest of the answer."""
    return {"id": number, "etag": check.etag, "raw_digest": packed(check.raw_digest)}


def _conditions(conditions: Iterable[Condition]) -> list[Row]:
    return [
        (
            CONDITION_NUMBERS[item.type],
            TRUTH_NUMBERS[item.status],
            item.reason,
            item.message,
            item.observed_generation,
            item.last_transition,
        )
        for item in conditions
    ]


def withdrawn_row(number: int, withdrawn: WithdrawnVerdict, rest: bytes, *, has_request: bool) -> dict[str, Any]:
    """Return the columns of a withdrawn verdict; `rest` is the stored one, of which the conditions are replaced."""
    _, *kept = value_codec.loads(blobs.unpack(rest))
    return {
        "id": number,
        "status": STATUS_NUMBERS[Status.UNKNOWN],
        "checked_at": withdrawn.checked_at,
        "is_due": withdrawn.is_scheduled or has_request,
        "reason": withdrawn.reason,
        "rest": blobs.pack(value_codec.dumps((_conditions(withdrawn.conditions), *kept)), _PACK_REST_AT),
    }


def _rest(state: ResourceState) -> bytes:
    rest: tuple[Json, ...] = (
        _conditions(state.observed.conditions),
        state.declared.labels,
        state.declared.options,
        state.declared.depends_on,
    )
    more = _more(state)
    return blobs.pack(value_codec.dumps((*rest, more) if more else rest), _PACK_REST_AT)


def _more(state: ResourceState) -> dict[str, Json]:
    """Return the fields that few resources have, if they have a value."""
    fields: dict[str, Json] = {
        "suppressed": state.observed.suppressed,
        "identity": state.applied.identity,
        "api_version": state.applied.api_version,
        "missing_checks": state.observed.missing_checks if state.observed.missing_checks > 1 else None,
    }
    return {name: value for name, value in fields.items() if value}


@undamaged("resource")
def states_of(state_rows: Iterable[Row]) -> list[ResourceState]:
    """Return the states of rows of the view `state`. They share equal labels, settings and dependencies."""
    shared: dict[bytes, Json] = {}
    return [_state_of(row, shared) for row in state_rows]


def _state_of(row: Row, shared: dict[bytes, Json]) -> ResourceState:
    (
        _, _, connection, kind, local, status, failures, due_at, checked_at, good_at,
        provider_id, raw_digest, resync_seconds, etag, state_hash, generation, applied_revision, origin, settle_until,
        desired, applied, baseline, known, observed, rules, provider, source, reason, terminal, requested, handled,
        rest,
    ) = row  # fmt: skip
    conditions, labels, options, depends_on, more = _rest_of(blobs.unpack(rest), shared)
    wanted, settled = unpacked(desired), unpacked(baseline)
    return ResourceState(
        address_text.address_of(connection, kind, local),
        DeclaredState(provider, generation, wanted, labels, options, tuple(depends_on), source),
        AppliedState(
            wanted if applied == _SAME else unpacked(applied),
            applied_revision,
            settled,
            unpacked(known),
            unpacked(rules),
            more.get("identity"),
            more.get("api_version"),
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


def _rest_of(text: bytes, shared: dict[bytes, Json]) -> tuple[Json, ...]:
    """Return the parts of `_rest`; equal labels, settings and dependencies are taken from `shared`."""
    if text.startswith(value_codec.EXACT):
        conditions, labels, options, depends_on, *last = value_codec.loads(text)
        return conditions, labels, options, depends_on, last[0] if last else {}
    conditions, *same = map(bytes, _PARTS.decode(text))
    for part in same:
        if part not in shared:
            shared[part] = orjson.loads(part)
    labels, options, depends_on, *last = [shared[part] for part in same]
    return orjson.loads(conditions), labels, options, depends_on, last[0] if last else {}


def _condition(encoded: list[Json]) -> Condition:
    kind, truth, reason, message, generation, at = encoded
    return Condition(_CONDITIONS[kind], _TRUTHS[truth], reason, message, generation, at)


def finding_body(finding: Finding) -> bytes:
    """Return a finding as bytes."""
    return blobs.pack(value_codec.dumps(value_codec.encode_finding(finding)))


@undamaged("finding")
def findings_by_address(finding_rows: Iterable[Row]) -> dict[Address, list[FindingRecord]]:
    """Return findings with their ages by resource, in the order of the rows."""
    findings: dict[Address, list[FindingRecord]] = {}
    for connection, kind, local, first_seen, last_seen, clean_at, times, body in finding_rows:
        finding = value_codec.decode_finding(value_codec.loads(blobs.unpack(body)))
        record = FindingRecord(finding, first_seen, last_seen, clean_at, times)
        findings.setdefault(address_text.address_of(connection, kind, local), []).append(record)
    return findings


def revision_row(number: int, revision: AppliedRevision) -> Row:
    """Return a revision as a row."""
    return number, revision.number, packed_document(revision.document), pack_digest(revision.stamp), revision.at


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
    address = address_text.address_of(connection, kind, local)
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
        packed_document(operation.desired),
        packed_document(operation.pre_image),
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
        address=address_text.address_of(connection, kind, local),
        action=action,
        step=OperationStep(step),
        started_at=started_at,
        desired=unpacked(desired),
        pre_image=unpacked(pre_image),
        drift=tuple(value_codec.decode_finding(encoded) for encoded in value_codec.loads(blobs.unpack(drift))),
        token=value_codec.loads(blobs.unpack(token)),
        poll_at=poll_at,
        attempts=attempts,
        decision=decision,
        phase=phase,
    )


def record_row(record: VersionedRecord) -> Row:
    """Return a versioned record as a row."""
    data = blobs.pack(value_codec.dumps(record.data))
    return record.collection, record.key, record.owner, record.version, record.due_at, data


@undamaged("record")
def record_of(row: Row) -> VersionedRecord:
    """Return the versioned record of a row."""
    collection, key, owner, version, due_at, data = row
    return VersionedRecord(collection, key, value_codec.loads(blobs.unpack(data)), version, owner, due_at)


def link_of(row: Row) -> Link:
    """Return the chain link of a row; the hash covers the text of its subject."""
    sequence, at, kind_of_event, family, connection, kind, local, data, digest, _ = row
    subject = "" if family is None else address_text.joined(connection, kind, local)
    return Link(sequence, at, kind_of_event, subject, data, digest)


@undamaged("event")
def chained(row: Row) -> ChainedEvent:
    """Return the event of a row with the hash before it."""
    return audit_chain.chained(link_of(row), row[-1] or audit_chain.START.hash)


def packed(digest: str | None) -> bytes | None:
    """Return a digest as it is stored."""
    return None if digest is None else pack_digest(digest)


@lru_cache(maxsize=1024)  # the rows of a batch name the same documents again and again
def packed_document(digest: str | None) -> bytes | None:
    """Return the digest of a document as it is stored."""
    return None if digest is None else pack_digest(digest)


def unpacked(stored: bytes | None) -> Digest | None:
    """Return the digest that `packed` was given."""
    return None if stored is None else Digest(unpack_digest(stored))
