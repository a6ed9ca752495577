"""Texts and the pieces that are put into them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class CannotError(Exception):
    """An edit cannot be made to a value by itself; the text was not touched."""


@dataclass(frozen=True, slots=True)
class Patch:
    """What takes the place of a piece of a text; nothing where the piece is empty is an insertion."""

    start: int
    end: int
    text: str = ""


def patched(text: str, patches: Iterable[Patch]) -> str:
    """Return the text with all pieces put in; they must not overlap."""
    for patch in reversed(sorted(patches, key=lambda each: (each.start, each.end))):  # noqa: C413 - keeps ties in order
        text = text[: patch.start] + patch.text + text[patch.end :]
    return text


def is_within(before: str, after: str, start: int, end: int) -> bool:
    """Tell whether two texts are the same but for what stands between two places of the first."""
    tail = before[end:]
    return len(after) >= start + len(tail) and after.startswith(before[:start]) and after.endswith(tail)
