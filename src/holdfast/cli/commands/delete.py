"""The command `delete`."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Collection
from typing import Any

import click

from holdfast.app import selection
from holdfast.app.project import Project
from holdfast.cli import confirm, console, options
from holdfast.cli.render import reports
from holdfast.cli.run import open_project, run
from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.reconcile.action_result import ActionOutcome

_MOST = 10  # dependents that a message names


@click.command("delete")
@options.partly
@click.option("--with-dependents", is_flag=True, help="Also delete the declared resources that need these.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@console.option(*options.FORMATS)
def delete_command(with_dependents: bool, yes: bool, output_: str, **rest: Any) -> int:
    """Delete or detach declared resources, dependents first.

    Resources that the selected ones need are kept. Resources that need them must be selected too, or pass
    --with-dependents.

    \b
    Examples:
      holdfast delete -f infra/ --target 'api/Widget/*' --yes
      holdfast delete -f infra/ --target api/Network/main --with-dependents
    """
    given = options.options_of(rest)
    if not yes:
        confirm.require_answer("delete")

    async def main(stop: asyncio.Event) -> int:
        async with open_project(given) as project:
            wanted = selection.selected(project.resources, given)
            wanted = _with_dependents(project, wanted) if with_dependents else wanted
            await _require_no_dependents(project, wanted)
            if not wanted:
                console.line("no declared resource is selected; nothing was deleted")
                return 1
            if not yes and not _is_agreed(wanted):
                return 1
            report = await project.delete(wanted, stop=stop)
        if not console.structured(output_, lambda: reports.as_json(report)):
            for acted in report.acted:
                reports.show_acted(acted)
            reports.show_waiting(report.waiting)
            console.line(reports.delete_line(report), bold=True)
        not_done = any(result.result is not ActionOutcome.DONE for result in report.acted)
        return 1 if not_done or report.waiting or report.not_reached else 0

    return run(main)


def _is_agreed(wanted: Collection[Address]) -> bool:
    with contextlib.redirect_stdout(sys.stderr):
        for address in wanted:
            console.line(f"  - {address}", fg="red")
    return confirm.is_agreed("Delete these?")


def _with_dependents(project: Project, wanted: Collection[Address]) -> list[Address]:
    """Return the selected resources and every declared resource that needs them."""
    every = project.resources.graph.needing(wanted)
    return [address for address in project.resources.graph.addresses if address in every]


async def _require_no_dependents(project: Project, wanted: Collection[Address]) -> None:
    """Raise InputError if live resources that stay need one of these; the store knows those of other manifests."""
    going, names = set(wanted), {str(address) for address in wanted}
    declared = project.resources.graph.needing(wanted) - going
    by_graph, by_store = [], []
    async for state in project.store.all_states():
        if state.address in going or state.observed.provider_id is None:
            continue
        if state.address in declared:
            by_graph.append(str(state.address))
        elif names.intersection(state.declared.depends_on) and state.address not in project.resources.declarations:
            by_store.append(str(state.address))
    left = by_graph + by_store
    if not left:
        return
    shown = ", ".join(left[:_MOST]) + (f" and {len(left) - _MOST} more" if len(left) > _MOST else "")
    hint = "delete these as well: --with-dependents" if by_graph else "they are declared elsewhere: delete them first"
    what = ", ".join(sorted(names)[:3]) + (" and others" if len(names) > 3 else "")
    raise InputError(f"nothing was deleted: {what} {'is' if len(names) == 1 else 'are'} needed by {shown}; {hint}")
