"""Corrections and governance records as rows of the tables and back; the order is that of the columns.

Values are encoded like those of findings, so that ABSENT and digests survive.
"""

from __future__ import annotations

from holdfast.model.json import Json
from holdfast.store import address_text, blobs, value_codec
from holdfast.store.damage import undamaged
from holdfast.store.governance import (
    AcceptedValue,
    Approval,
    CorrectionOutcome,
    CorrectionRecord,
    PathCorrection,
    Pause,
    Quarantine,
)
from holdfast.store.rows import Row, packed, unpacked


def correction_row(number: int, correction: CorrectionRecord) -> Row:
    """Return a correction as a row."""
    paths = [[path.path, path.before, path.after, path.took, path.asked] for path in correction.paths]
    return (
        correction.id,
        number,
        correction.at,
        correction.action,
        correction.reason,
        correction.outcome.value,
        _encode(paths),
        packed(correction.pre_image),
        packed(correction.post_image),
        correction.undoes,
        correction.who,
    )


@undamaged("correction")
def correction_of(row: Row) -> CorrectionRecord:
    """Return the correction of a row."""
    _, at, connection, kind, local, identity, action, reason, outcome, paths, pre_image, post_image, undoes, who = row
    return CorrectionRecord(
        identity,
        address_text.address_of(connection, kind, local),
        at,
        action,
        reason,
        CorrectionOutcome(outcome),
        tuple(PathCorrection(*path) for path in _decode(paths)),
        unpacked(pre_image),
        unpacked(post_image),
        undoes,
        who,
    )


def pause_row(pause: Pause) -> Row:
    """Return a pause as a row."""
    return pause.scope, pause.who, pause.why, pause.at, pause.until


def pause_of(row: Row) -> Pause:
    """Return the pause of a row."""
    return Pause(*row)


def approval_row(number: int, approval: Approval) -> Row:
    """Return an approval as a row."""
    return approval.plan, number, approval.who, approval.why, approval.at, approval.used_at


@undamaged("approval")
def approval_of(row: Row) -> Approval:
    """Return the approval of a row."""
    connection, kind, local, plan, who, why, at, used_at = row
    return Approval(plan, address_text.address_of(connection, kind, local), who, why, at, used_at)


def quarantine_row(number: int, quarantine: Quarantine) -> Row:
    """Return a quarantine as a row."""
    return number, quarantine.path, quarantine.cause, quarantine.since, _encode(quarantine.data)


@undamaged("quarantine")
def quarantine_of(row: Row) -> Quarantine:
    """Return the quarantine of a row."""
    connection, kind, local, path, cause, since, data = row
    return Quarantine(address_text.address_of(connection, kind, local), path, cause, since, _decode(data))


def accepted_value_row(number: int, accepted: AcceptedValue) -> Row:
    """Return an accepted value as a row."""
    return number, accepted.path, _encode(accepted.value), accepted.who, accepted.why, accepted.at


@undamaged("accepted_value")
def accepted_value_of(row: Row) -> AcceptedValue:
    """Return the accepted value of a row."""
    connection, kind, local, path, value, who, why, at = row
    return AcceptedValue(address_text.address_of(connection, kind, local), path, _decode(value), who, why, at)


def _encode(value: Json) -> bytes:
    return blobs.pack(value_codec.dumps(value_codec.encode_value(value)))


def _decode(data: bytes) -> Json:
    return value_codec.decode_value(value_codec.loads(blobs.unpack(data)))
