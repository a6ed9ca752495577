"""Looking at a file: its bytes and attributes with one digest, or why they cannot be had. Blocking; never raises."""

from __future__ import annotations

import errno
import grp
import hashlib
import os
import posixpath
import pwd
import stat
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final

import orjson

from holdfast.compare import paths
from holdfast.compare.comparators import typed_equal
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.read_result import NotFound, ReadError, ReadFailure
from holdfast.model.record import dataclass
from holdfast.providers.file import encoding, formats
from holdfast.providers.file.safe_path import FileLocation, OutsideError, Root
from holdfast.providers.file.spec import Account, DeclaredFile

MAX_BYTES: Final = 64 * 2**20

_DENIED = frozenset({errno.EACCES, errno.EPERM})
_UNREACHABLE = frozenset({errno.EIO, errno.ESTALE, errno.ENODEV, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENOTCONN})
_OPENING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not make us wait for its writer


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it was at one moment."""

    place: FileLocation
    data: bytes
    mode: int
    uid: int
    gid: int

    @property
    def raw(self) -> bytes:
        """All of it in one piece: a line with the attributes, then the bytes of the file."""
        return orjson.dumps([self.place.id, self.mode, self.uid, self.gid]) + b"\n" + self.data

    @property
    def digest(self) -> str:
        """A value that changes when any part of the file changes."""
        return "sha256:" + hashlib.sha256(self.raw).hexdigest()

    @staticmethod
    def of_raw(raw: bytes) -> Seen:
        """Return the observation from its `raw` bytes."""
        head, _, data = raw.partition(b"\n")
        ident, mode, uid, gid = orjson.loads(head)
        return Seen(FileLocation(ident, PurePosixPath(ident), PurePosixPath(ident)), data, mode, uid, gid)


def look(root: Root, path: str) -> Seen | NotFound | ReadFailure:
    """Read a file below a root."""
    try:
        place = root.locate(path)
    except OutsideError as error:
        return ReadFailure(error.trouble, str(error))
    return look_at(root, place)


def look_at(root: Root, place: FileLocation) -> Seen | NotFound | ReadFailure:
    """Read the file at a place."""
    try:
        folder = root.enter(place.real.parent)
        try:
            return look_in(folder, place)
        finally:
            os.close(folder)
    except FileNotFoundError:
        if root.exists:
            return NotFound()
        return ReadFailure(ReadError.UNREACHABLE, f"the root {str(root.path)!r} disappeared; create or mount it")
    except OutsideError as error:
        return ReadFailure(error.trouble, str(error))
    except OSError as error:
        return _failed(place, error)


def look_in(folder: int, place: FileLocation) -> Seen | ReadFailure:
    """Read the file at a place in its folder, which is held; raise OSError if it cannot be opened."""
    handle = os.open(place.real.name, _OPENING, dir_fd=folder)
    try:
        before = os.fstat(handle)
        if not stat.S_ISREG(before.st_mode):
            return ReadFailure(ReadError.OTHER, f"{place.id!r} is {_kind(before.st_mode)}, not a file")
        if before.st_size > MAX_BYTES:
            detail = f"{place.id!r} has {before.st_size:,} bytes; the limit is {MAX_BYTES:,}"
            return ReadFailure(ReadError.OTHER, detail)
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(MAX_BYTES + 1)
        after = os.fstat(handle)
    finally:
        os.close(handle)
    if (after.st_mtime_ns, after.st_size) != (before.st_mtime_ns, before.st_size) or len(data) != after.st_size:
        return ReadFailure(ReadError.UNSETTLED, f"{place.id!r} was being written while it was read")
    return Seen(place, data, stat.S_IMODE(after.st_mode), after.st_uid, after.st_gid)


def _kind(mode: int) -> str:
    names = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    return names.get(stat.S_IFMT(mode), "a special file")


def _failed(place: FileLocation, error: OSError) -> ReadFailure:
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    detail = f"{place.id!r} cannot be read: {reason}"
    if error.errno in _DENIED:
        return ReadFailure(ReadError.UNAUTHORISED, detail)
    if error.errno == errno.ETIMEDOUT:
        return ReadFailure(ReadError.TIMEOUT, detail)
    return ReadFailure(ReadError.UNREACHABLE if error.errno in _UNREACHABLE else ReadError.OTHER, detail)


# --- as a document ----------------------------------------------------------------------------------------------------


def document(seen: Seen, declared: DeclaredFile) -> Json:
    """Return a file in the shape of its declaration; raise DocumentError if its content is not of its format."""
    out: dict[str, Json] = {"path": seen.place.id}
    if declared.spelling is not None and posixpath.normpath(declared.spelling) == seen.place.id:
        out["path"] = declared.spelling
    if declared.format is not None:
        out["format"] = declared.format
    out["content"] = content(seen, declared)
    out["mode"] = f"{seen.mode:04o}"
    out["owner"] = _account(seen.uid, declared.owner, user_name)
    out["group"] = _account(seen.gid, declared.group, _group_name)
    return out


def content(seen: Seen, declared: DeclaredFile) -> Json:
    """Return the content of a file."""
    text = encoding.decoded(seen.data, is_document=declared.format is not None)
    if declared.format is None:
        return text.body
    found = formats.named(declared.format).parse(text.body)
    return _typed(found, declared.content) if declared.format == "ini" else found


def _typed(found: Json, wanted: Json) -> Json:
    """Read the strings of an INI file as the declared types, where the text is exactly that value."""
    if isinstance(found, dict):
        return {
            key: _typed(value, wanted.get(key, ABSENT) if isinstance(wanted, dict) else ABSENT)
            for key, value in found.items()
        }
    if isinstance(found, list):
        same = isinstance(wanted, list) and len(wanted) == len(found)
        return [_typed(value, wanted[index] if same else ABSENT) for index, value in enumerate(found)]
    if wanted is ABSENT or isinstance(wanted, str | dict | list) or not isinstance(found, str):
        return found
    return _scalar(found, wanted)


def _scalar(text: str, wanted: Json) -> Json:
    if paths.scalar_text(wanted) == text:
        return wanted
    try:
        value = orjson.loads(text.lower() if isinstance(wanted, bool) else text)
    except orjson.JSONDecodeError:
        return text
    same_kind = isinstance(value, bool) is isinstance(wanted, bool) and isinstance(value, int | float)
    return value if same_kind and not typed_equal(value, None) else text


def _account(ident: int, declared: Account, name: Callable[[int], str]) -> Json:
    if isinstance(declared, int):
        return ident
    if declared is not None and declared.isdigit():
        return str(ident)
    return name(ident)


def user_name(ident: int) -> str:
    """Return the name of a user of this machine, or the number where there is none."""
    try:
        return pwd.getpwuid(ident).pw_name
    except KeyError:
        return str(ident)


def _group_name(ident: int) -> str:
    try:
        return grp.getgrgid(ident).gr_name
    except KeyError:
        return str(ident)
