"""The strict YAML reader: text in, JSON values with the line of every value out.

Reads the core schema of YAML 1.2, so `no` is a string and a date is a string. Asked for it, reads scalars as Kubernetes
does, where `no` is false and `010` is eight. Refuses duplicate keys, unknown tags, cycles and alias bombs, with their
line. Knows nothing of manifests or files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from typing import Any, Final

import yaml

from holdfast.errors import DocumentError, Location
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.model.record import dataclass

MAX_VALUES: Final = 2_000_000  # after aliases are expanded; far above any real document, far below memory
MAX_DEPTH: Final = 200  # each level costs a stack frame

_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_LONGEST_INT = 300  # digits; a longer number does not fit a double
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS: Final[dict[str, Json]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_YAML11_WORDS: Final[dict[str, Json]] = {
    **_WORDS,
    **{text: True for word in ("y", "yes", "on") for text in (word, word.capitalize(), word.upper())},
    **{text: False for word in ("n", "no", "off") for text in (word, word.capitalize(), word.upper())},
}
_YAML11_INT = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9][0-9]*)")
_Event = Any  # the library's own classes carry no types
_Mark = Any
_TAG: Final = "tag:yaml.org,2002:"

# Events, not the library's composer: composing recurses in C without a limit and dies on deep nesting.
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """One document of a stream, with the line and column (from 1) of each of its values."""

    value: Json
    line: int
    places: dict[Pointer, tuple[int, int]] = field(repr=False)
    begin: int = 1  # the line where its text begins, with its directives and its ---

    def location(self, pointer: Pointer, file: str | None = None) -> Location:
        """Return the location of the value at the pointer, or of the nearest value above it."""
        for length in range(len(pointer), -1, -1):
            place = self.places.get(tuple(pointer[:length]))
            if place is not None:
                return Location(file, place[0], place[1])
        return Location(file, self.line)


def documents(
    text: str | bytes, file: str | None = None, *, first_line: int = 1, as_kubernetes: bool = False
) -> list[YamlDocument]:
    """Read every document of a stream; raise DocumentError at the first mistake.

    `first_line` is the line of the file in which the text begins, where it is only a part of a file.
    """
    reader = (_KubernetesReader if as_kubernetes else _Reader)(text, file, first_line)
    try:
        return list(reader.documents())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(part for part in (error.context, error.problem) if part)
        raise DocumentError(f"not YAML: {problem}", _location(file, mark, first_line)) from None
    except (yaml.YAMLError, UnicodeError) as error:
        location = Location(file, _line_of(error, text))
        raise DocumentError(f"not YAML: {error}".splitlines()[0], location) from None


def document(text: str | bytes, file: str | None = None) -> YamlDocument:
    """Read a stream that must hold exactly one document."""
    stream = documents(text, file)
    if len(stream) != 1:
        second = stream[1].line if stream else None
        raise DocumentError(f"expected one document, got {len(stream)}", Location(file, second))
    return stream[0]


def _line_of(error: Exception, text: str | bytes) -> int | None:
    """Return the line of an invalid byte; the reader counts bytes, a failed encoding counts characters."""
    if isinstance(error, UnicodeEncodeError) and isinstance(text, str):
        return text.count("\n", 0, error.start) + 1
    position = getattr(error, "position", None)
    if not isinstance(position, int):
        return None
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return raw.count(b"\n", 0, position) + 1


def _location(file: str | None, mark: _Mark, first_line: int) -> Location:
    return Location(file, mark.line + first_line, mark.column + 1) if mark is not None else Location(file)


def _fill_in(value: dict[str, Json], merged: list[dict[str, Json]]) -> None:
    """Add the entries of merged mappings that the value does not have; the first mapping wins."""
    for source in merged:
        for key, item in source.items():
            value.setdefault(key, item)


@dataclass(slots=True)
class _Anchor:
    """A value with a name; an alias to an incomplete value would be a cycle."""

    value: Json = None
    size: int = 0
    complete: bool = False


class _Reader:
    """Builds values from the events of one text, with one stack frame for each level of nesting."""

    def __init__(self, text: str | bytes, file: str | None, first_line: int) -> None:
        self._file = file
        self._first = first_line
        self._events: Iterator[_Event] = iter(yaml.parse(text, Loader=_Parser))
        self._places: dict[Pointer, tuple[int, int]] = {}
        self._anchors: dict[str, _Anchor] = {}
        self._values = 0

    def documents(self) -> Iterator[YamlDocument]:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._places, self._anchors, self._values = {}, {}, 0
                root = next(self._events)
                value = self._value(root, ())
                if not (value is None and isinstance(root, yaml.ScalarEvent) and root.value == ""):
                    start: _Mark = event.start_mark
                    line = root.start_mark.line + self._first
                    yield YamlDocument(value, line, self._places, start.line + self._first)

    def _error(self, message: str, event: _Event) -> DocumentError:
        return DocumentError(message, _location(self._file, event.start_mark, self._first))

    def _value(self, event: _Event, pointer: Pointer) -> Json:
        self._count(1, event)
        if len(pointer) > MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH} levels", event)
        mark = event.start_mark
        self._places.setdefault(pointer, (mark.line + self._first, mark.column + 1))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before, anchor = self._values, None
        if event.anchor is not None:
            anchor = self._anchors[event.anchor] = _Anchor()
        value: Json
        events = self._events
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent):
            self._check_tag(event, "map")
            value = {}
            merged: list[Json] = []
            lines: dict[str, int] = {}
            while not isinstance(key_event := next(events), yaml.MappingEndEvent):
                key, is_merge = self._key(key_event, pointer, lines)
                value_event = next(events)
                item = self._value(value_event, (*pointer, key))
                if is_merge:
                    merged += self._merge_sources(item, value_event)
                else:
                    value[key] = item
            if merged:
                _fill_in(value, merged)
        else:
            self._check_tag(event, "seq")
            value = []
            while not isinstance(item_event := next(events), yaml.SequenceEndEvent):
                value.append(self._value(item_event, (*pointer, len(value))))
        if anchor is not None:
            anchor.value, anchor.size, anchor.complete = value, self._values - before + 1, True
        return value

    def _count(self, values: int, event: _Event) -> None:
        self._values += values
        if self._values > MAX_VALUES:
            raise self._error(f"more than {MAX_VALUES:,} values after aliases are expanded", event)

    def _alias(self, event: _Event) -> Json:
        anchor = self._anchors.get(event.anchor)
        if anchor is None:
            raise self._error(f"the alias *{event.anchor} has no anchor above it", event)
        if not anchor.complete:
            raise self._error(f"the alias *{event.anchor} refers to a value that contains it", event)
        self._count(anchor.size, event)
        return anchor.value

    def _check_tag(self, event: _Event, expected: str) -> None:
        if event.tag not in (None, "!", _TAG + expected):
            raise self._error(f"unknown tag {event.tag}; remove it", event)

    def _key(self, event: _Event, pointer: Pointer, lines: dict[str, int]) -> tuple[str, bool]:
        """Return a key and True if it is a merge key; record the line of any other key, which must be new."""
        if isinstance(event, yaml.ScalarEvent):
            key, is_merge = self._key_text(event), event.value == "<<" and bool(event.implicit[0])
            if event.anchor is not None:
                self._anchors[event.anchor] = _Anchor(key, 1, complete=True)
        elif isinstance(event, yaml.AliasEvent) and isinstance(name := self._alias(event), str):
            key, is_merge = name, False
        else:
            raise self._error("a key must be a string", event)
        if not is_merge:
            if key in lines:
                raise self._error(f"duplicate key {key!r} (first in line {lines[key]})", event)
            mark = event.start_mark
            lines[key] = mark.line + self._first
            self._places[*pointer, key] = (mark.line + self._first, mark.column + 1)
        return key, is_merge

    def _key_text(self, event: _Event) -> str:
        return str(event.value)

    def _merge_sources(self, value: Json, event: _Event) -> list[dict[str, Json]]:
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise self._error("a merge key (<<) needs a mapping or a list of mappings", event)
        return sources

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
                raise self._error(f"unknown tag {event.tag}; remove it or quote the value", event)

    def _core(self, event: _Event) -> Json:
        """Read a plain scalar by the core schema of YAML 1.2."""
        text = event.value
        if text in _WORDS:
            return _WORDS[text]
        if _INT.fullmatch(text):
            if len(text) > _LONGEST_INT:
                raise self._error(f"a number of {len(text):,} digits is too long", event)
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        if _FLOAT.fullmatch(text):
            value = float(text)
            if value in (float("inf"), float("-inf")):
                raise self._error(f"{text} is too large for a number", event)
            return value
        if _NOT_FINITE.fullmatch(text):
            raise self._error(f"{text} is not a number in JSON", event)
        return text


class _KubernetesReader(_Reader):
    """Reads plain scalars as the YAML library of Kubernetes does: YAML 1.1 without dates and base 60."""

    def _core(self, event: _Event) -> Json:
        text = event.value
        if text in _YAML11_WORDS:
            return _YAML11_WORDS[text]
        plain = text.replace("_", "") if text[:1] != "_" else text
        if _YAML11_INT.fullmatch(plain):
            if len(plain) > _LONGEST_INT:
                raise self._error(f"a number of {len(plain):,} digits is too long", event)
            value = _yaml11_int(plain)
            return value if -(2**63) <= value < 2**64 else float(value)
        if _FLOAT.fullmatch(plain):
            number = float(plain)
            return int(number) if number.is_integer() and abs(number) < 2**53 else self._finite(number, event)
        return super()._core(event) if plain == text else text

    def _finite(self, number: float, event: _Event) -> float:
        if number in (float("inf"), float("-inf")):
            raise self._error(f"{event.value} is too large for a number", event)
        return number

    def _key_text(self, event: _Event) -> str:
        """Return a key as Kubernetes writes it: a boolean or number becomes its text."""
        if event.tag is not None or not event.implicit[0] or event.value == "<<":
            return str(event.value)
        value = self._core(event)
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value) if isinstance(value, int) else str(event.value)


def _yaml11_int(text: str) -> int:
    sign, digits = (-1 if text[0] == "-" else 1), text.lstrip("+-")
    if digits[:2].lower() in ("0x", "0o", "0b"):
        return sign * int(digits, 0)
    return sign * (int(digits, 8) if len(digits) > 1 and digits[0] == "0" else int(digits))
