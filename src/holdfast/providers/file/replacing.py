"""Putting a file in place of another, or where none was, so that every reader sees the old one or the new one whole.

The new file is written beside its place, flushed to disk, given its attributes, and then renamed; last the folder is
flushed, so that the rename survives a power cut. Before the rename the caller is asked once more whether the world is
still what the change was decided on. Blocking; failures of the world are OSError.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.providers.file.rooted import Place

TEMPORARY: Final = ".holdfast-"  # how the names of our temporary files begin

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_NO_ATTRIBUTES = frozenset({errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM, errno.EACCES, errno.ENODATA})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class MovedError(Exception):
    """Somebody was there first; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a file is to have besides its bytes; None leaves it to the system, or as it is."""

    mode: int | None = None
    uid: int | None = None
    gid: int | None = None


def replace(place: Place, data: bytes, attributes: Attributes, key: str, is_unmoved: Callable[[], bool]) -> None:
    """Put new bytes in the place of an existing file."""
    with _folder(place.real.parent) as folder, _temporary(folder, place, key) as (name, handle):
        _copy_extended(place, handle)
        _fill(handle, data, attributes)
        if not is_unmoved():
            raise MovedError
        os.replace(name, place.real.name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)


def create(place: Place, data: bytes, attributes: Attributes, key: str) -> None:
    """Put a file where none is; raise MovedError if there is one by now."""
    with _folder(place.real.parent) as folder, _temporary(folder, place, key) as (name, handle):
        _fill(handle, data, attributes)
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


def change_attributes(place: Place, attributes: Attributes) -> None:
    """Change mode and owner of a file in place."""
    handle = os.open(place.real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _dress(handle, attributes)
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(place: Place) -> None:
    """Remove the entry that bears the declared name; of a link, the link."""
    with _folder(place.entry.parent) as folder:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place.entry.name, dir_fd=folder)
        os.fsync(folder)


def make_folders(folder: Path) -> None:
    """Make a folder and those above it, each flushed into its parent."""
    if folder.is_dir():
        return
    make_folders(folder.parent)
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
    with _folder(folder.parent) as handle:
        os.fsync(handle)


@contextlib.contextmanager
def _folder(path: Path) -> Iterator[int]:
    """Hold a folder open: what happens in it then happens in this very folder, even if its path is swapped.

    Other processes of ours wait meanwhile, so that between the last look and the rename nobody of us comes in between.
    """
    handle = os.open(path, _FOLDER)
    try:
        with contextlib.suppress(OSError):  # some network file systems have no locks; then the last look must do
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def _temporary(folder: int, place: Place, key: str) -> Iterator[tuple[str, int]]:
    """Make a file that is gone afterwards unless it was renamed.

    Its name depends on the operation, so that one which died half-way is cleaned up by its own repetition.
    """
    name = TEMPORARY + hashlib.sha256(f"{place.id}\0{key}".encode()).hexdigest()[:24]
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder)
    try:
        yield name, handle
    finally:
        os.close(handle)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def _fill(handle: int, data: bytes, attributes: Attributes) -> None:
    with os.fdopen(handle, "wb", closefd=False) as file:
        file.write(data)
    _dress(handle, attributes)
    os.fsync(handle)


def _dress(handle: int, attributes: Attributes) -> None:
    """Give owner before mode: changing the owner clears the set-uid bit."""
    now = os.fstat(handle)
    uid = now.st_uid if attributes.uid is None else attributes.uid
    gid = now.st_gid if attributes.gid is None else attributes.gid
    if (uid, gid) != (now.st_uid, now.st_gid):
        os.fchown(handle, uid, gid)
    if attributes.mode is not None:
        os.fchmod(handle, attributes.mode)


def _copy_extended(place: Place, handle: int) -> None:
    """Carry over access lists, labels and other extended attributes, as far as system and permissions allow."""
    if not hasattr(os, "listxattr"):
        return
    try:
        for name in os.listxattr(place.real, follow_symlinks=False):
            os.setxattr(handle, name, os.getxattr(place.real, name, follow_symlinks=False))
    except OSError as error:
        if error.errno not in _NO_ATTRIBUTES:
            raise


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
