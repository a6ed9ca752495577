"""Paths that stay below a root, whatever the declaration, the symbolic links or a race may say."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from holdfast.model.reading import Trouble


class OutsideError(Exception):
    """A path that cannot be used; `trouble` is what a read of it is called."""

    def __init__(self, message: str, trouble: Trouble = Trouble.OTHER) -> None:
        self.trouble = trouble
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file is: its id, the real file behind all links, and the entry that bears its declared name."""

    id: str
    real: Path
    entry: Path


@dataclass(frozen=True, slots=True)
class Root:
    """The folder that all files of a connection are below."""

    path: Path

    @property
    def exists(self) -> bool:
        """Tell whether the folder is there; if not, nothing can be said about what is in it."""
        return _is_there(self.path)

    def locate(self, relative: str) -> Place:
        """Find the real place of a path; raise OutsideError if it is not safely below the root."""
        if not self.exists:
            raise OutsideError(f"the root {str(self.path)!r} is not there; create or mount it", Trouble.UNREACHABLE)
        name = _normal(relative)
        try:
            root = self.path.resolve()
            entry = (root / name).parent.resolve() / PurePosixPath(name).name
            real = entry.resolve()
        except (OSError, RuntimeError):  # how a circle of links is reported depends on the Python version
            raise OutsideError(f"{name!r} leads through symbolic links that end nowhere") from None
        if root not in real.parents:
            raise OutsideError(f"{name!r} leads outside the root through a symbolic link")
        if entry != real and not _is_there(real):
            raise OutsideError(f"{name!r} is a symbolic link to something that is not there", Trouble.UNCONFIRMED)
        return Place(name, real, entry)


def _is_there(path: Path) -> bool:
    """Tell whether something is there; where that cannot be known, let the attempt to open it say why."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _normal(relative: str) -> str:
    if "\0" in relative:
        raise OutsideError("a path cannot hold a NUL character")
    name = posixpath.normpath(relative)
    if name.startswith("/") or name == "." or ".." in name.split("/"):
        raise OutsideError(f"{relative!r} is not a path below the root")
    return name
