"""The command `doctor`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

import holdfast
from holdfast.app import assessment_task, undeclared
from holdfast.app.options import ProjectOptions
from holdfast.app.project import Project
from holdfast.app.waived_documents import known_documents
from holdfast.cli import console, options
from holdfast.cli.commands.discover import with_manifests
from holdfast.cli.render.text import count
from holdfast.cli.run import open_project, run
from holdfast.compare import build
from holdfast.errors import ChainBroken, HoldfastError
from holdfast.manifests import project as projects
from holdfast.model.address import Address
from holdfast.model.resource import Declaration
from holdfast.notify import sink_check
from holdfast.notify.sinks import SinkContext
from holdfast.policy import strategies, waivers
from holdfast.providers import registry
from holdfast.reconcile import connection_check
from holdfast.store import audit_head_file

Say = Callable[..., None]


@click.command("doctor")
@options.singly
def doctor_command(**rest: Any) -> int:
    """Check configuration, connections and store for problems.

    Every connection gets one cheap request that fails if its address, token or permission is wrong. Notification sinks
    are tried without sending anything.

    \b
    Examples:
      holdfast doctor
      holdfast doctor -f infra/
    """
    given = options.options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        python, known = sys.version.split()[0], ", ".join(registry.names())
        core = build.describe_build()
        console.line(f"holdfast {holdfast.__version__} ({core}), Python {python}, providers: {known}")
        problems = 0

        def say(what: str, trouble: str | None = None) -> None:
            nonlocal problems
            problems += trouble is not None
            console.line(
                f"  {'✗' if trouble else '✓'} {what}{': ' + trouble if trouble else ''}",
                fg="red" if trouble else "green",
            )

        try:
            used = with_manifests(given)
            async with open_project(used, reads="project" if used.files else "named") as project:
                await _examine(project, used, say)
        except HoldfastError as error:
            say("configuration", str(error))
        console.line(f"{count(problems, 'problem') if problems else 'no problems'} found", bold=True)
        return 1 if problems else 0

    return run(main)


async def _examine(project: Project, used: ProjectOptions, say: Say) -> None:
    say(f"project file {project.config.file or 'none; using defaults'}")
    _declarations(project, used, say)
    if project.engine.rules.waivers:
        documents = await known_documents(project, project.engine.rules.waivers)
        for mistake in waivers.mistakes(project.engine.rules.waivers, documents, project.clock.now()):
            say("waiver", str(mistake))
    await _undeclared(project, say)
    await _store(project, say)
    for name in _connections(project):
        await _connection(replace(project, opened_connections=frozenset({name})), name, say)
    means = SinkContext(project.clock, project.engine.random01, project.secrets)
    for sink in project.config.notify:
        say(f"notify {sink.name}", await sink_check.trouble(sink, means))
    for what, trouble in await assessment_task.troubles(project):
        say(what, trouble)


def _declarations(project: Project, used: ProjectOptions, say: Say) -> None:
    """Report the number of declarations and their files; none at all is a problem."""
    declared = project.resources.declarations.values()
    files = {declaration.location.file for declaration in declared if declaration.location.file}
    where = ", ".join(used.files) or str(project.config.folder)
    strategies_ = count(len(project.resources.strategies), "strategy", "strategies")
    counted = f"{count(len(declared), 'declaration')}, {strategies_} in {where} ({count(len(files), 'file')})"
    say(counted, None if declared else "nothing is declared; name the manifests with -f")
    for strategy in strategies.unused(project.resources.strategies, list(declared)):
        say(f"strategy {strategy.name}", "selects nothing; is a label mistyped?")


def _connections(project: Project) -> list[str]:
    """Return the connections to ask: all that the project file names, and the implied one where it is used."""
    used = {address.connection for address in project.resources.declarations}
    written = {name for name, spec in project.config.connections.items() if spec.location.file is not None}
    return sorted(used | written) or [name for name in project.config.connections if name == projects.LOCAL]


async def _connection(project: Project, name: str, say: Say) -> None:
    try:
        async with project.connections() as connections:
            declared = _asked_for(project, name)
            states = await project.store.states([declaration.address for declaration in declared])
            answer = await connection_check.ask(connections, name, declared, states)
    except HoldfastError as error:
        say(f"connection {name}", str(error))
    else:
        say(f"connection {name}{'' if answer.trouble else f' ({answer.question})'}", answer.trouble or None)


def _asked_for(project: Project, connection: str) -> list[Declaration]:
    """Return the first declarations of a connection, and one of every further kind."""
    chosen: list[Address] = []
    kinds: set[str] = set()
    for address in project.resources.declarations:
        is_new = address.kind not in kinds
        if address.connection == connection and (is_new or len(chosen) < connection_check.MOST):
            chosen.append(address)
            kinds.add(address.kind)
    return [project.resources.declarations[address] for address in chosen]


async def _undeclared(project: Project, say: Say) -> None:
    missed = [state.address for state in project.undeclared]
    if not project.resources.declarations:
        missed = sorted(await undeclared.in_whole_store(project), key=str)
    for address in missed:
        say(f"{address}", "no longer declared; declare it again, or `holdfast forget` it")


async def _store(project: Project, say: Say) -> None:
    try:
        kept = audit_head_file.read(project.store_file, project.engine.key)
        length = await project.store.verify_chain([kept] if kept is not None else [])
        say(f"audit trail: {count(length, 'event')}, unbroken")
    except ChainBroken as error:
        say("audit trail", str(error))
    operations = await project.store.operations()
    unfinished = f"{count(len(operations), 'unfinished write')}; `holdfast apply` finishes them"
    say(unfinished if operations else "no unfinished writes")
