"""The normal form of a document under its rules: what is left when spelling, order and hidden fields are taken away.

Two documents that the comparison calls the same have, as far as one document alone can show it, the same normal form,
so its digest can stand for a subtree too large to keep. Comparators that are not equivalences (a version and its
prefix) keep the value as it is: a digest then sees a difference rather than misses one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from holdfast.compare import canonical, element_identity
from holdfast.compare.comparators.base import canonical_text
from holdfast.compare.comparators.structured import decode_json
from holdfast.compare.emptiness import is_void
from holdfast.compare.rule_tree import Node
from holdfast.compare.rules import ListKind
from holdfast.errors import UnhashableError
from holdfast.model.finding import Digest
from holdfast.model.json import Json

__all__ = ["LEVELS", "Digest", "digest", "digests", "normalise", "stands_for"]

LEVELS = 100  # what is nested deeper is taken as it stands, so that no document can exhaust the stack


def digest(node: Node, value: Json) -> Digest:
    """Return the digest of a value's normal form."""
    return _digest(normalise(node, value))


def stands_for(kept: Digest, node: Node, value: Json) -> bool:
    """Return True if a digest is one of the digests of a value."""
    return kept in digests(node, value)


def digests(node: Node, value: Json) -> Iterator[Digest]:
    """Yield every digest that a value may be known by: its own, and that of older stores.

    Those took a container that the path of a comparator matches as one value.
    """
    yield digest(node, value)
    yield _digest(_form(node, value, LEVELS, whole=True))


def _digest(form: Json) -> Digest:
    try:
        text = canonical.canonical_bytes(form, lists="ordered")
    except UnhashableError:  # deeper or larger than the canonical form allows, but still a value
        text = canonical_text(form).encode("utf-8", "surrogatepass")
    return Digest(canonical.digest_bytes(text))


def normalise(node: Node, value: Json, levels: int = LEVELS) -> Json:
    """Return the normal form of a value at the place that `node` stands for.

    A comparator applies to leaves only, as in the comparison: a container that its path matches is entered.
    """
    return _form(node, value, levels, whole=False)


def _form(node: Node, value: Json, levels: int, *, whole: bool) -> Json:
    if node.comparator is not None:
        if whole:
            return _plain(node.comparator.key(value))
        if node.comparator.name == "json_str":
            value = decode_json(value)
    if isinstance(value, dict) and levels:
        return _mapping(node, value, levels - 1, whole=whole)
    if isinstance(value, list) and levels:
        return _sequence(node, value, levels - 1, whole=whole)
    return value if node.comparator is None else _plain(node.comparator.key(value))


def _mapping(node: Node, value: dict[str, Json], levels: int, *, whole: bool) -> dict[str, Json]:
    spell = node.map_rule.keys.key if node.map_rule is not None and node.map_rule.keys is not None else None
    times = Counter(str(spell(key)) for key in value) if spell else Counter()
    out: dict[str, Json] = {}
    for key, item in value.items():
        child = node.child(key)
        if not child.hidden and not child.hidden_unless_declared and not child.write_only and not is_void(child, item):
            # Keys that collide stay themselves, or one would hide the other.
            name = str(spell(key)) if spell and times[str(spell(key))] == 1 else key
            out[name] = _form(child, item, levels, whole=whole)
    return out


def _sequence(node: Node, value: list[Json], levels: int, *, whole: bool) -> list[Json]:
    items = [_form(node.element(item, index), item, levels, whole=whole) for index, item in enumerate(value)]
    kind = node.list_rule.kind if node.list_rule is not None else None
    if kind is ListKind.ORDERED or (kind is None and element_identity.natural_key([value]) is None):
        return items
    texts = {element_identity.text(item): item for item in items} if kind is ListKind.SET else None
    return sorted(texts.values() if texts is not None else items, key=lambda item: repr(element_identity.text(item)))


def _plain(key: object) -> Json:
    """Turn a comparator's key, which may be a tuple, into JSON."""
    if isinstance(key, tuple):
        return [_plain(part) for part in key]
    return key if key is None or isinstance(key, str | int | float | bool) else str(key)
