"""From the bytes of a file to the documents in it: YAML or JSON, one or many, lists expanded.

Knows the shape of a stream, not of a manifest. All values are JSON; integers beyond 64 bits become doubles in both
notations, so that the same declaration means the same in either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from holdfast.compare import go_json
from holdfast.errors import DocumentError, InputError, Location
from holdfast.manifests.edit import json_places
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.schema.document import Document

Places = Mapping[Pointer, tuple[int, int]]

_LIST: Final = "List"
_LOOKS_LIKE_JSON = re.compile(rb'\s*+(?:\[\s*+)*+\{\s*+["}]')


def read(data: bytes, file: str, *, is_json: bool, first_line: int = 1, has_kubernetes: bool = False) -> list[Document]:
    """Return the documents of a file, those inside lists in place of the lists; raise DocumentError if it is no text.

    A list is a document of kind List, or a JSON list at the top. `first_line` is the line in which YAML text begins
    that is only a part of a file. Objects of Kubernetes, where a file may hold them, have the values that Kubernetes
    would read.
    """
    found = _json(data, file) if is_json else _yaml(data, file, first_line, has_kubernetes=has_kubernetes)
    return [
        item if item is document else replace(item, begin=document.begin, item=number)
        for document in found
        for number, item in enumerate(_expanded(document))
    ]


def looks_like_json(data: bytes) -> bool:
    """Guess the notation of a text whose name does not tell; in YAML too a brace may come first, but rarely a quote."""
    return _LOOKS_LIKE_JSON.match(data) is not None


def is_kubernetes(value: Json) -> bool:
    """Return True if a document is an object of Kubernetes, or a list of them."""
    version = value.get("apiVersion") if isinstance(value, dict) else None
    return isinstance(version, str) and bool(version) and "holdfast" not in version.lower()


def _yaml(data: bytes, file: str, first_line: int, *, has_kubernetes: bool) -> list[Document]:
    from holdfast.compare import yaml_reader  # noqa: PLC0415

    found = yaml_reader.documents(data, file, first_line=first_line)
    if has_kubernetes and any(is_kubernetes(document.value) for document in found):
        again = yaml_reader.documents(data, file, first_line=first_line, as_kubernetes=True)
        found = [other if is_kubernetes(plain.value) else plain for plain, other in zip(found, again, strict=True)]
    return [
        Document(go_json.round_integers(document.value, "int64"), file, document.line, document.places, document.begin)
        for document in found
    ]


def _json(data: bytes, file: str) -> list[Document]:
    try:
        return [_json_document(data.decode("utf-8", "replace"), go_json.loads(data, "int64"), file, 1)]
    except DocumentError as error:
        several = _json_stream(data.decode("utf-8", "replace"), file)
        if several is None:
            raise error.at(Location(file)) from None
        return several


def _json_document(text: str, value: Json, file: str, first_line: int) -> Document:
    try:
        places = json_places.places(text, first_line)
    except InputError as error:
        raise error.at(Location(file)) from None
    return Document(value, file, places[()][0], places)


def _json_stream(text: str, file: str) -> list[Document] | None:
    """Read one document after another, as some programs print them; None if the text has another form."""
    spans = json_places.spans(text)
    if len(spans) < 2:
        return None
    out: list[Document] = []
    line, end = 1, 0
    for start, stop in spans:
        if text[end:start].strip():
            return None
        line += text.count("\n", end, start)
        out.append(_json_part(text[start:stop], file, line))
        line += text.count("\n", start, stop)
        end = stop
    return None if text[end:].strip() else out


def _json_part(text: str, file: str, line: int) -> Document:
    try:
        value = go_json.loads(text, "int64")
    except InputError as error:
        where = error.location
        raise DocumentError(error.message, Location(file, line + (where.line or 1) - 1, where.column)) from None
    return _json_document(text, value, file, line)


def _expanded(document: Document) -> Iterator[Document]:
    value, prefix = document.value, _items_of(document.value)
    if prefix is None:
        yield document
        return
    items = value if not prefix else value["items"]
    # One pass over all places: looking them up item by item would take quadratic time.
    grouped: list[dict[Pointer, tuple[int, int]]] = [{} for _ in items]
    depth = len(prefix)
    for pointer, place in document.places.items():
        if len(pointer) > depth and pointer[:depth] == prefix:
            grouped[int(pointer[depth])][pointer[depth + 1 :]] = place
    for item, places in zip(_completed(value, items), grouped, strict=True):
        line = places[()][0] if () in places else document.line
        yield from _expanded(Document(item, document.file, line, places))


def _items_of(value: Json) -> Pointer | None:
    """Return where a list document keeps its items, None if it is not one."""
    if isinstance(value, list):
        return ()
    if not isinstance(value, dict) or not isinstance(value.get("items"), list):
        return None
    kind = value.get("kind")
    is_typed = isinstance(kind, str) and kind.endswith(_LIST) and is_kubernetes(value)
    return ("items",) if kind == _LIST or is_typed else None


def _completed(value: Json, items: list[Json]) -> list[Json]:
    """Return the items of a list with their kind; a typed list of Kubernetes, such as DeploymentList, says it once."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind == _LIST:
        return items
    head = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix(_LIST)}
    return [{**head, **item} if isinstance(item, dict) else item for item in items]
