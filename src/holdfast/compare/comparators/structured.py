"""Comparators of documents inside a string: JSON and XML."""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn
from xml.etree import ElementTree as ET

from holdfast.compare.comparators import base, text
from holdfast.model.json import Json

_DECLARES = re.compile(r"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_BETWEEN_TAGS = re.compile(r"> <")
_XML_BLANKS = " \t\r\n"


def json_str() -> base.Comparator:
    """Compare an object or array with one written as text: key order and white space do not count."""
    return JsonText("json_str")


class JsonText(base.ByKey):
    """Compares decoded documents; a text that is no object or array is itself."""

    __slots__ = ()

    def key(self, value: Json) -> base.Key:
        """Return the typed identity of the decoded document."""
        return base.identity(decode_json(value))


def decode_json(value: Json) -> Json:
    """Return the object or array that a string holds; any other value, and ambiguous JSON, comes back as it is."""
    if not isinstance(value, str) or not value.strip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return value


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key occurs twice")
    return members


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number beyond the range of a double")
    return number


def xml() -> base.Comparator:
    """Compare XML documents: layout, attribute order, line ends, comments and <a/> against <a></a> do not count.

    What only looks like XML (API Management policies hold unescaped C#) compares with its white space collapsed.
    A document with a DTD is not read at all and equals only itself.
    """
    return base.Parsed("xml", "xml", _xml)


def _xml(value: Json) -> base.Key:
    if not isinstance(value, str):
        return None
    document = value.strip("\ufeff" + _XML_BLANKS)
    if not (document.startswith("<") and document.endswith(">")) or _DECLARES.search(document):
        return None
    parser = ET.XMLParser(target=_Events())  # noqa: S314 - declarations were refused above
    try:
        parser.feed(document)
        return ("document", base.canonical_text(parser.close()))
    except (ET.ParseError, ValueError):
        return ("text", _BETWEEN_TAGS.sub("><", text.collapse(document)))


class _Events:
    """Collects a document as a flat list of tags and trimmed texts; no tree, so depth costs nothing."""

    def __init__(self) -> None:
        self._events: list[Json] = []
        self._text: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._flush()
        self._events.append([tag, attributes])

    def end(self, tag: str) -> None:
        self._flush()
        self._events.append([tag])

    def data(self, data: str) -> None:
        self._text.append(data)

    def pi(self, target: str, data: str | None = None) -> None:
        self._flush()
        self._events.append([target, data])

    def close(self) -> list[Json]:
        self._flush()
        return self._events

    def _flush(self) -> None:
        trimmed = "".join(self._text).strip(_XML_BLANKS)
        self._text.clear()
        if trimmed:
            self._events.append(trimmed)
