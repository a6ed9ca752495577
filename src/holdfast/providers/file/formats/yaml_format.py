"""The YAML format: read strictly, edited in place so that comments, order, quotes and anchors stay."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from holdfast.compare import yaml_reader
from holdfast.errors import DocumentError, Location
from holdfast.model.json import Json
from holdfast.text_edit import yaml_edit, yaml_spelling


def parse(text: str) -> Json:
    """Return the value of a text with at most one document; an empty text is null."""
    documents = yaml_reader.documents(text)
    if len(documents) > 1:
        raise DocumentError(
            "the file has several documents; split it, because one can be declared", Location(line=documents[1].line)
        )
    return documents[0].value if documents else None


def as_written(value: Json) -> Json:
    """Return the value unchanged, because YAML can express every value."""
    return value


def dump(value: Json) -> str:
    """Return a new text in block style."""
    return yaml_spelling.block(value)


def edit(text: str, before: Json, after: Json) -> Iterator[str]:
    """Yield edits of the text in place, then, where no comment can be lost, a new text."""
    if not before or not after or type(before) is not type(after) or not isinstance(before, dict | list):
        yield _leading_comments(text) + dump(after)
        return
    edited = yaml_edit.edit_text(text, after)
    if edited is not None:
        yield edited
    if "#" not in text:
        yield dump(after)


def _leading_comments(text: str) -> str:
    lines = itertools.takewhile(lambda line: not line.strip() or line.startswith("#"), text.splitlines(keepends=True))
    comments = "".join(lines)
    return comments if comments.endswith("\n") or not comments else comments + "\n"
