"""Emptiness: the values that count as absent under the rules."""

from __future__ import annotations

from holdfast.compare.rule_tree import Node
from holdfast.compare.rules import Presence
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json

LEVELS = 50  # of nested empty mappings; a deeper one counts as a value


def is_void(node: Node, value: Json, presence: Presence | None = None, levels: int = LEVELS) -> bool:
    """Return True if a value is absent, or empty under the rules of a node."""
    if value is ABSENT:
        return True
    presence = presence or node.presence
    if value is None or presence is Presence.STRICT:
        return presence is not Presence.STRICT
    kind = type(value)
    if kind is dict:
        if presence is Presence.EMPTY_LIST:
            return False  # an empty mapping is a value
        # A loop, not all(), because this is hot and usually ends at the first entry.
        for key, item in value.items():
            child = node.child(key)
            is_unseen = child.hidden or child.hidden_unless_declared or child.write_only
            if not (levels and (is_unseen or is_void(child, item, None, levels - 1))):
                return False
        return True
    if kind is list:
        return not value
    if kind is str:
        return not value and (presence is Presence.BLANK or presence is Presence.ZERO)
    return presence is Presence.ZERO and not value
