"""The command `doctor`: look for what would go wrong, by asking every connection and trying every sink."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

import holdfast
from holdfast.app import assessment_task, undeclared
from holdfast.app.project import Options, Session, known_documents, opened, options_of, run, singly
from holdfast.cli import console
from holdfast.cli.commands.discover import with_manifests
from holdfast.errors import ChainBroken, HoldfastError
from holdfast.manifests import project as projects
from holdfast.notify import sink_check
from holdfast.notify.sinks import SinkContext
from holdfast.policy import strategies, waivers
from holdfast.providers import registry
from holdfast.reconcile import connection_check
from holdfast.store import audit_head_file

Say = Callable[..., None]


@click.command("doctor")
@singly
def doctor_command(**rest: Any) -> int:
    """Look for what would go wrong: manifests, connections, notifications, store, audit trail, versions.

    Every connection is asked a cheap question that fails if its address, token or permission is wrong. Sinks are tried
    without sending anything.

    \b
    Examples:
      holdfast doctor
      holdfast doctor -f infra/
    """
    options = options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        python, known = sys.version.split()[0], ", ".join(registry.names())
        console.line(f"holdfast {holdfast.__version__}, Python {python}, providers: {known}")
        problems = 0

        def say(what: str, trouble: str | None = None) -> None:
            nonlocal problems
            problems += trouble is not None
            console.line(
                f"  {'✗' if trouble else '✓'} {what}{': ' + trouble if trouble else ''}",
                fg="red" if trouble else "green",
            )

        try:
            given = with_manifests(options)
            async with opened(given, needs_files=bool(given.files)) as session:
                await _examine(session, given, say)
        except HoldfastError as error:
            say("configuration", str(error))
        console.line("no problems found" if not problems else f"{problems} problems found", bold=True)
        return 1 if problems else 0

    return run(main)


async def _examine(session: Session, options: Options, say: Say) -> None:
    say(f"project file {session.project.file or 'none; using defaults'}")
    _declarations(session, options, say)
    for mistake in waivers.mistakes(session.rules.waivers, await known_documents(session), session.clock.now()):
        say("waiver", str(mistake))
    await _undeclared(session, say)
    await _store(session, say)
    for name in _connections(session):
        await _connection(replace(session, used=frozenset({name})), name, say)
    means = SinkContext(session.clock, session.random01, session.resolver)
    for sink in session.project.notify:
        say(f"notify {sink.name}", await sink_check.trouble(sink, means))
    for what, trouble in await assessment_task.troubles(session):
        say(what, trouble)


def _declarations(session: Session, options: Options, say: Say) -> None:
    """Say how many declarations there are, and where; none is told as what it is."""
    declared = session.fleet.declarations.values()
    files = {each.location.file for each in declared if each.location.file}
    where = ", ".join(options.files) or str(session.project.folder)
    counted = (
        f"{len(declared)} declarations, {len(session.fleet.strategies)} strategies in {where} ({len(files)} files)"
    )
    say(counted, None if declared else "nothing is declared; are the manifests elsewhere? name them with -f")
    for strategy in strategies.unused(session.fleet.strategies, list(declared)):
        say(f"strategy {strategy.name}", "selects nothing; is a label mistyped?")


def _connections(session: Session) -> list[str]:
    """Return the connections to ask: all that the project file names, and the implied one where it is used."""
    used = {address.connection for address in session.fleet.declarations}
    written = {name for name, spec in session.project.connections.items() if spec.location.file is not None}
    return sorted(used | written) or [name for name in session.project.connections if name == projects.LOCAL]


async def _connection(session: Session, name: str, say: Say) -> None:
    try:
        async with session.world() as world:
            declared = [each for each in session.fleet.declarations.values() if each.address.connection == name]
            states = await session.store.states([each.address for each in declared[: connection_check.MOST]])
            answer = await connection_check.ask(world, name, declared, states)
    except HoldfastError as error:
        say(f"connection {name}", str(error))
    else:
        say(f"connection {name}{'' if answer.trouble else f' ({answer.question})'}", answer.trouble or None)


async def _undeclared(session: Session, say: Say) -> None:
    missed = list(session.undeclared)
    if not session.fleet.declarations:
        states = [state async for state in session.store.all_states()]
        found = await undeclared.in_store(session, states)
        missed = [state for state in states if state.address in found]
    for state in missed:
        say(f"{state.address}", "no longer declared; declare it again, or `holdfast forget` it")


async def _store(session: Session, say: Say) -> None:
    try:
        kept = audit_head_file.read(session.store_file, session.key)
        length = await session.store.verify_chain([kept] if kept is not None else [])
        say(f"audit trail: {length} events, unbroken")
    except ChainBroken as error:
        say("audit trail", str(error))
    operations = await session.store.operations()
    unfinished = f"{len(operations)} unfinished writes; `holdfast apply` finishes them"
    say(unfinished if operations else "no unfinished writes")
