"""Finding what to read: files, folders, globs, standard input.

A folder is searched for *.yaml, *.yml and *.json, in order of their names; hidden files and folders, the project file
and the folders of profiles are passed over. So are files in it that cannot be manifests: a folder of manifests often
holds the very files they manage. What was passed over for that reason is remembered, so that it can be shown.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from holdfast.errors import InputError, Location

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
    path: Path | None  # None: standard input
    was_named: bool


def find(given: Sequence[str], pass_over: Collection[Path] = ()) -> tuple[list[Source], list[InputError]]:
    """Return the files behind what a person named, each once, in an order that does not depend on theirs."""
    found: dict[str, Source] = {}
    errors: list[InputError] = []
    hidden = {path.resolve() for path in pass_over}
    for text in given:
        for source in _sources(text, hidden, errors):
            key = str(source.path.resolve()) if source.path else STDIN
            before = found.get(key)
            if before is None or (source.was_named, before.name) > (before.was_named, source.name):
                found[key] = source
    return sorted(found.values(), key=lambda source: source.name), errors


def _sources(text: str, hidden: Collection[Path], errors: list[InputError]) -> Iterator[Source]:
    path = Path(text)
    if text == "-":
        yield Source(STDIN, None, was_named=True)
    elif path.is_dir():
        inside = [Source(_name(each), each, was_named=False) for each in _walk(path, hidden)]
        if not inside:
            looked_for = ", ".join(f"*{suffix}" for suffix in SUFFIXES)
            errors.append(InputError(f"there is no manifest in this folder (looked for {looked_for})", Location(text)))
        yield from inside
    elif _MAGIC.search(text) and not path.exists():
        found = glob.glob(text, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
        matches = sorted(each for each in found if each.endswith(SUFFIXES))
        if not matches:
            errors.append(InputError("no file matches this pattern", Location(text)))
        yield from (Source(_name(Path(each)), Path(each), was_named=False) for each in matches)
    elif path.exists():
        yield Source(_name(path), path, was_named=True)
    else:
        errors.append(InputError("there is no such file or folder", Location(text)))


def _name(path: Path) -> str:
    return path.as_posix()


def _walk(folder: Path, hidden: Collection[Path]) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] != "." and Path(parent, name).resolve() not in hidden)
        for name in sorted(files):
            if name[0] != "." and name != PROJECT_FILE and name.lower().endswith(SUFFIXES):
                yield Path(parent, name)


def load(source: Source, stdin: BinaryIO | None) -> bytes:
    """Return the bytes of a source; raise InputError if they cannot be had."""
    try:
        if source.path is None:
            if stdin is None:
                raise InputError("standard input is not available here", Location(STDIN))
            data = stdin.read(MAX_BYTES + 1)
        else:
            with source.path.open("rb") as stream:
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
    """Return the folder of what a person named: a folder itself, that of a file, that before the pattern of a glob."""
    if text == "-":
        return Path(os.path.realpath(cwd))
    named = cwd / text
    if named.exists():
        return Path(os.path.realpath(named if named.is_dir() else named.parent))
    return Path(os.path.realpath(cwd / os.path.dirname(_MAGIC.split(text)[0])))  # noqa: PTH120 - "m/" is the folder m
