"""Drift injection through the provider itself, for a provider under test that brings no injector.

A mistake that reader and writer share stays hidden this way, so an injector that goes around the provider proves more.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection

from holdfast.compare import apply_patch, paths
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.read_result import Found, NotFound
from holdfast.model.write_result import Done, InProgress, WriteResult
from holdfast.providers.protocol import Change, Connection, Provider, ReadFailed, Target, Unchanged, Writer


class ProviderDriftInjector:
    """Reads with the reader and writes with the writer of a provider; each write has a key of its own."""

    def __init__(self, provider: Provider, connection: Connection) -> None:
        self._provider = provider
        self._connection = connection
        self._keys = (f"drift-{number}" for number in itertools.count(1))

    async def ids(self, kind: str) -> Collection[str]:
        """Return the ids that a list of the kind shows."""
        async with self._provider.reader(self._connection) as reader:
            return [item.id async for item in reader.list(kind)]

    async def get(self, kind: str, ident: str) -> Json:
        """Return the document of a read; None if there is none."""
        found = await self._read(kind, ident)
        return None if found is None else found.document

    async def put(self, kind: str, ident: str, path: Path, value: Json) -> None:
        """Update one field."""
        found = await self._read(kind, ident)
        document = None if found is None else found.document
        desired = apply_patch.put(apply_patch.copied(document), path, value)
        change = Change(desired, document, (paths.format_path(path),), None if found is None else found.etag)
        target = Target(kind, ident, ident, desired)
        async with self._provider.writer(self._connection) as writer:
            await _finish(writer, target, await writer.update(target, change, next(self._keys)))

    async def delete(self, kind: str, ident: str) -> None:
        """Delete a resource."""
        target = Target(kind, ident, ident, {})
        async with self._provider.writer(self._connection) as writer:
            await _finish(writer, target, await writer.delete(target, next(self._keys)))

    async def _read(self, kind: str, ident: str) -> Found | None:
        async with self._provider.reader(self._connection) as reader:
            reading = await reader.read(Target(kind, ident, ident, {}))
        if isinstance(reading, NotFound):
            return None
        if not isinstance(reading, Found):
            raise (
                TypeError("a read without a hint was answered Unchanged")
                if isinstance(reading, Unchanged)
                else ReadFailed(reading)
            )
        return reading


async def _finish(writer: Writer, target: Target, writing: WriteResult) -> None:
    while isinstance(writing, InProgress):
        writing = await writer.poll(target, writing.token)
    if not isinstance(writing, Done):
        raise TypeError(f"drift could not be injected: {writing}")
