"""The command `import`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from holdfast.app import single_resource
from holdfast.app.project import Project
from holdfast.cli import console, options
from holdfast.cli.run import in_project
from holdfast.model.decision import Action
from holdfast.model.resource import Import


@click.command("import")
@click.argument("address")
@click.argument("provider_id")
@options.singly
def import_command(address: str, provider_id: str, **rest: Any) -> int:
    """Adopt a live resource by its provider id.

    The resource must be declared. Nothing is written to live state.

    \b
    Examples:
      holdfast import api/Widget/blue 42 -f infra/
    """

    async def body(project: Project) -> int:
        wanted = single_resource.require_declared(project, address)
        declared = project.resources.declarations
        imported = replace(declared[wanted], import_from=Import(id=provider_id))
        resources = replace(project.resources, declarations={**declared, wanted: imported})
        adopting = replace(project, resources=resources, retries=True)
        async with adopting.writable_connections() as connections:
            applier = adopting.applier(connections, only=lambda checked: checked.decision.action is Action.ADOPT)
            report = await applier.apply([wanted])
        if not report.acted:
            reason = report.checked[0].decision.reasons[0].message if report.checked else report.waiting[0].reason
            console.line(f"not imported: {reason}", fg="red")
            return 1
        console.line(f"imported {address} as {provider_id}; nothing was written", fg="green")
        return 0

    return in_project(rest, body)
