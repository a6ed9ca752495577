"""The key of a store's fingerprints, in a file beside the store, created once, readable by its owner only."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final

from holdfast.errors import StoreError
from holdfast.store.records import VersionConflict, VersionedRecord
from holdfast.store.transaction import RecordChanges, Transaction

if TYPE_CHECKING:
    from holdfast.store.protocol import RecordStore

KEY_BYTES: Final = 32
_PURPOSE: Final = b"holdfast fingerprint key\0"
_COLLECTION: Final = "store"
FILE: Final = "key"


def key_in(folder: Path, new: bytes | None = None) -> bytes:
    """Return the key of the store in a folder; create it, as `new` if that is given, if it does not exist."""
    file = folder / FILE
    try:
        return _whole(file)
    except FileNotFoundError:
        key = new if new is not None else secrets.token_bytes(KEY_BYTES)
    part = folder / f"{FILE}.{os.getpid()}"
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(key)
        # A link appears at once, so another process never reads half a key.
        with contextlib.suppress(FileExistsError):
            file.hardlink_to(part)
        part.unlink()
        return _whole(file)
    except OSError as error:
        message = f"the key of the store cannot be written to {file}: {error.strerror}"
        raise StoreError(message) from None


async def require_same(store: RecordStore, key: bytes, folder: Path) -> None:
    """Raise StoreError if a shared store was first used with another key; the store has only a digest of it."""
    mark = hmac.new(key, _PURPOSE, hashlib.sha256).hexdigest()
    record = await store.record(_COLLECTION, FILE)
    if record is None:
        first = VersionedRecord(_COLLECTION, FILE, {"mark": mark})
        with contextlib.suppress(VersionConflict):  # another process was first
            await store.commit(Transaction(records=RecordChanges(put=[first])))
        record = await store.record(_COLLECTION, FILE)
    if record is None or record.data.get("mark") != mark:
        raise StoreError(
            f"the key in {folder / FILE} is not the one that this store is used with: every secret would read as "
            "changed; copy the file from a machine that uses the store, or use another store with --store"
        )


def _whole(file: Path) -> bytes:
    """Return the key; raise StoreError if it is too short, because short keys make secrets guessable."""
    key = file.read_bytes()
    if len(key) < KEY_BYTES:
        raise StoreError(
            f"the key of the store in {file} has {len(key)} bytes instead of {KEY_BYTES}; restore it from a backup, or "
            "remove it for a new one: every secret then reads as changed once"
        )
    return key
