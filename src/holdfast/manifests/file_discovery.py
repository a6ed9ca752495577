"""Finding the files to read: files, folders, globs, standard input.

A folder is searched for *.yaml, *.yml and *.json, in order of their names. Hidden files and folders, the project file
and the folders of profiles are skipped. So are files in it that cannot be manifests, because a folder of manifests
often holds the very files they manage. Files that were skipped for that reason are remembered, so that they can be
shown.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from holdfast.errors import InputError, Location
from holdfast.model.record import dataclass

SUFFIXES: Final = (".yaml", ".yml", ".json")
PROJECT_FILE: Final = "holdfast.yaml"
STDIN: Final = "<stdin>"
MAX_BYTES: Final = 256 * 1024 * 1024

_MAGIC = re.compile(r"[*?\[]")
_KIND = re.compile(rb"""^[\s{"'-]*kind["']?\s*:""", re.MULTILINE)
_API_VERSION = re.compile(rb"""^[\s{"'-]*apiVersion["']?\s*:""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Source:
    """One text to read; `was_named` if a person asked for this very file."""

    name: str  # as messages call it
    path: str | Path | None  # None: standard input
    was_named: bool
    key: str = ""  # the path without symbolic links; the same for all ways to one file


def find(given: Sequence[str], pass_over: Collection[Path] = ()) -> tuple[list[Source], list[InputError]]:
    """Return the named files, each once, in an order that does not depend on the order of the names."""
    found: dict[str, Source] = {}
    errors: list[InputError] = []
    hidden = {os.path.realpath(path) for path in pass_over}
    for text in given:
        for source in _sources(text, hidden, errors):
            before = found.get(source.key)
            if before is None or (source.was_named, before.name) > (before.was_named, source.name):
                found[source.key] = source
    return sorted(found.values(), key=lambda source: source.name), errors


def _sources(text: str, hidden: Collection[str], errors: list[InputError]) -> Iterator[Source]:
    path = Path(text)
    if text == "-":
        yield Source(STDIN, None, was_named=True, key=STDIN)
    elif path.is_dir():
        inside = list(_walk(text, path.as_posix(), os.path.realpath(text), hidden))
        if not inside:
            looked_for = ", ".join(f"*{suffix}" for suffix in SUFFIXES)
            errors.append(InputError(f"there is no manifest in this folder (looked for {looked_for})", Location(text)))
        yield from inside
    elif _MAGIC.search(text) and not path.exists():
        found = glob.glob(text, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
        matches = sorted(match for match in found if match.endswith(SUFFIXES))
        if not matches:
            errors.append(InputError("no file matches this pattern", Location(text)))
        yield from (_source(Path(match), was_named=False) for match in matches)
    elif path.exists():
        yield _source(path, was_named=True)
    else:
        errors.append(InputError("there is no such file or folder", Location(text)))


def _source(path: Path, *, was_named: bool) -> Source:
    return Source(path.as_posix(), str(path), was_named, os.path.realpath(path))


def _walk(folder: str, name: str, key: str, hidden: Collection[str]) -> Iterator[Source]:
    """Go through the manifests of a folder and those inside it; links to folders are not followed.

    Works with texts, because a Path for every file costs more than reading its status.
    """
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:  # removed since it was found, or not readable: as `os.walk` does
        return
    prefix = "" if name == "." else f"{name.rstrip('/')}/"
    for entry in entries:
        if entry.name[0] == ".":
            continue
        below = f"{key.rstrip(os.sep)}{os.sep}{entry.name}"
        if _is_folder(entry):
            if not entry.is_symlink() and below not in hidden:
                yield from _walk(entry.path, f"{prefix}{entry.name}", below, hidden)
        elif entry.name != PROJECT_FILE and entry.name.lower().endswith(SUFFIXES):
            real = os.path.realpath(entry.path) if entry.is_symlink() else below
            yield Source(f"{prefix}{entry.name}", entry.path, was_named=False, key=real)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def load(source: Source, stdin: BinaryIO | None) -> bytes:
    """Return the bytes of a source; raise InputError if they cannot be had."""
    try:
        if source.path is None:
            if stdin is None:
                raise InputError("standard input is not available here", Location(STDIN))
            data = stdin.read(MAX_BYTES + 1)
        else:
            with open(source.path, "rb") as stream:  # noqa: PTH123 - a Path for each of many files is slow
                data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", Location(source.name)) from None
    if len(data) > MAX_BYTES:
        raise InputError(f"larger than {MAX_BYTES // 2**20} MB", Location(source.name))
    return data


def may_be_manifest(data: bytes, *, has_kubernetes: bool = False) -> bool:
    """Return True if a file found in a folder is to be read: it names our group, or lacks only the apiVersion.

    In a project with a cluster any file with an apiVersion is read.
    """
    if b"holdfast.dev" in data:
        return True
    has_version = _API_VERSION.search(data) is not None
    return has_kubernetes if has_version else _KIND.search(data) is not None


def common_folder(given: Iterable[str], cwd: Path | None = None) -> Path:
    """Return the folder that holds everything a person named; where relative paths of the default connection begin."""
    here = cwd or Path.cwd()
    folders = [str(folder_of(text, here)) for text in given]
    return Path(os.path.commonpath(folders)) if folders else here


def folder_of(text: str, cwd: Path) -> Path:
    """Return the folder of a name: a folder itself, that of a file, that before the pattern of a glob."""
    if text == "-":
        return Path(os.path.realpath(cwd))
    named = cwd / text
    if named.exists():
        return Path(os.path.realpath(named if named.is_dir() else named.parent))
    return Path(os.path.realpath(cwd / os.path.dirname(_MAGIC.split(text)[0])))  # noqa: PTH120 - "m/" is the folder m
