"""The commands `audit verify` and `audit head`."""

from __future__ import annotations

from typing import Any

import click

from holdfast.app.project import Project
from holdfast.app.selection import StoreSelection
from holdfast.cli import console, options
from holdfast.cli.render.text import count
from holdfast.cli.run import in_store
from holdfast.errors import ChainBroken, InputError
from holdfast.model.audit import AuditHead
from holdfast.store import audit_head_file


@click.group("audit")
def audit_command() -> None:
    """Verify that the audit trail was not edited or cut."""


@audit_command.command("verify")
@click.option(
    "--head", "given", multiple=True, metavar="HEAD", help="A head that `audit head` printed before (may be repeated)."
)
@options.stored
def verify_command(given: tuple[str, ...], **rest: Any) -> int:
    """Recompute the hash chain of the audit trail.

    Exit code 1 if an event was edited, removed or reordered. The head that is kept beside the store, and every --head,
    show that nothing was cut from its end.

    \b
    Examples:
      holdfast audit verify
      holdfast audit verify --head 42:sha256:5a8f...
    """
    known = [_parsed(text) for text in given]

    async def body(project: Project, _scope: StoreSelection) -> int:
        try:
            kept = audit_head_file.read(project.store_file, project.engine.key)
            length = await project.store.verify_chain([*known, *([kept] if kept is not None else [])])
        except ChainBroken as error:
            console.line(f"broken: {error}", fg="red", bold=True)
            return 1
        console.line(f"verified: {count(length, 'event')}, unbroken", fg="green", bold=True)
        if kept is None and not known and length:
            file = audit_head_file.file_of(project.store_file)
            console.warn(f"there was no head to compare with in {file}, so a cut end would not have been seen")
        return 0

    return in_store(rest, body)


def _parsed(text: str) -> AuditHead:
    head = AuditHead.parse(text)
    if head is None:
        message = f"{text!r} is not the head of an audit trail; write it as `holdfast audit head` prints it"
        raise InputError(message)
    return head


@audit_command.command("head")
@options.stored
def head_command(**rest: Any) -> int:
    """Print the head of the audit trail, to keep it elsewhere.

    \b
    Examples:
      holdfast audit head >> /mnt/elsewhere/holdfast-heads
      holdfast audit verify --head "$(tail -n 1 /mnt/elsewhere/holdfast-heads)"
    """

    async def body(project: Project, _scope: StoreSelection) -> int:
        console.line(str(await project.store.head()))
        return 0

    return in_store(rest, body)
