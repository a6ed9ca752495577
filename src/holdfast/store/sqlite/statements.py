"""The named statements of sql/queries.sql, read once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

Value = TypeVar("Value")

MANY: Final = 200  # values in one list; longer lists take several queries
SIZES: Final = (1, 8, 40, MANY)  # of lists; other lengths are padded with nulls, so that few statements are prepared
_HEAD: Final = "-- name: "
_LIST: Final = "(?*)"


def parse(text: str, size: int = MANY) -> dict[str, str]:
    """Return the statements of a file by their `-- name:` lines; `(?*)` becomes a list of `size` values."""
    marks = "(" + ", ".join("?" * size) + ")"
    parts = (part.partition("\n") for part in text.split(_HEAD)[1:])
    return {name.strip(): statement.strip().replace(_LIST, marks) for name, _, statement in parts}


def in_lists(values: Sequence[Value]) -> Iterator[list[Value | None]]:
    """Split values into lists of the lengths that `sized` has statements for; the padding never matches in SQL."""
    for start in range(0, len(values), MANY):
        chunk: list[Value | None] = list(values[start : start + MANY])
        size = next(size for size in SIZES if size >= len(chunk))
        yield chunk + [None] * (size - len(chunk))


def sized(name: str, chunk: Sequence[object]) -> str:
    """Return a statement for one list of `in_lists`."""
    return _SIZED[len(chunk)][name]


_TEXT: Final = Path(__file__).with_name("sql").joinpath("queries.sql").read_text(encoding="utf-8")
_SIZED: Final = {size: parse(_TEXT, size) for size in SIZES}
SQL: Final[Mapping[str, str]] = _SIZED[MANY]
