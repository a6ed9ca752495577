"""The command `undo`."""

from __future__ import annotations

from typing import Any

import click

from holdfast.app import single_resource
from holdfast.app.project import Project
from holdfast.cli import console, options
from holdfast.cli.run import in_project
from holdfast.errors import InputError
from holdfast.store.governance import CorrectionRecord


@click.command("undo")
@click.argument("correction")
@options.singly
@click.option("--why", default="", help="The reason.")
@options.who
def undo_command(correction: str, why: str, who: str | None, **rest: Any) -> int:
    """Restore the values from before a correction.

    Refused if the values changed since. Afterwards the fields are only reported until you decide: revert, accept,
    baseline or waive.

    \b
    Examples:
      holdfast corrections                          lists them
      holdfast undo 9f3ab2c4d5e6 -f infra/
    """

    async def body(project: Project) -> int:
        recorded = await _correction(project, correction)
        single_resource.require_declared(project, str(recorded.address))
        async with project.writable_connections() as connections:
            item = await single_resource.resolve(project, connections, recorded.address)
            undoer = project.undoer(connections, project.checker(connections))
            undone = await undoer.undo(recorded, item, who or options.person(), why)
        console.line(f"{recorded.address}: {undone.message} (correction {undone.correction.id[:12]})", fg="green")
        console.line(f"  next: holdfast revert|accept|baseline|waive {recorded.address}", fg="bright_black")
        return 0

    return in_project(rest, body)


async def _correction(project: Project, text: str) -> CorrectionRecord:
    """Return a correction by its name or the beginning of it."""
    exact = await project.store.correction(text)
    if exact is not None:
        return exact
    near = [entry for entry in await project.store.corrections(limit=10_000) if entry.id.startswith(text)]
    if len(near) != 1:
        problem = "several corrections begin so" if near else "there is no such correction"
        raise InputError(f"{text}: {problem}; `holdfast corrections` lists them")
    return near[0]
