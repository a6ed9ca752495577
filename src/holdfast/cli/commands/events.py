"""The command `events`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import click

from holdfast.app.project import Project
from holdfast.app.selection import StoreSelection
from holdfast.cli import console, options
from holdfast.cli.render import findings
from holdfast.cli.render.text import count
from holdfast.cli.run import in_store
from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.notify.cloudevents import CloudEvent
from holdfast.policy import durations, time_parsing
from holdfast.store.protocol import AuditLog
from holdfast.store.records import AuditEvent, ChainedEvent


@click.command("events")
@options.stored_partly
@click.option("--type", "type_", default="", metavar="PREFIX", help="Only events whose type begins so.")
@click.option("--since", metavar="WHEN", help="A length of time (2h) or a moment (2026-12-24T18:00Z).")
@click.option("--correlation", metavar="ID", help="Only events of one remediation.")
@click.option("--limit", type=click.IntRange(min=1), help="Only so many, the newest.")
@console.option("table", "json", "jsonl", "yaml")
def events_command(output_: str, **rest: Any) -> int:
    """Show the audit trail as CloudEvents, oldest first.

    Each event is part of the hash chain that `holdfast audit verify` proves.

    \b
    Examples:
      holdfast events --type effectiveness. --target shop/Service/cart --since 2h -o json
      holdfast events --type remediation.workflow_created -o jsonl
      holdfast events --correlation rr-0f3a91c2d4e5
    """
    own = {key: rest.pop(key) for key in ("type_", "since", "correlation", "limit")}

    async def body(project: Project, scope: StoreSelection) -> int:
        since = _moment(own["since"], project.clock.now())
        wanted = EventFilter(scope, own["type_"], since, own["correlation"])
        events = [chained async for chained in wanted.of(project.store)]
        source = f"/holdfast/{project.config.folder.name}"
        newest = events[-(own["limit"] or len(events) or 1) :]
        _print([_as_json(chained, source) for chained in newest], output_)
        return 0

    return in_store(rest, body)


def _moment(text: str | None, now: float) -> float | None:
    if text is None:
        return None
    try:
        return time_parsing.begin(text)
    except InputError:
        pass
    try:
        return now - durations.parse(text)
    except InputError as error:
        raise click.BadParameter(error.message, param_hint="--since") from None


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events are asked for."""

    scope: StoreSelection
    type: str
    since: float | None
    correlation: str | None

    async def of(self, store: AuditLog) -> AsyncIterator[ChainedEvent]:
        """Go through them."""
        async for event in store.events(type_prefix=self.type or None, since=self.since):
            if self.scope.covers_text(event.event.subject) and self.correlation in (None, correlation_of(event.event)):
                yield event


def correlation_of(event: AuditEvent) -> str | None:
    """Return the id that an event shares with others: that of its remediation or its write."""
    found = event.data.get("correlation_id") or event.data.get("operation")
    return found if isinstance(found, str) else None


def _as_json(chained: ChainedEvent, source: str) -> dict[str, Json]:
    """Return an event as a CloudEvent. Its place in the chain goes into extension attributes."""
    event = chained.event
    ident = str(event.data.get("id") or chained.hash)
    data = {key: value for key, value in event.data.items() if not (key == "id" and value == ident)}
    cloud = CloudEvent(ident, event.type, source, event.at, data, event.subject or None)
    out = {**cloud.as_json(), "sequence": str(chained.sequence), "chainhash": chained.hash}
    correlation = correlation_of(event)
    return out if correlation is None else {**out, "correlationid": correlation}


def _print(found: list[dict[str, Json]], format_: str) -> None:
    if format_ == "jsonl":
        for event in found:
            console.json_line(event)
    elif not console.structured(format_, lambda: found):
        for event in found:
            fields = ((key, value) for key, value in event["data"].items() if key not in ("event_type", "ea_name"))
            detail = ", ".join(f"{key}={findings.value_text(value, 60)}" for key, value in fields if value is not None)
            console.line(
                f"{event['time']}  {console.styled(event['type'], bold=True)}  {event.get('subject', '')}  {detail}"
            )
        console.line(count(len(found), "event"), bold=True)
