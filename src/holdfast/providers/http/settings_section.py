"""Reading a mapping of settings word by word, with an error that names the field at the first mistake."""

from __future__ import annotations

from types import UnionType
from typing import Final, NoReturn

from holdfast.compare import paths
from holdfast.errors import InputError, Location
from holdfast.model.json import Json
from holdfast.model.path import Path, Pointer

_REQUIRED: Final = object()


class Section:
    """A mapping being read; words that nobody asked for are mistakes."""

    def __init__(self, value: Json, pointer: Pointer) -> None:
        self._pointer = pointer
        if not isinstance(value, dict):
            self.fail("a mapping is needed here")
        self._value = value
        self._known: dict[str, None] = {}

    def fail(self, message: str, *steps: str | int) -> NoReturn:
        """Raise an error about this mapping, or something in it."""
        raise InputError(message, Location(field=paths.format_path((*self._pointer, *steps))))

    def has(self, name: str) -> bool:
        """Return True if a word is given."""
        self._known[name] = None
        return self._value.get(name) is not None

    def get(self, name: str) -> Json:
        """Return whatever is given."""
        self._known[name] = None
        return self._value.get(name)

    def text(self, name: str, default: Json = _REQUIRED) -> str:
        """Return a string."""
        return str(self._typed(name, str, "a string", default))

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a truth value."""
        return bool(self._typed(name, bool, "true or false", default))

    def number(self, name: str, default: float) -> float:
        """Return a number above zero."""
        value = self._typed(name, int | float, "a number", default)
        if isinstance(value, bool) or value <= 0:
            self.fail("a number above zero is needed here", name)
        return float(value)

    def whole(self, name: str, default: int | None) -> int | None:
        """Return a whole number that is not negative."""
        value = self._typed(name, int, "a whole number", default)
        if value is not None and (isinstance(value, bool) or value < 0):
            self.fail("a whole number is needed here", name)
        return None if value is None else int(value)

    def _typed(self, name: str, kind: type | UnionType, what: str, default: Json) -> Json:
        value = self.get(name)
        if value is None:
            if default is _REQUIRED:
                self.fail(f"`{name}` is missing: {what} is needed")
            return default
        if not isinstance(value, kind):
            self.fail(f"{what} is needed here", name)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings, empty if none is given."""
        value = self.get(name) or []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.fail("a list of strings is needed here", name)
        return tuple(value)

    def codes(self, name: str) -> frozenset[int]:
        """Return a list of status codes, empty if none is given."""
        value = self.get(name) or []
        if not isinstance(value, list) or not all(type(code) is int and 100 <= code <= 599 for code in value):
            self.fail("a list of HTTP status codes is needed here", name)
        return frozenset(value)

    def pointer(self, name: str, default: Json = _REQUIRED) -> Path:
        """Return a place in a document, written as a pointer such as /data/id."""
        return self.as_pointer(self.text(name, default), name)

    def as_pointer(self, text: str, *steps: str | int) -> Path:
        """Read a pointer; only keys can be followed in answers that are not parsed as a whole."""
        try:
            return paths.parse_path(text)
        except InputError as error:
            self.fail(error.message, *steps)

    def section(self, name: str, shorthand: str = "") -> Section:
        """Return the mapping under a word; a mere string there may be short for a mapping with one word."""
        value = self.get(name)
        if shorthand and isinstance(value, str):
            value = {shorthand: value}
        return Section(value, (*self._pointer, name))

    def sections(self, name: str) -> dict[str, Section]:
        """Return the mappings under a mapping, by name."""
        outer = self.get(name)
        if not isinstance(outer, dict):
            self.fail(f"`{name}` is missing: a mapping is needed")
        return {str(key): Section(value, (*self._pointer, name, str(key))) for key, value in outer.items()}

    def finish(self) -> None:
        """Refuse words that nobody asked for."""
        for name in self._value:
            if name not in self._known:
                self.fail(f"unknown word {name!r}; allowed here: {', '.join(sorted(self._known))}", str(name))
