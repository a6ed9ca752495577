"""The command `baseline`."""

from __future__ import annotations

from typing import Any

import click

from holdfast.app import single_resource
from holdfast.app.project import Project
from holdfast.cli import console, options
from holdfast.cli.render import findings
from holdfast.cli.run import in_project
from holdfast.compare import paths
from holdfast.reconcile import finding_actions
from holdfast.reconcile.finding_actions import Person


@click.command("baseline")
@click.argument("address")
@click.argument("path", required=False)
@options.singly
@options.who
@click.option("--why", required=True, help="The reason; shown beside the finding from now on.")
def baseline_command(address: str, path: str | None, who: str | None, why: str, **rest: Any) -> int:
    """Record the live value as the new baseline.

    The manifest stays as it is. The path is still compared and counted, against the new baseline.

    \b
    Examples:
      holdfast baseline api/Widget/blue /size --why "resized by hand during the incident" -f infra/
    """

    async def body(project: Project) -> int:
        wanted = single_resource.require_declared(project, address)
        async with project.connections() as connections:
            checked = await single_resource.check(project, connections, wanted)
            by = Person(who or options.person(), why)
            taken = await finding_actions.rebaseline(project.store, checked, path, by, project.engine.claimant)
        for finding in taken:
            where = paths.format_path(finding.path) or "(document)"
            console.line(f"  = {where}  {findings.value_text(finding.observed)} is the new baseline", fg="cyan")
        return 0

    return in_project(rest, body)
