"""What the audit events of one remediation say together: its status, its score, and its two hashes.

The trail is enough; nothing has to have been computed when the events were written. Events of the original, older and
newer, are read as well as ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.model.json import Json
from holdfast.remediation.core import state
from holdfast.remediation.core.audit_events import EventType, RemediationEvent
from holdfast.remediation.core.state import EndReason

NO_DATA: Final = "no_data"
IN_PROGRESS: Final = "in_progress"

_COMPONENTS: Final = {
    EventType.HEALTH_ASSESSED.value: "health",
    EventType.ALERT_ASSESSED.value: "alerts",
    EventType.METRICS_ASSESSED.value: "metrics",
}
_HASHES: Final = ("pre_remediation_spec_hash", "post_remediation_spec_hash", "hash_match")


@dataclass(frozen=True, slots=True)
class Summary:
    """The trail in three fields; `status` is the reason it ended, or how far it is."""

    status: str
    score: float | None
    hashes: Mapping[str, Json]


def payloads(trail: Iterable[RemediationEvent]) -> list[Mapping[str, Json]]:
    """Return the summary of events, in the order they happened; those of one instant by id, so that it never varies."""
    return [event.data for event in sorted(trail, key=lambda event: (event.at, event.id))]


def summarise(ordered: Iterable[Mapping[str, Json]]) -> Summary:
    """Sum up the payloads of one correlation, in order.

    Of each component the last event that assessed it counts, so a later failure to ask takes nothing away. Spec drift
    absorbs: seen once, it is the status and the score is 0.0, whatever comes before or after.
    """
    scores: dict[str, float | None] = {}
    hashes: dict[str, Json] = {}
    reason: EndReason | None = None
    status = NO_DATA
    for event in ordered:
        kind = event.get("event_type")
        name = _COMPONENTS.get(kind) if isinstance(kind, str) else None
        if name is not None:
            status = IN_PROGRESS if status == NO_DATA else status
            if event.get("assessed"):
                scores[name] = event.get("score")
        elif kind == EventType.HASH_COMPUTED:
            status = IN_PROGRESS if status == NO_DATA else status
            hashes.update({field: event[field] for field in _HASHES if field in event})
        elif kind == EventType.COMPLETED and reason is not EndReason.SPEC_DRIFT:
            text = str(event.get("reason", ""))
            reason = state.parse(text)
            status = reason.value if reason else text
    score = state.overall(reason, scores.get("health"), scores.get("alerts"), scores.get("metrics"))
    return Summary(status, score, hashes)
