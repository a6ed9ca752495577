"""JSON texts, edited by splicing: layout, key order and number spellings of all the rest stay as they are."""

from __future__ import annotations

import json

from holdfast.compare import go_json
from holdfast.model.json import Json
from holdfast.text_edit import edits, json_edit
from holdfast.text_edit.json_edit import Style


def parse(text: str) -> Json:
    """Read a text; 64-bit integers stay exact."""
    return go_json.loads(text, "int64")


def as_written(value: Json) -> Json:
    """Return the value: JSON can say all of it."""
    return value


def dump(value: Json) -> str:
    """Write a new text, two blanks a level."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def edit(text: str, before: Json, after: Json) -> list[str]:
    """Splice each difference; where the text is too deep for that, write it again in its own style."""
    style = Style.of(text)
    try:
        spliced = text
        for change in edits.between(before, after):
            spliced = json_edit.edit_text(spliced, change, style)
    except json_edit.TooDeepError:
        return [_rewritten(text, after, style)]
    return [spliced, _rewritten(text, after, style)]


def _rewritten(text: str, after: Json, style: Style) -> str:
    tail = text[len(text.rstrip()) :]
    return style.dumps(after, "\n" if style.indent is not None else "") + tail
