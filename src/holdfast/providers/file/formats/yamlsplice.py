"""Editing YAML by the line: put a scalar in place of a scalar, insert or delete whole entries, touch nothing else.

What cannot be done to a value by itself (behind an alias or a merge key, inside a flow collection, sharing its line) is
done to the smallest thing around it that can be written anew. Gives up by returning None; what it does return may still
be wrong about the meaning, and the caller reads it again and checks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from holdfast.compare import paths, yamltext
from holdfast.errors import DocumentError
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.providers import patches
from holdfast.providers.file.formats import yamlwords
from holdfast.providers.patches import Act, Edit

_Node = Any  # the library's nodes carry no types
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _CannotError(Exception):
    pass


def spliced(text: str, after: Json) -> str | None:
    """Return the text changed to say `after`, or None."""
    try:
        pending = list(patches.between(_read(text), after))
        for _ in range(2 * len(pending) + 1):
            if not pending:
                return text
            text = _one_further(text, pending, after)
            pending = list(patches.between(_read(text), after))
    except (_CannotError, yaml.YAMLError, DocumentError):
        return None
    return None


def _one_further(text: str, pending: Iterable[Edit], after: Json) -> str:
    """Make the first edit that can be made: the last key of a map cannot go before another has come."""
    for edit in pending:
        try:
            return _edited(text, edit, after)
        except _CannotError:
            continue
    raise _CannotError


def _read(text: str) -> Json:
    return yamltext.document(text).value


def _edited(text: str, edit: Edit, after: Json) -> str:
    """Make an edit; where it cannot be made by itself, write the smallest thing around it anew."""
    splice = _Splice(text)
    for length in range(len(edit.pointer), 0, -1):
        try:
            return splice.made(edit)
        except _CannotError:
            above = edit.pointer[: length - 1]
            edit = Edit(Act.REPLACE, above, paths.resolve(after, above))
    raise _CannotError


class _Splice:
    """One text, about to be edited."""

    def __init__(self, text: str) -> None:
        self._text = text if text.endswith("\n") else text + "\n"
        self._has_bare_end = self._text is not text
        self._lines = self._text.split("\n")
        self._root = yaml.compose(self._text, Loader=_Loader)

    def made(self, edit: Edit) -> str:
        """Return the text with one edit made."""
        holder = self._find(edit.pointer[:-1])
        step = edit.pointer[-1]
        if edit.act is Act.REPLACE:
            out = self._replaced(holder, step, edit.value)
        elif edit.act is Act.REMOVE:
            out = self._removed(holder, step)
        else:
            out = self._added(holder, step, edit.value)
        return out.removesuffix("\n") if self._has_bare_end else out

    def _find(self, pointer: Pointer) -> _Node:
        node = self._root
        for step in pointer:
            key, below = _entry(node, _position(node, step))
            if _is_alias(key or node, below):
                raise _CannotError
            node = below
        return node

    # -- replacing

    def _replaced(self, holder: _Node, step: str | int, value: Json) -> str:
        if _is_merged(holder, step):
            return self._added(holder, step, value)
        key, node = _entry(holder, _position(holder, step))
        if _is_alias(key or holder, node) or self._text[node.start_mark.index] in "&!":
            return self._rewritten(holder, step, value)
        is_container = isinstance(value, dict | list)
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">") and isinstance(value, str):
            return self._put(node, self._block_scalar(node, value))
        if isinstance(node, yaml.ScalarNode) and not is_container and node.style not in ("|", ">"):
            empty_after_colon = node.start_mark.index == node.end_mark.index and key is not None
            return self._put(node, " " * empty_after_colon + yamlwords.scalar(value, node.style))
        if not isinstance(node, yaml.ScalarNode) and node.flow_style:
            return self._put(node, yamlwords.flow(value))
        return self._rewritten(holder, step, value)

    def _put(self, node: _Node, written: str) -> str:
        return self._text[: node.start_mark.index] + written + self._text[node.end_mark.index :]

    def _block_scalar(self, node: _Node, value: str) -> str:
        """Write a string of lines with the indentation of the block that it takes the place of."""
        old = self._text[node.start_mark.index : node.end_mark.index]
        body = [line for line in old.split("\n")[1:] if line.strip()]
        if not body or not value.strip() or value.endswith("\n\n") or value[0].isspace():
            raise _CannotError
        indent = min(len(line) - len(line.lstrip(" ")) for line in body) * " "
        lines = [indent + line if line else "" for line in value.removesuffix("\n").split("\n")]
        after = len(old) - len(old.rstrip("\n")) - 1  # blank lines that belong to the layout, not to the value
        return "\n".join(["|" if value.endswith("\n") else "|-", *lines]) + "\n" * (1 + max(after, 0))

    def _rewritten(self, holder: _Node, step: str | int, value: Json) -> str:
        """Write an entry of a block collection anew, in its place."""
        if holder.flow_style:
            raise _CannotError
        position = _position(holder, step)
        first = self._first_line(holder, position, shared=True)
        last = self._last_line(*_entry(holder, position))
        lines = self._block(holder, step, value)
        column = self._column(holder)
        lines[0] = self._lines[first][:column] + lines[0][column:]
        return "\n".join(self._lines[:first] + lines + self._lines[last + 1 :])

    # -- removing

    def _removed(self, holder: _Node, step: str | int) -> str:
        position = _position(holder, step)
        if holder.flow_style or len(holder.value) < 2:
            raise _CannotError
        first = self._first_line(holder, position)
        last = self._last_line(*_entry(holder, position))
        return "\n".join(self._lines[:first] + self._lines[last + 1 :])

    def _first_line(self, holder: _Node, position: int, *, shared: bool = False) -> int:
        """Return the line an entry begins on; unless it may be shared, the entry must have it to itself."""
        key, value = _entry(holder, position)
        line = int((key or value).start_mark.line)
        column = self._column(holder)
        before, here = self._lines[line][:column], self._lines[line][column : column + 1]
        if (key is None and here != "-") or (key or value).start_mark.index < holder.start_mark.index:
            raise _CannotError
        if before.strip() and not (shared and position == 0 and set(before) <= set("- ")):
            raise _CannotError
        return line

    def _last_line(self, key: _Node, value: _Node) -> int:
        """Return the line an entry ends on; what a block collection's own mark says includes comments after it."""
        if key is not None and _is_alias(key, value):
            return int(key.end_mark.line)
        if not isinstance(value, yaml.ScalarNode) and not value.flow_style:
            return self._last_line(*_entry(value, len(value.value) - 1))
        last = int(value.end_mark.line)
        if isinstance(value, yaml.ScalarNode) and value.style in ("|", ">"):
            last -= 1
            while not self._lines[last].strip():
                last -= 1
        return last

    # -- adding

    def _added(self, holder: _Node, step: str | int, value: Json) -> str:
        if isinstance(holder, yaml.ScalarNode):
            raise _CannotError
        if holder.flow_style:
            return self._added_in_flow(holder, step, value)
        if isinstance(step, int) and step < len(holder.value):
            place = self._first_line(holder, step)
        else:
            place = self._last_line(*_entry(holder, len(holder.value) - 1)) + 1
        return "\n".join(self._lines[:place] + self._block(holder, step, value) + self._lines[place:])

    def _added_in_flow(self, holder: _Node, step: str | int, value: Json) -> str:
        if not holder.value or (isinstance(step, int) and step != len(holder.value)):
            raise _CannotError
        written = yamlwords.flow(value) if isinstance(step, int) else yamlwords.flow({step: value})[1:-1]
        key, last = _entry(holder, len(holder.value) - 1)
        if _is_alias(key or holder, last):
            raise _CannotError
        end = last.end_mark.index
        return f"{self._text[:end]}, {written}{self._text[end:]}"

    def _block(self, holder: _Node, step: str | int, value: Json) -> list[str]:
        """Write an entry of a block collection, indented as its neighbours are."""
        content: Json = [value] if isinstance(step, int) else {step: value}
        written = yamlwords.block(content, indent=self._indent(), indentless=self._is_indentless())
        column = self._column(holder)
        return [" " * column + line if line else "" for line in written.rstrip("\n").split("\n")]

    @staticmethod
    def _column(holder: _Node) -> int:
        key, _ = _entry(holder, 0)
        return int(key.start_mark.column if key is not None else holder.start_mark.column)

    def _indent(self) -> int:
        """Return how far nested maps are indented; two blanks if there is none to go by."""
        for holder, node in _nested(self._root):
            if isinstance(node, yaml.MappingNode) and isinstance(holder, yaml.MappingNode) and node.value:
                step = self._column(node) - self._column(holder)
                if not node.flow_style and step > 1:
                    return step
        return 2

    def _is_indentless(self) -> bool:
        for holder, node in _nested(self._root):
            if isinstance(node, yaml.SequenceNode) and isinstance(holder, yaml.MappingNode) and not node.flow_style:
                return int(node.start_mark.column) == self._column(holder)
        return False


def _position(node: _Node, step: str | int) -> int:
    if isinstance(node, yaml.SequenceNode):
        return int(step)
    if not isinstance(node, yaml.MappingNode):
        raise _CannotError
    for position, (key, _) in enumerate(node.value):
        if key.value == step:
            return position
    raise _CannotError


def _is_merged(holder: _Node, step: str | int) -> bool:
    """Tell whether a key came in by a merge key: then an entry of its own overrules it."""
    if not isinstance(holder, yaml.MappingNode):
        return False
    names = {key.value for key, _ in holder.value}
    return step not in names and "<<" in names


def _is_alias(before: _Node, node: _Node) -> bool:
    """Tell whether a node stands, as that of an alias does, where its anchor is: before what it belongs to."""
    return bool(node.start_mark.index < before.start_mark.index)


def _entry(holder: _Node, position: int) -> tuple[_Node, _Node]:
    entry = holder.value[position]
    return entry if isinstance(entry, tuple) else (None, entry)


def _nested(root: _Node) -> Iterable[tuple[_Node, _Node]]:
    pending = [root]
    while pending:
        holder = pending.pop(0)
        if holder is None or isinstance(holder, yaml.ScalarNode):
            continue
        for position in range(len(holder.value)):
            node = _entry(holder, position)[1]
            yield holder, node
            if not _is_alias(holder, node):
                pending.append(node)
