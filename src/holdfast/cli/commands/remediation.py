"""The commands `remediation start, complete, assess, show, list`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import click

from holdfast.app import assessment_task
from holdfast.app.project import Project
from holdfast.app.selection import parse_addresses
from holdfast.cli import console, exit_codes, options
from holdfast.cli.render import remediations
from holdfast.cli.render.text import count
from holdfast.cli.run import open_project, run
from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.remediation import attempt_history, controller, repository
from holdfast.remediation.core.alerts import Signal
from holdfast.remediation.core.audit_events import Workflow
from holdfast.remediation.core.records import RemediationEnding, RemediationRecord
from holdfast.remediation.core.state import EndReason
from holdfast.remediation.core.state_hash import StateUnknown
from holdfast.remediation.intake import Announcement, RemediationRefused

_ENDINGS = {
    "completed": RemediationEnding.COMPLETED,
    "failed": RemediationEnding.FAILED,
    "not-executed": RemediationEnding.NOT_EXECUTED,
}


@click.group("remediation")
def remediation_command() -> None:
    """Announce and assess remediations by other tools.

    \b
    Examples:
      holdfast remediation start shop/Service/cart --alert HighMemory --action restart
      holdfast remediation complete shop/Service/cart
      holdfast remediation assess --wait shop/Service/cart
      holdfast remediation list shop/Service/cart
    """


@remediation_command.command("start")
@click.argument("target")
@options.singly
@click.option("--action", default="", help="What is done, in a word or two; trends are told by it.")
@click.option("--workflow", default="", help="Which workflow or runbook does it.")
@click.option("--workflow-version", default="", help="Which version of it.")
@click.option("--alert", default="", help="The name of the alert that it answers.")
@click.option(
    "--label", "labels", multiple=True, metavar="NAME=VALUE", help="Narrows the alert down (may be repeated)."
)
@click.option("--alerting", metavar="ADDRESS", help="What alerted, if that is not the target.")
@click.option("--id", "ident", default="", help="The correlation id; one is made by default.")
@click.option("--anyway", is_flag=True, help="Begin although policy says that it was tried often enough.")
@options.who
@console.option(*options.FORMATS)
def start_command(target: str, output_: str, **rest: Any) -> int:
    """Record the start of a remediation and the state before it.

    Exit code 16: refused, because it failed on the same state as often as policy allows.

    \b
    Examples:
      holdfast remediation start shop/Service/cart --alert HighMemory --label service=cart --action restart
      holdfast remediation start shop/Database/orders --alerting shop/Service/cart --alert HighLatency
    """
    order = _announcement({key: rest.pop(key) for key in _ORDER})
    given = options.options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with open_project(given) as project, project.connections() as connections:
            item = await assessment_task.Preparing(project, connections).needed(_address(target))
            item = await assessment_task.remembered(project, connections, item)
            try:
                record = await assessment_task.announcer(project, connections).start(item, order)
            except RemediationRefused as error:
                console.warn(f"refused: {error}", f"  what was tried: holdfast remediation list {target}")
                return exit_codes.BLOCKED
        if console.structured(output_, lambda: attempt_history.record_as_json(record)):
            return 0
        console.line(f"{record.correlation_id} begins on {record.target}", fg="green")
        before = record.pre.hash if record.pre is not None else f"not known: {record.pre_note}"
        console.line(f"  state before: {before}", fg="bright_black")
        console.line(f"  when it is done: holdfast remediation complete {target}", fg="bright_black")
        return 0

    return run(main)


_ORDER = ("action", "workflow", "workflow_version", "alert", "labels", "alerting", "ident", "anyway", "who")


def _announcement(order: dict[str, Any]) -> Announcement:
    labels = dict(_label(text) for text in order["labels"])
    if labels and not order["alert"]:
        raise click.UsageError("--label narrows an alert down; name it with --alert")
    workflow = Workflow(
        order["workflow"], order["workflow_version"], order["action"], "alert" if order["alert"] else ""
    )
    return Announcement(
        workflow,
        Signal(order["alert"], labels) if order["alert"] else None,
        _address(order["alerting"]) if order["alerting"] else None,
        order["who"] or options.person(),
        order["ident"],
        order["anyway"],
    )


def _label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--label")
    return name, value


def _address(text: str) -> Address:
    return parse_addresses([text])[0]


@remediation_command.command("complete")
@click.argument("target")
@options.singly
@click.option("--id", "ident", default="", help="Which remediation; needed if several are under way.")
@click.option("--outcome", type=click.Choice(list(_ENDINGS)), default="completed", show_default=True)
@click.option("--propagation", metavar="DURATION", help="How long others (GitOps, an operator) take to bring it about.")
@console.option(*options.FORMATS)
def complete_command(target: str, ident: str, outcome: str, propagation: str | None, output_: str, **rest: Any) -> int:
    """Record the end of a remediation and begin its assessment.

    \b
    Examples:
      holdfast remediation complete shop/Service/cart
      holdfast remediation complete shop/Service/cart --propagation 3m
      holdfast remediation complete shop/Service/cart --outcome not-executed
    """
    given = options.options_of(rest)
    delay = options.parse_duration(propagation, "--propagation")

    async def main(_stop: asyncio.Event) -> int:
        async with open_project(given) as project, project.connections() as connections:
            address = _address(target)
            announcer = assessment_task.announcer(project, connections)
            found = await announcer.open_on(address, ident)
            item = await assessment_task.Preparing(project, connections).needed(address)
            record = await announcer.complete(found, item, _ENDINGS[outcome], delay)
            now = project.clock.now()
        if not console.structured(output_, lambda: attempt_history.record_as_json(record)):
            remediations.show_record(record, now)
            console.line("  a running watch assesses it, or: holdfast remediation assess --wait", fg="bright_black")
        return 0

    return run(main)


@remediation_command.command("assess")
@click.argument("which", nargs=-1, metavar="[ID|TARGET]...")
@options.singly
@click.option("--wait", is_flag=True, help="Until the assessments are over, instead of one pass over what is due.")
@click.option("--timeout", metavar="DURATION", help="With --wait: not longer than this.")
@click.option("--fail-under", type=click.FloatRange(0, 1), help="Leave with a code if a score is less; see below.")
@console.option(*options.FORMATS)
def assess_command(
    which: tuple[str, ...], wait: bool, timeout: str | None, fail_under: float | None, output_: str, **rest: Any
) -> int:
    """Advance assessments: those that are due, or the named ones.

    With --fail-under the exit code is a sum: 4 one did not hold, 8 one has no score (yet), 16 one scored less.

    \b
    Examples:
      holdfast remediation assess                              one pass over what is due
      holdfast remediation assess --wait shop/Service/cart     until it is known
      holdfast remediation assess --wait rr-0f3a --fail-under 0.7 -o json
    """
    given = options.options_of(rest)
    longest = options.parse_duration(timeout, "--timeout")

    async def main(stop: asyncio.Event) -> int:
        async with open_project(given) as project, project.writable_connections() as connections:
            chosen = await repository.named(project.store, which)
            assessor = assessment_task.assessor(project, connections)
            if wait:
                until = None if longest is None else project.clock.now() + longest
                await controller.wait_for(assessor, chosen, stop, until)
            else:
                await assessor.run_due(only=frozenset(chosen))
            found = [await repository.find(project.store, ident) for ident in chosen]
            now = project.clock.now()
        told = [kept.record for kept in found if kept is not None]
        if not console.structured(output_, lambda: [attempt_history.record_as_json(record) for record in told]):
            for record in told:
                remediations.show_record(record, now)
            console.line(f"{count(len(told), 'remediation')} assessed." if told else "Nothing to assess.", bold=True)
        return 0 if fail_under is None else _code(told, fail_under)

    return run(main)


def _code(told: Sequence[RemediationRecord], least: float) -> int:
    flags = 0
    for record in told:
        state = record.assessment
        if state is None or state.score is None:
            flags |= exit_codes.INCOMPLETE
        elif state.reason is EndReason.SPEC_DRIFT:
            flags |= exit_codes.DRIFTED
        elif state.score < least:
            flags |= exit_codes.BLOCKED
    return flags


@remediation_command.command("show")
@click.argument("ident", metavar="ID")
@options.singly
@console.option(*options.FORMATS)
def show_command(ident: str, output_: str, **rest: Any) -> int:
    """Show one remediation with its assessment and conditions.

    \b
    Examples:
      holdfast remediation show rr-0f3a91c2d4e5 -o json
    """
    given = options.options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with open_project(given, reads="named", needs_store=True) as project:
            found = await repository.find(project.store, ident)
            now = project.clock.now()
        if found is None:
            raise InputError(f"there is no remediation {ident}; see: holdfast remediation list")
        if not console.structured(output_, lambda: attempt_history.record_as_json(found.record)):
            remediations.show_record(found.record, now)
            remediations.show_details(found.record)
        return 0

    return run(main)


@remediation_command.command("list")
@click.argument("target", required=False)
@options.singly
@click.option("--offline", is_flag=True, help="Do not read the target; then its past is not held against its state.")
@console.option(*options.FORMATS)
def list_command(target: str | None, offline: bool, output_: str, **rest: Any) -> int:
    """List past remediations of a target and their outcomes.

    \b
    Examples:
      holdfast remediation list                        all remediations
      holdfast remediation list shop/Service/cart      with the current state of the target
      holdfast remediation list shop/Service/cart -o json
    """
    given = options.options_of(rest)

    async def listed(_stop: asyncio.Event) -> int:
        async with open_project(given, reads="named", needs_store=True) as project:
            found = [kept.record async for kept in repository.every(project.store)]
            now = project.clock.now()
        found.sort(key=lambda record: (record.started_at, record.correlation_id))
        if not console.structured(output_, lambda: [attempt_history.record_as_json(record) for record in found]):
            remediations.show_all(found, now)
        return 0

    async def main(_stop: asyncio.Event) -> int:
        async with open_project(given, reads="named" if offline else "project", needs_store=offline) as project:
            told = await _account(project, _address(target or ""), offline=offline)
            now = project.clock.now()
        if not console.structured(output_, lambda: attempt_history.as_json(told)):
            remediations.show(told, now)
        return 0

    return run(main if target else listed)


async def _account(project: Project, address: Address, *, offline: bool) -> attempt_history.AttemptHistory:
    if offline:
        return await attempt_history.account(
            project.store, str(address), StateUnknown("not looked at"), project.clock.now()
        )
    async with project.connections() as connections:
        item = await assessment_task.Preparing(project, connections).needed(address)
        announcer = assessment_task.announcer(project, connections)
        today = await announcer.look(item)
        refusal = await announcer.refusal(item, "", today)
        return await attempt_history.account(project.store, str(address), today, project.clock.now(), refusal)
