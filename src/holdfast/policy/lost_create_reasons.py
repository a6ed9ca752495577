"""Messages about creates with an unknown outcome. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.json import Json

_MADE: Final = frozenset({Action.CREATE.value, Action.RECREATE.value})
_SHOWN: Final = 3  # candidates that a message names


def is_creation(action: str, phase: str) -> bool:
    """Return True if the write at hand makes something: a creation, or the second half of a replacement."""
    return action in _MADE or (action == Action.REPLACE.value and phase == "write")


def message(address: Address, token: Mapping[str, Json]) -> str:
    """Return the message for a create with an unknown outcome, with the ways to resolve it."""
    candidates = [str(candidate) for candidate in token.get("candidates") or ()]
    shown = f"; it may be {', '.join(candidates[:_SHOWN])}" if candidates else ""
    return (
        f"unknown whether it was created ({token.get('why', 'its answer was lost')}{shown}). Look for it, then: "
        f"holdfast import {address} ID if it is there, holdfast apply --create-again --target {address} if it is not"
    )
