"""Checks that an answer is about the requested resource, because a 200 alone does not prove it.

A proxy, a gateway or a wrong address answers 200 with an error, a list, an empty object or another thing. Such an
answer says nothing about the thing, so it is unreadable, and never drift.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from holdfast.compare import paths
from holdfast.compare.rule_tree import RuleTree
from holdfast.model.json import Json
from holdfast.model.path import Path

_ERRORS: Final = ("error", "errors", "fault")  # what APIs call what went wrong


@dataclass(frozen=True, slots=True)
class Identity:
    """Where a document says its own id."""

    pointer: Path
    is_required: bool  # a document without it is not the thing


@dataclass(frozen=True, slots=True)
class Asked:
    """The request: the id and the declaration of the resource."""

    ident: str | None
    desired: Mapping[str, Json]


def doubt(
    document: Mapping[str, Json], asked: Asked, identity: Identity | None, rules: RuleTree, *, redirected: bool
) -> str:
    """Return the reason why a document cannot be the requested resource; empty if it can be."""
    told = _told(document, identity)
    if identity is not None and asked.ident is not None:
        where = paths.format_path(identity.pointer)
        if told is not None:
            same = told == asked.ident or told.casefold() == asked.ident.casefold()
            return "" if same else f"is about another thing: at {where} is another id than the one asked for"
        if identity.is_required:
            missing = f"has no id at {where}, so it cannot be the thing that was asked for"
            return f"{missing}; where things of this kind show none there, say `id: none` under `read`"
    if redirected:
        return "came from another address, by a redirect, and does not say the id that was asked for"
    return _unlike(document, [key for key in asked.desired if not rules.root.child(key).write_only])


def _unlike(document: Mapping[str, Json], declared: Sequence[str]) -> str:
    """Return the reason why a document without an id does not match the declaration; empty if it does."""
    if not declared:
        return ""
    if not document:
        return "is an empty object, so it cannot be the thing that was asked for"
    missing = [key for key in declared if key not in document]
    if len(missing) == len(declared):
        return "has none of the declared fields, so it can hardly be the thing that was asked for"
    if missing and any(document.get(word) and word not in declared for word in _ERRORS):
        return "is an error, and not the thing that was asked for"
    return ""


def _told(document: Mapping[str, Json], identity: Identity | None) -> str | None:
    value = paths.resolve(document, identity.pointer) if identity is not None else None
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return paths.scalar_text(value)


def is_elsewhere(asked: str, answered: str) -> bool:
    """Return True if an answer came from another address than the one asked: a slash at the end makes none."""
    if asked == answered:
        return False
    one, other = urlsplit(asked), urlsplit(answered)
    return unquote(one.path).rstrip("/") != unquote(other.path).rstrip("/")
