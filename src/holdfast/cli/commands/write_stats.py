"""The command `write-stats`."""

from __future__ import annotations

from typing import Any

import click

from holdfast.app.project import Project
from holdfast.app.selection import StoreSelection
from holdfast.cli import console, options
from holdfast.cli.run import in_store
from holdfast.model.json import Json
from holdfast.policy import write_stats
from holdfast.policy.write_stats import PathRow, TypeRow, WriteResult, WriteStats

_TYPES = ("type", "writes", "ineffective", "in shadow", "needed", "not needed", "of these changed something")
_PATHS = ("type", "path", "sign", "times", "resources")


@click.command("write-stats")
@options.stored_partly
@click.option("--since", metavar="DURATION", help="Only the writes of the last 30m, 24h, 7d.")
@click.option("--limit", default=30, show_default=True, help="Paths to list at most; 0 for all.")
@console.option(*options.FORMATS)
def write_stats_command(since: str | None, limit: int, output_: str, **rest: Any) -> int:
    """Count writes by type and path: needed, ineffective, side effects.

    For types in `reconcileMode: shadow` it shows whether they need a write at every check: "not needed" is the number
    that `get_put` would save, and none of these should have changed anything.

    \b
    Examples:
      holdfast write-stats
      holdfast write-stats --since 7d -o json
    """
    seconds = options.parse_duration(since, "--since")

    async def body(project: Project, scope: StoreSelection) -> int:
        begin = project.clock.now() - seconds if seconds is not None else None
        writes = [
            WriteResult(str(event.event.subject), str(event.event.data.get("type") or "-"), event.event.data)
            async for event in project.store.events(type_prefix="write.done", since=begin)
            if scope.covers_text(event.event.subject)
        ]
        found = write_stats.summed(writes)
        if not console.structured(output_, lambda: _as_json(found)):
            _show(found, limit)
        return 0

    return in_store(rest, body)


def _show(found: WriteStats, limit: int) -> None:
    if not found.types:
        console.line("No writes so far.")
        return
    console.table(_TYPES, [_type_cells(row) for row in found.types], numeric=frozenset(range(1, 7)))
    if found.paths:
        console.line()
        shown = found.paths[:limit] if limit else found.paths
        console.table(_PATHS, [_path_cells(row) for row in shown], numeric=frozenset({3, 4}))
        if len(shown) < len(found.paths):
            console.line(f"{len(found.paths) - len(shown)} more; --limit 0 lists all.")
    shadowed = [row for row in found.types if row.shadowed]
    if shadowed:
        console.line()
    for row in shadowed:
        if row.misjudged:
            said = (
                f"{row.misjudged} of {row.needless} writes held to be needless changed something: see the paths above"
            )
            console.line(f"{row.type}: not yet; {said}.", fg="yellow", bold=True)
        else:
            said = f"{row.needless} of {row.shadowed} writes were needless, and none of those changed anything"
            console.line(f"{row.type}: get_put would do; {said}.", fg="green", bold=True)


def _type_cells(row: TypeRow) -> tuple[str, ...]:
    counts = (row.writes, row.ineffective, row.shadowed, row.needed, row.needless, row.misjudged)
    return (row.type, *map(str, counts))


def _path_cells(row: PathRow) -> tuple[str, ...]:
    return (row.type, row.path, row.sign.value, str(row.times), str(len(row.addresses)))


def _as_json(found: WriteStats) -> Json:
    return {
        "types": [
            {
                "type": row.type,
                "writes": row.writes,
                "ineffective": row.ineffective,
                "shadow": {"writes": row.shadowed, "needed": row.needed, "misjudged": row.misjudged},
            }
            for row in found.types
        ],
        "paths": [
            {
                "type": row.type,
                "path": row.path,
                "sign": row.sign.name.lower(),
                "times": row.times,
                "resources": sorted(row.addresses),
            }
            for row in found.paths
        ],
    }
