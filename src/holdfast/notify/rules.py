"""Notification rules: which events of a run go to which sink. Pure, from a report to events.

A problem at the same paths is sent once, however many runs see it. Its end is sent to the sinks that received it. A
reminder is sent only after the interval of the sink. All events of one kind in one run may be grouped into one.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from holdfast.compare import paths
from holdfast.manifests.notify_spec import SinkSpec, Topic
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status
from holdfast.notify.cloudevents import CloudEvent, CloudEventType
from holdfast.policy import source_location
from holdfast.policy.decide import CORRECTED, HoldReason
from holdfast.reconcile import display_value
from holdfast.reconcile.action_result import ActionOutcome, ActionResult
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import Blocked
from holdfast.store.records import AuditEvent

SENT: Final = "notify.sent"
RESOLVED: Final = "notify.resolved"
UNDELIVERED: Final = "notify.undelivered"

MOST_RESOURCES: Final = 50  # named in one event; the count says how many there are
MOST_FINDINGS: Final = 20  # named of one resource
LONGEST_VALUE: Final = 500  # characters

_TROUBLED: Final = {
    Status.DRIFTED: Topic.DRIFTED,
    Status.CONFLICTED: Topic.CONFLICTED,
    Status.MISSING: Topic.MISSING,
    Status.UNKNOWN: Topic.UNKNOWN,
}
# Holds that end by themselves in a moment.
_PASSING: Final = frozenset({HoldReason.DEBOUNCE.value, HoldReason.BACKOFF.value})
_WORDS: Final = {
    CloudEventType.DRIFT_DETECTED: "drifted",
    CloudEventType.DRIFT_RESOLVED: "in sync again",
    CloudEventType.CHECK_UNKNOWN: "could not be read",
    CloudEventType.CORRECTION_DONE: "revert",
    CloudEventType.CORRECTION_HELD: "held back from correction",
    CloudEventType.CONTENTION_DETECTED: "fought over",
    CloudEventType.MASS_DRIFT_HELD: "held back by mass drift",
    CloudEventType.WAIVER_EXPIRED: "with a waiver that has run out",
}


@dataclass(frozen=True, slots=True)
class Incident:
    """An observation of a run that may be sent to a sink."""

    type: CloudEventType
    topic: Topic
    address: Address
    key: str  # the same for the same trouble at the same paths, whatever the values are
    data: Mapping[str, Json]
    lasts: bool = True  # goes on until the resource is in sync again; else it is over as soon as it is told


@dataclass(frozen=True, slots=True)
class NotificationCandidates:
    """All observations of a run, before they are filtered by sink."""

    happenings: tuple[Incident, ...] = ()
    restored: Mapping[Address, Status | None] = field(default_factory=dict)  # in sync now, with what it was before
    sound: frozenset[Address] = frozenset()  # in sync now, whatever it was
    anew: frozenset[Address] = frozenset()  # was in sync before this run: whatever was told earlier is over


@dataclass(slots=True)
class DeliveryHistory:
    """The events that one sink has received about one resource."""

    open: dict[str, float] = field(default_factory=dict)  # key -> when it was last told
    times: Counter[str] = field(default_factory=Counter)  # key -> how often, since the last end
    ends: int = 0  # how often it came to an end
    dead: set[str] = field(default_factory=set)  # ids of notices that are among the dead letters


@dataclass(frozen=True, slots=True)
class Notice:
    """News for one sink about one resource."""

    type: CloudEventType
    address: Address
    keys: tuple[str, ...]
    id: str
    data: Mapping[str, Json]
    lasts: bool


# -- what happened


def statuses_before(report: RunReport) -> dict[Address, Status | None]:
    """Return how what was checked stood before the run, as the store had it."""
    return {result.address: result.evaluation.before.observed.status for result in report.checked}


def outlook(report: RunReport, before: Mapping[Address, Status | None]) -> NotificationCandidates:
    """Gather what is worth telling of a run."""
    done = _acted_on(report)
    happenings: list[Incident] = []
    sound: set[Address] = set()
    for result in report.checked:
        acted = done.get((result.address, id(result.verdict)))
        now = _status_after(result, acted)
        happenings += _of_checked(result, acted, before.get(result.address), now)
        if now is Status.IN_SYNC:
            sound.add(result.address)
    happenings += [_lost(blocked) for blocked in report.waiting if blocked.is_error]
    restored = {address: before.get(address) for address in sound if before.get(address) is not Status.IN_SYNC}
    anew = frozenset(address for address, was in before.items() if was in (None, Status.IN_SYNC))
    return NotificationCandidates(tuple(happenings), restored, frozenset(sound), anew)


def _acted_on(report: RunReport) -> dict[tuple[Address, int], ActionResult]:
    """Match actions with the checks that led to them; what was resumed from an earlier run has none in this one."""
    return {(acted.checked.address, id(acted.checked.verdict)): acted for acted in report.acted}


def _status_after(checked: CheckResult, acted: ActionResult | None) -> Status:
    if acted is not None and acted.result is ActionOutcome.DONE and acted.checked.state.observed.status is not None:
        return acted.checked.state.observed.status
    return checked.verdict.status


def _of_checked(
    checked: CheckResult, acted: ActionResult | None, was: Status | None, now: Status
) -> Iterator[Incident]:
    if acted is not None and _is_correction(acted):
        yield _corrected(acted, was, now)
    topic = _TROUBLED.get(now)
    if topic is not None:
        yield _trouble(checked, acted, topic, was)
        yield from _restraints(checked)


def _is_correction(acted: ActionResult) -> bool:
    checked = acted.checked
    return (
        acted.result is ActionOutcome.DONE and checked.decision.action.is_write and checked.verdict.status in CORRECTED
    )


def _corrected(acted: ActionResult, was: Status | None, now: Status) -> Incident:
    checked = acted.checked
    data = {
        **_about(checked, now, was),
        "found": checked.verdict.status.value,
        "revision": checked.state.applied.revision,
        "unresolved": list(acted.unresolved),
    }
    key = key_of(checked.address, f"corrected:{checked.state.applied.revision}", ())
    return Incident(CloudEventType.CORRECTION_DONE, Topic.CORRECTED, checked.address, key, data, lasts=False)


def _trouble(checked: CheckResult, acted: ActionResult | None, topic: Topic, was: Status | None) -> Incident:
    status = checked.verdict.status
    data = _about(checked, status, was)
    if acted is not None:
        data["correction"] = {"result": acted.result.value, "message": acted.message}
    kind = CloudEventType.CHECK_UNKNOWN if status is Status.UNKNOWN else CloudEventType.DRIFT_DETECTED
    key = key_of(checked.address, status.value, _paths(checked.verdict.findings))
    return Incident(kind, topic, checked.address, key, data)


def _restraints(checked: CheckResult) -> Iterator[Incident]:
    """Yield the reasons that hold back a revert and that people should know."""
    decision, address = checked.decision, checked.address
    first = decision.reasons[0]
    if decision.action is Action.HOLD and first.code not in _PASSING:
        mass_drift = first.code == "massDrift"
        kind, topic = (
            (CloudEventType.MASS_DRIFT_HELD, Topic.MASS_DRIFT)
            if mass_drift
            else (CloudEventType.CORRECTION_HELD, Topic.HELD)
        )
        data = {**_brief(checked), "reason": first.message, "code": first.code, "paths": list(first.paths)}
        if decision.held is not None:
            data["held"] = decision.held.value
        yield Incident(kind, topic, address, key_of(address, f"held:{first.code}", first.paths), data)
    for reason in decision.reasons:
        if reason.code == HoldReason.CONTENTION.value:
            data = {**_brief(checked), "reason": reason.message, "paths": list(reason.paths)}
            key = key_of(address, "contention", reason.paths)
            yield Incident(CloudEventType.CONTENTION_DETECTED, Topic.CONTENTION, address, key, data)
    if checked.lapsed:
        data = {**_brief(checked), "reason": checked.lapsed}
        key = key_of(address, f"waiver:{checked.lapsed}", ())
        yield Incident(CloudEventType.WAIVER_EXPIRED, Topic.WAIVER, address, key, data)


def _lost(waiting: Blocked) -> Incident:
    """Return the reason why a resource cannot be read, if the reason does not pass by itself."""
    declaration = waiting.declaration
    data = {
        "address": str(declaration.address),
        "status": Status.UNKNOWN.value,
        "reason": waiting.reason,
        "declaredIn": source_location.text(declaration.location),
    }
    key = key_of(declaration.address, "unknown", ())
    return Incident(CloudEventType.CHECK_UNKNOWN, Topic.UNKNOWN, declaration.address, key, data)


def key_of(address: Address, what: str, where: Iterable[str]) -> str:
    """Name a trouble by the resource, what it is, and its paths."""
    return _hash(str(address), what, *sorted(where))


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _brief(checked: CheckResult) -> dict[str, Json]:
    return {
        "address": str(checked.address),
        "status": checked.verdict.status.value,
        "declaredIn": source_location.text(checked.prepared.declaration.location),
    }


def _about(checked: CheckResult, status: Status, was: Status | None) -> dict[str, Json]:
    findings = checked.verdict.findings
    return {
        **_brief(checked),
        "status": status.value,
        "was": was.value if was is not None else None,
        "reason": checked.verdict.reason,
        "action": checked.decision.action.value,
        "findingCount": len(findings),
        "findings": [_finding(finding) for finding in findings[:MOST_FINDINGS]],
    }


def _finding(finding: Finding) -> dict[str, Json]:
    out: dict[str, Json] = {
        "path": display_value.utf8(paths.format_path(finding.path)),
        "op": finding.op.value,
        "class": finding.cls.value,
        "changedBy": finding.changed_by.value,
    }
    for name in ("desired", "observed"):
        value = getattr(finding, name)
        if value is not ABSENT:
            out[name] = display_value.bounded(value, LONGEST_VALUE)
    return out


def _paths(findings: Iterable[Finding]) -> list[str]:
    return [paths.format_path(finding.path) for finding in findings]


# -- what of it is news


def told(sink: str, events: Iterable[AuditEvent]) -> DeliveryHistory:
    """Recall from the trail of one resource what a sink has heard of it."""
    out = DeliveryHistory()
    for event in events:
        if sink not in event.data.get("sinks", ()):
            continue
        if event.type == SENT and event.data.get("lasts"):
            out.open[event.data["key"]] = event.at
            out.times[event.data["key"]] += 1
        elif event.type == RESOLVED:
            out.open.clear()
            out.times.clear()
            out.ends += 1
        elif event.type == UNDELIVERED:
            out.dead.add(event.data["id"])
    return out


def news(
    seen: NotificationCandidates,
    sink: SinkSpec,
    memory: Mapping[Address, DeliveryHistory],
    now: float,
    owed: frozenset[Address] = frozenset(),
) -> list[Notice]:
    """Choose what a sink has not heard yet, should be reminded of, or has come to an end.

    `owed` are the resources whose end could not be told before.
    """
    out: list[Notice] = []
    for happening in seen.happenings:
        before = memory.get(happening.address) or DeliveryHistory()
        if happening.topic in sink.on and _is_news(happening, before, sink, seen.anew, now):
            out.append(_notice(happening, before, anew=happening.address in seen.anew))
    for address, was in {**dict.fromkeys(seen.sound & owed), **seen.restored}.items():
        before = memory.get(address) or DeliveryHistory()
        if before.open:
            out.append(_end(address, was, before))
    return out


def _is_news(one: Incident, before: DeliveryHistory, sink: SinkSpec, anew: frozenset[Address], now: float) -> bool:
    last = before.open.get(one.key)
    if not one.lasts or last is None or one.address in anew:
        return True
    return sink.remind > 0 and now - last >= sink.remind


def _notice(one: Incident, before: DeliveryHistory, *, anew: bool) -> Notice:
    times = before.times[one.key]
    again = {"reminder": times} if times and one.lasts and not anew else {}
    ident = _hash(one.type.value, one.key, str(before.ends), str(times if one.lasts else 0))
    return Notice(one.type, one.address, (one.key,), ident, {**one.data, "key": one.key, **again}, one.lasts)


def _end(address: Address, was: Status | None, before: DeliveryHistory) -> Notice:
    keys = tuple(sorted(before.open))
    data = {
        "address": str(address),
        "status": Status.IN_SYNC.value,
        "was": was.value if was is not None else None,
        "resolves": list(keys),
    }
    ident = _hash(CloudEventType.DRIFT_RESOLVED.value, str(address), str(before.ends), *keys)
    return Notice(CloudEventType.DRIFT_RESOLVED, address, keys, ident, data, lasts=False)


# -- how it is put


@dataclass(frozen=True, slots=True)
class Message:
    """An event with the news it is made of."""

    event: CloudEvent
    notices: tuple[Notice, ...]

    @property
    def lasts(self) -> bool:
        """True if a later run will see the same again."""
        return self.notices[0].lasts


def messages(notices: Sequence[Notice], group: int, source: str, now: float) -> list[Message]:
    """Put news into events: one each, or one a kind where there are more than `group`; mass drift is always one."""
    by_type: dict[CloudEventType, list[Notice]] = {}
    for notice in notices:
        by_type.setdefault(notice.type, []).append(notice)
    out: list[Message] = []
    for kind, entry in by_type.items():
        together = len(entry) > group or kind is CloudEventType.MASS_DRIFT_HELD
        out += [_message(element, source, now) for element in ([entry] if together else [[item] for item in entry])]
    return out


def _message(notices: Sequence[Notice], source: str, now: float) -> Message:
    kind, single = notices[0].type, len(notices) == 1
    ident = notices[0].id if single else _hash(kind.value, *sorted(notice.id for notice in notices))
    data = {
        "summary": _summary(kind, notices),
        "count": len(notices),
        "resources": [dict(notice.data) for notice in notices[:MOST_RESOURCES]],
    }
    subject = str(notices[0].address) if single else None
    return Message(CloudEvent(ident, kind, source, now, data, subject), tuple(notices))


def _summary(kind: CloudEventType, notices: Sequence[Notice]) -> str:
    if len(notices) > 1:
        return f"{len(notices)} resources {_WORDS[kind]}"
    reason = notices[0].data.get("reason")
    return f"{notices[0].address} {_WORDS[kind]}" + (f": {reason}" if reason else "")
