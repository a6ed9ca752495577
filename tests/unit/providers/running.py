"""What the tests of providers share: running a story, and short ways to say target and change."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

from holdfast.model.json import Json
from holdfast.model.read_result import Found, ReadResult
from holdfast.providers import registry
from holdfast.providers.protocol import Change, Connection, Reader, Target, Unchanged, Writer

Result = TypeVar("Result")
Story = Callable[[Reader, Writer], Awaitable[Result]]


def with_provider(connection: Connection, story: Story[Result]) -> Result:
    """Open both halves of a connection and run a story with them."""

    async def run() -> Result:
        return await told(connection, story)

    return asyncio.run(run())


async def told(connection: Connection, story: Story[Result]) -> Result:
    provider = registry.get(connection.provider)
    async with provider.reader(connection) as reader, provider.writer(connection) as writer:
        return await story(reader, writer)


def files(root: Path, **settings: Json) -> Connection:
    return Connection("local", "file", {"root": str(root), **settings})


def document(path: str, *, kind: str = "Document", ident: str | None = None, **fields: Json) -> Target:
    return Target(kind, "it", ident, {"path": path, **fields})


def change(target: Target, seen: ReadResult | Unchanged, *paths: str) -> Change:
    assert isinstance(seen, Found), seen
    return Change(target.desired, seen.document, paths, seen.etag)


@contextlib.contextmanager
def unprivileged() -> Iterator[Path]:
    """Give a folder of one's own to somebody to whom files can be forbidden: nobody, if tests run as root."""
    with tempfile.TemporaryDirectory(prefix="holdfast-test-") as name:
        folder = Path(name)
        if os.geteuid() != 0:
            yield folder
            return
        os.chown(folder, 65534, -1)
        os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(0)
