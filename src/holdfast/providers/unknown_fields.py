"""The words that a connection or a declaration may use: an unknown one is a mistake, never ignored."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Final

from holdfast.errors import InputError, Location
from holdfast.providers.protocol import Connection

_OF_ALL: Final = (
    "provider",
    "secrets",
    "limits",
)  # what connections of every provider have


def unknown_word(word: str, known: Collection[str]) -> str:
    """Return the message about a word that is not known here."""
    near = difflib.get_close_matches(word, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
    return f"unknown field {word!r}; {hint}"


def refuse_unknown(connection: Connection, known: Collection[str]) -> None:
    """Raise InputError for the first setting of a connection that its provider does not know."""
    for word in connection.settings:
        if word not in known and word not in _OF_ALL:
            where = Location(field=f"/connections/{connection.name}/{word}")
            raise InputError(unknown_word(str(word), known), where)
