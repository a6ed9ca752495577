"""Values for display: any value of a finding as JSON of a bounded size that every JSON reader accepts.

Secrets are replaced by fingerprints before they reach this module. It only handles size, and values that JSON and UTF-8
cannot represent.
"""

from __future__ import annotations

import json
import math

from holdfast.model.absent import ABSENT
from holdfast.model.finding import Digest
from holdfast.model.json import Json


def text(value: Json) -> str:
    """Return a value as JSON on one line. Values that JSON or UTF-8 cannot represent are replaced, never an error."""
    if value is ABSENT:
        return "(absent)"
    if isinstance(value, Digest):
        return f"(not kept, {value.text[:19]}…)"
    return utf8(json.dumps(_plain(value), ensure_ascii=False, default=str))


def bounded(value: Json, longest: int) -> Json:
    """Return a value unchanged, or the beginning of its text if the text has more than `longest` characters."""
    if isinstance(value, Digest):
        return {"digest": value.text}
    written = text(value)
    if len(written) > longest:
        return {"beginning": written[:longest], "characters": len(written)}
    return json.loads(written)


def shortened(written: str, width: int) -> str:
    """Return a text cut to a width."""
    return written if len(written) <= width else written[: width - 1] + "…"


def utf8(written: str) -> str:
    """Return a text without lone surrogates, because Python strings can hold them and UTF-8 cannot."""
    return written.encode("utf-8", "replace").decode()


def _plain(value: Json) -> Json:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Digest):
        return {"digest": value.text}
    return None if value is ABSENT else value
