"""A YAML text as a tree of nodes with the position of each value, key, dash and alias.

Does not interpret values; `compare.yaml_reader` does. Only for texts that this reader accepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from enum import Enum
from typing import Any

import yaml

from holdfast.model.path import Pointer
from holdfast.model.record import dataclass

_Event = Any  # the library's own classes carry no types
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_PROPERTIES = re.compile(r"(?:[&!]\S*(?P<after>(?:\s|(?<=\s)#.*)*))+")
_HEADER = re.compile(r"[|>][-+0-9]*")
_COLON = re.compile(r"\s*:")
_TO_DASH = re.compile(r"(?:\s|#.*)*+-")  # nothing but comments stands between two elements
_TO_QUESTION_MARK = re.compile(r"(?:\s|#.*)*+\?(?=\s)")
_MERGE = "<<"


class NodeKind(Enum):
    """The kind of a node."""

    SCALAR = "scalar"
    MAP = "map"
    LIST = "list"
    ALIAS = "alias"


@dataclass(slots=True, eq=False)
class TextNode:
    """One value of a text, from `start` to `end`; `body` follows its anchor and tag."""

    kind: NodeKind
    start: int
    body: int
    end: int  # of block collections and block scalars: without the comments and blank lines that follow
    style: str = ""  # of a scalar: its quote, | or >, empty if plain
    is_flow: bool = False
    is_padded: bool = False  # { a: 1 }, not {a: 1}
    anchor: str | None = None  # its own, or the one that an alias names
    is_tagged: bool = False
    text: str = ""
    entries: list[Entry] = field(default_factory=list)
    target: TextNode | None = None  # of an alias

    @property
    def is_block(self) -> bool:
        """Return True for a collection in block style."""
        return self.kind in (NodeKind.MAP, NodeKind.LIST) and not self.is_flow

    @property
    def is_block_scalar(self) -> bool:
        """Return True for a text below a | or >."""
        return self.style in ("|", ">")

    def position(self, step: str | int) -> int | None:
        """Return the position of the entry of a step, or None if the node itself has none."""
        if self.kind is NodeKind.LIST:
            return int(step) if 0 <= int(step) < len(self.entries) else None
        places = (at for at, entry in enumerate(self.entries) if entry.key is not None and entry.key.text == step)
        return next(places, None) if self.kind is NodeKind.MAP else None

    def merges(self) -> list[TextNode]:
        """Return the nodes that are merged into this mapping: aliases, or mappings in place."""
        merged: list[TextNode] = []
        for entry in self.entries:
            if entry.is_merge:
                node = entry.value
                merged += [item.value for item in node.entries] if node.kind is NodeKind.LIST else [node]
        return merged


@dataclass(slots=True, eq=False)
class Entry:
    """One entry of a collection; `head` is the position behind its colon or dash."""

    key: TextNode | None
    value: TextNode
    start: int  # of its key, question mark or dash; in [ ] of the value
    head: int

    @property
    def end(self) -> int:
        """Return the end of its value."""
        return self.value.end

    @property
    def is_merge(self) -> bool:
        """Return True if this entry merges another mapping."""
        return self.key is not None and self.key.text == _MERGE and not self.key.style


@dataclass(frozen=True, slots=True)
class TextDocument:
    """One document of a stream; from its first mark or value to where the next begins."""

    root: TextNode
    start: int
    end: int

    @property
    def is_empty(self) -> bool:
        """Return True if the document is empty, so that the reader skips it."""
        return self.root.kind is NodeKind.SCALAR and not self.root.text and not self.root.style


def documents(text: str) -> list[TextDocument]:
    """Return the documents of a text that ends with a line break, the empty ones too; raise yaml.YAMLError."""
    return list(_Builder(text).documents())


def walk(root: TextNode) -> Iterator[TextNode]:
    """Yield a node and all nodes below it, in the order of the text; aliases are not followed."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        for entry in reversed(node.entries):
            pending.append(entry.value)
            if entry.key is not None:
                pending.append(entry.key)


def uses(root: TextNode, anchored: TextNode) -> list[TextNode]:
    """Return the aliases of a node."""
    return [node for node in walk(root) if node.target is anchored]


def find(root: TextNode, pointer: Pointer) -> TextNode | None:
    """Return the node at a pointer, or None if it is behind an alias or merged in."""
    node = root
    for step in pointer:
        place = node.position(step)
        if place is None:
            return None
        node = node.entries[place].value
    return node if node.kind is not NodeKind.ALIAS else None


def has_comment(text: str, node: TextNode) -> bool:
    """Return True if a node contains a comment."""
    here = node.body
    for leaf in walk(node):
        if leaf.kind in (NodeKind.SCALAR, NodeKind.ALIAS):
            if "#" in text[here : leaf.start]:
                return True
            if leaf.is_block_scalar and "#" in text[leaf.body : line_end(text, leaf.body)]:
                return True
            here = max(here, leaf.end)
    return "#" in text[here : node.end]


def line_start(text: str, index: int) -> int:
    """Return the start of a character's line."""
    return text.rfind("\n", 0, index) + 1


def line_end(text: str, index: int) -> int:
    """Return the position of the line break of a character's line."""
    found = text.find("\n", index)
    return found if found >= 0 else len(text)


def line_number(text: str, index: int) -> int:
    """Return the line of a character, counted from 1."""
    return text.count("\n", 0, index) + 1


class _Builder:
    """Builds the tree of one text from the event stream."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._events: Iterator[_Event] = iter(yaml.parse(text, Loader=_Parser))
        self._anchors: dict[str, TextNode] = {}

    def documents(self) -> Iterator[TextDocument]:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors = {}
                begin: _Event = event.start_mark
                root = self._node(next(self._events))
                end = int(next(self._events).end_mark.index)
                yield TextDocument(root, int(begin.index), end)

    def _node(self, event: _Event) -> TextNode:
        start, end = int(event.start_mark.index), int(event.end_mark.index)
        if isinstance(event, yaml.AliasEvent):
            name = str(event.anchor)
            return TextNode(NodeKind.ALIAS, start, start, end, anchor=name, target=self._anchors.get(name))
        node = TextNode(NodeKind.SCALAR, start, start, end, anchor=event.anchor, is_tagged=event.tag is not None)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        properties = _PROPERTIES.match(self._text, start) if node.anchor is not None or node.is_tagged else None
        if properties is not None:
            node.body = properties.end()
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(node, event)
        elif isinstance(event, yaml.MappingStartEvent):
            self._map(node, event)
        else:
            self._list(node, event)
        return node

    def _scalar(self, node: TextNode, event: _Event) -> None:
        node.text = str(event.value)
        node.style = event.style or ""
        node.body = min(node.body, node.end)
        if not node.is_block_scalar:
            return
        header = _HEADER.match(self._text, node.body)
        raw = self._text[node.body : node.end]
        if header is not None and "+" in header[0]:
            node.end -= raw.endswith("\n")
            return
        first, *lines = raw.split("\n")
        while lines and not lines[-1].strip():
            lines.pop()
        node.end = node.body + len("\n".join([first, *lines]))
        if not lines and header is not None:
            node.end = header.end()

    def _map(self, node: TextNode, event: _Event) -> None:
        node.kind, node.is_flow = NodeKind.MAP, bool(event.flow_style)
        for inner in self._events:
            if isinstance(inner, yaml.MappingEndEvent):
                node.end = self._end(node, inner)
                break
            before = node.entries[-1].end if node.entries else node.body
            mark = None if node.is_flow else _TO_QUESTION_MARK.match(self._text, before, int(inner.start_mark.index))
            key = self._node(inner)
            value = self._node(next(self._events))
            if key.kind is NodeKind.ALIAS and key.target is not None:
                key.text = key.target.text
            colon = _COLON.match(self._text, key.end)
            if colon is None:
                value.start = value.body = value.end = key.end
            start = mark.end() - 1 if mark is not None else key.start
            node.entries.append(Entry(key, value, start, colon.end() if colon is not None else key.end))
        self._finish(node)

    def _list(self, node: TextNode, event: _Event) -> None:
        node.kind, node.is_flow = NodeKind.LIST, bool(event.flow_style)
        for inner in self._events:
            if isinstance(inner, yaml.SequenceEndEvent):
                node.end = self._end(node, inner)
                break
            before = node.entries[-1].end if node.entries else node.body
            value = self._node(inner)
            if node.is_flow:
                node.entries.append(Entry(None, value, value.start, value.start))
            else:
                dash = _TO_DASH.match(self._text, before)
                assert dash is not None
                node.entries.append(Entry(None, value, dash.end() - 1, dash.end()))
        self._finish(node)

    @staticmethod
    def _end(node: TextNode, event: _Event) -> int:
        return int(event.end_mark.index) if node.is_flow else node.entries[-1].end

    def _finish(self, node: TextNode) -> None:
        if not node.is_flow:
            node.body = node.entries[0].start
        else:
            node.is_padded = self._text[node.body + 1 : node.body + 2] == " "
