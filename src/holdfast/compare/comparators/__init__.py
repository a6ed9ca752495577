"""Comparators: small frozen objects that decide whether two JSON leaf values mean the same.

Belongs here: one notation a function, grouped by theme (text, numbers, times, network, identifiers, encodings,
structured, secrets, custom), and the registry that builds them by name. Must not be here: paths, profiles, containers,
presence rules, anything that reads a clock, a file or a socket. Standard library only.

A notation is a keyword-only function that returns a `Comparator`; its parameters are the options a profile may give.
"""

from __future__ import annotations

from holdfast.compare.comparators.base import ByKey, Comparator, Key, identity, typed_equal
from holdfast.compare.comparators.custom import allow as allow_code
from holdfast.compare.comparators.registry import build, names, register
from holdfast.compare.comparators.secrets import fingerprint, is_fingerprint, is_masked

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
