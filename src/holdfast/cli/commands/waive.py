"""The command `waive`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from holdfast.app.project import Project
from holdfast.app.waived_documents import known_documents
from holdfast.cli import atomic_write, console, options
from holdfast.cli.run import in_project
from holdfast.compare import paths
from holdfast.errors import InputError
from holdfast.manifests.edit import waiver_edit
from holdfast.policy import time_parsing, waivers
from holdfast.policy.waivers import Waiver

YEAR_SECONDS = 366 * 86_400.0


@click.command("waive")
@click.argument("resource", metavar="ADDRESS")
@click.argument("path")
@options.singly
@click.option("--owner", required=True, help="Who is responsible for it.")
@click.option("--reason", required=True, help="Why the difference is acceptable.")
@click.option("--expires", required=True, metavar="DAY", help="Until when: 2026-12-01 or 2026-12-01T18:00.")
@click.option("--ticket", default="", help="Where it is tracked; needed for more than a year.")
@click.option("--into", metavar="FILE", help="The file of waivers; waivers.yaml beside holdfast.yaml by default.")
def waive_command(
    resource: str, path: str, owner: str, reason: str, expires: str, ticket: str, into: str | None, **rest: Any
) -> int:
    """Suppress a finding until a date, with an owner.

    The waiver is written to a file for review. The finding stays visible and counted. After the date it is drift again.

    \b
    Examples:
      holdfast waive api/Widget/blue /size --owner ada@example.org --reason "load test" --expires 2026-12-01
      holdfast waive 'api/Widget/*' '/tags/**' --owner ops --reason migration --expires 2026-12-01
    """

    async def body(project: Project) -> int:
        now = project.clock.now()
        waiver = Waiver(resource, path, owner, reason, _end(expires), ticket)
        _require_sound(waiver, now)
        for mistake in waivers.mistakes([waiver], await known_documents(project, [waiver]), now):
            raise InputError(mistake.message)
        file = Path(into) if into else project.config.waivers[0]
        before = file.read_bytes().decode() if file.exists() else None
        atomic_write.put(file, waiver_edit.add(before, waiver).encode())
        console.line(f"{waiver.note}", fg="cyan")
        console.line(f"written to {file}; review and commit it")
        return 0

    return in_project(rest, body)


def _end(text: str) -> float:
    try:
        return time_parsing.end(text)
    except InputError as error:
        raise click.BadParameter(error.message, param_hint="--expires") from None


def _require_sound(waiver: Waiver, now: float) -> None:
    paths.parse_pattern(waiver.path)
    if waiver.is_expired(now):
        raise InputError(f"--expires: {waiver.until} is in the past")
    if waiver.expires - now > YEAR_SECONDS and not waiver.ticket:
        raise InputError("--expires: more than a year needs a --ticket")
