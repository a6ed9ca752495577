"""The named statements of sql/queries.sql, read once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Final, TypeVar

Value = TypeVar("Value")

MANY: Final = 200  # values in one list; longer lists take several queries, shorter ones are padded with nulls
_HEAD: Final = "-- name: "
_LIST: Final = "(?*)"


def parse(text: str) -> dict[str, str]:
    """Split a file of statements by their `-- name:` lines."""
    marks = "(" + ", ".join("?" * MANY) + ")"
    parts = (part.partition("\n") for part in text.split(_HEAD)[1:])
    return {name.strip(): statement.strip().replace(_LIST, marks) for name, _, statement in parts}


def in_lists(values: Sequence[Value]) -> Iterator[list[Value | None]]:
    """Cut values into lists of the length that `(?*)` takes; the padding equals nothing in SQL."""
    for start in range(0, len(values), MANY):
        chunk: list[Value | None] = list(values[start : start + MANY])
        yield chunk + [None] * (MANY - len(chunk))


SQL: Final[Mapping[str, str]] = parse((resources.files(__package__) / "sql/queries.sql").read_text(encoding="utf-8"))
