"""Values that several places of a YAML document share, through an anchor and its aliases or a merge key."""

from __future__ import annotations

from typing import Final

from holdfast.model.path import Pointer
from holdfast.text_edit import yaml_nodes
from holdfast.text_edit.edits import Act, DocumentEdit
from holdfast.text_edit.yaml_nodes import NodeKind, TextNode

_INSTEAD: Final = "change it there by hand if all of them should change, or write this one out"


def comes_from(text: str, root: TextNode, change: DocumentEdit, line: int) -> str:
    """Return a message if the edited value comes from another place of the file, else an empty string.

    `line` is the first line of the text.
    """
    node = root
    last = len(change.pointer) - 1
    for depth, step in enumerate(change.pointer):
        place = node.position(step)
        if place is None:
            return _merged(text, node, step, line) if depth < last or change.act is Act.REMOVE else ""
        if depth == last and change.act is Act.REMOVE and _is_merged(node, step):
            return _merged(text, node, step, line)  # what it overrules would show again
        node = node.entries[place].value
        if node.kind is NodeKind.ALIAS and depth < last:
            return _said(text, node, line, "is an alias of")
    return ""


def alias_above(root: TextNode, pointer: Pointer) -> Pointer | None:
    """Return where an alias stands that a pointer leads through."""
    node = root
    for depth, step in enumerate(pointer):
        place = node.position(step)
        if place is None:
            return None
        node = node.entries[place].value
        if node.kind is NodeKind.ALIAS:
            return pointer[: depth + 1] if depth + 1 < len(pointer) else None
    return None


def _is_merged(node: TextNode, step: str | int) -> bool:
    return any((merge.target or merge).position(step) is not None for merge in node.merges())


def _merged(text: str, node: TextNode, step: str | int, line: int) -> str:
    sources = node.merges()
    found = [source for source in sources if source.target is not None and source.target.position(step) is not None]
    return _said(text, (found or sources)[0], line, "is merged in from") if sources else ""


def _said(text: str, node: TextNode, line: int, how: str) -> str:
    anchored = node.target or node
    where = _line(text, anchored, line)
    if anchored.anchor is None:
        return f"this {how} the map in line {where}; change it there by hand"
    return f"this {how} the anchor &{anchored.anchor} in line {where}, which other places may use too; {_INSTEAD}"


def is_used_by(text: str, root: TextNode, change: DocumentEdit, line: int) -> str:
    """Return a message if the edited value has an anchor that other places use, else an empty string."""
    node = root
    touched = [root]
    for step in change.pointer:
        place = node.position(step)
        if place is None:
            break
        node = node.entries[place].value
        touched.append(node)
    touched.extend(yaml_nodes.walk(node))
    for item in touched:
        users = yaml_nodes.uses(root, item) if item.anchor is not None else []
        if users:
            numbers = ", ".join(str(_line(text, user, line)) for user in users)
            lines = f"line{'s' * (len(users) > 1)} {numbers}"
            return f"the anchor &{item.anchor} in line {_line(text, item, line)} is used in {lines} too; {_INSTEAD}"
    return ""


def _line(text: str, node: TextNode, line: int) -> int:
    return line - 1 + yaml_nodes.line_number(text, node.start)
