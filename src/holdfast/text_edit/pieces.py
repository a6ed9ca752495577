"""Patches of a text."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.model.record import dataclass


class CannotError(Exception):
    """The edit is not possible for this value alone; the text was not changed."""


@dataclass(frozen=True, slots=True)
class TextPatch:
    """The replacement of a piece of a text; an empty piece is an insertion."""

    start: int
    end: int
    text: str = ""


def apply_patches(text: str, patches: Iterable[TextPatch]) -> str:
    """Return the text with all patches applied; they must not overlap."""
    for patch in reversed(sorted(patches, key=lambda patch: (patch.start, patch.end))):  # noqa: C413 - keeps ties in order
        text = text[: patch.start] + patch.text + text[patch.end :]
    return text


def is_within(before: str, after: str, start: int, end: int) -> bool:
    """Return True if two texts differ only between two positions of the first."""
    tail = before[end:]
    return len(after) >= start + len(tail) and after.startswith(before[:start]) and after.endswith(tail)
