"""The part of a file that holds one document, so that it is read without the rest of the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from holdfast.app.sources.entries import EntryCodec, FilePart
from holdfast.errors import InputError, Location
from holdfast.manifests import documents
from holdfast.manifests.loader import DocumentOrigin
from holdfast.schema.document import Document

# Directives, marks of encodings, and line breaks other than \n, which YAML counts and we would have to count too.
_UNUSUAL: Final = (
    *(b"\r", b"\0", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9"),
    *(b"\n%", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"),
)
_LINE_BREAK = re.compile(rb"\n")


def locator(
    data: bytes, begins: Sequence[int | None], codec: EntryCodec, *, is_json: bool
) -> Callable[[DocumentOrigin], FilePart]:
    """Return the function that finds the parts of the documents of a file, which begin in these lines.

    The part of a JSON file, and of unusual YAML, is the whole file.
    """
    if is_json or None in begins or data.startswith(b"%") or any(mark in data for mark in _UNUSUAL):
        whole = codec.seal(data)
        return lambda origin: FilePart(0, len(data), 1, origin.position, is_json, whole)
    lines = sorted({line for line in begins if line is not None})
    offsets = _offsets(data, lines)
    ends = {line: offsets.get(following, len(data)) for line, following in zip(lines, [*lines[1:], 0], strict=True)}
    seals: dict[int, bytes] = {}  # of the last part, because a list has many documents

    def part_of(origin: DocumentOrigin) -> FilePart:
        line = origin.document.begin or 1
        begin, end = offsets[line], ends[line]
        if line not in seals:
            seals.clear()
            seals[line] = codec.seal(data[begin:end])
        return FilePart(begin, end - begin, line, origin.document.item, is_json, seals[line])

    return part_of


def _offsets(data: bytes, lines: Sequence[int]) -> dict[int, int]:
    """Return where some lines begin, in bytes; the lines are in order."""
    offsets = {1: 0}
    wanted = set(lines)
    for number, match in enumerate(_LINE_BREAK.finditer(data), 2):
        if number in wanted:
            offsets[number] = match.end()
    return offsets


class PartReader:
    """Reads parts of files. The documents of the last part are kept, because a list or a JSON file has many."""

    def __init__(self, codec: EntryCodec) -> None:
        self._codec = codec
        self._last: tuple[str, int, bytes] | None = None
        self._documents: list[Document] = []

    def read(self, path: str, name: str, part: FilePart) -> Document:
        """Return the document of a part of a file; raise InputError if the file was edited since it was indexed."""
        wanted = (path, part.offset, part.seal)
        if wanted != self._last:
            self._documents = self._read(path, name, part)
            self._last = wanted
        return self._documents[part.item]

    def _read(self, path: str, name: str, part: FilePart) -> list[Document]:
        try:
            with open(path, "rb") as stream:  # noqa: PTH123 - of every declaration of a fleet
                stream.seek(part.offset)
                text = stream.read(part.length)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", Location(name)) from None
        if self._codec.seal(text) != part.seal:
            raise InputError("the file was edited during this run; run the command again", Location(name, part.line))
        return documents.read(text, name, is_json=part.is_json, first_line=part.line)
