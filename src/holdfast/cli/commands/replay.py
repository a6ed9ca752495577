"""The command `replay`."""

from __future__ import annotations

from typing import Any

import click

from holdfast.app.project import Project
from holdfast.app.selection import StoreSelection
from holdfast.cli import console, options
from holdfast.cli.run import in_store
from holdfast.compare import canonical
from holdfast.errors import InputError
from holdfast.reconcile import serialize


@click.command("replay")
@click.argument("decision")
@options.stored
@console.option(*options.FORMATS)
def replay_command(decision: str, output_: str, **rest: Any) -> int:
    """Recompute a stored decision from its inputs.

    The result must agree byte for byte; exit code 1 if not.

    \b
    Examples:
      holdfast history api/Widget/blue        lists decisions
      holdfast replay 18f2a-0c9d1e2f3a4b
    """

    async def body(project: Project, _scope: StoreSelection) -> int:
        record = await project.store.decision(decision)
        if record is None:
            raise InputError(f"there is no decision {decision}; `holdfast history` lists them")
        stored, recomputed = await serialize.replay(project.store, record)
        before = canonical.canonical_bytes(stored, lists="ordered")
        after = canonical.canonical_bytes(recomputed, lists="ordered")
        agrees = before == after
        if not console.structured(
            output_, lambda: {"decision": record.id, "agrees": agrees, "stored": stored, "recomputed": recomputed}
        ):
            console.line(record.summary)
            verdict = "agrees, byte for byte" if agrees else "DISAGREES with what was stored"
            console.line(verdict, fg="green" if agrees else "red", bold=True)
        return 0 if agrees else 1

    return in_store(rest, body)
