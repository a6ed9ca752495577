"""The named statements of sql/queries.sql, read once, with numbered parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_HEAD: Final = "-- name: "
_PARAMETER: Final = re.compile(r"(?<!:):([a-z_]+)")
_ADDRESSES: Final = (
    "SELECT name.id FROM unnest(:connections::text[], :kinds::text[], :locals::text[]) AS wanted (connection, kind, "
    "local) JOIN family ON family.connection = wanted.connection AND family.kind = wanted.kind "
    "JOIN name ON name.family = family.id AND name.local = wanted.local"
)


def parse(text: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the statements of a file by their `-- name:` lines, each with the names of its parameters in order."""
    parts = (part.partition("\n") for part in text.split(_HEAD)[1:])
    return {name.strip(): _numbered(statement.strip()) for name, _, statement in parts}


def _numbered(statement: str) -> tuple[str, tuple[str, ...]]:
    text = "\n".join(line for line in statement.replace("@addresses", _ADDRESSES).splitlines() if line[:2] != "--")
    names = tuple(dict.fromkeys(_PARAMETER.findall(text)))
    return _PARAMETER.sub(lambda match: f"${names.index(match[1]) + 1}", text), names


_PARSED: Final = parse(Path(__file__).with_name("sql").joinpath("queries.sql").read_text(encoding="utf-8"))
SQL: Final[Mapping[str, str]] = {name: statement for name, (statement, _) in _PARSED.items()}
PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {name: names for name, (_, names) in _PARSED.items()}
