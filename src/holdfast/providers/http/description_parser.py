"""From the settings of a connection to its description. A mistake is an InputError with its field.

The field is a pointer from the top of holdfast.yaml, so that the reader of that file can add the line
(`providers.registry.located` does).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, Final, cast
from urllib.parse import urlsplit

from holdfast.compare import paths, profiles
from holdfast.compare.profile import Profile
from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.write_result import WriteError
from holdfast.providers import connection_settings
from holdfast.providers.http import description, raw_slices, url_templates
from holdfast.providers.http.description import (
    AnswerRules,
    Api,
    Attribution,
    Body,
    ByCursor,
    ByLink,
    ByPage,
    Call,
    Create,
    Described,
    Etag,
    Find,
    IdFrom,
    ListDescription,
    Match,
    Operation,
    Paging,
    StatusRules,
    Update,
)
from holdfast.providers.http.response_identity import Identity
from holdfast.providers.protocol import Connection
from holdfast.schema import fields
from holdfast.schema.document import DocumentPath, flatten, raise_all
from holdfast.schema.fields import FieldType

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_CONTENT_TYPES: Final = {Body.MERGE: "application/merge-patch+json", Body.JSON_PATCH: "application/json-patch+json"}
_NO_ID: Final = "none"
_AUTHS: Final = {"none": (), "bearer": ("secret",), "basic": ("username", "secret"), "header": ("name", "secret")}


def describe(connection: Connection) -> Api:
    """Return the description of an API; raise InputError or InputErrors with the fields that are wrong."""
    at = connection_settings.at(connection)
    given = SCHEMA.read_fields(at.document.value, at)
    credentials, secrets = _credentials(given.pop("auth", {}), connection, at.below("auth"))
    raise_all(at.errors)
    tls = given.pop("tls", {})
    ca_file = tls.get("ca_file")
    return Api(
        connection.name,
        headers=given.pop("headers", {}) | credentials,
        ca_file=str(FilePath(connection.base_dir, ca_file)) if ca_file else None,
        verifies_tls=tls.get("verify", True),
        secrets=secrets,
        **given,
    )


# --- single values


def _base_url(text: str) -> str:
    if set(text) & set("@?#"):  # an @ anywhere: a password with a slash in it looks like a path
        message = "expected an address without credentials, query and fragment; credentials go under `auth`"
        raise InputError(message)
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise InputError("expected an address such as https://api.example.com/v1")
    return text.rstrip("/")


def _pointer(value: Json) -> Path:
    if not isinstance(value, str):
        raise fields.expected("a path such as /data/id", value)
    return paths.parse_path(value)


def _method(text: str) -> str:
    if text.upper() not in _METHODS:
        raise InputError(f"expected one of {', '.join(_METHODS)}")
    return text.upper()


def _created_id(text: str) -> IdFrom | Path:
    if text.startswith("/"):
        return paths.parse_path(text)
    if text not in list(IdFrom):
        raise InputError("expected a path into the answer such as /id, or `location`, or `name`")
    return IdFrom(text)


_POINTER = fields.parsed(_pointer, type="string")
_CODES = fields.list_of(fields.whole(100, 599)).then(frozenset)
_CALL: Final[fields.Table] = {
    "method": fields.STRING.then(_method),
    "path": fields.required(fields.STRING.then(url_templates.parse)),
}
_VALUES = fields.list_of(fields.ANY, is_empty_allowed=False)
_MATCH = fields.record(Match, {"pointer": fields.required(_POINTER), "values": fields.required(_VALUES)})


# --- credentials


def _credentials(
    auth: Mapping[str, str], connection: Connection, at: DocumentPath
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the headers that sign a request, and everything that must not be shown."""
    kind = auth.get("type", "none")
    for name in auth:
        if name != "type" and name not in _AUTHS[kind]:
            at.fail(fields.unknown_field(name, ("type", *_AUTHS[kind])), name)

    def secret(default: str) -> str:
        name = auth.get("secret", default)
        value = connection.secrets.get(name)
        if not value:
            at.fail(f"the secret {name!r} is not set; name it under `secrets` of the connection")
        elif not value.isprintable():
            at.fail(f"the secret {name!r} has a line break or another control character in it")
        return value or ""

    headers: dict[str, str] = {}
    if kind == "bearer":
        headers = {"Authorization": f"Bearer {secret('token')}"}
    elif kind == "basic":
        pair = f"{auth.get('username') or connection.secrets.get('username') or ''}:{secret('password')}"
        if pair.startswith(":"):
            at.fail("the secret 'username' is not set; name it under `secrets` of the connection")
        headers = {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
    elif kind == "header":
        if "name" not in auth:
            at.fail("`name` is missing; write the name of the header")
        headers = {auth.get("name", ""): secret("token")}
    derived = [value.partition(" ")[2] or value for value in headers.values()]
    return headers, (*connection.secrets.values(), *derived)


# --- kinds


def _call(given: Mapping[str, Any], default: str) -> Call:
    return Call.of(given.get("method", default), given["path"])


def _create(given: dict[str, Any]) -> Create:
    call = _call(given, "POST")
    return Create(call, given.get("id", IdFrom.NAME if call.method == "PUT" else ("id",)))


def _update(given: dict[str, Any]) -> Update:
    call = _call(given, "PUT")
    body = given.get("body", Body.WHOLE if call.method != "PATCH" else Body.MERGE)
    return Update(call, body, given.get("content_type", _CONTENT_TYPES.get(body, "application/json")))


def _listing(given: dict[str, Any], at: DocumentPath) -> ListDescription:
    call = _call(given, "GET")
    if "id" in call.path.names:
        at.fail("a list has no {id}", "path")
    paging = given.get("next")
    return ListDescription(call, given.get("items", ()), given.get("id", ("id",)), paging, given.get("partial", False))


def _paging(**given: Any) -> Paging:  # noqa: ANN401 - one of three ways, by name
    if len(given) != 1:
        raise InputError("`next` is `link-header`, or has one of pointer, cursor, page")
    (way,) = given.values()
    return ByLink(way) if "pointer" in given else cast("ByCursor | ByPage", way)


def _etag(header: str | None = None, pointer: Path | None = None) -> Etag:
    if (header is None) == (pointer is None):
        raise InputError("`etag` is `header`, or has one of header, pointer")
    return Etag(header, pointer)


def _status(given: dict[str, Any]) -> StatusRules:
    refusals = {code: refusal for refusal in WriteError for code in given.pop(refusal.value, ())}
    gone = given.pop("gone", None) or description.GONE
    return StatusRules(gone, refusals, **given)


def _operation(given: dict[str, Any]) -> Operation:
    header, pointer = given.get("header"), given.get("pointer")
    return Operation(
        header if header or pointer is not None else "Location",
        pointer,
        given.get("done"),
        given.get("failed"),
        given.get("id"),
        given.get("poll_seconds", 1.0),
        given.get("accepted") or frozenset({202}),
    )


def _profile(given: dict[str, Json], at: DocumentPath) -> Profile | None:
    _, connection, _, kind, _ = at.pointer
    if given.keys() & {"applies", "profile"}:
        raise InputError(
            "a profile inside a kind has a name and a kind already; give it `rules`, `defaults`, `version`"
        )
    head = {"profile": f"{connection}/{kind}", "version": 1, "applies": {"provider": "http", "kinds": [kind]}}
    try:
        return profiles.build({**head, **given})
    except InputError as error:
        for single in flatten([error]):
            at.fail(single.message, *(single.location.field or "").split("/")[1:])
        return None


def _kind(given: dict[str, Any], at: DocumentPath) -> Described:
    read, envelope = given.pop("read"), given.pop("envelope", ())
    profile = given.get("profile")
    answers = {name: given.pop(name) for name in ("status", "error", "attribution") if name in given}
    if given.pop("is_conditional", False):
        etag = given.get("etag", Etag())
        if etag == Etag():
            message = "`conditional` needs to know where the version stands: add `etag: header`, or a path"
            at.fail(message, "conditional")
        given["etag"] = replace(etag, is_conditional=True)
    described = Described(
        str(at.pointer[-1]),
        _call(read, "GET"),
        read.get("item", envelope),
        profiles.stack([profile] if profile else []).tree(),
        envelope,
        answers=AnswerRules(**answers),
        **given,
    )
    _check(described, at)
    identity = _identity(read.get("id"), described)
    return replace(described, answers=replace(described.answers, identity=identity))


def _identity(given: Path | str | None, described: Described) -> Identity | None:
    """Return where a document of the kind says its id: as `read` says, or where `list` or `create` find it."""
    if given is not None:
        return None if given == _NO_ID else Identity(cast("Path", given), is_required=True)
    if not {"id", "name"} & set(described.read.path.names):
        return None  # there is only one of it, whatever it calls itself
    listing, create = described.list, described.create
    if listing is not None:
        return Identity(listing.id, is_required=not listing.is_partial)
    if create is None or isinstance(create.id, IdFrom) or described.operation is not None:
        return None
    above = described.item
    return Identity(create.id[len(above) :], is_required=True) if create.id[: len(above)] == above else None


def _check(described: Described, at: DocumentPath) -> None:
    """Note fields that do not go together."""
    if described.find is not None and described.list is None:
        at.fail("`find` goes through a list: describe `list` too", "find")
    raw_slices.items(described.item)
    if described.list is not None:
        raw_slices.pages(described.list)


# --- the schema

_PAGING: Final[FieldType[Paging]] = fields.either(
    {"link-header": ByLink(None)},
    fields.record(
        _paging,
        {
            "pointer": _POINTER,
            "cursor": fields.record(
                ByCursor, {"pointer": fields.required(_POINTER), "param": fields.required(fields.STRING)}
            ),
            "page": fields.record(
                lambda param, start=1, size=None, size_param=None: ByPage(param, start, size, size_param),
                {
                    "param": fields.required(fields.STRING),
                    "start": fields.whole(0),
                    "size": fields.whole(0),
                    "size_param": fields.STRING,
                },
            ),
        },
    ),
)
_READ = fields.plain(
    {**_CALL, "item": _POINTER, "id": fields.either({_NO_ID: _NO_ID}, cast("FieldType[str | Path]", _POINTER))}
)
_LISTING = fields.plain({**_CALL, "items": _POINTER, "id": _POINTER, "next": _PAGING, "partial": fields.BOOLEAN})
_KIND: Final = fields.plain(
    {
        "read": fields.required(fields.short_for(_READ, "path")),
        "envelope": _POINTER,
        "create": fields.short_for(
            fields.plain({**_CALL, "id": fields.STRING.then(_created_id)}).then(_create), "path"
        ),
        "update": fields.short_for(
            fields.plain({**_CALL, "body": fields.choice(Body), "content_type": fields.STRING}).then(_update), "path"
        ),
        "delete": fields.short_for(fields.plain(_CALL).then(lambda given: _call(given, "DELETE")), "path"),
        "list": fields.short_for(_LISTING.then_at(_listing), "path"),
        "find": fields.record(
            lambda by, query=None: Find(by, query or {}),
            {
                "by": fields.required(
                    fields.list_of(_POINTER, is_empty_allowed=False),
                    "list the identifying fields, such as [/name]",
                ),
                "query": fields.mapping_of(_POINTER),
            },
        ),
        "etag": fields.either(
            {"header": Etag(header="ETag")}, fields.record(_etag, {"header": fields.STRING, "pointer": _POINTER})
        ),
        "conditional": fields.renamed(fields.BOOLEAN, "is_conditional"),
        "status": fields.plain(
            {
                "gone": _CODES,
                **{refusal.value: fields.renamed(_CODES, refusal.value) for refusal in WriteError},
                "unsettled": _MATCH,
                "deleted": _MATCH,
                "html_404_is_gone": fields.BOOLEAN,
            }
        ).then(_status),
        "operation": fields.plain(
            {
                "header": fields.STRING,
                "pointer": _POINTER,
                "done": _MATCH,
                "failed": _MATCH,
                "id": _POINTER,
                "poll_seconds": fields.POSITIVE,
                "accepted": _CODES,
            }
        ).then(_operation),
        "idempotency_header": fields.STRING,
        "error": _POINTER,
        "profile": fields.DOCUMENT.then_at(_profile),
        "attribution": fields.short_for(
            fields.record(Attribution, {"who": fields.required(_POINTER), "at": _POINTER}), "who"
        ),
    }
)


def _some_kinds(kinds: dict[str, Described]) -> dict[str, Described]:
    if not kinds:
        raise InputError("at least one kind must be described")
    return kinds


SCHEMA: Final = fields.plain(
    {
        "base_url": fields.required(fields.STRING.then(_base_url)),
        "kinds": fields.required(fields.mapping_of(_KIND.then_at(_kind)).then(_some_kinds)),
        "auth": fields.plain(
            {
                "type": fields.required(fields.word(tuple(_AUTHS))),
                "secret": fields.STRING,
                "username": fields.STRING,
                "name": fields.STRING,
            }
        ),
        "headers": fields.LABELS,
        "timeout_seconds": fields.POSITIVE,
        "max_body_bytes": fields.POSITIVE.then(int),
        "max_connections": fields.POSITIVE.then(int),
        "tls": fields.plain({"ca_file": fields.STRING, "verify": fields.BOOLEAN}),
    }
)
