"""A quick scan of a whole document for marks, at the speed of serialising it.

Most declarations hold neither references nor secrets, and a search path by path takes longer than the rest of a check.
Only documents that may hold some are searched path by path.
"""

from __future__ import annotations

import orjson

from holdfast.model.json import Json


def may_mention(value: Json, *marks: str) -> bool:
    """Return True if a string or key of a document may contain a mark; marks must need no escapes in JSON.

    Returns True for documents that cannot be serialised.
    """
    try:
        written = orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):  # nested too deep, integers beyond 64 bits, or no JSON at all
        return True
    return any(mark.encode() in written for mark in marks)


def is_plain(value: Json) -> bool:
    """Return True if a document is surely plain JSON; False proves nothing."""
    return not may_mention(value)
