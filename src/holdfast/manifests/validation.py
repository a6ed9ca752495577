"""Checking what people wrote, so that every mistake is told at once, each with file, line, field and what to do."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

from holdfast.compare import paths
from holdfast.errors import InputError, Location
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.policy import did_you_mean

MOST_SHOWN: Final = 20
LONGEST_NAME: Final = 253
_FORBIDDEN = re.compile(r"[\s\x00-\x1f\x7f/,#${}*?!\[\]\"'\\]")
_LONGEST_SHOWN = 60
_Choice = TypeVar("_Choice", bound=StrEnum)


class InputErrors(InputError):  # noqa: N818 - a group of errors
    """Several mistakes at once, in the order of files and lines; prints the first twenty."""

    def __init__(self, errors: Iterable[InputError]) -> None:
        self.errors = tuple(sorted(errors, key=_order))
        shown = [str(error) for error in self.errors[:MOST_SHOWN]]
        if len(self.errors) > MOST_SHOWN:
            shown.append(f"and {len(self.errors) - MOST_SHOWN:,} more")
        self.lines = tuple(shown)
        super().__init__("\n".join(shown))

    def at(self, location: Location) -> InputErrors:
        """Return the same with what each did not know yet."""
        return InputErrors(error.at(location) for error in self.errors)


def _order(error: InputError) -> tuple[str, int, int, str]:
    where = error.location
    return where.file or "", where.line or 0, where.column or 0, error.message


def raise_all(errors: Iterable[InputError]) -> None:
    """Raise the mistakes together, a single one as itself; do nothing if there are none."""
    found: list[InputError] = []
    for error in errors:
        found.extend(error.errors if isinstance(error, InputErrors) else [error])
    if len(found) == 1:
        raise found[0]
    if found:
        raise InputErrors(found)


@dataclass(frozen=True, slots=True)
class Written:
    """One document as written: its value, and where each part of it stands."""

    value: Json
    file: str | None
    line: int
    places: Mapping[Pointer, tuple[int, int]] = field(repr=False)

    def location(self, pointer: Pointer) -> Location:
        """Return where the value at the pointer, or the nearest one above it, stands."""
        name = paths.format_path(pointer) or None
        for length in range(len(pointer), -1, -1):
            place = self.places.get(pointer[:length])
            if place is not None:
                return Location(self.file, place[0], place[1], name)
        return Location(self.file, self.line, field=name)


class Sheet:
    """One document under examination; what is wrong is noted in `errors`, and reading goes on."""

    def __init__(self, written: Written, errors: list[InputError]) -> None:
        self.written = written
        self.errors = errors
        self._misspelt: set[Pointer] = set()  # what unknown fields were probably meant to be

    def fail(self, message: str, pointer: Pointer) -> None:
        """Note a mistake."""
        self.errors.append(InputError(message, self.written.location(pointer)))

    def note(self, error: InputError, pointer: Pointer) -> None:
        """Note a mistake that somebody else found, with its place here."""
        self.errors.append(error.at(self.written.location(pointer)))

    def mapping(self, value: Json, pointer: Pointer, allowed: Collection[str] | None = None) -> dict[str, Json]:
        """Return a mapping with null entries left out; nothing at all counts as an empty one."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.fail(f"a mapping is needed here, not {named(value)}", pointer)
            return {}
        for key in value:
            if allowed is not None and key not in allowed:
                guess = did_you_mean.closest(key, allowed)
                hint = f"did you mean {guess}?" if guess else f"known here: {', '.join(allowed)}"
                self.fail(f"unknown field {shown(key)}; {hint}", (*pointer, key))
                self._misspelt.add((*pointer, guess or key))
        return {key: item for key, item in value.items() if item is not None}

    def text(self, body: Mapping[str, Json], key: str, pointer: Pointer, needed: str = "") -> str | None:
        """Return a text that is not empty; `needed` tells what to do if it is missing, else it may be."""
        value = body.get(key)
        if isinstance(value, str) and value:
            return value
        if value is not None:
            hint = "an empty text" if value == "" else named(value)
            quote = f"; write it in quotes: {key}: '{paths.scalar_text(value)}'" if _is_scalar(value) else ""
            self.fail(f"{key} must be a text, not {hint}{quote}", (*pointer, key))
        elif needed:
            self.missing(key, pointer, needed)
        return None

    def missing(self, key: str, pointer: Pointer, needed: str) -> None:
        """Note that something is missing, unless it is there under a misspelt name, which has been noted."""
        if (*pointer, key) not in self._misspelt:
            self.fail(f"{key} is missing; {needed}", pointer)

    def name(self, body: Mapping[str, Json], key: str, pointer: Pointer, needed: str = "") -> str | None:
        """Return a text that can be part of an address."""
        found = self.text(body, key, pointer, needed)
        if found is None:
            return None
        trouble = name_trouble(found)
        if trouble:
            self.fail(f"{key} {shown(found)} {trouble}", (*pointer, key))
            return None
        return found

    def texts(self, value: Json, pointer: Pointer) -> dict[str, str]:
        """Return a mapping of texts, as labels and annotations are."""
        body = self.mapping(value, pointer)
        out = {}
        for key, item in body.items():
            if isinstance(item, str):
                out[key] = item
            else:
                hint = f"; write it in quotes: {key}: '{paths.scalar_text(item)}'" if _is_scalar(item) else ""
                self.fail(f"{shown(key)} must be a text, not {named(item)}{hint}", (*pointer, key))
        return out

    def choice(self, body: Mapping[str, Json], key: str, pointer: Pointer, default: _Choice) -> _Choice:
        """Return one of a closed set of words."""
        value = body.get(key, default.value)
        words = [choice.value for choice in type(default)]
        if isinstance(value, str) and value in words:
            return type(default)(value)
        guess = did_you_mean.hint(value, words) if isinstance(value, str) else ""
        what = shown(value) if isinstance(value, str) else named(value)
        self.fail(f"{key} must be one of {', '.join(words)}, not {what}{guess}", (*pointer, key))
        return default


def name_trouble(name: str) -> str:
    """Say why a text cannot be a part of an address, or nothing."""
    bad = _FORBIDDEN.search(name)
    if bad is not None:
        what = "a slash" if bad[0] == "/" else "a blank" if bad[0].isspace() else repr(bad[0])
        return f"must not hold {what}, because names are parts of addresses; use letters, digits, - _ . : @ + ="
    if len(name) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters"
    return "must not be made of dots alone" if not name.strip(".") else ""


def _is_scalar(value: Json) -> bool:
    return isinstance(value, bool | int | float)


def named(value: Json) -> str:
    """Say what kind of value this is, without showing it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "a mapping"


def shown(text: str) -> str:
    """Quote a word for a message, shortened if somebody put a novel there."""
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "...")
