"""How a YAML document is laid out: its indentation and quotes, read off what is already there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from holdfast.model.record import dataclass
from holdfast.text_edit import yaml_nodes
from holdfast.text_edit.yaml_nodes import NodeKind, TextNode


@dataclass(frozen=True, slots=True)
class Layout:
    """How new lines are to look."""

    mapping: int = 2  # how far a map stands in from its key
    offset: int = 2  # how far dashes stand in from the key of their list
    dash: int = 2  # how far the contents of an element stand in from its dash
    quote: str = "'"  # for strings that need quotes
    keys: str = ""  # the quotes of all keys, if they have the same
    strings: str = ""  # the quotes of all strings, if they have the same
    has_blocks: bool = True  # whether texts of several lines may stand below a |


def of(text: str, root: TextNode, near: TextNode) -> Layout:
    """Return the layout of a document; values below `near` count first."""
    samples = [*_samples(text, near)]
    everywhere = [*_samples(text, root)]

    def usual(name: str, otherwise: int) -> int:
        for nearby in (samples, everywhere):
            counted = Counter(value for kind, value in nearby if kind == name)
            if counted:
                return counted.most_common(1)[0][0]
        return otherwise

    mapping = usual("mapping", 2)
    nodes = [*yaml_nodes.walk(root)]
    quotes = Counter(node.style for node in nodes)
    quote = '"' if quotes['"'] > quotes["'"] else "'"
    entries = [entry for node in nodes for entry in node.entries if not entry.is_merge]
    keys = quote_of(entry.key for entry in entries if entry.key is not None)
    strings = quote_of(entry.value for entry in entries)
    return Layout(mapping, usual("offset", mapping), usual("dash", 2), quote, keys, strings)


def column(text: str, index: int) -> int:
    """Return the column of a character."""
    return index - yaml_nodes.line_start(text, index)


def quote_of(nodes: Iterable[TextNode]) -> str:
    """Return the quote that all strings share; empty if they differ or one is plain."""
    styles = {node.style for node in nodes if node.kind is NodeKind.SCALAR and not is_bare_word(node)}
    return styles.pop() if len(styles) == 1 and styles <= {"'", '"'} else ""


def is_bare_word(node: TextNode) -> bool:
    """Return True if a plain scalar may be another type than a string, which says nothing about quotes."""
    return (
        node.kind is NodeKind.SCALAR
        and not node.style
        and (node.text[:1] in "-+.0123456789~" or node.text.lower() in ("null", "true", "false"))
    )


def _samples(text: str, root: TextNode) -> Iterator[tuple[str, int]]:
    for holder in yaml_nodes.walk(root):
        if not holder.is_block:
            continue
        for entry in holder.entries:
            node = entry.value
            inside, outside = column(text, node.body), column(text, entry.start)
            if holder.kind is NodeKind.LIST:
                if node.end > node.start and "\n" not in text[entry.start : node.body]:
                    yield "dash", inside - outside
            elif node.is_block and node.kind is NodeKind.LIST:
                yield "offset", inside - outside
            elif node.is_block and inside > outside:
                yield "mapping", inside - outside
