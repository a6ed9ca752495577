"""Quoting the error message of an API without quoting a secret.

An API may repeat any of the values that we sent, and any of them may be secret, so none of them is quoted. The reason
remains, and a person needs no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote

import orjson

from holdfast.compare import paths
from holdfast.model.json import Json
from holdfast.model.path import Path

_LONGEST: Final = 300  # characters of an error message that are worth showing
_MASK: Final = "***"


def error_text(body: bytes, pointer: Path | None, secrets: Iterable[str], sent: Json) -> str:
    """Return the masked text at a place in an answer. Empty if no place is declared, or there is no text."""
    if pointer is None:
        return ""
    try:
        found = paths.resolve(orjson.loads(body), pointer)
    except orjson.JSONDecodeError:
        return ""
    return masked(found, (*secrets, *_strings(sent)))[:_LONGEST] if isinstance(found, str) else ""


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return a text with every secret in it masked; in plain, escaped, or percent-encoded spelling."""
    spellings = {form for secret in secrets if secret for form in _spellings(secret)}
    if spellings:
        pattern = "|".join(re.escape(form) for form in sorted(spellings, key=len, reverse=True))
        text = re.sub(pattern, _MASK, text)
    return "".join(character if character.isprintable() else " " for character in text)


def _spellings(secret: str) -> Iterator[str]:
    yield secret
    yield quote(secret)
    yield quote(secret, safe="")
    yield orjson.dumps(secret).decode()[1:-1]
    yield repr(secret)[1:-1]


def _strings(value: Json) -> Iterator[str]:
    pending = [value]
    while pending:
        here = pending.pop()
        if isinstance(here, dict):
            pending.extend(here.values())
        elif isinstance(here, list | tuple):
            pending.extend(here)
        elif isinstance(here, str):
            yield here
        elif isinstance(here, int | float) and not isinstance(here, bool) and len(str(here)) > 3:
            yield str(here)
