"""The commands that prove what happened: audit verify, audit head."""

from __future__ import annotations

from typing import Any

import click

from holdfast.app.project import Session, remembered
from holdfast.app.stored_selection import Scope
from holdfast.cli import console
from holdfast.cli.commands.records import in_store
from holdfast.errors import ChainBroken, InputError
from holdfast.model.audit import AuditHead
from holdfast.store import audit_head_file


@click.group("audit")
def audit_command() -> None:
    """Prove what happened."""


@audit_command.command("verify")
@click.option(
    "--head", "given", multiple=True, metavar="HEAD", help="A head that `audit head` printed before (may be repeated)."
)
@remembered
def verify_command(given: tuple[str, ...], **rest: Any) -> int:
    """Recompute the hash chain of the audit trail; fails if an event was edited, removed or reordered.

    That nothing was cut from its end is shown by the head that is kept beside the store, and by every --head.

    \b
    Examples:
      holdfast audit verify
      holdfast audit verify --head 42:sha256:5a8f...
    """
    known = [_parsed(text) for text in given]

    async def body(session: Session, _scope: Scope) -> int:
        try:
            kept = audit_head_file.read(session.store_file, session.key)
            length = await session.store.verify_chain([*known, *([kept] if kept is not None else [])])
        except ChainBroken as error:
            console.line(f"broken: {error}", fg="red", bold=True)
            return 1
        console.line(f"verified: {length} events, unbroken", fg="green", bold=True)
        if kept is None and not known and length:
            file = audit_head_file.file_of(session.store_file)
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
@remembered
def head_command(**rest: Any) -> int:
    """Print the head of the audit trail, one line that stands for all of it, to be kept elsewhere.

    \b
    Examples:
      holdfast audit head >> /mnt/elsewhere/holdfast-heads
      holdfast audit verify --head "$(tail -n 1 /mnt/elsewhere/holdfast-heads)"
    """

    async def body(session: Session, _scope: Scope) -> int:
        console.line(str(await session.store.head()))
        return 0

    return in_store(rest, body)
