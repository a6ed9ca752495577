"""A signed copy of the head of the audit trail beside the store, which shows that a trail was cut.

A person with write access to the database can cut the trail and change its recorded end. The copy is signed with the
key of the store, so it cannot be forged without that key, and its absence shows. Against a person who has the database,
the key and this file, only a head that was noted elsewhere helps: `holdfast audit head`.
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
    """The part of a store that this module reads."""

    async def head(self) -> AuditHead:
        """Return the end of the trail."""

    async def has_head(self, head: AuditHead) -> bool:
        """Return True if the trail has an event of this number and hash."""


def file_of(store: Path) -> Path:
    """Return the path of the copy of a store's head."""
    return store.with_name(store.name + _SUFFIX)


def read(store: Path, key: bytes) -> AuditHead | None:
    """Return the copied head, or None if there is no copy; raise ChainBroken if it was not signed with the key."""
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
    """Write the end of the trail to the copy; a copy that contradicts the trail stays, because it is evidence."""
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
    with contextlib.suppress(OSError):  # the folder is read-only
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(f"{head} {_signature(head, key)}\n".encode())
        part.replace(file)


def _signature(head: AuditHead, key: bytes) -> str:
    return hmac.new(key, _PURPOSE + orjson.dumps([head.length, head.hash]), hashlib.sha256).hexdigest()
