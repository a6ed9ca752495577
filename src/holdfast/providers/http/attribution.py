"""The last writer of a resource, from its document. A value that cannot be a name, or a time, is left out."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from typing import Final

from holdfast.compare import paths
from holdfast.model.attribution import LikelyActor
from holdfast.model.confidence import Confidence
from holdfast.model.json import Json
from holdfast.providers.http import error_excerpt
from holdfast.providers.http.description import Attribution

_MILLISECONDS: Final = 1e11  # a count of seconds beyond this lies after the year 5000; it is milliseconds


def likely_actor(attribution: Attribution, document: Json, secrets: Iterable[str]) -> LikelyActor | None:
    """Return the writer that a document names. A name with a secret of the connection is not shown, not even masked."""
    value = paths.resolve(document, attribution.who)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    who = paths.scalar_text(value)
    if not who.strip() or error_excerpt.masked(who, secrets) != who:
        return None
    at = _moment(paths.resolve(document, attribution.at)) if attribution.at is not None else None
    return LikelyActor(who, Confidence.HIGH, f"{paths.format_path(attribution.who)} of the thing", at)


def _moment(value: Json) -> float | None:
    """Read a time: seconds or milliseconds since the epoch, or ISO 8601, in UTC unless it says otherwise."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value / 1000 if abs(value) >= _MILLISECONDS else float(value)
        return seconds if math.isfinite(seconds) else None
    try:
        found = dt.datetime.fromisoformat(value) if isinstance(value, str) else None
        if found is None:
            return None
        return (found if found.tzinfo is not None else found.replace(tzinfo=dt.UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
