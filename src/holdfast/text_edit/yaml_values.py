"""New values in the layout of a document and the style of their neighbours."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.model.json import Json
from holdfast.text_edit import yaml_scalars, yaml_spelling
from holdfast.text_edit.yaml_layout import Layout, quote_of
from holdfast.text_edit.yaml_nodes import NodeKind, TextNode

Content = tuple[str, list[str]]  # what follows a colon or dash on its line, and the lines below, from the same column


def entry(key: str, value: Json, layout: Layout, siblings: TextNode) -> list[str]:
    """Write an entry of a block map as its siblings are written."""
    keys = [sibling.key for sibling in siblings.entries if sibling.key is not None and not sibling.is_merge]
    values = [sibling.value for sibling in siblings.entries if not sibling.is_merge]
    tail, below = content(value, layout, quote=quote_of(values))
    return [_joined(key_text(key, quote_of(keys), layout) + ":", tail), *below]


def element(value: Json, layout: Layout, siblings: TextNode) -> list[str]:
    """Write an element of a block list as its siblings are written."""
    values = [sibling.value for sibling in siblings.entries]
    like = model(value, values)
    tail, below = content(value, layout, like=like, quote=quote_of(values), in_list=True)
    return [_joined("-", tail, layout.dash), *below]


def model(value: Json, values: Sequence[TextNode]) -> TextNode | None:
    """Return the last of some values that is of the same kind as a new one."""
    return next((node for node in reversed(values) if node.kind is _kind(value)), None)


def content(
    value: Json, layout: Layout, *, like: TextNode | None = None, quote: str = "", in_list: bool = False
) -> Content:
    """Write a value for a place in a block collection; strings in the quotes given, or those of `like`."""
    indent = layout.dash if in_list else layout.mapping
    if not isinstance(value, dict | list) or not value:
        return _scalar(value, layout, like, quote, indent)
    if like is not None and like.is_flow and like.entries:
        return flow(value, layout, like), []
    lines = block(value, layout, like)
    if in_list:
        return lines[0], _indented(lines[1:], layout.dash)
    return "", _indented(lines, layout.offset if isinstance(value, list) else layout.mapping)


def block(value: Json, layout: Layout, like: TextNode | None = None) -> list[str]:
    """Write a collection that is not empty, one entry a line."""
    out: list[str] = []
    below = [item.value for item in like.entries] if like is not None else []
    if isinstance(value, list):
        quote = quote_of(below)
        for item in value:
            tail, lines = content(item, layout, like=model(item, below), quote=quote, in_list=True)
            out += [_joined("-", tail, layout.dash), *lines]
        return out
    for key in _ordered(value, like):
        twin = _entry_of(like, key)
        tail, lines = content(value[key], layout, like=twin, quote=_quote(twin))
        out += [_joined(key_text(key, _quote(_key_of(like, key)), layout) + ":", tail), *lines]
    return out


def flow(value: Json, layout: Layout, like: TextNode | None = None, quotes: tuple[str, str] = ("", "")) -> str:
    """Write a value within a line; `quotes` are for keys and strings where `like` says nothing."""
    if not isinstance(value, dict | list) or not value:
        return yaml_spelling.scalar(
            value, _quote(like) or quotes[1] or layout.strings, in_flow=True, otherwise=layout.quote
        )
    gap = " " if like is not None and like.is_padded else ""
    below = [item.value for item in like.entries] if like is not None and like.kind is _kind(value) else []
    if isinstance(value, list):
        quotes = quotes[0], quote_of(below) or quotes[1]
        inside = ", ".join(flow(item, layout, model(item, below), quotes) for item in value)
        return f"[{gap}{inside}{gap}]"
    parts = []
    for key in _ordered(value, like):
        written = key_text(key, _quote(_key_of(like, key)) or quotes[0], layout)
        parts.append(f"{written}: {flow(value[key], layout, _entry_of(like, key), quotes)}")
    return f"{{{gap}{', '.join(parts)}{gap}}}"


def key_text(key: str, quote: str, layout: Layout) -> str:
    """Write a key, in the quotes given or those that all keys have."""
    return yaml_spelling.scalar(key, quote or layout.keys, in_flow=True, otherwise=layout.quote)


def _scalar(value: Json, layout: Layout, like: TextNode | None, quote: str, indent: int) -> Content:
    quote = _quote(like) or quote or layout.strings
    if isinstance(value, str) and "\n" in value and quote != '"' and layout.has_blocks:
        written = yaml_scalars.literal(value, indent)
        if written is not None:
            return written
    return yaml_spelling.scalar(value, quote, otherwise=layout.quote), []


def _quote(like: TextNode | None) -> str:
    return like.style if like is not None and like.style in ("'", '"') else ""


def _ordered(value: dict[str, Json], like: TextNode | None) -> list[str]:
    """Return the keys of a map, those that its model has too in the model's order."""
    if like is None or like.kind is not NodeKind.MAP:
        return list(value)
    first = [item.key.text for item in like.entries if item.key is not None and item.key.text in value]
    return list(dict.fromkeys([*first, *value]))


def _key_of(like: TextNode | None, key: str) -> TextNode | None:
    """Return the key of that name in a model, or its first, whose quotes will do."""
    if like is None or like.kind is not NodeKind.MAP or not like.entries:
        return None
    return like.entries[like.position(key) or 0].key


def _entry_of(like: TextNode | None, key: str) -> TextNode | None:
    place = like.position(key) if like is not None and like.kind is NodeKind.MAP else None
    return like.entries[place].value if like is not None and place is not None else None


def _kind(value: Json) -> NodeKind:
    return NodeKind.MAP if isinstance(value, dict) else NodeKind.LIST if isinstance(value, list) else NodeKind.SCALAR


def _joined(head: str, tail: str, width: int = 0) -> str:
    return f"{head}{' ' * max(width - len(head), 1)}{tail}" if tail else head


def _indented(lines: list[str], by: int) -> list[str]:
    return [" " * by + line if line else "" for line in lines]
