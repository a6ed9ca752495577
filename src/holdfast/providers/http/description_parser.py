"""From the settings of a connection to its description; a mistake is an InputError with the field it stands in.

The field is a pointer from the top of holdfast.yaml, so that whoever read that file can add the line
(`providers.registry.located` does).
"""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Final
from urllib.parse import urlsplit

from holdfast.compare import profiles
from holdfast.compare.profiles import Profile
from holdfast.errors import InputError
from holdfast.model.path import Path
from holdfast.model.write_result import WriteError
from holdfast.providers import unknown_fields
from holdfast.providers.http import description, raw_slices, url_templates
from holdfast.providers.http.description import (
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
    Listing,
    Match,
    Operation,
    Paging,
    StatusRules,
    Update,
)
from holdfast.providers.http.response_identity import Identity
from holdfast.providers.http.settings_section import Section
from holdfast.providers.protocol import Connection

_TOP: Final = ("base_url", "kinds", "auth", "headers", "timeout_seconds", "max_body_bytes", "max_connections", "tls")
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_CONTENT_TYPES: Final = {Body.MERGE: "application/merge-patch+json", Body.JSON_PATCH: "application/json-patch+json"}


def describe(connection: Connection) -> Api:
    """Read the settings of a connection."""
    top = Section(dict(connection.settings), ("connections", connection.name))
    unknown_fields.refuse_unknown(connection, _TOP)
    headers, secrets = _auth(top, connection)
    kinds = {name: _kind(name, section, connection) for name, section in top.sections("kinds").items()}
    if not kinds:
        top.fail("at least one kind must be described", "kinds")
    tls = top.section("tls") if top.has("tls") else Section({}, ())
    ca_file = tls.text("ca_file", "")
    api = Api(
        connection.name,
        _base_url(top),
        _headers(top) | headers,
        kinds,
        top.number("timeout_seconds", 30.0),
        int(top.number("max_body_bytes", 64 * 2**20)),
        int(top.number("max_connections", 32)),
        str(FilePath(connection.base_dir, ca_file)) if ca_file else None,
        tls.flag("verify", default=True),
        secrets,
    )
    tls.finish()
    return api


def _base_url(top: Section) -> str:
    text = top.text("base_url")
    if set(text) & set("@?#"):  # an @ anywhere: a password with a slash in it looks like a path
        message = "an address without credentials, query and fragment is needed; credentials go under `auth`"
        top.fail(message, "base_url")
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        top.fail("an address such as https://api.example.com/v1 is needed here", "base_url")
    return text.rstrip("/")


def _headers(top: Section) -> dict[str, str]:
    given = top.get("headers") or {}
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        top.fail("a mapping from header names to strings is needed here", "headers")
    return dict(given)


# --- credentials ------------------------------------------------------------------------------------------------------


def _auth(top: Section, connection: Connection) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the headers that sign a request, and everything that must not be shown."""
    if not top.has("auth"):
        return {}, tuple(connection.secrets.values())
    auth = top.section("auth")
    kind = auth.text("type")
    if kind == "none":
        headers: dict[str, str] = {}
    elif kind == "bearer":
        headers = {"Authorization": f"Bearer {_secret(auth, connection, auth.text('secret', 'token'))}"}
    elif kind == "basic":
        user = auth.text("username", "") or _secret(auth, connection, "username")
        pair = f"{user}:{_secret(auth, connection, auth.text('secret', 'password'))}"
        headers = {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
    elif kind == "header":
        headers = {auth.text("name"): _secret(auth, connection, auth.text("secret", "token"))}
    else:
        auth.fail("`type` is none, bearer, basic or header", "type")
    auth.finish()
    derived = [value.partition(" ")[2] or value for value in headers.values()]
    return headers, (*connection.secrets.values(), *derived)


def _secret(auth: Section, connection: Connection, name: str) -> str:
    value = connection.secrets.get(name)
    if not value:
        auth.fail(f"the secret {name!r} is not set; name it under `secrets` of the connection")
    if not value.isprintable():
        auth.fail(f"the secret {name!r} has a line break or another control character in it")
    return value


# --- kinds ------------------------------------------------------------------------------------------------------------


def _kind(name: str, kind: Section, connection: Connection) -> Described:
    read = kind.section("read", "path")
    envelope = kind.pointer("envelope", "")
    profile = _profile(name, kind, connection)
    described = Described(
        name,
        _call(read, "GET"),
        read.pointer("item", kind.get("envelope") or ""),
        profiles.stack([profile] if profile else []).tree(),
        envelope,
        _create(kind),
        _update(kind),
        _delete(kind),
        _listing(kind),
        _find(kind),
        etag=_etag(kind),
        is_conditional=kind.flag("conditional", default=False),
        status=_status(kind),
        operation=_operation(kind),
        idempotency_header=kind.text("idempotency_header", "") or None,
        error=kind.pointer("error") if kind.has("error") else None,
        profile=profile,
        attribution=_attribution(kind),
    )
    described = replace(described, identity=_identity(read, described))
    read.finish()
    kind.finish()
    _check(described, kind)
    return described


def _identity(read: Section, described: Described) -> Identity | None:
    """Tell where a document of the kind says its id: as `read` says, or where `list` or `create` find it."""
    given = read.text("id", "")
    if given:
        return None if given == "none" else Identity(read.as_pointer(given, "id"), is_required=True)
    if not {"id", "name"} & set(described.read.path.names):
        return None  # there is only one of it, whatever it calls itself
    listing, create = described.list, described.create
    if listing is not None:
        return Identity(listing.id, is_required=not listing.is_partial)
    if create is None or isinstance(create.id, IdFrom) or described.operation is not None:
        return None
    above = described.item
    return Identity(create.id[len(above) :], is_required=True) if create.id[: len(above)] == above else None


def _check(described: Described, kind: Section) -> None:
    """Refuse what each word allows and all together do not."""
    if described.is_conditional and described.etag == Etag():
        kind.fail(
            "`conditional` needs to know where the version stands: add `etag: header`, or a pointer", "conditional"
        )
    if described.find is not None and described.list is None:
        kind.fail("`find` goes through a list: describe `list` too", "find")
    try:
        raw_slices.items(described.item)
        if described.list is not None:
            raw_slices.pages(described.list)
    except InputError as error:
        kind.fail(error.message)


def _section(kind: Section, name: str, shorthand: str = "") -> Section | None:
    return kind.section(name, shorthand) if kind.has(name) else None


def _call(section: Section, method: str) -> Call:
    given = section.text("method", method).upper()
    if given not in _METHODS:
        section.fail(f"a method is one of {', '.join(_METHODS)}", "method")
    try:
        return Call.of(given, url_templates.parse(section.text("path")))
    except InputError as error:
        if error.location.field:
            raise
        section.fail(error.message, "path")


def _create(kind: Section) -> Create | None:
    section = _section(kind, "create", "path")
    if section is None:
        return None
    call = _call(section, "POST")
    given = section.text("id", "name" if call.method == "PUT" else "/id")
    if given.startswith("/"):
        ident: IdFrom | Path = section.as_pointer(given, "id")
    elif given in list(IdFrom):
        ident = IdFrom(given)
    else:
        section.fail("`id` is a pointer into the answer such as /id, or `location`, or `name`", "id")
    section.finish()
    return Create(call, ident)


def _update(kind: Section) -> Update | None:
    section = _section(kind, "update", "path")
    if section is None:
        return None
    call = _call(section, "PUT")
    given = section.text("body", "whole" if call.method != "PATCH" else "merge")
    if given not in list(Body):
        section.fail(f"`body` is one of {', '.join(Body)}", "body")
    body = Body(given)
    update = Update(call, body, section.text("content_type", _CONTENT_TYPES.get(body, "application/json")))
    section.finish()
    return update


def _delete(kind: Section) -> Call | None:
    section = _section(kind, "delete", "path")
    if section is None:
        return None
    call = _call(section, "DELETE")
    section.finish()
    return call


def _listing(kind: Section) -> Listing | None:
    section = _section(kind, "list", "path")
    if section is None:
        return None
    listing = Listing(
        _call(section, "GET"),
        section.pointer("items", ""),
        section.pointer("id", "/id"),
        _paging(section),
        section.flag("partial", default=False),
    )
    section.finish()
    if "id" in listing.call.path.names:
        section.fail("a list has no {id}", "path")
    return listing


def _paging(section: Section) -> Paging:
    given = section.get("next")
    if given is None:
        return None
    if given == "link-header":
        return ByLink(None)
    way = section.section("next")
    paging: Paging = None
    if way.has("pointer"):
        paging = ByLink(way.pointer("pointer"))
    elif way.has("cursor"):
        cursor = way.section("cursor")
        paging = ByCursor(cursor.pointer("pointer"), cursor.text("param"))
        cursor.finish()
    elif way.has("page"):
        page = way.section("page")
        paging = ByPage(
            page.text("param"),
            page.whole("start", 1) or 0,
            page.whole("size", None),
            page.text("size_param", "") or None,
        )
        page.finish()
    else:
        section.fail("`next` is `link-header`, or has one of pointer, cursor, page", "next")
    way.finish()
    return paging


def _find(kind: Section) -> Find | None:
    section = _section(kind, "find")
    if section is None:
        return None
    by = tuple(section.as_pointer(text, "by", index) for index, text in enumerate(section.texts("by")))
    query = section.get("query") or {}
    if not by:
        section.fail("`by` lists the fields that tell things apart, such as [/name]", "by")
    if not isinstance(query, dict):
        section.fail("`query` maps parameters to fields, such as {name: /name}", "query")
    section.finish()
    return Find(by, {key: section.as_pointer(str(text), "query", key) for key, text in query.items()})


def _etag(kind: Section) -> Etag:
    given = kind.get("etag")
    if given is None:
        return Etag()
    if given == "header":
        return Etag(header="ETag")
    section = kind.section("etag")
    etag = Etag(section.text("header")) if section.has("header") else Etag(pointer=section.pointer("pointer"))
    section.finish()
    return etag


def _attribution(kind: Section) -> Attribution | None:
    section = _section(kind, "attribution", "who")
    if section is None:
        return None
    attribution = Attribution(section.pointer("who"), section.pointer("at") if section.has("at") else None)
    section.finish()
    return attribution


def _match(section: Section, name: str) -> Match | None:
    inner = _section(section, name)
    if inner is None:
        return None
    values = inner.get("values")
    if not isinstance(values, list) or not values:
        inner.fail("`values` lists what the field may hold for this to be so", "values")
    match = Match(inner.pointer("pointer"), tuple(values))
    inner.finish()
    return match


def _status(kind: Section) -> StatusRules:
    section = _section(kind, "status")
    if section is None:
        return StatusRules()
    refusals = {code: refusal for refusal in WriteError for code in section.codes(refusal.value)}
    rules = StatusRules(
        section.codes("gone") or description.GONE,
        refusals,
        _match(section, "unsettled"),
        _match(section, "deleted"),
        section.flag("html_404_is_gone", default=False),
    )
    section.finish()
    return rules


def _operation(kind: Section) -> Operation | None:
    section = _section(kind, "operation")
    if section is None:
        return None
    header, pointer = section.text("header", "") or None, None
    if section.has("pointer"):
        pointer = section.pointer("pointer")
    operation = Operation(
        header if header or pointer else "Location",
        pointer,
        _match(section, "done"),
        _match(section, "failed"),
        section.pointer("id") if section.has("id") else None,
        section.number("poll_seconds", 1.0),
        section.codes("accepted") or frozenset({202}),
    )
    section.finish()
    return operation


def _profile(name: str, kind: Section, connection: Connection) -> Profile | None:
    given = kind.get("profile")
    if given is None:
        return None
    section = kind.section("profile")
    head = {"profile": f"{connection.name}/{name}", "version": 1, "applies": {"provider": "http", "kinds": [name]}}
    if given.keys() & {"applies", "profile"}:
        section.fail("a profile inside a kind has a name and a kind already; give it `rules`, `defaults`, `version`")
    try:
        return profiles.build({**head, **given})
    except InputError as error:
        section.fail(error.message, *(error.location.field or "").split("/")[1:])
