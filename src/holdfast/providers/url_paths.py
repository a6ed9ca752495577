"""Ids in URLs: the id of a resource is one segment of a path and cannot lead to another path."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

# Clients remove these segments from a path before it is sent. Encoded twice they stay in the path, as an id that does
# not exist.
_DOTS: Final = {".": "%252E", "..": "%252E%252E"}


def segment(ident: str) -> str:
    """Return an id as one segment of a path, with all characters encoded that would end or leave the segment."""
    return _DOTS.get(ident) or quote(ident, safe="") or "%20"


def path(text: str, safe: str) -> str:
    """Return an encoded id that is itself a path. `safe` holds the characters that stay as they are."""
    return "/".join(_DOTS.get(step) or quote(step, safe=safe) for step in text.split("/"))
