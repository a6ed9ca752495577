"""TOML texts: read by the standard library, edited by tomlkit, which keeps comments, order and layout.

Dates and times read as their ISO text, because JSON has none. TOML has no null: a null entry is one that is not there.
"""

from __future__ import annotations

import datetime as dt
import math
import tomllib
from typing import Any

import tomlkit
from tomlkit import exceptions, items

from holdfast.compare import paths
from holdfast.errors import DocumentError
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.text_edit import edits
from holdfast.text_edit.edits import Act, DocumentEdit

_Moment = dt.datetime | dt.date | dt.time
_Node = Any  # tomlkit's containers are maps and lists of its own items


def parse(text: str) -> Json:
    """Read a text as JSON values."""
    try:
        return _plain(tomllib.loads(text), ())
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DocumentError(f"not TOML: {error}") from None


def _plain(value: Any, pointer: Pointer) -> Json:  # noqa: ANN401 - whatever tomllib returns
    if isinstance(value, dict):
        return {key: _plain(item, (*pointer, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, (*pointer, index)) for index, item in enumerate(value)]
    if isinstance(value, _Moment):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, float) and not math.isfinite(value):
        raise DocumentError(f"the number at {paths.format_path(pointer)} is not one that JSON can carry")
    return value


def as_written(value: Json) -> Json:
    """Return the value without null entries."""
    if not isinstance(value, dict):
        raise DocumentError("a TOML text is a map")
    return _without_nulls(value)


def _without_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        if any(item is None for item in value):
            raise DocumentError("a list in a TOML text cannot hold null")
        return [_without_nulls(item) for item in value]
    return value


def dump(value: Json) -> str:
    """Write a new text."""
    return tomlkit.dumps(as_written(value))


def edit(text: str, before: Json, after: Json) -> list[str]:
    """Change single items. A change that tomlkit cannot make yields a text with other content, which is refused."""
    document = tomlkit.parse(text)
    try:
        for change in edits.between(before, after):
            _apply(document, change)
    except (exceptions.TOMLKitError, KeyError, IndexError, TypeError, ValueError, AttributeError):
        return []
    return [tomlkit.dumps(document)]


def _apply(document: _Node, change: DocumentEdit) -> None:
    holder = document
    for step in change.pointer[:-1]:
        holder = holder[step]
    step = change.pointer[-1]
    if change.act is Act.REMOVE:
        del holder[step]
    elif change.act is Act.ADD and isinstance(step, int):
        holder.insert(step, tomlkit.item(change.value))
    elif change.act is Act.ADD:
        _add(holder, str(step), _inline(change.value) if len(change.pointer) > 1 else tomlkit.item(change.value))
    else:
        holder[step] = _like(holder[step], change.value)


def _add(holder: _Node, key: str, item: _Node) -> None:
    """Put an entry after the last one of its table, before the comment that belongs to the next table."""
    container = getattr(holder, "value", None)
    insert = getattr(container, "_insert_after", None)  # the public way appends after the comment
    plain = [name for name, value in getattr(container, "body", ()) if name is not None and not _is_table(value)]
    if isinstance(holder, items.Table) and insert is not None and plain:
        insert(plain[-1], key, item)
    else:
        holder[key] = item


def _is_table(value: object) -> bool:
    return isinstance(value, items.Table | items.AoT)


def _inline(value: Json) -> _Node:
    """Return a map as an inline table: a table of its own would come to stand under the next table's comment."""
    if not isinstance(value, dict):
        return tomlkit.item(value)
    table = tomlkit.inline_table()
    for key, item in value.items():
        table[key] = _inline(item)
    return table


def _like(old: object, new: Json) -> _Node:
    """Return the new value as an item; a text that takes the place of a date is a date if it reads as one."""
    if isinstance(new, str) and isinstance(old, _Moment):
        kind = next(kind for kind in (dt.datetime, dt.date, dt.time) if isinstance(old, kind))
        try:
            return tomlkit.item(kind.fromisoformat(new))
        except ValueError:
            return tomlkit.item(new)
    return tomlkit.item(new)
