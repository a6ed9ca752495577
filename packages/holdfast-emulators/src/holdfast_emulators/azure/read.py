"""GET and HEAD of one resource, and lists of many, page by page."""

from __future__ import annotations

from urllib.parse import quote

import orjson

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast_emulators.azure import long_running, pointers, response_view
from holdfast_emulators.azure.calls import Call
from holdfast_emulators.azure.errors import group_not_found, method_not_allowed, not_found, parent_not_found
from holdfast_emulators.azure.ids import ArmId
from holdfast_emulators.azure.messages import Request, Response
from holdfast_emulators.azure.state import Resource, State
from holdfast_emulators.azure.type_behaviour import Habits

_SUMMARY = ("id", "name", "type", "kind", "location", "tags", "sku", "managedBy", "identity", "zones", "systemData")


def get(call: Call) -> Response:
    """Show a resource as reads see it now."""
    resource = seen(call.state, call.id, counts=True)
    if resource is None:
        raise _missing(call)
    headers = response_view.headers(call.state, resource)
    if call.habits.etag.not_modified and call.request.headers.get("If-None-Match") == headers.get("ETag", "-"):
        return Response.of(304, headers=headers)
    body = response_view.rendered(call.state, resource, call.request.api_version, call.id)
    return Response.raw(200, body, headers)


def head(call: Call) -> Response:
    """Return True if a resource is there; there is no body either way."""
    return Response.of(204 if seen(call.state, call.id, counts=True) is not None else 404)


def _missing(call: Call) -> Exception:
    """Return the error for the absent object: the resource, or one above it."""
    if call.id.group is not None and (not call.id.namespace or not _has_group(call.state, call.id)):
        return group_not_found(call.id.group)
    parent = call.id.parent
    if parent is not None and parent.namespace and call.state.find(parent) is None:
        return parent_not_found(parent.name)
    return not_found(call.habits.type, call.id.name, call.id.group)


def seen(state: State, id_: ArmId, *, counts: bool = False) -> Resource | None:
    """Return the resource as a read shows it: present, outdated, or absent."""
    resource = state.find(id_)
    if resource is None:
        return _ghost(state, id_)
    if resource.running is not None and counts:
        running = state.operations[resource.running]
        if running.how.style in ("state", "self"):
            long_running.look(state, running)
        if state.find(id_) is None:
            return None
    resource.reads += counts
    stale = resource.stale
    if stale is None:
        return None if resource.hidden else resource
    if resource.running is None:
        if state.now() >= stale.until or stale.reads == 0:
            resource.stale = None
            return resource
        stale.reads -= counts and stale.reads > 0
    return stale.resource


def _ghost(state: State, id_: ArmId) -> Resource | None:
    """Return a deleted resource that reads still show, or None."""
    ghost = state.ghosts.get(id_.key)
    if ghost is not None and state.now() >= ghost.until:
        del state.ghosts[id_.key]
        return None
    return ghost.resource if ghost is not None else None


# -- lists


def collection(call: Call) -> Response:
    """List the resources of one type: in a group, a subscription, or below a parent."""
    id_, state, habits = call.id, call.state, call.habits
    whole = id_.scope.count("/") == 2 and not id_.is_child and bool(id_.namespace)
    if habits.listed == "none" or (habits.listed == "group" and whole):
        raise method_not_allowed("GET", id_.type, ("PUT",))
    if id_.namespace and id_.group is not None and not _has_group(state, id_):
        raise group_not_found(id_.group)
    if not id_.namespace and id_.types[-1].casefold() == "subscriptions":
        return Response.of(200, {"value": [subscription(state, item) for item in sorted(state.subscriptions)]})
    if whole:
        type_ = id_.type.casefold()
        found = [
            resource
            for resource in state.resources.values()
            if resource.id.type.casefold() == type_ and _is_in(resource, id_)
        ]
    else:
        found = state.in_collection(id_)
    return paged(call, [element for element in (seen(state, item.id) for item in found) if element is not None], habits)


def everything(call: Call, scope: ArmId) -> Response:
    """List resources of all types, in short: without their properties. `$filter=resourceType eq 'x'` is understood."""
    wanted = call.request.query.get("$filter", "").partition("resourceType eq ")[2].strip("' ").casefold()
    found = [item for item in call.state.below(scope) if item.id.namespace and not item.id.is_child]
    found = [item for item in found if not wanted or item.id.type.casefold() == wanted]
    return paged(call, found, Habits("Microsoft.Resources/resources"), short=True)


def _has_group(state: State, id_: ArmId) -> bool:
    return f"/subscriptions/{id_.subscription}/resourcegroups/{id_.group}".casefold() in state.resources


def _is_in(resource: Resource, id_: ArmId) -> bool:
    return resource.id.key.startswith(f"{id_.scope.casefold()}/")


def paged(call: Call, found: list[Resource], habits: Habits, *, short: bool = False) -> Response:
    """Answer one page, with the address of the next."""
    query = call.request.query
    size = int(query.get("$top", habits.page_size))
    start = int(query.get("$skiptoken", "0"))
    items = [_item(call, item, habits, short=short) for item in found[start : start + size]]
    body = b'{"value":[' + b",".join(items) + b"]"
    if start + size < len(found):
        body += b',"nextLink":' + orjson.dumps(_next(call.request, start + size))
    return Response.raw(200, body + b"}")


def _next(request: Request, token: int) -> str:
    kept = [(name, value) for name, value in request.query.items() if name != "$skiptoken"]
    query = "&".join(f"{quote(name)}={quote(value)}" for name, value in [*kept, ("$skiptoken", str(token))])
    return f"{request.base}{request.path}?{query}"


def _item(call: Call, resource: Resource, habits: Habits, *, short: bool) -> bytes:
    if not short and not habits.list_hides:
        return response_view.rendered(call.state, resource, call.request.api_version)
    whole: dict[str, Json] = response_view.document(call.state, resource, call.request.api_version)
    if short:
        whole = {key: value for key, value in whole.items() if key in _SUMMARY}
    for pointer in habits.list_hides:
        pointers.put(whole, pointer, ABSENT)
    return orjson.dumps(whole)


def subscription(state: State, ident: str) -> dict[str, Json]:
    """Return a subscription as ARM shows it."""
    return {
        "id": f"/subscriptions/{ident}",
        "subscriptionId": ident,
        "tenantId": state.tenant,
        "displayName": "holdfast",
        "state": "Enabled",
    }
