"""The validated declaration of a file; nothing here reads the disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from holdfast.model.absent import ABSENT
from holdfast.model.record import dataclass
from holdfast.provider import Declaration, InputError, Json, Location, Target
from holdfast.providers.file import formats
from holdfast.schema import fields

DOCUMENT, TEXT = "Document", "Text"

Account = str | int | None
_REFERENCE = "${"  # what a field may hold of others is known only when these are there
_FIELDS = ("path", "content", "format", "mode", "owner", "group")
_MODE = re.compile(r"0?[0-7]{3,4}")


class BadDeclarationError(Exception):
    """The declaration cannot be used. The message names the field to edit."""


@dataclass(frozen=True, slots=True)
class DeclaredFile:
    """The fields of a declaration; None or ABSENT where one is not given."""

    path: str
    format: str | None  # None: plain text
    content: Json = ABSENT
    mode: int | None = None
    owner: Account = None
    group: Account = None
    spelling: str | None = None  # the path as the declaration spells it


def of(target: Target) -> DeclaredFile:
    """Read a target; its id, where there is one, is the path that counts."""
    wanted = target.desired
    path = target.id if target.id is not None else wanted.get("path")
    if not isinstance(path, str) or not path:
        raise BadDeclarationError("the resource needs a `path`, relative to the connection's root")
    return DeclaredFile(
        path,
        _format(target.kind, path, wanted.get("format")),
        _content(target.kind, wanted.get("content", ABSENT)),
        _mode(wanted.get("mode")),
        _account("owner", wanted.get("owner")),
        _account("group", wanted.get("group")),
        wanted.get("path") if isinstance(wanted.get("path"), str) else None,
    )


def listed(kind: str, path: str) -> DeclaredFile:
    """Return the specification of a file that is not declared."""
    return DeclaredFile(path, _format(kind, path, None))


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


def mistakes(declaration: Declaration) -> list[InputError]:
    """Return the mistakes in a declaration, each with its field below spec.resource; references are not followed."""
    kind, wanted = declaration.address.kind, declaration.desired
    known = _FIELDS if kind == DOCUMENT else tuple(name for name in _FIELDS if name != "format")
    strangers = [word for word in wanted if word not in known]
    if kind not in (DOCUMENT, TEXT) or strangers:
        return [InputError(fields.unknown_field(word, known), Location(field=f"/{word}")) for word in strangers]
    imported = declaration.import_from is not None and declaration.import_from.id is not None
    path = wanted.get("path")
    if (not isinstance(path, str) or not path) and not (imported and path is None):
        return [InputError("the resource needs a `path`, relative to the connection's root", Location(field="/path"))]
    checks: dict[str, Callable[[Json], object]] = {
        "mode": _mode,
        "owner": lambda value: _account("owner", value),
        "group": lambda value: _account("group", value),
        "content": lambda value: _content(kind, value),
        "format": lambda value: _format(kind, str(path), value),
    }
    return [error for name, check in checks.items() if (error := _mistake(wanted, name, check)) is not None]


def _mistake(wanted: Mapping[str, Json], name: str, check: Callable[[Json], object]) -> InputError | None:
    value = wanted.get(name)
    if value is None or isinstance(value, dict) or (isinstance(value, str) and _REFERENCE in value):
        return None  # not said, or known only later
    try:
        check(value)
    except BadDeclarationError as error:
        return InputError(str(error), Location(field=f"/{name}"))
    return None


_ACCOUNT = {"type": ["string", "integer"], "description": "A name or an id; compared and written only if declared."}


def _schema(kind: str) -> dict[str, Json]:
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


SCHEMAS: Final = {kind: _schema(kind) for kind in (DOCUMENT, TEXT)}  # of spec.resource, as JSON Schema
