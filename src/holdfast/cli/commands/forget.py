"""The command `forget`: the record of what is no longer declared goes, the live object stays."""

from __future__ import annotations

from typing import Any

import click

from holdfast.app import undeclared
from holdfast.app.project import Session, addresses_of, remembered
from holdfast.app.stored_selection import Scope
from holdfast.cli import console
from holdfast.cli.commands.records import in_store
from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.store.records import AuditEvent
from holdfast.store.transaction import Transaction


@click.command("forget")
@click.argument("addresses", nargs=-1, required=True)
@remembered
def forget_command(addresses: tuple[str, ...], **rest: Any) -> int:
    """Drop the records of resources that are no longer declared; the live objects stay.

    \b
    Examples:
      holdfast forget api/Widget/blue
    """

    async def body(session: Session, _scope: Scope) -> int:
        wanted = addresses_of(addresses)
        await _require_undeclared(session, wanted)
        now = session.clock.now()
        why = "no longer declared; a person asked for it"
        events = [AuditEvent(now, "forgotten", str(address), {"reason": why}) for address in wanted]
        await session.store.commit(Transaction(forgotten=wanted, events=events))
        for address in wanted:
            console.line(f"forgot {address}; the live object stays", fg="green")
        return 0

    return in_store(rest, body)


async def _require_undeclared(session: Session, wanted: list[Address]) -> None:
    states = await session.store.states(wanted)
    missed = await undeclared.in_store(session, list(states.values()))
    for address in wanted:
        if address not in states:
            raise InputError(f"nothing is known of {address}; `holdfast status` lists what is")
        if address not in missed:
            raise InputError(
                f"{address} is declared in {states[address].declared.source}; remove the declaration first"
            )
        if await session.store.operations(address):
            raise InputError(f"a write to {address} is not finished; declare it again and `holdfast apply`")
