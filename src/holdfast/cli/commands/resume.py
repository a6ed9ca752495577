"""The command `resume`."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from holdfast.cli import console, options
from holdfast.cli.run import open_project, run
from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.store.records import AuditEvent
from holdfast.store.transaction import GovernanceChanges, Transaction


@click.command("resume")
@click.argument("scope", required=False, default="")
@options.stored
@options.who
def resume_command(scope: str, who: str | None, **rest: Any) -> int:
    """End a pause.

    \b
    Examples:
      holdfast resume
      holdfast resume prod/Network
    """
    given = options.options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with open_project(given, needs_store=True, reads="none") as project:
            pauses = {pause.scope: pause for pause in await project.store.pauses()}
            if scope not in pauses:
                known = ", ".join(name or "everything" for name in pauses) or "nothing"
                raise InputError(f"{scope or 'everything'} is not paused; paused now: {known}")
            data: dict[str, Json] = {"scope": scope, "who": who or options.person()}
            event = AuditEvent(project.clock.now(), "resumed", "", data)
            await project.store.commit(Transaction(events=[event], governance=GovernanceChanges(resumed=[scope])))
            left = [name or "everything" for name in pauses if name != scope]
        console.line(f"{scope or 'everything'} resumed.", fg="green")
        if left:
            console.line(f"still paused: {', '.join(left)}", fg="yellow")
        return 0

    return run(main)
