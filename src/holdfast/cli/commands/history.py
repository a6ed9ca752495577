"""The command `history`."""

from __future__ import annotations

import contextlib
from typing import Any, Final

import click

from holdfast.app import selection
from holdfast.app.project import Project
from holdfast.app.selection import StoreSelection
from holdfast.cli import console, options
from holdfast.cli.render import findings
from holdfast.cli.render.text import when
from holdfast.cli.run import in_store
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.store.protocol import Store
from holdfast.store.records import ChainedEvent

_ALL: Final = 1_000_000_000


@click.command("history")
@click.argument("address", required=False)
@options.stored_partly
@click.option("--limit", type=click.IntRange(min=0), default=50, show_default=True)
@console.option(*options.FORMATS)
def history_command(address: str | None, limit: int, output_: str, **rest: Any) -> int:
    """Show decisions and audit events, newest last.

    \b
    Examples:
      holdfast history api/Widget/blue
    """

    async def body(project: Project, scope: StoreSelection) -> int:
        wanted = selection.parse_addresses([address])[0] if address else None
        subject = str(wanted) if wanted else None
        if not scope.is_all:
            scope.require_matches(await _subjects(project.store, subject))
        events: list[ChainedEvent] = []
        async with contextlib.aclosing(project.store.latest_events(subject)) as latest:  # type: ignore[type-var]
            async for chained in latest:
                if len(events) >= limit:
                    break
                if scope.covers_text(chained.event.subject):
                    events.append(chained)
        events.reverse()
        decisions = await project.store.decisions(wanted, limit if scope.is_all else _ALL)
        decisions = [decision for decision in decisions if scope.covers(decision.address)][:limit]
        rows: list[dict[str, Json]] = [
            {"at": e.event.at, "what": e.event.type, "address": e.event.subject, "data": dict(e.event.data)}
            for e in events
        ] + [
            {"at": d.at, "what": f"decision {d.id}", "address": str(d.address), "data": {"summary": d.summary}}
            for d in decisions
        ]
        rows.sort(key=lambda row: row["at"])
        if console.structured(output_, lambda: rows[-limit:]):
            return 0
        for row in rows[-limit:]:
            detail = row["data"].get("summary") or ", ".join(f"{k}={_short(v)}" for k, v in row["data"].items() if v)
            console.line(f"{when(row['at'])}  {console.styled(row['what'], bold=True)}  {row['address']}  {detail}")
        return 0

    return in_store(rest, body)


async def _subjects(store: Store, subject: str | None) -> set[Address]:
    """Return the resources of events, including those without a record in the store."""
    texts = {chained.event.subject async for chained in store.events(subject=subject)}
    addresses: set[Address] = set()
    for text in texts:
        with contextlib.suppress(ValueError):
            addresses.add(Address.parse(text))
    return addresses


def _short(value: Json) -> str:
    return findings.value_text(value, 60)
