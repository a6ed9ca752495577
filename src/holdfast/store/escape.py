"""Texts that UTF-8 cannot carry: lone surrogates, as they come from broken JSON, headers and command lines.

Facts are kept with the surrogate written out as an escape, so that one odd text does not keep a whole batch from being
recorded.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from holdfast.store.transaction import Transaction


def escaped(text: str) -> str:
    """Return a text that UTF-8 can carry, with lone surrogates as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def transaction(facts: Transaction) -> Transaction:
    """Return facts whose every text can be kept; slow, for the few that cannot be written as they are."""
    return Transaction(**{each.name: _escaped(getattr(facts, each.name)) for each in dataclasses.fields(facts)})


def _escaped(value: Any) -> Any:  # noqa: ANN401 - whatever facts are made of
    if type(value) is str:
        return escaped(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {each.name: _escaped(getattr(value, each.name)) for each in dataclasses.fields(value) if each.init}
        return dataclasses.replace(value, **changes)
    if isinstance(value, dict):
        return {_escaped(key): _escaped(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_escaped, value))
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)(map(_escaped, value))
    return value
