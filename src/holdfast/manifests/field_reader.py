"""Reading single fields where they stand, so that a mistake is noted with its place and reading goes on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from holdfast.compare import paths
from holdfast.errors import InputError
from holdfast.manifests.validation import Sheet, named
from holdfast.model.json import Json
from holdfast.model.path import Path, Pointer
from holdfast.policy import durations
from holdfast.policy.budgets import Percent
from holdfast.rollouts.core.rollout_limits import Amount
from holdfast.rollouts.core.template_schemes import Keys

_PERCENT: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?) ?%")
_Value = TypeVar("_Value")


class Fields:
    """One mapping of a document, read field by field."""

    def __init__(self, sheet: Sheet, value: Json, pointer: Pointer, allowed: tuple[str, ...] | None) -> None:
        self.sheet = sheet
        self.pointer = pointer
        self.body = sheet.mapping(value, pointer, allowed)

    def read(self, key: str, parse: Callable[[Json], _Value], default: _Value) -> _Value:
        """Return a field as `parse` has it, the default where it is missing or wrong."""
        if key not in self.body:
            return default
        try:
            return parse(self.body[key])
        except InputError as error:
            self.sheet.note(error, (*self.pointer, key))
            return default

    def items(self, key: str) -> list[tuple[Pointer, Json]]:
        """Return the entries of a list with their places."""
        value = self.body.get(key)
        if value is not None and not isinstance(value, list):
            self.sheet.fail(f"{key} needs a list, not {named(value)}", (*self.pointer, key))
            return []
        return [((*self.pointer, key, index), item) for index, item in enumerate(value or ())]

    def words(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        found = []
        for place, item in self.items(key):
            if isinstance(item, str) and item:
                found.append(item)
            else:
                self.sheet.fail(f"a text is needed here, not {named(item)}", place)
        return tuple(found)

    def keys(self, key: str) -> frozenset[Keys]:
        """Return a list of paths to fields."""
        found = set()
        for place, item in self.items(key):
            try:
                found.add(keys_of(item))
            except InputError as error:
                self.sheet.note(error, place)
        return frozenset(found)

    def mapping(self, key: str, allowed: tuple[str, ...] | None = None) -> Fields:
        """Return what stands below a field."""
        return Fields(self.sheet, self.body.get(key), (*self.pointer, key), allowed)


def keys_of(value: Json) -> Keys:
    """Return a path by names alone; templates do not look into lists."""
    found = path_of(value)
    if not found or not all(isinstance(step, str) for step in found):
        raise InputError(f"a path to a field is needed here, such as /content/level, not {value!r}")
    return tuple(str(step) for step in found)


def path_of(value: Json) -> Path:
    """Return a path."""
    if not isinstance(value, str) or not value.startswith("/"):
        raise InputError("a path is needed here, beginning with a slash, such as /status/phase")
    return paths.parse_path(value)


def count(least: int) -> Callable[[Json], int]:
    """Return what reads a whole number."""

    def parse(value: Json) -> int:
        if type(value) is not int or value < least:
            raise InputError(f"a whole number from {least} up is needed here")
        return value

    return parse


def amount(value: Json) -> Amount:
    """Return a number, or a share such as 5%."""
    if type(value) is int and value >= 0:
        return value
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if match is None or not 0 < float(match[1]) <= 100:
        raise InputError("a whole number such as 2 is needed here, or a share such as 10%; 0 for none")
    return Percent(float(match[1]))


def amounts(value: Json) -> Mapping[str, Amount]:
    """Return amounts by reason."""
    if not isinstance(value, dict):
        raise InputError(f"a mapping of reasons to amounts is needed here, such as {{spec: 5%}}, not {named(value)}")
    return {key: amount(item) for key, item in value.items()}


def seconds(value: Json) -> float:
    """Return a duration."""
    return durations.parse(value)


def truth(value: Json) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise InputError(f"true or false is needed here, not {named(value)}")
    return value
