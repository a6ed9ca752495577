"""The command `delete`: what was chosen and, if a person says so, what needs it; never what it needs."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Collection
from typing import Any

import click

from holdfast.app import template_groups
from holdfast.app.project import Session, meant, opened, options_of, partly, run
from holdfast.cli import confirm, console
from holdfast.cli.render import reports
from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.reconcile.action_result import ActionOutcome

_MOST = 10  # dependents that a message names


@click.command("delete")
@partly
@click.option("--with-dependents", is_flag=True, help="Also delete the declared resources that need these.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@console.option("table", "json", "yaml")
def delete_command(with_dependents: bool, yes: bool, output_: str, **rest: Any) -> int:
    """Delete (or detach, where onDelete says so) what the manifests declare, dependents first.

    What the chosen resources need is left alone. What needs them must be chosen too, or --with-dependents said.

    \b
    Examples:
      holdfast delete -f infra/ --target 'api/Widget/*' --yes
      holdfast delete -f infra/ --target api/Network/main --with-dependents
    """
    options = options_of(rest)
    if not yes:
        confirm.require_answer("delete")

    async def main(stop: asyncio.Event) -> int:
        async with opened(options) as session:
            wanted = meant(session.fleet, options)
            wanted = _with_dependents(session, wanted) if with_dependents else wanted
            await _require_no_dependents(session, wanted)
            if not wanted:
                console.line("nothing that is declared is chosen; nothing was deleted")
                return 1
            if not yes and not _is_agreed(wanted):
                return 1
            async with session.writable_world() as world:
                report = await session.applier(world, stop=stop).delete(wanted)
                await template_groups.forget(session, report)
        if not console.structured(output_, reports.as_json(report)):
            for acted in report.acted:
                reports.show_acted(acted)
            reports.show_waiting(report.waiting)
            console.line(reports.delete_line(report), bold=True)
        not_done = any(one.result is not ActionOutcome.DONE for one in report.acted)
        return 1 if not_done or report.waiting or report.not_reached else 0

    return run(main)


def _is_agreed(wanted: Collection[Address]) -> bool:
    with contextlib.redirect_stdout(sys.stderr):
        for address in wanted:
            console.line(f"  - {address}", fg="red")
    return confirm.is_agreed("Delete these?")


def _with_dependents(session: Session, wanted: Collection[Address]) -> list[Address]:
    """Return what was chosen and every declared resource that needs it."""
    every = session.fleet.graph.needing(wanted)
    return [address for address in session.fleet.graph.addresses if address in every]


async def _require_no_dependents(session: Session, wanted: Collection[Address]) -> None:
    """Refuse to delete what live resources need that stay; those of other manifests are known from the store."""
    going, names = set(wanted), {str(address) for address in wanted}
    declared = session.fleet.graph.needing(wanted) - going
    by_graph, by_store = [], []
    async for state in session.store.all_states():
        if state.address in going or state.observed.provider_id is None:
            continue
        if state.address in declared:
            by_graph.append(str(state.address))
        elif names.intersection(state.declared.depends_on) and state.address not in session.fleet.declarations:
            by_store.append(str(state.address))
    left = by_graph + by_store
    if not left:
        return
    shown = ", ".join(left[:_MOST]) + (f" and {len(left) - _MOST} more" if len(left) > _MOST else "")
    hint = "delete these as well: --with-dependents" if by_graph else "they are declared elsewhere: delete them first"
    what = ", ".join(sorted(names)[:3]) + (" and others" if len(names) > 3 else "")
    raise InputError(f"nothing was deleted: {what} {'is' if len(names) == 1 else 'are'} needed by {shown}; {hint}")
