"""The reading half of the file provider."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

from holdfast.compare import paths
from holdfast.compare.comparators import typed_equal
from holdfast.errors import DocumentError
from holdfast.model.attribution import LikelyActor
from holdfast.model.json import Json
from holdfast.model.read_result import Found, ReadError, ReadFailure, ReadResult
from holdfast.providers.file import file_state, formats, spec
from holdfast.providers.file.file_state import Seen
from holdfast.providers.file.safe_path import TEMPORARY, OutsideError, Root
from holdfast.providers.protocol import Hint, Kind, Listed, ReadFailed, Target, Unchanged

_PROJECT_FILE: Final = "holdfast.yaml"
_MANIFEST: Final = re.compile(
    rb"""^[\s{"'-]*apiVersion["']?\s*:\s*["']?(?:[A-Za-z0-9-]+\.)?holdfast\.dev/""", re.MULTILINE
)


class FileReader:
    """Reads files below one root; the disk is waited for in threads."""

    def __init__(self, root: Root, kinds: Mapping[str, Kind], include: Sequence[str]) -> None:
        self.kinds = kinds
        self._root = root
        self._include = include

    async def read(self, target: Target, hint: Hint | None = None) -> ReadResult | Unchanged:
        """Read one file; the same digest as last time means that it need not be parsed."""
        return await asyncio.to_thread(read, self._root, target, hint)

    async def list(self, kind: str) -> AsyncIterator[Listed]:
        """Read the files that the connection includes: documents by their extension, all others as texts.

        Holdfast's own files are left out: its project file, its manifests, its temporary files. So is a link that leads
        nowhere or outside the root. Any other unreadable file makes the list fail.
        """
        for path in await asyncio.to_thread(lambda: sorted(self._included(kind))):
            seen = await asyncio.to_thread(file_state.look, self._root, path)
            if isinstance(seen, ReadFailure):
                raise ReadFailed(seen)
            if isinstance(seen, Seen) and not _is_manifest(seen.data):
                yield Listed(seen.place.id, seen.raw, seen.digest)

    def _included(self, kind: str) -> Iterator[str]:
        if not self._root.exists:
            raise ReadFailed(ReadFailure(ReadError.UNREACHABLE, f"the root {str(self._root.path)!r} is not there"))
        for folder, folders, names, _ in os.fwalk(self._root.path, onerror=_walk_failed):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                path = Path(folder, name).relative_to(self._root.path).as_posix()
                is_document = formats.by_extension(path) is not None
                if is_document is (kind == spec.DOCUMENT) and self._includes(path) and self._is_inside(path):
                    yield path

    def _includes(self, path: str) -> bool:
        name = PurePosixPath(path).name
        is_ours = name.startswith(TEMPORARY) or name == _PROJECT_FILE
        return not is_ours and any(_glob(pattern).fullmatch(path) for pattern in self._include)

    def _is_inside(self, path: str) -> bool:
        """Return True if an entry is, or leads to, a file below the root; a missing root fails at the read."""
        if not (self._root.path / path).is_symlink():
            return True
        try:
            self._root.locate(path)
        except OutsideError as error:
            return error.trouble is ReadError.UNREACHABLE
        return True

    def parse(self, kind: str, raw: bytes) -> Json:
        """Turn a listed file into its document; raise ReadFailed if its content is not of its format."""
        seen = Seen.of_raw(raw)
        try:
            return file_state.document(seen, spec.listed(kind, seen.place.id))
        except DocumentError as error:
            raise ReadFailed(_malformed(seen.place.id, error)) from None

    async def find(self, kind: str, criteria: Mapping[str, Json]) -> Sequence[str]:
        """Return the paths of the included files whose documents have these values; a pointer reaches deeper."""
        out = []
        async for item in self.list(kind):
            document = await asyncio.to_thread(self.parse, kind, item.raw)
            pointers = {key if key.startswith("/") else f"/{key}": value for key, value in criteria.items()}
            if all(typed_equal(paths.resolve(document, paths.parse_path(p)), v) for p, v in pointers.items()):
                out.append(item.id)
        return out

    async def likely_actors(self, target: Target) -> Sequence[LikelyActor]:
        """Return the owner of the file as its likely last writer."""
        from holdfast.providers.file import attribution  # noqa: PLC0415

        return await asyncio.to_thread(attribution.likely_actors, self._root, target)

    def signature(self, kind: str, document: Json) -> str | None:  # noqa: ARG002 - both kinds have an owner
        """Return the owner in a document. If it is unchanged since our own write, it is no evidence."""
        from holdfast.providers.file import attribution  # noqa: PLC0415

        return attribution.owner(document)


def read(root: Root, target: Target, hint: Hint | None) -> ReadResult | Unchanged:
    """Read one file. Blocking."""
    try:
        wanted = spec.of(target) if hint is None or target.id is None else None
        seen = file_state.look(root, target.id or "" if wanted is None else wanted.path)
        if not isinstance(seen, Seen):
            return seen
        digest = seen.digest
        if hint is not None and hint.raw_digest == digest:  # the declaration is the one that was read with it
            return Unchanged(digest, digest)
        wanted = wanted or spec.of(target)
    except spec.BadDeclarationError as error:
        return ReadFailure(ReadError.OTHER, str(error))
    try:
        return Found(file_state.document(seen, wanted), digest, digest, seen.place.id)
    except DocumentError as error:
        return _malformed(seen.place.id, error)


def _is_manifest(data: bytes) -> bool:
    return _MANIFEST.search(data) is not None


def _malformed(path: str, error: DocumentError) -> ReadFailure:
    return ReadFailure(ReadError.MALFORMED, f"{path!r}: {error}")


def _walk_failed(error: OSError) -> None:
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    trouble = ReadError.UNAUTHORISED if isinstance(error, PermissionError) else ReadError.OTHER
    raise ReadFailed(ReadFailure(trouble, f"a folder below the root cannot be read: {reason}")) from None


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    """Compile a glob over whole paths: * and ? stay within a folder, ** goes through any number of them."""
    out = ""
    for token in re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern):
        out += {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(token) or re.escape(token)
    return re.compile(out, re.DOTALL)
