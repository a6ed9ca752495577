"""Paths that stay below a root, despite declarations, symbolic links or races.

A path is resolved first, with all its links. Then it is opened folder by folder from the root, each by its name in the
previous one and none through a link: a folder that is replaced by a link in between is an error, and never an escape.
"""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from holdfast.model.read_result import ReadError
from holdfast.model.record import dataclass

TEMPORARY: Final = ".holdfast-"  # how the names of our temporary files begin

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# On the way through a folder nothing of it is read, so the right to pass through is enough where the system knows that.
_PASSING: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


class OutsideError(Exception):
    """A path that cannot be used. `trouble` is the error of a read."""

    def __init__(self, message: str, trouble: ReadError = ReadError.OTHER) -> None:
        self.trouble = trouble
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class FileLocation:
    """Where a file is, from the root: its id, the file behind all links, and the entry that bears its declared name."""

    id: str
    real: PurePosixPath
    entry: PurePosixPath


@dataclass(frozen=True, slots=True)
class Root:
    """The folder that all files of a connection are below."""

    path: Path

    @property
    def exists(self) -> bool:
        """Return True if the folder exists. If not, nothing is known about its files."""
        return _is_there(self.path)

    def locate(self, relative: str) -> FileLocation:
        """Find the real place of a path; raise OutsideError if it is not safely below the root."""
        if not _is_there(self.path):
            raise OutsideError(f"the root {str(self.path)!r} is not there; create or mount it", ReadError.UNREACHABLE)
        if "\0" in relative:
            raise OutsideError("a path cannot hold a NUL character")
        name = posixpath.normpath(relative)
        if name.startswith("/") or name == "." or ".." in name.split("/"):
            raise OutsideError(f"{relative!r} is not a path below the root")
        try:
            root = self.path.resolve()
            entry = (root / name).parent.resolve() / PurePosixPath(name).name
            real = entry.resolve()
        except (OSError, RuntimeError):  # how a circle of links is reported depends on the Python version
            raise OutsideError(f"{name!r} leads through symbolic links that end nowhere") from None
        if root not in real.parents or root not in entry.parents:
            raise OutsideError(f"{name!r} leads outside the root through a symbolic link")
        if entry != real and not _is_there(real):
            raise OutsideError(f"{name!r} is a symbolic link to something that is not there", ReadError.UNCONFIRMED)
        return FileLocation(name, PurePosixPath(real.relative_to(root)), PurePosixPath(entry.relative_to(root)))

    @contextlib.contextmanager
    def passing(self, folder: PurePosixPath) -> Iterator[int]:
        """Hold a folder below the root, to open its entries."""
        handle = self.enter(folder)
        try:
            yield handle
        finally:
            os.close(handle)

    @contextlib.contextmanager
    def folder(self, folder: PurePosixPath, *, make: bool = False) -> Iterator[int]:
        """Hold a folder below the root open, to change its entries. With `make`, create missing folders."""
        handle = self.enter(folder, _FOLDER, make=make)
        try:
            yield handle
        finally:
            os.close(handle)

    def enter(self, folder: PurePosixPath, last: int = _PASSING, *, make: bool = False) -> int:
        """Open a folder below the root, step by step; the caller closes it."""
        parts = folder.parts
        handle = os.open(self.path, last if not parts or make else _PASSING)
        try:
            for number, part in enumerate(parts, start=1):
                inner = _entered(handle, part, last if number == len(parts) or make else _PASSING, make=make)
                os.close(handle)
                handle = inner
        except BaseException:
            os.close(handle)
            raise
        return handle


def _entered(folder: int, name: str, flags: int, *, make: bool) -> int:
    """Open a folder in another, never through a link."""
    if make:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
            os.fsync(folder)
    try:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP) and _is_link(folder, name):
            message = f"the folder {name!r} was exchanged for a symbolic link meanwhile"
            raise OutsideError(message, ReadError.UNSETTLED) from None
        raise


def _is_link(folder: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _is_there(path: Path) -> bool:
    """Return True if the path exists. If that cannot be known, the attempt to open it fails with the reason."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
