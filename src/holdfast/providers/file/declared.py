"""What a declaration says about a file, checked; nothing here looks at the disk."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.providers.base import Target
from holdfast.providers.file import formats

DOCUMENT, TEXT = "Document", "Text"

Account = str | int | None
_MODE = re.compile(r"0?[0-7]{3,4}")


class BadDeclarationError(Exception):
    """The declaration cannot be acted on; the message says what to edit."""


@dataclass(frozen=True, slots=True)
class Declared:
    """The fields of a declaration; None or ABSENT where one is not given."""

    path: str
    format: str | None  # None: plain text
    content: Json = ABSENT
    mode: int | None = None
    owner: Account = None
    group: Account = None
    spelling: str | None = None  # the path as the declaration spells it


def of(target: Target) -> Declared:
    """Read a target; its id, where there is one, is the path that counts."""
    wanted = target.desired
    path = target.id if target.id is not None else wanted.get("path")
    if not isinstance(path, str) or not path:
        raise BadDeclarationError("the resource needs a `path`, relative to the connection's root")
    return Declared(
        path,
        _format(target.kind, path, wanted.get("format")),
        _content(target.kind, wanted.get("content", ABSENT)),
        _mode(wanted.get("mode")),
        _account("owner", wanted.get("owner")),
        _account("group", wanted.get("group")),
        wanted.get("path") if isinstance(wanted.get("path"), str) else None,
    )


def listed(kind: str, path: str) -> Declared:
    """Return what is known of a file that nobody declared."""
    return Declared(path, _format(kind, path, None))


def _format(kind: str, path: str, given: Json) -> str | None:
    if kind == TEXT:
        return None
    if kind != DOCUMENT:
        raise BadDeclarationError(f"the file provider has no kind {kind!r}; it has {DOCUMENT} and {TEXT}")
    found = given if given is not None else formats.by_extension(path)
    if found is None:
        raise BadDeclarationError(f"the extension of {path!r} does not tell the format; set `format`")
    if found not in formats.NAMES:
        raise BadDeclarationError(f"`format` is one of {', '.join(formats.NAMES)}")
    return str(found)


def _content(kind: str, value: Json) -> Json:
    if kind == TEXT and value is not ABSENT and not isinstance(value, str):
        raise BadDeclarationError("the `content` of a Text is a string; use the kind Document for structures")
    return value


def _mode(value: Json) -> int | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _MODE.fullmatch(value):
        raise BadDeclarationError('`mode` is written in quotes, in octal: mode: "0644"')
    return int(value, 8)


def _account(name: str, value: Json) -> Account:
    if value is None or isinstance(value, str) or (type(value) is int and value >= 0):
        return value
    raise BadDeclarationError(f"`{name}` is a name or a number")


_ACCOUNT = {"type": ["string", "integer"], "description": "A name or an id; compared and written only if declared."}


def schema(kind: str) -> dict[str, Json]:
    """Return the JSON Schema of spec.resource."""
    properties: dict[str, Json] = {
        "path": {"type": "string", "minLength": 1, "description": "Relative to the connection's root."},
        "mode": {"type": "string", "pattern": f"^{_MODE.pattern}$"},
        "owner": _ACCOUNT,
        "group": _ACCOUNT,
        "content": {"type": "string"} if kind == TEXT else {},
    }
    if kind == DOCUMENT:
        properties["format"] = {"enum": list(formats.NAMES)}
    return {"type": "object", "required": ["path"], "properties": properties, "additionalProperties": False}
