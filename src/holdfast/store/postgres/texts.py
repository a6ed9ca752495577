"""Texts as PostgreSQL stores them: U+0000, which it refuses, is escaped without changing the order of texts.

U+0000 becomes U+0001 U+0001, and U+0001 becomes U+0001 U+0002. The escape is reversible, applies to one character at a
time, and keeps the order by code points. A lone surrogate raises UnicodeEncodeError, as in the SQLite store.
"""

from __future__ import annotations

from collections.abc import Iterable


def escape(text: str) -> str:
    """Return a text without U+0000."""
    if "\x00" in text or "\x01" in text:
        return text.replace("\x01", "\x01\x02").replace("\x00", "\x01\x01")
    return text


def escape_all(texts: Iterable[str]) -> list[str]:
    """Return texts for a list parameter, which the codec of single texts does not reach."""
    return [escape(text) for text in texts]


def encode(text: str) -> bytes:
    """Return a text as it is sent."""
    return escape(text).encode()


def decode(data: bytes) -> str:
    """Return the text that `encode` was given."""
    text = bytes(data).decode()
    return text.replace("\x01\x01", "\x00").replace("\x01\x02", "\x01") if "\x01" in text else text
