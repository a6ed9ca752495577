"""YAML texts: read strictly, edited first by splicing lines, then by a round trip where splicing cannot do it.

Splicing touches nothing but the lines of the value itself. The round trip through ruamel.yaml keeps comments, order,
quotes and anchors, and may respace a line or two; it also writes what sits behind an alias or a merge key, by giving
the place a copy of its own so that the anchor's other users stay as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from holdfast.compare import yaml_reader
from holdfast.errors import DocumentError, Location
from holdfast.model.json import Json
from holdfast.providers.file.formats import yaml_round_trip
from holdfast.text_edit import edits, yaml_edit, yaml_spelling


def parse(text: str) -> Json:
    """Read a text of at most one document; an empty one says null."""
    found = yaml_reader.documents(text)
    if len(found) > 1:
        raise DocumentError(
            "several documents stand in one file; only one can be declared", Location(line=found[1].line)
        )
    return found[0].value if found else None


def as_written(value: Json) -> Json:
    """Return the value: YAML can say all of it."""
    return value


def dump(value: Json) -> str:
    """Write a new text in block style."""
    return yaml_spelling.block(value)


def _head(text: str) -> str:
    """Return the comments before the first value: all there is to keep when everything else changes."""
    kept = itertools.takewhile(lambda line: not line.strip() or line.startswith("#"), text.splitlines(keepends=True))
    head = "".join(kept)
    return head if head.endswith("\n") or not head else head + "\n"


def edit(text: str, before: Json, after: Json) -> Iterator[str]:
    """Splice; if that is not possible or says something else, go through the round trip."""
    if not before or not after or type(before) is not type(after) or not isinstance(before, dict | list):
        yield _head(text) + dump(after)
        return
    for attempt in (yaml_edit.spliced(text, after), yaml_round_trip.rewritten(text, edits.between(before, after))):
        if attempt is not None:
            yield attempt
