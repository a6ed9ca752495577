"""Finding pieces of JSON by their brackets alone, for texts that are nested deeper than a parser goes.

Nothing is built and no function is recursive, so no depth can exhaust the stack. Time is linear in the text. The
brackets of a piece match, and the caller's parser checks the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
import orjson

from holdfast.model.json import Json

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_MARKS = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[{]+|[\]}]+|"', re.DOTALL)
_SCALAR = re.compile(rb'[^\s,:\[\]{}"]++')
_BLANK = re.compile(rb"[ \t\n\r]*+")


def find(text: bytes, keys: tuple[str, ...]) -> bytes | None:
    """Return the text of the value that these keys lead to, or None; msgspec.DecodeError if it is not JSON."""
    for key in keys:
        found = None
        for name, value in _members(text):  # the last of equal keys counts, as in a parser
            if name == key:
                found = value
        if found is None:
            return None
        text = found
    return text


def value(text: bytes | None) -> Json:
    """Return a scalar that was found; None for anything else."""
    if text is None or text[:1] in (b"{", b"["):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise msgspec.DecodeError("not JSON") from None


def elements(text: bytes) -> list[bytes]:
    """Return the texts of the elements of an array."""
    at = _opened(text, b"[")
    out: list[bytes] = []
    while text[at : at + 1] != b"]":
        if out:
            at = _past(text, at, b",")
        end = _end(text, at)
        out.append(text[at:end])
        at = _blank(text, end)
    return out


def _members(text: bytes) -> Iterator[tuple[str, bytes]]:
    at, is_first = _opened(text, b"{"), True
    while text[at : at + 1] != b"}":
        if not is_first:
            at = _past(text, at, b",")
        is_first = False
        key = _STRING.match(text, at)
        if key is None:
            raise msgspec.DecodeError("a key is needed")
        at = _past(text, _blank(text, key.end()), b":")
        end = _end(text, at)
        yield str(value(key[0])), text[at:end]
        at = _blank(text, end)


def _opened(text: bytes, bracket: bytes) -> int:
    return _past(text, _blank(text, 0), bracket)


def _past(text: bytes, at: int, mark: bytes) -> int:
    if text[at : at + 1] != mark:
        raise msgspec.DecodeError(f"{mark.decode()} is needed")
    return _blank(text, at + 1)


def _blank(text: bytes, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _end(text: bytes, at: int) -> int:
    """Return where the value that begins here ends."""
    if text[at : at + 1] not in (b"[", b"{"):
        scalar = _STRING.match(text, at) or _SCALAR.match(text, at)
        if scalar is None:
            raise msgspec.DecodeError("a value is needed")
        return scalar.end()
    depth = 0
    for mark in _MARKS.finditer(text, at):
        first = mark[0][:1]
        if first in (b"[", b"{"):
            depth += len(mark[0])
        elif first == b'"':
            if len(mark[0]) == 1:
                break
        elif depth <= len(mark[0]):
            return mark.start() + depth
        else:
            depth -= len(mark[0])
    raise msgspec.DecodeError("a bracket is not closed")
