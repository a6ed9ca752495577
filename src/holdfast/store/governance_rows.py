"""Corrections and what holds them back, as rows of the SQLite schema and back; the order is that of the columns.

Values are kept as findings keep theirs, so that "not there" and digests come back as what they were.
"""

from __future__ import annotations

from holdfast.model.json import Json
from holdfast.store import blobs, value_codec
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
from holdfast.store.sqlite import address_ids
from holdfast.store.sqlite.rows import Row, packed, unpacked


def correction_row(number: int, correction: CorrectionRecord) -> Row:
    """Return a correction as a row."""
    paths = [[one.path, one.before, one.after, one.took, one.asked] for one in correction.paths]
    return (
        correction.id,
        number,
        correction.at,
        correction.action,
        correction.reason,
        correction.outcome.value,
        _written(paths),
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
        address_ids.address_of(connection, kind, local),
        at,
        action,
        reason,
        CorrectionOutcome(outcome),
        tuple(PathCorrection(*one) for one in _read(paths)),
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
    return Approval(plan, address_ids.address_of(connection, kind, local), who, why, at, used_at)


def quarantine_row(number: int, quarantine: Quarantine) -> Row:
    """Return a quarantine as a row."""
    return number, quarantine.path, quarantine.cause, quarantine.since, _written(quarantine.data)


@undamaged("quarantine")
def quarantine_of(row: Row) -> Quarantine:
    """Return the quarantine of a row."""
    connection, kind, local, path, cause, since, data = row
    return Quarantine(address_ids.address_of(connection, kind, local), path, cause, since, _read(data))


def acceptance_row(number: int, acceptance: AcceptedValue) -> Row:
    """Return an acceptance as a row."""
    return number, acceptance.path, _written(acceptance.value), acceptance.who, acceptance.why, acceptance.at


@undamaged("acceptance")
def acceptance_of(row: Row) -> AcceptedValue:
    """Return the acceptance of a row."""
    connection, kind, local, path, value, who, why, at = row
    return AcceptedValue(address_ids.address_of(connection, kind, local), path, _read(value), who, why, at)


def _written(value: Json) -> bytes:
    return blobs.pack(value_codec.dumps(value_codec.encode_value(value)))


def _read(data: bytes) -> Json:
    return value_codec.decode_value(value_codec.loads(blobs.unpack(data)))
