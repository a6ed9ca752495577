"""Replacing or creating a file so that every reader sees the whole old file or the whole new one.

The new file is written beside its place, readable only by its owner, given its attributes, flushed to disk, and then
renamed. Last the folder is flushed, so that the rename survives a power cut. Before the rename the caller is asked once
more whether the file is still as the change expects it. Blocking. Failures of the file system are OSError.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Final

from holdfast.model.record import dataclass
from holdfast.providers.file.safe_path import TEMPORARY, FileLocation, Root

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_NO_ATTRIBUTES = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM, errno.EACCES, errno.ENODATA})
_ACCESS_LIST: Final = "system.posix_acl_access"
_PRIVATE: Final = 0o600
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OPENING: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class MovedError(Exception):
    """Another writer changed the file first, and nothing was written."""


@dataclass(frozen=True, slots=True)
class Attributes:
    """Owner and mode that a file must have; None leaves them to the system, or as they are."""

    mode: int | None = None
    uid: int | None = None
    gid: int | None = None


def replace(
    root: Root, place: FileLocation, data: bytes, attributes: Attributes, key: str, is_unmoved: Callable[[int], bool]
) -> None:
    """Put new bytes in the place of an existing file, in whose folder the caller is asked for a last look."""
    with _locked(root, place.real) as folder, _temporary(folder, place, key) as (name, handle):
        _fill(handle, data)
        _copy_extended(folder, place.real.name, handle, attributes)
        _dress(handle, attributes)
        os.fsync(handle)
        if not is_unmoved(folder):
            raise MovedError
        os.replace(name, place.real.name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)


def create(root: Root, place: FileLocation, data: bytes, attributes: Attributes, key: str) -> None:
    """Put a file where none is, and the folders above it; raise MovedError if there is one by now."""
    with _locked(root, place.real, make=True) as folder:
        if attributes.mode is None:
            attributes = dataclasses.replace(attributes, mode=_usual_mode(folder, place, key))
        with _temporary(folder, place, key) as (name, handle):
            _fill(handle, data)
            _dress(handle, attributes)
            os.fsync(handle)
            _put_exclusively(folder, name, place.real.name)
            os.fsync(folder)


def _put_exclusively(folder: int, name: str, final: str) -> None:
    """Give a file its name unless the name is taken: a hard link does both at once, a rename cannot."""
    try:
        os.link(name, final, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise MovedError from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if _exists(folder, final):
            raise MovedError from None
        os.replace(name, final, src_dir_fd=folder, dst_dir_fd=folder)


def change_attributes(root: Root, place: FileLocation, attributes: Attributes) -> None:
    """Change mode and owner of a file in place."""
    with root.passing(place.real.parent) as folder, _opened(folder, place.real.name) as handle:
        _dress(handle, attributes)
        os.fsync(handle)


def remove(root: Root, place: FileLocation) -> None:
    """Remove the entry that bears the declared name; of a link, the link."""
    with _locked(root, place.entry) as folder:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place.entry.name, dir_fd=folder)
        os.fsync(folder)


@contextlib.contextmanager
def _locked(root: Root, path: PurePosixPath, *, make: bool = False) -> Iterator[int]:
    """Hold the folder of a file open, so that all steps happen in this very folder even if it is moved.

    Other processes of ours wait meanwhile, so that none of them comes between the last look and the rename.
    """
    with root.folder(path.parent, make=make) as handle:
        with contextlib.suppress(OSError):  # some network file systems have no locks; then the last look must do
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle


def _name(place: FileLocation, key: str) -> str:
    """Return the name of an operation's temporary file, so that its repetition removes the leftovers."""
    return TEMPORARY + hashlib.sha256(f"{place.id}\0{key}".encode()).hexdigest()[:24]


@contextlib.contextmanager
def _temporary(folder: int, place: FileLocation, key: str, mode: int = _PRIVATE) -> Iterator[tuple[str, int]]:
    """Create a temporary file that is removed afterwards unless it was renamed. It is private before it has a mode."""
    name = _name(place, key)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    handle = os.open(name, _NEW, mode, dir_fd=folder)
    try:
        yield name, handle
    finally:
        os.close(handle)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def _usual_mode(folder: int, place: FileLocation, key: str) -> int:
    """Return the mode that the system gives a new file here: tried on one in which nothing is ever written."""
    with _temporary(folder, place, key, 0o666) as (_, handle):
        return stat.S_IMODE(os.fstat(handle).st_mode)


def _fill(handle: int, data: bytes) -> None:
    with os.fdopen(handle, "wb", closefd=False) as file:
        file.write(data)


def _dress(handle: int, attributes: Attributes) -> None:
    """Give owner before mode: changing the owner clears the set-uid bit."""
    now = os.fstat(handle)
    uid = now.st_uid if attributes.uid is None else attributes.uid
    gid = now.st_gid if attributes.gid is None else attributes.gid
    if (uid, gid) != (now.st_uid, now.st_gid):
        os.fchown(handle, uid, gid)
    if attributes.mode is not None:
        os.fchmod(handle, attributes.mode)


def _copy_extended(folder: int, old: str, handle: int, attributes: Attributes) -> None:
    """Carry over access lists, labels and other extended attributes, as far as system and permissions allow.

    An access list that the new mode leaves nothing of is not: it would let others in until the mode is set.
    """
    if not hasattr(os, "listxattr"):
        return
    is_private = attributes.mode is not None and not attributes.mode & 0o070
    try:
        with _opened(folder, old) as source:
            for name in os.listxattr(source):
                if not (is_private and name == _ACCESS_LIST):
                    os.setxattr(handle, name, os.getxattr(source, name))
    except OSError as error:
        if error.errno not in _NO_ATTRIBUTES:
            raise


@contextlib.contextmanager
def _opened(folder: int, name: str) -> Iterator[int]:
    handle = os.open(name, _OPENING, dir_fd=folder)
    try:
        yield handle
    finally:
        os.close(handle)


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
