"""The build of the comparison: the same sources, compiled with mypyc or interpreted."""

from __future__ import annotations

import importlib.util


def is_compiled() -> bool:
    """Return True if the modules of the comparison are compiled; imports none of them."""
    spec = importlib.util.find_spec("holdfast.compare.canonical")
    return spec is not None and spec.origin is not None and not spec.origin.endswith(".py")


def describe_build() -> str:
    """Return the build in the words that `--version` and `doctor` show."""
    return "compiled comparison" if is_compiled() else "pure Python"
