"""Cutting answers into pieces without parsing the pieces.

Most items of a list are unchanged, and an unchanged item need not become Python objects to be known as such: its bytes
are cut out of the answer, and their digest is compared.
"""

from __future__ import annotations

import functools
import hashlib
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from holdfast.errors import InputError
from holdfast.model.path import Path
from holdfast.providers.http import bracket_scan
from holdfast.providers.http.description import ByCursor, ByLink, ListDescription

_Type = Any  # types made while running
BROKEN: Final = (msgspec.MsgspecError, UnicodeDecodeError)  # what cutting raises for a text of another shape


def digest(raw: bytes) -> str:
    """Return the digest of bytes."""
    return "sha256:" + hashlib.sha256(raw).hexdigest()


@functools.cache
def items(pointer: Path) -> Callable[[bytes], bytes]:
    """Return a function that cuts the resource out of an answer; it raises msgspec.MsgspecError without one."""
    if not pointer:
        return bytes.strip
    decode, get = _one(_keys(pointer), msgspec.Raw)

    def cut(body: bytes) -> bytes:
        try:
            return bytes(get(decode(body)))
        except RecursionError:
            return _required(bracket_scan.find(body, _keys(pointer)))

    return cut


@functools.cache
def pages(listing: ListDescription) -> Callable[[bytes], tuple[Sequence[msgspec.Raw], Any]]:
    """Return a function that cuts a page into its items and its link to the next page."""
    following = listing.paging.pointer if isinstance(listing.paging, ByLink | ByCursor) else None
    kinds = list[msgspec.Raw] | None
    if not listing.items:
        if following is not None:
            raise InputError("a list that is a bare array has no field for the next page; give `items`, or a header")
        return functools.partial(_bare, msgspec.json.Decoder(kinds))
    wanted: dict[str, tuple[tuple[str, ...], _Type]] = {"items": (_keys(listing.items), kinds)}
    if following is not None:
        wanted["next"] = (_keys(following), str | int | None)
    take = _taker(wanted, optional="next")

    def cut(body: bytes) -> tuple[Sequence[msgspec.Raw], Any]:
        try:
            found = take(body)
        except RecursionError:
            link = None if following is None else bracket_scan.value(bracket_scan.find(body, _keys(following)))
            return _elements(_required(bracket_scan.find(body, _keys(listing.items)))), link
        return found["items"] or [], found.get("next")

    return cut


def _bare(decoder: msgspec.json.Decoder[list[msgspec.Raw] | None], body: bytes) -> tuple[Sequence[msgspec.Raw], Any]:
    try:
        return decoder.decode(body) or [], None
    except RecursionError:
        return _elements(body), None


def _elements(text: bytes) -> Sequence[msgspec.Raw]:
    return [] if text.strip() == b"null" else [msgspec.Raw(item) for item in bracket_scan.elements(text)]


def _required(text: bytes | None) -> bytes:
    if text is None:
        raise msgspec.ValidationError("it is not there")
    return text


@functools.cache
def idents(pointer: Path) -> Callable[[bytes], str]:
    """Return a function that extracts the id of an item."""
    decode, get = _one(_keys(pointer), str | int)

    def cut(raw: bytes) -> str:
        try:
            return str(get(decode(raw)))
        except RecursionError:
            found = bracket_scan.value(bracket_scan.find(raw, _keys(pointer)))
        if isinstance(found, bool) or not isinstance(found, str | int):
            raise msgspec.ValidationError("it is no id")
        return str(found)

    return cut


def _one(keys: tuple[str, ...], kind: _Type) -> tuple[Callable[[bytes], Any], Callable[[Any], Any]]:
    """Return a decoder for one value of a text, and a function that extracts the value."""
    decoder = msgspec.json.Decoder(_struct([(keys, kind, False)]))
    return decoder.decode, operator.attrgetter(".".join(map(_field, keys)))


def _keys(pointer: Path) -> tuple[str, ...]:
    if not all(isinstance(step, str) for step in pointer):
        raise InputError("a place in an answer is reached by keys only: write it like /data/items")
    return tuple(str(step) for step in pointer)


def _taker(wanted: dict[str, tuple[tuple[str, ...], _Type]], optional: str = "") -> Callable[[bytes], dict[str, Any]]:
    """Return a decoder of nested one-field structs: everything else in the text is skipped, not built."""
    routes = {name: tuple(map(_field, keys)) for name, (keys, _) in wanted.items()}
    decoder = msgspec.json.Decoder(_struct([(keys, kind, name == optional) for name, (keys, kind) in wanted.items()]))

    def take(body: bytes) -> dict[str, Any]:
        top = decoder.decode(body)
        return {name: _follow(top, route) for name, route in routes.items()}

    return take


def _follow(here: Any, route: tuple[str, ...]) -> Any:  # noqa: ANN401 - whatever stands there
    for name in route:
        if here is None:
            return None
        here = getattr(here, name)
    return here


def _struct(wanted: list[tuple[tuple[str, ...], _Type, bool]]) -> _Type:
    """Make the type of a map in which these paths are found."""
    below: dict[str, list[tuple[tuple[str, ...], _Type, bool]]] = {}
    for keys, kind, is_optional in wanted:
        below.setdefault(keys[0], []).append((keys[1:], kind, is_optional))
    fields: list[Any] = []
    for key, rest in below.items():
        if len(rest) > 1 and not all(keys for keys, _, _ in rest):
            raise InputError(f"one place in an answer is inside another: both go through {key!r}")
        kind = rest[0][1] if not rest[0][0] else _struct(rest)
        is_optional = all(optional for _, _, optional in rest)
        fields.append((_field(key), kind | None, None) if is_optional else (_field(key), kind))
    # Field names are ours, `rename` gives those in the text; required fields must come first.
    fields.sort(key=len)
    return msgspec.defstruct("Piece", fields, rename={_field(key): key for key in below})


def _field(key: str) -> str:
    """Return a name that Python accepts for a field, whatever the key."""
    return "f" + key.encode().hex()
