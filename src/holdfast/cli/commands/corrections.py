"""The command `corrections`."""

from __future__ import annotations

from typing import Any

import click

from holdfast.app import selection
from holdfast.app.project import Project
from holdfast.app.selection import StoreSelection
from holdfast.cli import console, options
from holdfast.cli.render import findings
from holdfast.cli.render.text import ago
from holdfast.cli.run import in_store
from holdfast.model.json import Json
from holdfast.store.governance import CorrectionRecord


@click.command("corrections")
@click.argument("address", required=False)
@options.stored_partly
@click.option("--limit", default=30, show_default=True)
@console.option(*options.FORMATS)
def corrections_command(address: str | None, limit: int, output_: str, **rest: Any) -> int:
    """List corrections and their outcomes, newest first.

    The first column is the name that `holdfast undo` takes.

    \b
    Examples:
      holdfast corrections api/Widget/blue
    """

    async def body(project: Project, scope: StoreSelection) -> int:
        wanted = selection.parse_addresses([address]) if address else None
        corrections = await project.store.corrections(wanted, limit=limit if scope.is_all else None)
        scope.require_matches(correction.address for correction in corrections)
        corrections = [correction for correction in corrections if scope.covers(correction.address)][:limit]
        now = project.clock.now()
        if console.structured(output_, lambda: [_correction_as_json(correction) for correction in corrections]):
            return 0
        rows = [
            (
                correction.id[:12],
                ago(correction.at, now),
                str(correction.address),
                correction.action,
                correction.reason,
                correction.outcome.value,
                ", ".join(path.path for path in correction.paths[:3]) or "-",
            )
            for correction in corrections
        ]
        console.table(("correction", "when", "resource", "action", "reason", "outcome", "paths"), rows)
        return 0

    return in_store(rest, body)


def _correction_as_json(correction: CorrectionRecord) -> dict[str, Json]:
    return {
        "id": correction.id,
        "address": str(correction.address),
        "at": correction.at,
        "action": correction.action,
        "reason": correction.reason,
        "outcome": correction.outcome.value,
        "who": correction.who,
        "undoes": correction.undoes,
        "preImage": correction.pre_image,
        "postImage": correction.post_image,
        "paths": [
            {
                "path": change.path,
                "took": change.took,
                **findings.value_entry("before", change.before),
                **findings.value_entry("after", change.after),
            }
            for change in correction.paths
        ],
    }
