"""A copy of the head of the audit trail beside the store, so that a trail that was cut is noticed.

Whoever can write the database can cut the trail and set its own record of its end back. The copy is signed with the key
of the store, so it cannot be set back without that key, nor without leaving a hole where it was. Against somebody who
has the database, the key and this file, only a head that was written down elsewhere helps: `holdfast audit head`.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
from pathlib import Path
from typing import Final, Protocol

import orjson

from holdfast.errors import ChainBroken, StoreError
from holdfast.model.audit import AuditHead

_SUFFIX: Final = ".audit-head"
_PURPOSE: Final = b"holdfast audit head\0"


class Trail(Protocol):
    """What is asked of a store."""

    async def head(self) -> AuditHead:
        """Return where the trail ends."""

    async def has_head(self, head: AuditHead) -> bool:
        """Tell whether the trail has an event of this number and hash."""


def file_of(store: Path) -> Path:
    """Return where the copy of a store's head is."""
    return store.with_name(store.name + _SUFFIX)


def read(store: Path, key: bytes) -> AuditHead | None:
    """Return the kept head, None if there is none; raise ChainBroken if it was not signed with the key."""
    file = file_of(store)
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    head, _, signature = text.strip().partition(" ")
    found = AuditHead.parse(head)
    if found is None or not hmac.compare_digest(signature.encode(), _signature(found, key).encode()):
        message = f"the copy of the audit trail's head in {file} was edited, or the key of the store was exchanged"
        raise ChainBroken(0, message)
    return found


async def keep(trail: Trail, store: Path, key: bytes) -> None:
    """Keep where the trail ends now; a copy that the trail does not bear out is left alone, for it is the evidence."""
    try:
        head, before = await trail.head(), read(store, key)
        if before is not None and (before.length >= head.length or not await trail.has_head(before)):
            return
    except StoreError:
        return
    if head.length > 0:
        _write(file_of(store), head, key)


def _write(file: Path, head: AuditHead, key: bytes) -> None:
    part = file.with_name(f"{file.name}.{os.getpid()}")
    with contextlib.suppress(OSError):  # a folder that may only be read keeps what it has
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(f"{head} {_signature(head, key)}\n".encode())
        part.replace(file)


def _signature(head: AuditHead, key: bytes) -> str:
    return hmac.new(key, _PURPOSE + orjson.dumps([head.length, head.hash]), hashlib.sha256).hexdigest()
