"""The command `pause`."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from holdfast.app.project import Project
from holdfast.cli import console, options
from holdfast.cli.render.text import when
from holdfast.cli.run import open_project, run
from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.store.governance import Pause
from holdfast.store.records import AuditEvent
from holdfast.store.transaction import GovernanceChanges, Transaction


@click.command("pause")
@click.argument("scope", required=False, default="")
@options.stored
@click.option("--why", required=True, help="The reason; shown wherever the pause holds a write.")
@click.option("--for", "duration", metavar="DURATION", help="Until then: 30m, 2h, 3d; without it until resumed.")
@options.who
def pause_command(scope: str, why: str, duration: str | None, who: str | None, **rest: Any) -> int:
    """Stop writes everywhere, or in a scope; checks go on.

    SCOPE is connection, connection/Kind or an address.

    \b
    Examples:
      holdfast pause --why "incident 4711"
      holdfast pause prod/Network --why migration --for 2h
    """
    given = options.options_of(rest)
    seconds = options.parse_duration(duration, "--for")

    async def main(_stop: asyncio.Event) -> int:
        async with open_project(given, reads="none") as project:
            await _require_scope(project, scope)
            now = project.clock.now()
            until = now + seconds if seconds is not None else None
            pause = Pause(scope, who or options.person(), why, now, until)
            data: dict[str, Json] = {"scope": scope, "who": pause.who, "why": why, "until": until}
            await project.store.commit(
                Transaction(events=[AuditEvent(now, "paused", "", data)], governance=GovernanceChanges(pauses=[pause]))
            )
        what = scope or "everything"
        end = f"until {when(until)}" if until else f"until `holdfast resume{' ' + scope if scope else ''}`"
        console.line(f"{what} is paused {end}: checks go on, writes are held.", fg="yellow")
        return 0

    return run(main)


async def _require_scope(project: Project, scope: str) -> None:
    """Raise InputError for a scope that names nothing: a mistyped pause would stop nothing."""
    parts = scope.split("/")
    kinds = {kind for connection, kind in await project.store.count_resources() if connection == parts[0]}
    if len(parts) > 1 and kinds and parts[1] not in kinds:
        known = ", ".join(sorted(kinds))
        raise InputError(f"nothing of kind {parts[1]!r} is known on {parts[0]} (known: {known})")
    if scope and parts[0] not in project.config.connections:
        known = ", ".join(sorted(project.config.connections)) or "none"
        raise InputError(f"there is no connection {parts[0]!r} (known: {known}); a scope is connection[/Kind[/name]]")
