"""The strict YAML reader: text in, JSON values with the line of every value out.

Reads what JSON can say and nothing more (the core schema of YAML 1.2: `no` is a word, a date is a string), refuses
duplicate keys, unknown tags, cycles and alias bombs, and always says where. Knows nothing of manifests or files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from holdfast.errors import DocumentError, Location
from holdfast.model.json import Json
from holdfast.model.path import Pointer

MAX_VALUES: Final = 2_000_000  # after aliases are expanded; far above any real document, far below memory
MAX_DEPTH: Final = 200  # each level costs a few stack frames; deeper documents are JSON that a machine wrote

_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_LONGEST_INT = 300  # digits; what is longer does not fit a double either
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS: Final[dict[str, Json]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_Event = Any  # the library's own classes carry no types
_Mark = Any
_TAG: Final = "tag:yaml.org,2002:"

# Events, not the library's composer: composing recurses in C without a limit and dies on deep nesting.
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a stream, with where each of its values begins (lines and columns from 1)."""

    value: Json
    line: int
    places: dict[Pointer, tuple[int, int]] = field(repr=False)

    def location(self, pointer: Pointer, file: str | None = None) -> Location:
        """Return where the value at the pointer, or the nearest one above it, stands."""
        for length in range(len(pointer), -1, -1):
            place = self.places.get(tuple(pointer[:length]))
            if place is not None:
                return Location(file, place[0], place[1])
        return Location(file, self.line)


def documents(text: str | bytes, file: str | None = None) -> list[Document]:
    """Read every document of a stream; raise DocumentError at the first thing that is wrong."""
    events = _Events(text, file)
    try:
        return list(events.documents())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(part for part in (error.context, error.problem) if part)
        raise DocumentError(f"not YAML: {problem}", _location(file, mark)) from None
    except (yaml.YAMLError, UnicodeError) as error:
        location = Location(file, _line_of(error, text))
        raise DocumentError(f"not YAML: {error}".splitlines()[0], location) from None


def document(text: str | bytes, file: str | None = None) -> Document:
    """Read a stream that must hold exactly one document."""
    found = documents(text, file)
    if len(found) != 1:
        message = f"one document expected, {len(found)} found"
        raise DocumentError(message, Location(file, found[1].line if len(found) > 1 else None))
    return found[0]


def _line_of(error: Exception, text: str | bytes) -> int | None:
    """Find the line of a byte that is no text; the reader counts bytes, a failed encoding characters."""
    if isinstance(error, UnicodeEncodeError) and isinstance(text, str):
        return text.count("\n", 0, error.start) + 1
    position = getattr(error, "position", None)
    if not isinstance(position, int):
        return None
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return raw.count(b"\n", 0, position) + 1


def _location(file: str | None, mark: _Mark) -> Location:
    return Location(file, mark.line + 1, mark.column + 1) if mark is not None else Location(file)


@dataclass(slots=True)
class _Anchor:
    """A value with a name; until it is complete an alias to it would be a cycle."""

    value: Json = None
    size: int = 0
    complete: bool = False


class _Events:
    """Builds values from the event stream of one text."""

    def __init__(self, text: str | bytes, file: str | None) -> None:
        self._file = file
        self._events = iter(yaml.parse(text, Loader=_Parser))
        self._places: dict[Pointer, tuple[int, int]] = {}
        self._anchors: dict[str, _Anchor] = {}
        self._values = 0

    def documents(self) -> Iterator[Document]:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._places, self._anchors, self._values = {}, {}, 0
                root = next(self._events)
                value = self._value(root, ())
                if not (value is None and isinstance(root, yaml.ScalarEvent) and root.value == ""):
                    yield Document(value, root.start_mark.line + 1, self._places)

    def _fail(self, message: str, event: _Event) -> DocumentError:
        return DocumentError(message, _location(self._file, event.start_mark))

    def _value(self, event: _Event, pointer: Pointer) -> Json:
        self._count(1, event)
        if len(pointer) > MAX_DEPTH:
            message = f"nested deeper than {MAX_DEPTH} levels"
            raise self._fail(message, event)
        self._places.setdefault(pointer, (event.start_mark.line + 1, event.start_mark.column + 1))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before, anchor = self._values, None
        if event.anchor is not None:
            anchor = self._anchors[event.anchor] = _Anchor()
        value = self._plain_value(event, pointer)
        if anchor is not None:
            anchor.value, anchor.size, anchor.complete = value, self._values - before + 1, True
        return value

    def _count(self, values: int, event: _Event) -> None:
        self._values += values
        if self._values > MAX_VALUES:
            message = f"more than {MAX_VALUES:,} values once aliases are expanded"
            raise self._fail(message, event)

    def _alias(self, event: _Event) -> Json:
        anchor = self._anchors.get(event.anchor)
        if anchor is None:
            message = f"the alias *{event.anchor} refers to nothing above it"
            raise self._fail(message, event)
        if not anchor.complete:
            message = f"the alias *{event.anchor} refers to a value that contains it"
            raise self._fail(message, event)
        self._count(anchor.size, event)
        return anchor.value

    def _plain_value(self, event: _Event, pointer: Pointer) -> Json:
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        self._check_tag(event, "map" if isinstance(event, yaml.MappingStartEvent) else "seq")
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(pointer)
        out: list[Json] = []
        for item in self._events:
            if isinstance(item, yaml.SequenceEndEvent):
                break
            out.append(self._value(item, (*pointer, len(out))))
        return out

    def _check_tag(self, event: _Event, expected: str) -> None:
        if event.tag not in (None, "!", _TAG + expected):
            message = f"the tag {event.tag} is not understood; remove it"
            raise self._fail(message, event)

    def _mapping(self, pointer: Pointer) -> dict[str, Json]:
        out: dict[str, Json] = {}
        lines: dict[str, int] = {}
        merged: list[dict[str, Json]] = []
        for key_event in self._events:
            if isinstance(key_event, yaml.MappingEndEvent):
                break
            key = self._key(key_event)
            if key == "<<" and key_event.implicit[0]:
                merged += self._merges(next(self._events), pointer)
                continue
            if key in lines:
                message = f"the key {key!r} stands twice (first in line {lines[key]})"
                raise self._fail(message, key_event)
            lines[key] = key_event.start_mark.line + 1
            self._places[*pointer, key] = (key_event.start_mark.line + 1, key_event.start_mark.column + 1)
            out[key] = self._value(next(self._events), (*pointer, key))
        for source in merged:
            for key, value in source.items():
                out.setdefault(key, value)
        return out

    def _merges(self, event: _Event, pointer: Pointer) -> list[dict[str, Json]]:
        value = self._value(event, (*pointer, "<<"))
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            message = "a merge key (<<) needs a mapping or a list of mappings"
            raise self._fail(message, event)
        return sources

    def _key(self, event: _Event) -> str:
        if isinstance(event, yaml.AliasEvent) and isinstance(self._alias(event), str):
            return str(self._alias(event))
        if not isinstance(event, yaml.ScalarEvent):
            message = "a key must be a single word or string"
            raise self._fail(message, event)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchor(event.value, 1, complete=True)
        return str(event.value)

    def _scalar(self, event: _Event) -> Json:
        text = event.value
        if event.tag is None:
            return self._core(event) if event.implicit[0] else text
        match event.tag.removeprefix(_TAG):
            case "str" | "!":
                return text
            case "null" if text in _WORDS and _WORDS[text] is None:
                return None
            case "bool" if isinstance(_WORDS.get(text), bool):
                return _WORDS[text]
            case "int" | "float" if _INT.fullmatch(text) or _FLOAT.fullmatch(text):
                return self._core(event)
            case _:
                pass
        message = f"the tag {event.tag} is not understood here; remove it or quote the value"
        raise self._fail(message, event)

    def _core(self, event: _Event) -> Json:
        """Read a plain scalar by the core schema of YAML 1.2."""
        text = event.value
        if text in _WORDS:
            return _WORDS[text]
        if _INT.fullmatch(text):
            return self._int(event)
        if _FLOAT.fullmatch(text):
            value = float(text)
            if value in (float("inf"), float("-inf")):
                message = f"{text} is too large for a number"
                raise self._fail(message, event)
            return value
        if _NOT_FINITE.fullmatch(text):
            message = f"{text} is not a number that JSON can carry"
            raise self._fail(message, event)
        return text

    def _int(self, event: _Event) -> int:
        text = event.value
        if len(text) > _LONGEST_INT:
            message = f"a number of {len(text):,} digits is too long"
            raise self._fail(message, event)
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
