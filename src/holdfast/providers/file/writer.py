"""The writing half of the file provider."""

from __future__ import annotations

import asyncio
import errno
import grp
import os
import pwd
from collections.abc import Callable, Mapping
from typing import Final

from holdfast.errors import DocumentError
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.read_result import NotFound, ReadError, ReadFailure
from holdfast.model.write_result import Done, WriteError, WriteFailure, WriteResult
from holdfast.providers import minimal_patch
from holdfast.providers.file import atomic_replace, encoding, file_state, formats, spec
from holdfast.providers.file.atomic_replace import Attributes, MovedError
from holdfast.providers.file.file_state import Seen
from holdfast.providers.file.safe_path import OutsideError, Root
from holdfast.providers.file.spec import Account, BadDeclarationError, DeclaredFile
from holdfast.providers.protocol import Change, Target

_HOPELESS: Final = frozenset({errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL})


_DENIED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class FileWriter:
    """Writes files below one root; the disk is waited for in threads."""

    def __init__(self, root: Root) -> None:
        self._root = root

    async def create(self, target: Target, key: str) -> WriteResult:
        """Create the file and the folders above it. An existing file must have exactly the declared content."""
        return await asyncio.to_thread(_answered, lambda: self._create(target, key))

    async def update(self, target: Target, change: Change, key: str) -> WriteResult:
        """Change the file. Refuse if the file has changed since the decision."""
        return await asyncio.to_thread(_answered, lambda: self._update(target, change, key))

    async def delete(self, target: Target, key: str, etag: str | None = None) -> WriteResult:  # noqa: ARG002 - idempotent
        """Remove the file. With an etag, only if the file has not changed since."""
        return await asyncio.to_thread(_answered, lambda: self._delete(target, etag))

    async def poll(self, target: Target, token: Mapping[str, Json]) -> WriteResult:  # noqa: ARG002 - the contract's
        """Reject the call, because file writes complete at once."""
        return WriteFailure(WriteError.TERMINAL, "files are written at once; there is no operation to ask about")

    # -- blocking from here on

    def _create(self, target: Target, key: str) -> WriteResult:
        wanted = spec.of(target)
        place = self._root.locate(wanted.path)
        data = _new_data(wanted)
        attributes = _attributes(wanted)
        try:
            atomic_replace.create(self._root, place, data, attributes, key)
        except MovedError:
            seen = file_state.look_at(self._root, place)
            if not isinstance(seen, Seen) or seen.data != data or not _has(seen, attributes):
                return WriteFailure(WriteError.MOVED, f"{place.id!r} is there already")
        return self._done(wanted)

    def _update(self, target: Target, change: Change, key: str) -> WriteResult:
        wanted = spec.of(target)
        seen = file_state.look(self._root, wanted.path)
        if isinstance(seen, ReadFailure):
            return _refused_reading(seen)
        if isinstance(seen, NotFound) or change.etag not in (None, seen.digest):
            return WriteFailure(WriteError.MOVED, f"{wanted.path!r} is not what it was when the change was decided")
        now = file_state.document(seen, wanted)
        after = minimal_patch.wanted(dict(change.desired), now, change.paths)
        if after.get("path") != now["path"]:
            return WriteFailure(WriteError.TERMINAL, "the path of a file cannot be changed; it must be replaced")
        data = _changed_data(seen, wanted, after.get("content", ABSENT))
        attributes = _kept_attributes(seen, wanted, now, after)
        if data == seen.data:
            atomic_replace.change_attributes(self._root, seen.place, attributes)
        else:
            atomic_replace.replace(
                self._root, seen.place, data, attributes, key, lambda folder: _is_unmoved(folder, seen)
            )
        return self._done(wanted)

    def _delete(self, target: Target, etag: str | None) -> WriteResult:
        path = target.id if target.id is not None else target.desired.get("path")
        place = self._root.locate(str(path))
        seen = file_state.look_at(self._root, place)
        if isinstance(seen, NotFound):
            return Done(place.id)
        if isinstance(seen, ReadFailure) and seen.trouble is not ReadError.UNAUTHORISED:
            return _refused_reading(seen)
        if etag is not None and (not isinstance(seen, Seen) or seen.digest != etag):
            return WriteFailure(WriteError.MOVED, f"{place.id!r} is not what it was when its deletion was decided")
        atomic_replace.remove(self._root, place)
        return Done(place.id)

    def _done(self, wanted: DeclaredFile) -> WriteResult:
        seen = file_state.look(self._root, wanted.path)
        if not isinstance(seen, Seen):
            return WriteFailure(WriteError.MOVED, f"{wanted.path!r} was written, and another writer removed it at once")
        return Done(seen.place.id, file_state.document(seen, wanted), seen.digest)


def _is_unmoved(folder: int, seen: Seen) -> bool:
    try:
        again = file_state.look_in(folder, seen.place)
    except OSError:
        return False
    return isinstance(again, Seen) and again.digest == seen.digest


def _answered(call: Callable[[], WriteResult]) -> WriteResult:
    """Turn the exceptions of a write into its result."""
    try:
        return call()
    except MovedError:
        return WriteFailure(WriteError.MOVED, "another writer changed the file during the write")
    except (BadDeclarationError, DocumentError) as error:
        return WriteFailure(WriteError.TERMINAL, str(error))
    except RecursionError:
        return WriteFailure(WriteError.TERMINAL, "the document is nested too deep to be edited; edit it by hand")
    except OutsideError as error:
        hopeless = error.trouble not in (ReadError.UNREACHABLE, ReadError.UNSETTLED)
        return WriteFailure(WriteError.TERMINAL if hopeless else WriteError.RETRYABLE, str(error))
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        refusal = WriteError.TERMINAL if error.errno in _HOPELESS else WriteError.RETRYABLE
        refusal = WriteError.DENIED if error.errno in _DENIED else refusal
        return WriteFailure(refusal, f"the file could not be written: {reason}")


def _refused_reading(reading: ReadFailure) -> WriteFailure:
    if reading.trouble is ReadError.UNAUTHORISED:
        return WriteFailure(WriteError.DENIED, reading.detail)
    passing = reading.trouble in (ReadError.UNREACHABLE, ReadError.TIMEOUT, ReadError.UNSETTLED)
    return WriteFailure(WriteError.RETRYABLE if passing else WriteError.TERMINAL, reading.detail)


def _new_data(wanted: DeclaredFile) -> bytes:
    if wanted.format is None:
        return ("" if wanted.content is ABSENT else str(wanted.content)).encode()
    return formats.dumped(wanted.format, {} if wanted.content is ABSENT else wanted.content).encode()


def _changed_data(seen: Seen, wanted: DeclaredFile, after: Json) -> bytes:
    if after is ABSENT:
        return seen.data
    if wanted.format is None:
        return str(after).encode()
    text = encoding.decoded(seen.data, is_document=True)
    return text.with_body(formats.edited(wanted.format, text.body, after)).data


def _attributes(wanted: DeclaredFile) -> Attributes:
    return Attributes(wanted.mode, _uid(wanted.owner), _gid(wanted.group))


def _kept_attributes(seen: Seen, wanted: DeclaredFile, now: Json, after: Json) -> Attributes:
    """Return the content of the file with the change applied."""
    declared_ones = _attributes(wanted)
    return Attributes(
        declared_ones.mode if after.get("mode") != now["mode"] else seen.mode,
        declared_ones.uid if after.get("owner") != now["owner"] else seen.uid,
        declared_ones.gid if after.get("group") != now["group"] else seen.gid,
    )


def _has(seen: Seen, attributes: Attributes) -> bool:
    return (
        attributes.mode in (None, seen.mode)
        and attributes.uid in (None, seen.uid)
        and attributes.gid in (None, seen.gid)
    )


def _uid(account: Account) -> int | None:
    if account is None or isinstance(account, int) or account.isdigit():
        return None if account is None else int(account)
    try:
        return pwd.getpwnam(account).pw_uid
    except KeyError:
        raise BadDeclarationError(f"there is no user {account!r} on this machine") from None


def _gid(account: Account) -> int | None:
    if account is None or isinstance(account, int) or account.isdigit():
        return None if account is None else int(account)
    try:
        return grp.getgrnam(account).gr_gid
    except KeyError:
        raise BadDeclarationError(f"there is no group {account!r} on this machine") from None
