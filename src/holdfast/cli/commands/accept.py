"""The command `accept`."""

from __future__ import annotations

import asyncio
import difflib
from pathlib import Path
from typing import Any

import click

from holdfast.app import single_resource
from holdfast.app.options import ProjectOptions
from holdfast.app.project import Project
from holdfast.cli import atomic_write, console, options
from holdfast.cli.render import reports
from holdfast.cli.run import open_project, run
from holdfast.compare import paths
from holdfast.errors import InputError, Location
from holdfast.manifests import file_discovery
from holdfast.manifests.edit import accept_edit
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.finding import ChangedBy, FindingClass
from holdfast.model.json import Json
from holdfast.reconcile import finding_actions
from holdfast.reconcile.check import CheckResult
from holdfast.store.records import AuditEvent
from holdfast.store.transaction import GovernanceChanges, Transaction


@click.command("accept")
@click.argument("address")
@click.argument("path", required=False)
@options.singly
@options.who
@click.option("--dry-run", is_flag=True, help="Show the change to the manifest; write nothing.")
def accept_command(address: str, path: str | None, who: str | None, dry_run: bool, **rest: Any) -> int:
    """Write the live value into the manifest.

    Comments, order and layout are kept. Refused where the edit cannot be made exactly.

    \b
    Examples:
      holdfast accept api/Widget/blue /size -f infra/ --dry-run
      holdfast accept api/Widget/blue -f infra/
    """
    given = options.options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with open_project(given) as project, project.connections() as connections:
            wanted = single_resource.require_declared(project, address)
            checked = await single_resource.check(project, connections, wanted)
            file, before, after = _edited(project, checked, path)
            _show_diff(file, before, after)
            if dry_run:
                return 0
            atomic_write.put(file, after)
            ended = [(wanted, paths.format_path(f.path)) for f in finding_actions.chosen(checked, path)]
            data: dict[str, Json] = {
                "file": str(file),
                "paths": [where for _, where in ended],
                "who": who or options.person(),
            }
            event = AuditEvent(project.clock.now(), "accepted", str(wanted), data)
            await project.store.commit(
                Transaction(events=[event], governance=GovernanceChanges(unquarantined=ended, unaccepted=ended))
            )
        console.line(f"accepted into {file}; review and commit it", fg="green")
        return await _record(given, wanted)

    return run(main)


def _edited(project: Project, checked: CheckResult, path: str | None) -> tuple[Path, bytes, bytes]:
    """Return the manifest before and after the edit; raise InputError if it cannot be made exactly."""
    declaration = project.resources.declarations[checked.address]
    name = declaration.location.file
    leading = [group.template.name for group in project.groups if checked.address in group.children]
    if leading:
        raise InputError(
            f"{checked.address} is a child of template {leading[0]}: edit the template, or revert, baseline or waive"
        )
    if name is None or name == file_discovery.STDIN:
        raise InputError("the manifest came from standard input; there is no file to write to")
    taken = finding_actions.chosen(checked, path)
    secret = [finding for finding in taken if finding.cls is FindingClass.SECRET]
    if secret:
        where = paths.format_path(secret[0].path)
        raise InputError(f"{where} is a secret; change it where it is kept, or revert it", declaration.location)
    if all(finding.changed_by is ChangedBy.DECLARED for finding in taken):
        raise InputError("only the declaration changed; there is no live value to accept. Apply it, or undo the edit")
    file = Path(name)
    try:
        before = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", Location(name)) from None
    return file, before, accept_edit.accept(before, name, declaration, [accept_edit.of_finding(f) for f in taken])


def _show_diff(file: Path, before: bytes, after: bytes) -> None:
    old, new = (data.decode("utf-8", "replace").splitlines() for data in (before, after))
    for line in difflib.unified_diff(old, new, str(file), str(file), lineterm="", n=1):
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        console.line(line, fg=colour)


async def _record(given: ProjectOptions, address: Address) -> int:
    """Check again with the new manifest and record that it matches; nothing is written to live state."""
    async with open_project(given) as project, project.writable_connections() as connections:
        applier = project.applier(connections, only=lambda checked: checked.decision.action is Action.ADOPT)
        report = await applier.apply([address])
    reports.show_checked(report.checked[0])
    return 0
