"""The REST v2 door: which path leads where, and problem documents for everything that is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from holdfast.model.json import Json
from holdfast_emulators.runpod import rest_bodies, rest_views
from holdfast_emulators.runpod.objects import Access, Account, Endpoint, Key, RefusedError, Template, Volume
from holdfast_emulators.runpod.service import World

Document = dict[str, Json]


@dataclass(slots=True)
class Call:
    """One request to v2 with a key."""

    world: World
    account: Account
    key: Key
    method: str
    steps: tuple[str, ...]  # the path below /v2
    query: Mapping[str, str]
    body: Json


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a request. A body of None is no body."""

    status: int
    body: Json = None
    headers: Mapping[str, str] | None = None


def answer(call: Call) -> Reply:
    """Answer a request."""
    if call.method != "GET" and call.key.access is Access.READ:
        return problem(403, "access denied")
    try:
        return _routed(call)
    except RefusedError as error:
        return problem(error.status, error.detail, error.errors)


def problem(status: int, detail: str, errors: tuple[str, ...] = ()) -> Reply:
    """Return a problem document."""
    body: Document = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return Reply(status, {**body, "errors": list(errors)} if errors else body)


def _routed(call: Call) -> Reply:  # noqa: PLR0911 - one a path
    match call.steps:
        case ("serverless",):
            return _by_method(call, {"GET": _list_endpoints, "POST": _make_endpoint})
        case ("serverless", ident):
            return _on_endpoint(call, ident)
        case ("serverless", ident, "releases") if call.method == "GET":
            return Reply(200, rest_views.releases(call.world, _endpoint(call, ident)))
        case ("serverless", ident, "workers") if call.method == "GET":
            return Reply(200, rest_views.workers(call.world, _endpoint(call, ident)))
        case ("templates",):
            return _by_method(call, {"GET": _list_templates, "POST": _make_template})
        case ("templates", ident):
            return _on_template(call, ident)
        case ("network-volumes",):
            return _by_method(call, {"GET": _list_volumes, "POST": _make_volume})
        case ("network-volumes", ident):
            return _on_volume(call, ident)
        case ("catalog", what) if (found := rest_views.catalogue(call.world.catalogue, what)) is not None:
            return Reply(200, found)
    raise RefusedError(404, "resource not found")


def _by_method(call: Call, doors: Mapping[str, Callable[[Call], Reply]]) -> Reply:
    if call.method not in doors:
        refused = problem(405, "The requested method is not allowed for this path.")
        return Reply(refused.status, refused.body, {"Allow": ", ".join(doors)})
    return doors[call.method](call)


_SIZE_PARAMETER: Final = "limit"
_CURSOR_PARAMETER: Final = "cursor"


def _listed(call: Call, name: str, items: list[Document]) -> Reply:
    """Return a list under its name, a page of it where the test wants pages."""
    size = call.world.habits.page_size
    if size is None:
        return Reply(200, {name: items})
    start = int(call.query.get(_CURSOR_PARAMETER, "0"))
    size = int(call.query.get(_SIZE_PARAMETER, size))
    following = str(start + size) if start + size < len(items) else None
    return Reply(200, {name: items[start : start + size], "nextCursor": following})


# -- endpoints


def _list_endpoints(call: Call) -> Reply:
    shown = call.world.seen_endpoints(call.account)
    return _listed(call, "endpoints", [rest_views.endpoint(call.world, *item) for item in shown])


def _make_endpoint(call: Call) -> Reply:
    fields, container = rest_bodies.new_endpoint(call.world, call.account, call.body)
    name = f"{fields['name']}__template__{call.world.new_id(6)}"
    template = call.world.make_template(call.account, {**container, "name": name})
    try:
        endpoint = call.world.make_endpoint(call.account, fields, template, call.key.user)
    except RefusedError:
        del call.account.templates[template.id]
        raise
    template.bound_to = endpoint.id
    return Reply(201, rest_views.endpoint(call.world, endpoint, template))


def _on_endpoint(call: Call, ident: str) -> Reply:
    if call.method == "GET":
        shown = call.world.seen_endpoint(call.account, ident)
        if shown is None:
            raise RefusedError(404, "resource not found")
        return Reply(200, rest_views.endpoint(call.world, *shown))
    return _by_method(call, {"PATCH": _patch_endpoint, "DELETE": _delete_endpoint})


def _endpoint(call: Call, ident: str) -> Endpoint:
    if ident not in call.account.endpoints:
        raise RefusedError(404, "resource not found")
    return call.account.endpoints[ident]


def _patch_endpoint(call: Call) -> Reply:
    endpoint = _endpoint(call, call.steps[1])
    fields, container = rest_bodies.changed_endpoint(call.world, call.account, endpoint, call.body)
    call.world.change_endpoint(call.account, endpoint, fields, container, call.key.user)
    return Reply(200, rest_views.endpoint(call.world, endpoint, call.account.template_of(endpoint)))


def _delete_endpoint(call: Call) -> Reply:
    call.world.remove_endpoint(call.account, _endpoint(call, call.steps[1]), with_template=True)
    return Reply(204)


# -- templates


def _list_templates(call: Call) -> Reply:
    return _listed(
        call, "templates", [rest_views.template(template) for template in call.world.seen_templates(call.account)]
    )


def _make_template(call: Call) -> Reply:
    made = call.world.make_template(call.account, rest_bodies.template_fields(call.body, new=True))
    return Reply(201, rest_views.template(made))


def _on_template(call: Call, ident: str) -> Reply:
    if call.method == "GET":
        shown = call.world.seen_template(call.account, ident)
        if shown is None:
            raise RefusedError(404, "resource not found")
        return Reply(200, rest_views.template(shown))
    return _by_method(call, {"PATCH": _patch_template, "DELETE": _delete_template})


def _template(call: Call) -> Template:
    if call.steps[1] not in call.account.templates:
        raise RefusedError(404, "resource not found")
    return call.account.templates[call.steps[1]]


def _patch_template(call: Call) -> Reply:
    template = _template(call)
    call.world.copy_template(call.account, template, rest_bodies.template_fields(call.body, new=False))
    return Reply(200, rest_views.template(template))


def _delete_template(call: Call) -> Reply:
    call.world.remove_template(call.account, _template(call))
    return Reply(204)


# -- network volumes


def _list_volumes(call: Call) -> Reply:
    listed = [rest_views.volume(volume) for volume in call.world.seen_volumes(call.account)]
    return _listed(call, "networkVolumes", listed)


def _make_volume(call: Call) -> Reply:
    words = ("name", "size", "dataCenter")
    body = rest_bodies.checked(call.body, frozenset({*words, "type"}), words)
    made = call.world.make_volume(
        call.account, body["name"], body["size"], body["dataCenter"], body.get("type", "STANDARD")
    )
    return Reply(201, rest_views.volume(made))


def _on_volume(call: Call, ident: str) -> Reply:
    if call.method == "GET":
        shown = call.world.seen_volume(call.account, ident)
        if shown is None:
            raise RefusedError(404, "resource not found")
        return Reply(200, rest_views.volume(shown))
    return _by_method(call, {"PATCH": _patch_volume, "DELETE": _delete_volume})


def _volume(call: Call) -> Volume:
    if call.steps[1] not in call.account.volumes:
        raise RefusedError(404, "resource not found")
    return call.account.volumes[call.steps[1]]


def _patch_volume(call: Call) -> Reply:
    body = rest_bodies.checked(call.body, frozenset({"name", "size"}))
    if not body:
        raise RefusedError(422, "Request validation failed.", ("body: at least one field is needed",))
    volume = _volume(call)
    call.world.change_volume(volume, body.get("name"), body.get("size"))
    return Reply(200, rest_views.volume(volume))


def _delete_volume(call: Call) -> Reply:
    call.world.remove_volume(call.account, _volume(call))
    return Reply(204)
