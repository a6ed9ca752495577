"""CloudEvents 1.0, as far as we send them: one frozen event, and its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

import orjson

from holdfast.model.json import Json
from holdfast.model.record import dataclass

CONTENT_TYPE: Final = "application/cloudevents+json; charset=utf-8"


class CloudEventType(StrEnum):
    """The type of an event. A type never changes its meaning: a new meaning is a new version."""

    DRIFT_DETECTED = "dev.holdfast.drift.detected.v1"
    DRIFT_RESOLVED = "dev.holdfast.drift.resolved.v1"
    CHECK_UNKNOWN = "dev.holdfast.check.unknown.v1"
    CORRECTION_DONE = "dev.holdfast.correction.done.v1"
    CORRECTION_HELD = "dev.holdfast.correction.held.v1"
    CONTENTION_DETECTED = "dev.holdfast.contention.detected.v1"
    MASS_DRIFT_HELD = "dev.holdfast.massdrift.held.v1"
    WAIVER_EXPIRED = "dev.holdfast.waiver.expired.v1"


@dataclass(frozen=True, slots=True)
class CloudEvent:
    """One event; `id` is the same each time the same thing is told, so that a receiver can tell repetitions."""

    id: str
    type: str  # one of Type for notifications; the audit trail has names of its own
    source: str
    time: float  # seconds since the epoch
    data: Mapping[str, Json]
    subject: str | None = None  # an address, if it is about one resource only

    def as_json(self) -> dict[str, Json]:
        """Return the event in the JSON format of the specification."""
        out: dict[str, Json] = {
            "specversion": "1.0",
            "id": self.id,
            "type": str(self.type),
            "source": self.source,
            "time": rfc3339(self.time),
            "datacontenttype": "application/json",
            "data": dict(self.data),
        }
        if self.subject is not None:
            out["subject"] = self.subject
        return out

    def dumps(self) -> bytes:
        """Return the bytes that are sent, and signed."""
        return orjson.dumps(self.as_json())


def rfc3339(seconds: float) -> str:
    """Write a time the way CloudEvents and SARIF want it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
