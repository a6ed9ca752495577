"""The command `forget`."""

from __future__ import annotations

from typing import Any

import click

from holdfast.app import undeclared
from holdfast.app.project import Project
from holdfast.app.selection import StoreSelection, parse_addresses
from holdfast.cli import console, options
from holdfast.cli.run import in_store
from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.store.records import AuditEvent
from holdfast.store.transaction import Transaction


@click.command("forget")
@click.argument("addresses", nargs=-1, required=True)
@options.stored
def forget_command(addresses: tuple[str, ...], **rest: Any) -> int:
    """Drop records of undeclared resources; live state stays.

    \b
    Examples:
      holdfast forget api/Widget/blue
    """

    async def body(project: Project, _scope: StoreSelection) -> int:
        wanted = parse_addresses(addresses)
        await _require_undeclared(project, wanted)
        now = project.clock.now()
        why = "no longer declared; a person asked for it"
        events = [AuditEvent(now, "forgotten", str(address), {"reason": why}) for address in wanted]
        await project.store.commit(Transaction(forgotten=wanted, events=events))
        for address in wanted:
            console.line(f"forgot {address}; the live object stays", fg="green")
        return 0

    return in_store(rest, body)


async def _require_undeclared(project: Project, wanted: list[Address]) -> None:
    states = await project.store.states(wanted)
    missed = await undeclared.in_store(project, list(states.values()))
    for address in wanted:
        if address not in states:
            raise InputError(f"{address} is not in the store; `holdfast status` lists all resources")
        if address not in missed:
            raise InputError(
                f"{address} is declared in {states[address].declared.source}; remove the declaration first"
            )
        if await project.store.operations(address):
            raise InputError(f"a write to {address} is not finished; declare it again and `holdfast apply`")
