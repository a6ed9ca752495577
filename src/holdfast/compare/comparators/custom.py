"""Comparators that users write: functions of installed packages, which a profile names.

A profile is data and may come from a shared store, so it cannot name an arbitrary function. It names an entry point in
the group `holdfast.comparators` of an installed package. Only entry points that the project file allows
(`allowedCode`) are loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import Final, Literal

from holdfast.compare.comparators import base
from holdfast.errors import ProfileError
from holdfast.model.json import Json
from holdfast.model.record import dataclass

GROUP: Final = "holdfast.comparators"


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
        """Return True if the values are the same or the function says so; a function that fails says no."""
        if base.typed_equal(desired, observed):
            return True
        try:
            return bool(self.function(desired, observed))
        except Exception:  # noqa: BLE001 - as above
            return False


def custom(*, function: str, style: Literal["key", "equal"] = "key") -> base.Comparator:
    """Compare with the function of an entry point in the group `holdfast.comparators`, if the project allows it.

    In style "key" it takes one value and returns what stands for it; in style "equal" it takes desired and observed.
    """
    name = base.label("custom", function=function, style=style if style != "key" else None)
    found = _loaded(function)
    return CustomKey(name, found) if style == "key" else CustomEqual(name, found)


def _loaded(name: str) -> Callable[..., Json]:
    if name not in base.allowed_code:
        raise ProfileError(
            f"custom: the function {name!r} is not allowed; list it under allowedCode in holdfast.yaml, by the name "
            f"that an installed package gives it in its entry points ({GROUP})"
        )
    found = [*metadata.entry_points(group=GROUP, name=name)]
    if len(found) != 1:
        many = "several installed packages have" if found else "no installed package has"
        raise ProfileError(f"custom: {many} an entry point {name!r} in the group {GROUP}")
    try:
        function: Callable[..., Json] = found[0].load()
    except (ImportError, AttributeError) as error:
        raise ProfileError(f"custom: {found[0].value} cannot be imported ({error}); is it installed?") from error
    if not callable(function):
        raise ProfileError(f"custom: {found[0].value} is not a function")
    return function
