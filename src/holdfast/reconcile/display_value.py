"""Values for outsiders: whatever a finding holds, as JSON of a bounded size that any reader can take.

Secrets are fingerprints long before they come here; this is about size, and about what JSON and UTF-8 cannot carry.
"""

from __future__ import annotations

import json
import math

from holdfast.compare.normalize import Digest
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json


def text(value: Json) -> str:
    """Write a value as JSON on one line; what JSON or UTF-8 cannot carry is replaced, never an error."""
    if value is ABSENT:
        return "(absent)"
    if isinstance(value, Digest):
        return f"(not kept, {value.text[:19]}…)"
    return utf8(json.dumps(_plain(value), ensure_ascii=False, default=str))


def bounded(value: Json, longest: int) -> Json:
    """Return a value as it is, or the beginning of its text if that is longer than so many characters."""
    if isinstance(value, Digest):
        return {"digest": value.text}
    written = text(value)
    if len(written) > longest:
        return {"beginning": written[:longest], "characters": len(written)}
    return json.loads(written)


def shortened(written: str, width: int) -> str:
    """Cut a text to a width."""
    return written if len(written) <= width else written[: width - 1] + "…"


def utf8(written: str) -> str:
    """Replace halves of surrogate pairs, which Python holds and UTF-8 does not."""
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
