"""JSON documents that are larger than memory should be: a list is rendered entry by entry, and printed at the end.

The text is the same as that of `console.json_text`: indented, keys in order.
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Iterator, Mapping
from operator import itemgetter
from typing import BinaryIO, Final, cast

import click
import orjson

from holdfast.cli import console
from holdfast.model.json import Json

IN_MEMORY: Final = 1 << 20  # bytes of rendered entries; more go to a temporary file without a name


class JsonList:
    """A list of rendered entries, printed in the order of their keys, or in the order they were added."""

    def __init__(self, *, is_sorted: bool = True) -> None:
        import tempfile  # most commands print no JSON, and it brings all compression modules

        self._file = cast("BinaryIO", tempfile.SpooledTemporaryFile(max_size=IN_MEMORY))  # noqa: SIM115 - closed below
        weakref.finalize(self, self._file.close)  # a command that fails never prints its list
        self._entries: list[tuple[str, int, int]] = []  # key, where its text begins, bytes
        self._is_sorted = is_sorted
        self.added: dict[str, dict[str, Json]] = {}  # fields that became known after an entry was rendered, by key

    def add(self, key: str, value: dict[str, Json]) -> None:
        """Render an entry."""
        text = _indented(value, "    ").encode()
        self._entries.append((key, self._file.tell(), len(text)))
        self._file.write(text)

    def texts(self) -> Iterator[str]:
        """Yield the rendered entries; this ends the list."""
        if self._is_sorted:
            self._entries.sort(key=itemgetter(0))
        with self._file:
            for key, start, length in self._entries:
                self._file.seek(start)
                text = self._file.read(length)
                more = self.added.get(key)
                yield text.decode() if not more else _indented({**orjson.loads(text), **more}, "    ")


async def print_object(values: Mapping[str, Json | JsonList | AsyncIterator[Json]]) -> None:
    """Print an indented JSON object; a list of it may be rendered before, or be computed while it is printed."""
    before = "{\n"
    for name in sorted(values):
        value = values[name]
        click.echo(f"{before}  {orjson.dumps(name).decode()}: ", nl=False)
        if isinstance(value, JsonList):
            _print_list(value)
        elif isinstance(value, AsyncIterator):
            await _print_async_list(value)
        else:
            click.echo(_indented(value, "  "), nl=False)
        before = ",\n"
    click.echo("\n}")


def _print_list(entries: JsonList) -> None:
    before = "[\n"
    for text in entries.texts():
        click.echo(f"{before}    {text}", nl=False)
        before = ",\n"
    click.echo("[]" if before == "[\n" else "\n  ]", nl=False)


async def _print_async_list(entries: AsyncIterator[Json]) -> None:
    before = "[\n"
    async for value in entries:
        click.echo(f"{before}    {_indented(value, '    ')}", nl=False)
        before = ",\n"
    click.echo("[]" if before == "[\n" else "\n  ]", nl=False)


def _indented(value: Json, indent: str) -> str:
    return console.json_text(value).replace("\n", f"\n{indent}")
