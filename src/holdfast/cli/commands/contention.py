"""The command `contention`."""

from __future__ import annotations

from typing import Any

import click

from holdfast.app.project import Project
from holdfast.app.selection import StoreSelection
from holdfast.cli import console, options
from holdfast.cli.render import findings
from holdfast.cli.render.text import ago, count
from holdfast.cli.run import in_store
from holdfast.model.json import Json
from holdfast.policy import contention_rules, durations
from holdfast.store.governance import Quarantine


@click.command("contention")
@options.stored_partly
@console.option(*options.FORMATS)
def contention_command(output_: str, **rest: Any) -> int:
    """List fields that another writer keeps changing.

    Also lists the other quarantined paths: they are only reported until a person decides.

    \b
    Examples:
      holdfast contention
      holdfast revert api/Widget/blue /size       decide for the declaration, and go on correcting
      holdfast accept api/Widget/blue /size       decide for the live value
    """

    async def body(project: Project, scope: StoreSelection) -> int:
        scope.require_matches()
        quarantines = [entry for entry in await project.store.quarantines() if scope.covers(entry.address)]
        writes = [write for write in await project.store.corrections(limit=10_000) if scope.covers(write.address)]
        now = project.clock.now()
        ineffective = [
            {"kind": kind, "path": path, "writes": number}
            for (kind, path), number in contention_rules.ineffective(writes).items()
        ]
        contentions = [_quarantine_as_json(entry) for entry in quarantines]
        if console.structured(output_, lambda: {"contention": contentions, "ineffectiveWrites": ineffective}):
            return 0
        for entry in quarantines:
            _show_quarantine(entry, now)
        for row in ineffective:
            text = f"{row['writes']} writes to {row['path']} of {row['kind']} had no effect"
            console.line(f"  {text}: consider a rule in its profile", fg="bright_black")
        if quarantines:
            console.line(f"{count(len(quarantines), 'field')} waiting for a decision.", bold=True)
        else:
            console.line("No contention.", bold=True)
        return 0

    return in_store(rest, body)


def _quarantine_as_json(quarantine: Quarantine) -> dict[str, Json]:
    return {
        "address": str(quarantine.address),
        "path": quarantine.path,
        "cause": quarantine.cause,
        "since": quarantine.since,
        **quarantine.data,
    }


def _show_quarantine(quarantine: Quarantine, now: float) -> None:
    data = quarantine.data
    path = quarantine.path or "(the whole resource)"
    console.line(
        f"  ⚔ {quarantine.address}  {path}  {quarantine.cause}, {ago(quarantine.since, now)}", fg="magenta", bold=True
    )
    if quarantine.cause == "contention":
        rhythm = (
            f"about every {durations.format_seconds(round(data['period']))}"
            if (data.get("period") or 0) >= 1
            else "at once"
        )
        theirs = ", ".join(findings.value_text(value, 30) for value in data.get("theirs", []))
        other_writer = data.get("otherWriter") or "a writer that the provider cannot name"
        console.line(f"      {other_writer} sets {theirs}, declared {findings.value_text(data.get('ours'), 30)}")
        console.line(f"      corrected {data.get('times')} times, {rhythm}; reported only until you decide")
    console.line(
        f"      decide: holdfast revert|accept|baseline {quarantine.address} {quarantine.path}".rstrip(),
        fg="bright_black",
    )
