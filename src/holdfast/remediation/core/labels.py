"""Label matchers for Prometheus and Alertmanager, in which a value can never become syntax."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from holdfast.errors import InputError

_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def quoted(value: str) -> str:
    """Return a label value as a string of the query language."""
    return f'"{value.translate(_ESCAPES)}"'


def matchers(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return one `name="value"` each, by name; labels with an empty value are left out, as they would match absence."""
    for name in labels:
        if not _NAME.fullmatch(name):
            raise InputError(f"{name[:60]!r} is not the name of a label; use letters, digits and '_'")
    return tuple(f"{name}={quoted(value)}" for name, value in sorted(labels.items()) if value)


def selector(labels: Mapping[str, str]) -> str:
    """Return the part of a query in braces."""
    return "{" + ",".join(matchers(labels)) + "}"
