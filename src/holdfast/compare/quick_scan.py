"""A glance at a whole document, at the speed of writing it out: what it may hold, without going through it.

Most declarations hold neither references nor secrets. To find that out place by place takes longer than the rest of a
check; for those that may hold some, it is done place by place all the same.
"""

from __future__ import annotations

import orjson

from holdfast.model.json import Json


def may_mention(value: Json, *marks: str) -> bool:
    """Tell whether a text in a document, a key included, may contain one of some marks, which need no escapes in JSON.

    Says yes, too, of what cannot be written out.
    """
    try:
        written = orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):  # nested too deep, integers beyond 64 bits, or no JSON at all
        return True
    return any(mark.encode() in written for mark in marks)


def is_plain(value: Json) -> bool:
    """Tell whether a document is plain JSON through and through; may say no of some that is, never yes of another."""
    return not may_mention(value)
