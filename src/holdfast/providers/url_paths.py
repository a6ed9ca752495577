"""Ids in URLs: what a service calls a thing is one step of a path, and never leads elsewhere."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

# Clients take these steps out of a path before it is sent; encoded twice they stay what they are: no id that exists.
_DOTS: Final = {".": "%252E", "..": "%252E%252E"}


def segment(ident: str) -> str:
    """Return an id as one step of a path, with everything in it encoded that would end or leave the step."""
    return _DOTS.get(ident) or quote(ident, safe="") or "%20"


def path(text: str, safe: str) -> str:
    """Return an id that is itself a path; what may stand in a step as it is, is in `safe`."""
    return "/".join(_DOTS.get(step) or quote(step, safe=safe) for step in text.split("/"))
