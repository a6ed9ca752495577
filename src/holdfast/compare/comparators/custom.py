"""Comparators that users write: a function named in a profile.

Naming a function imports its module, so a profile with a custom comparator is code and is trusted like code.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from holdfast.compare.comparators import base
from holdfast.errors import ProfileError
from holdfast.model.json import Json

_REFERENCE = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)")


@dataclass(frozen=True, slots=True)
class CustomKey(base.ByKey):
    """Compares what a user's function returns for each value."""

    function: Callable[[Json], Json]

    def key(self, value: Json) -> base.Key:
        """Return the user's representative; where the function fails the value keeps its own identity."""
        try:
            return ("custom", base.identity(self.function(value)))
        except Exception:  # noqa: BLE001 - a user's bug on one value must show as a difference, not stop the check
            return base.identity(value)


@dataclass(frozen=True, slots=True)
class CustomEqual:
    """Asks a user's function of two values. Reflexive; symmetric and transitive only as far as the function is."""

    name: str
    function: Callable[[Json, Json], object]

    def key(self, value: Json) -> base.Key:
        """Return the typed identity: the function says nothing about representatives."""
        return base.identity(value)

    def equal(self, desired: Json, observed: Json) -> bool:
        """Return whether the values are the same or the function says so; a function that fails says no."""
        if base.typed_equal(desired, observed):
            return True
        try:
            return bool(self.function(desired, observed))
        except Exception:  # noqa: BLE001 - as above
            return False


def custom(*, function: str, style: Literal["key", "equal"] = "key") -> base.Comparator:
    """Compare with the function at "package.module:callable".

    In style "key" it takes one value and returns what stands for it; in style "equal" it takes desired and observed.
    """
    name = base.label("custom", function=function, style=style if style != "key" else None)
    found = _resolve(function)
    return CustomKey(name, found) if style == "key" else CustomEqual(name, found)


def _resolve(reference: str) -> Callable[..., Json]:
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise ProfileError(f'custom: function {reference!r} is not of the form "package.module:callable"')
    try:
        found: Json = importlib.import_module(match[1])
    except ImportError as error:
        raise ProfileError(f"custom: module {match[1]!r} cannot be imported ({error}); is it installed?") from error
    for attribute in match[2].split("."):
        found = getattr(found, attribute, None)
    if not callable(found):
        raise ProfileError(f"custom: module {match[1]!r} has no callable {match[2]!r}")
    function: Callable[..., Json] = found
    return function
