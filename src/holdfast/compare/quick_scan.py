"""A quick scan of a whole document for marks, at the speed of serialising it.

Most declarations hold neither references nor secrets, and a search path by path takes longer than the rest of a check.
Only documents that may hold some are searched path by path.
"""

from __future__ import annotations

import orjson

from holdfast.model.json import Json


def write(value: Json) -> bytes | None:
    """Return a document as JSON; None if it is nested too deep, has integers beyond 64 bits, or is no plain JSON."""
    try:
        return orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):
        return None


def mentions(written: bytes | None, *marks: str) -> bool:
    """Return True if a string or key of a written document may contain a mark; marks must need no escapes in JSON.

    Returns True for documents that could not be written.
    """
    return written is None or any(mark.encode() in written for mark in marks)


def may_mention(value: Json, *marks: str) -> bool:
    """Return True if a string or key of a document may contain a mark, as `mentions` does."""
    return mentions(write(value), *marks)


def is_plain(value: Json) -> bool:
    """Return True if a document is surely plain JSON; False proves nothing."""
    return write(value) is not None
