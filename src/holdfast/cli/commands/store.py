"""The command `store copy`."""

from __future__ import annotations

import asyncio

import click

from holdfast.cli import console
from holdfast.cli.render.text import count
from holdfast.cli.run import run
from holdfast.store import store_copy


@click.group("store")
def store_command() -> None:
    """Copy a store to another file or database."""


@store_command.command("copy")
@click.argument("source", metavar="SRC")
@click.argument("destination", metavar="DST")
def copy_command(source: str, destination: str) -> int:
    """Copy all facts of one store into an empty one.

    SRC and DST are files or URLs. The copy has the facts of one moment: stop the processes that use SRC first. The key
    beside the store (.holdfast/key) is not copied; keep it where the project is.

    \\b
    Examples:
      holdfast store copy .holdfast/holdfast.db postgresql://holdfast@db/holdfast
      holdfast store copy postgresql://holdfast@db/holdfast backup.db
    """

    async def main(_stop: asyncio.Event) -> int:
        report = await store_copy.copy(source, destination)
        resources, events = report.rows["resource"], report.rows["event"]
        console.line(f"copied: {count(resources, 'resource')}, {count(events, 'event')}", fg="green", bold=True)
        console.line(f"audit trail verified: {report.head}")
        return 0

    return run(main)
