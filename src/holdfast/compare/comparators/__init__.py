"""Comparators: small frozen objects that decide whether two JSON leaf values mean the same.

Belongs here: one notation a function, grouped by theme (text, numbers, times, network, identifiers, encodings,
structured, secrets, custom), and the registry that builds them by name. Must not be here: paths, profiles, containers,
presence rules, anything that reads a clock, a file or a socket. Standard library only.

A notation is a keyword-only function that returns a `Comparator`; its parameters are the options a profile may give.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.compare.comparators.base import ByKey, Comparator, Key, allow_code, identity, typed_equal
from holdfast.compare.comparators.secrets import fingerprint, is_fingerprint, is_masked

if TYPE_CHECKING:
    from holdfast.compare.comparators.registry import build, names, register

__all__ = [
    "ByKey",
    "Comparator",
    "Key",
    "allow_code",
    "build",
    "fingerprint",
    "identity",
    "is_fingerprint",
    "is_masked",
    "names",
    "register",
    "typed_equal",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a function of the registry
    """Import the registry, and with it every notation, when the first comparator is built by its name."""
    if name in ("build", "names", "register"):
        return getattr(import_module(f"{__name__}.registry"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
