"""Telling people: the news of a run to every sink, and the memory of who was told what.

What was told is remembered in the audit trail, as `notify.*` events of the resource. Not in a file beside the store:
workers on several machines share the store and must not each tell the same, a run that dies between two writes must not
leave two memories that disagree, and who was told when is a question that auditors ask. It costs a look into the trail
of those resources only that are in trouble or have just come out of it.

A sink that fails changes nothing about the run: it is warned of, the event is kept as a dead letter, and what is still
so is told by a later run. What is worth telling, and when it is news, is decided in `engine.notices`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final

from holdfast.errors import HoldfastError
from holdfast.manifests.notify_spec import SinkSpec
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status
from holdfast.notify import rules, sinks
from holdfast.notify.cloudevents import CloudEvent, CloudEventType
from holdfast.notify.rules import RESOLVED, SENT, UNDELIVERED, DeliveryHistory, Message, Notice, NotificationCandidates
from holdfast.notify.sinks import SinkContext, Undelivered
from holdfast.reconcile.report import RunReport
from holdfast.store.protocol import AuditLog, Store
from holdfast.store.records import AuditEvent
from holdfast.store.transaction import Transaction

PREFIX: Final = "notify."
OWED: Final = "notify.owed"  # of the engine itself: an end that could not be told, so that a later run tries again
REST_SECONDS: Final = 60.0  # a sink that failed is left alone for so long


@dataclass(slots=True)
class Notifier:
    """Everything that telling takes; keep one for as long as there are runs."""

    store: Store
    sinks: Sequence[SinkSpec]
    means: SinkContext
    source: str
    dead_letters: Path
    warn: Callable[[str], None]
    resting: dict[str, float] = field(default_factory=dict)  # sinks that failed, and until when they are left alone


@dataclass(frozen=True, slots=True)
class _Delivery:
    """The result of delivering one message. Without `why` it arrived."""

    sink: str
    message: Message
    why: str | None = None


async def notify(report: RunReport, before: Mapping[Address, Status | None], office: Notifier) -> None:
    """Send to every sink the events that are new to it. Failures of a sink or the store never raise."""
    if not office.sinks:
        return
    try:
        await _notify(rules.outlook(report, before), office)
    except HoldfastError as error:
        office.warn(f"notifications may be missing or come twice: {error}")


async def _notify(seen: NotificationCandidates, office: Notifier) -> None:
    owed = await _owed(office.store) & seen.sound
    asked = {happening.address for happening in seen.happenings} | seen.restored.keys() | owed
    if not asked:
        return
    trail = {address: await _trail(office.store, address) for address in sorted(asked, key=str)}
    now = office.means.clock.now()

    async def one(sink: SinkSpec) -> list[_Delivery]:
        memory = {address: rules.told(sink.name, events) for address, events in trail.items()}
        found = rules.news(seen, sink, memory, now, owed)
        put = rules.messages(found, sink.group, office.source, now)
        return _put_by(sink, await _deliver(sink, put, office), memory, office)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(sink), name=f"notify {sink.name}") for sink in office.sinks]
    facts = list(_facts([delivery for task in tasks for delivery in task.result()], now))
    if facts:
        await office.store.commit(Transaction(events=facts))


async def _trail(store: AuditLog, address: Address) -> list[AuditEvent]:
    return [link.event async for link in store.events(subject=str(address), type_prefix=PREFIX)]


async def _owed(store: AuditLog) -> frozenset[Address]:
    """Return the resources whose end could not be told at some time; their own trail says whether it still is so."""
    owed = [link.event.data["address"] async for link in store.events(subject="", type_prefix=OWED)]
    return frozenset(map(Address.parse, owed))


async def _deliver(sink: SinkSpec, found: Sequence[Message], office: Notifier) -> list[_Delivery]:
    """Send in order; after the first failure the rest is not tried, so that a dead sink costs one wait a run."""
    if office.means.clock.now() < office.resting.get(sink.name, 0.0):
        # What lasts can wait until the sink is tried again; what is over will not be seen again.
        return [_Delivery(sink.name, item, "it failed a moment ago") for item in found if not item.lasts]
    why: str | None = None
    out: list[_Delivery] = []
    opened: sinks.Sink | None = None
    for message in found:
        try:
            if why is None:
                if opened is None:  # in a thread, because a secret may come from a command
                    opened = await asyncio.to_thread(sinks.open_sink, sink, office.means)
                await opened.send(message.event)
        except Undelivered as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001 - a mistake of ours in a sink must not change what a run says
            why = f"failed unexpectedly ({type(error).__name__})"
        out.append(_Delivery(sink.name, message, why))
    if why is not None:
        failed = sum(delivery.why is not None for delivery in out)
        office.warn(f"{failed} of {len(out)} notifications not delivered to {sink.name}: {why}")
        office.resting[sink.name] = office.means.clock.now() + REST_SECONDS
    return out


def _put_by(
    sink: SinkSpec, deliveries: Iterable[_Delivery], memory: Mapping[Address, DeliveryHistory], office: Notifier
) -> list[_Delivery]:
    """Keep undelivered events as dead letters, and return the failures for the audit trail, each once."""
    out: list[_Delivery] = []
    for delivery in deliveries:
        if delivery.why is not None:
            if all(notice.id in memory[notice.address].dead for notice in delivery.message.notices):
                continue
            try:
                sinks.keep_letter(
                    office.dead_letters, sink.name, delivery.message.event, delivery.why, office.means.clock.now()
                )
            except Undelivered as error:
                office.warn(f"a notification for {sink.name} was not even kept: {error}")
        out.append(delivery)
    return out


def _facts(deliveries: Iterable[_Delivery], now: float) -> Iterator[AuditEvent]:
    """Turn deliveries into lines of the audit trail, sinks that heard the same in one."""
    grouped: dict[tuple[str, str], tuple[Notice, CloudEvent, list[str]]] = {}
    for delivery in deliveries:
        for notice in delivery.message.notices:
            kind = UNDELIVERED if delivery.why is not None else RESOLVED if _is_end(notice) else SENT
            found = grouped.setdefault((kind, notice.id), (notice, delivery.message.event, []))
            found[2].append(delivery.sink)
    for (kind, _), (notice, event, names) in grouped.items():
        data: dict[str, Json] = {"sinks": names, "id": notice.id, "event": event.id, "type": notice.type.value}
        if kind == SENT:
            data |= {"key": notice.keys[0], "lasts": notice.lasts}
        yield AuditEvent(now, kind, str(notice.address), data)
        if kind == UNDELIVERED and _is_end(notice):
            yield AuditEvent(now, OWED, "", {"address": str(notice.address)})


def _is_end(notice: Notice) -> bool:
    return notice.type is CloudEventType.DRIFT_RESOLVED
