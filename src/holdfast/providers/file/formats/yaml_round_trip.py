"""Editing YAML by a round trip through ruamel.yaml: for what cannot be done by the line.

Containers that several places share, by an alias or a merge key, are given to the edited place as a copy, so that the
others stay as they are.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

from holdfast.model.json import Json
from holdfast.text_edit import yaml_spelling
from holdfast.text_edit.edits import Act, Edit

_Node = Any  # ruamel's commented maps and lists


def rewritten(text: str, edits: Iterable[Edit]) -> str | None:
    """Return the text with the edits made, or None."""
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = yaml_spelling.WIDTH
    yaml.explicit_start = any(line.startswith("---") for line in text.split("\n"))
    _keep_indents(yaml, text)
    try:
        root = [yaml.load(text)]
        for edit in edits:
            _apply(root, edit)
        out = io.StringIO()
        yaml.dump(root[0], out)
    except (YAMLError, RecursionError, KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None
    return out.getvalue()


def _keep_indents(yaml: YAML, text: str) -> None:
    """Set the indentation of the writer to that of the first mapping and the first list."""
    lines = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    below = [(low.lstrip(), _indent(low) - _indent(high)) for high, low in itertools.pairwise(lines) if _opens(high)]
    mapping = next((step for line, step in below if not line.startswith("- ") and step > 0), 2)
    offset = next((step for line, step in below if line.startswith("- ") and step >= 0), 2)
    yaml.indent(mapping=mapping, sequence=offset + 2, offset=offset)


def _opens(line: str) -> bool:
    return line.rstrip().endswith(":") and not line.lstrip().startswith("- ")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _apply(root: list[_Node], edit: Edit) -> None:
    holder: _Node = root
    shared = _shared(root[0])
    for step in (0, *edit.pointer)[:-1]:
        below = holder[step]
        if id(below) in shared:
            below = holder[step] = _plain(below)
        holder = below
    step = (0, *edit.pointer)[-1]
    if edit.act is Act.REMOVE:
        del holder[step]
    elif edit.act is Act.ADD and isinstance(step, int):
        holder.insert(step, _item(edit.value))
    else:
        holder[_key(step)] = _item(edit.value)


def _shared(root: _Node) -> set[int]:
    """Return the containers that are reached more than once."""
    seen: set[int] = set()
    shared: set[int] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if not isinstance(node, dict | list):
            continue
        if id(node) in seen:
            shared.add(id(node))
            continue
        seen.add(id(node))
        pending.extend(node.values() if isinstance(node, dict) else node)
    return shared


def _plain(node: _Node) -> _Node:
    if isinstance(node, dict):
        return {key: _plain(value) for key, value in node.items()}
    return [_plain(value) for value in node] if isinstance(node, list) else node


def _item(value: Json) -> _Node:
    """Return a value as the writer should write it: strings quoted where some reader would misread them."""
    if isinstance(value, dict):
        return {_key(key): _item(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_item(item) for item in value]
    if isinstance(value, str) and "\n" in value and value.replace("\n", "").isprintable():
        return LiteralScalarString(value)
    if isinstance(value, str) and yaml_spelling.flow(value) != value:
        return DoubleQuotedScalarString(value)
    return value


def _key(step: str | int) -> str | int:
    """Return a key as the writer should write it; it would put a line break of Unicode between single quotes."""
    return DoubleQuotedScalarString(step) if isinstance(step, str) and not step.isprintable() else step
