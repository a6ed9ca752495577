"""Document formats: reading a text as JSON values, and changing a text while leaving alone all that need not change.

Belongs here: one module a format, text in and text out. Must not be here: files, bytes on disk, resources.

Every edit is checked: the new text is read again and must say exactly what was wanted. An editor may therefore be
clever about layout without being able to harm the content; where none succeeds, nothing is written.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import PurePath
from typing import Final, Protocol, cast

from holdfast.compare.comparators import typed_equal
from holdfast.errors import DocumentError
from holdfast.model.json import Json


class Format(Protocol):
    """The interface of a format module."""

    def parse(self, text: str) -> Json:
        """Read a text; raise DocumentError with line and column if it is not of this format."""

    def as_written(self, value: Json) -> Json:
        """Return a value as it is read after a write; raise DocumentError if the format cannot express it."""

    def dump(self, value: Json) -> str:
        """Write a new text."""

    def edit(self, text: str, before: Json, after: Json) -> Iterable[str]:
        """Yield attempts to turn a text that reads as `before` into one that reads as `after`, the gentlest first."""


_MODULES: Final = {"json": "json_format", "yaml": "yaml_format", "toml": "toml", "ini": "ini"}
NAMES: Final = tuple(_MODULES)
EXTENSIONS: Final = {
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
    ".ini": "ini",
    ".cfg": "ini",
}


def named(name: str) -> Format:
    """Return a format by its name; the libraries behind it are imported only now."""
    return cast("Format", importlib.import_module(f"{__name__}.{_MODULES[name]}"))


def by_extension(path: str) -> str | None:
    """Return the name of the format that a file name suggests."""
    return EXTENSIONS.get(PurePath(path).suffix.lower())


def edited(name: str, text: str, wanted: Json) -> str:
    """Return the text changed as little as possible so that it reads as `wanted`."""
    chosen = named(name)
    before, after = chosen.parse(text), chosen.as_written(wanted)
    if typed_equal(before, after):
        return text
    for attempt in chosen.edit(text, before, after):
        if _says(chosen, attempt, after):
            return attempt
    raise DocumentError(f"the change cannot be made without disturbing the rest of the {name} text; edit it by hand")


def dumped(name: str, value: Json) -> str:
    """Return a new text for a value."""
    chosen = named(name)
    text = chosen.dump(value)
    if not _says(chosen, text, chosen.as_written(value)):
        raise DocumentError(f"a value cannot be written as {name}")
    return text


def _says(chosen: Format, text: str, wanted: Json) -> bool:
    try:
        return typed_equal(chosen.parse(text), wanted)
    except DocumentError:
        return False
