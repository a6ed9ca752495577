"""Documents: their leaves, and how to get at and change one."""

from __future__ import annotations

import copy
from typing import Any

Document = dict[str, Any]

NOTHING = object()


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return the leaves of a document by pointer; lists are leaves."""
    if isinstance(value, dict) and value:
        return {place: leaf for key, below in value.items() for place, leaf in leaves(below, f"{path}/{key}").items()}
    return {path: value}


def merged(live: Any, patch: Any) -> Any:
    if not isinstance(patch, dict) or not isinstance(live, dict):
        return copy.deepcopy(patch)
    out = dict(live)
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merged(live.get(key), value) if isinstance(value, dict) else copy.deepcopy(value)
    return out


def put(document: Document, path: str, value: Any) -> None:
    """Set a leaf, or take it away with None."""
    *above, last = path.split("/")[1:]
    here = document
    for key in above:
        here = here.setdefault(key, {}) if isinstance(here.get(key, {}), dict) else {}
    if value is None:
        here.pop(last, None)
    else:
        here[last] = copy.deepcopy(value)


def at(document: Document | None, path: str) -> Any:
    """Return a leaf; None if it is not there."""
    here: Any = document
    for key in path.split("/")[1:]:
        if not isinstance(here, dict) or key not in here:
            return None
        here = here[key]
    return here
