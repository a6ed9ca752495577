"""The command `revert`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import click

from holdfast.app import single_resource
from holdfast.app.project import Project
from holdfast.cli import console, options
from holdfast.cli.render import reports
from holdfast.cli.run import open_project, run
from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.model.verdict import Status
from holdfast.reconcile import finding_actions
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.reconcile.check import CheckResult
from holdfast.store.records import AuditEvent
from holdfast.store.transaction import GovernanceChanges, Transaction


@click.command("revert")
@click.argument("address")
@click.argument("path", required=False)
@options.singly
@options.who
@click.option("--why", default="", help="The reason.")
def revert_command(address: str, path: str | None, who: str | None, why: str, **rest: Any) -> int:
    """Write the declared value over a finding.

    Paths that policy only reports are written too, and contention over them ends in favour of the declaration. A pause
    or a freeze window still holds the write. It is re-checked before and verified after, as any write.

    \b
    Examples:
      holdfast revert api/Widget/blue /size -f infra/
      holdfast revert api/Widget/blue -f infra/            all drifted fields
    """
    given = options.options_of(rest)

    async def main(stop: asyncio.Event) -> int:
        async with open_project(given) as project:
            project = replace(project, retries=True)  # noqa: PLW2901 - a person asks
            wanted = single_resource.require_declared(project, address)
            async with project.writable_connections() as connections:
                before = await single_resource.check(project, connections, wanted)
                if before.verdict.status is Status.MISSING and path is not None:
                    raise InputError(f"{address} was deleted; leave out the path to recreate it")
                if before.verdict.status is not Status.MISSING:
                    finding_actions.chosen(before, path)  # raises if there is nothing to revert
                applier = project.applier(
                    connections, stop=stop, reconsider=lambda checked: finding_actions.reverted(checked, path)
                )
                report = await applier.apply([wanted])
            (checked,) = report.checked
            if not report.acted:
                reason = checked.decision.reasons[0]
                console.line(f"not reverted: {reason.message}", fg="red")
                return 1
            acted = report.acted[0]
            if acted.result is ActionOutcome.DONE:
                await _record(project, checked, who or options.person(), why)
        reports.show_acted(acted)
        return 0 if acted.result is ActionOutcome.DONE and not acted.unresolved else 1

    return run(main)


async def _record(project: Project, checked: CheckResult, who: str, why: str) -> None:
    """Record who decided, and end the quarantine of the paths."""
    ended = [(checked.address, path) for path in checked.decision.reasons[0].paths] or [(checked.address, "")]
    data: dict[str, Json] = {"paths": [path for _, path in ended], "who": who, "why": why}
    event = AuditEvent(project.clock.now(), "reverted", str(checked.address), data)
    await project.store.commit(
        Transaction(events=[event], governance=GovernanceChanges(unquarantined=ended, unaccepted=ended))
    )
