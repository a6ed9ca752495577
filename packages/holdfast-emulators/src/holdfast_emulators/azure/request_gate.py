"""Checks of ARM itself before a provider sees a request: the principal, the rate, the API version, the target."""

from __future__ import annotations

import re
from collections.abc import Callable

from holdfast.model.json import Json
from holdfast_emulators.azure import delete, long_running, read, soft_delete, write
from holdfast_emulators.azure.calls import Call
from holdfast_emulators.azure.defaults import Filling
from holdfast_emulators.azure.errors import RefusalError, gateway, method_not_allowed, not_found
from holdfast_emulators.azure.ids import ArmId, parse
from holdfast_emulators.azure.messages import Request, Response
from holdfast_emulators.azure.pointers import get
from holdfast_emulators.azure.principals import Principal
from holdfast_emulators.azure.state import State

_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(-(preview|privatepreview|alpha|beta))?")
_ANSWERS: dict[str, Callable[[Call], Response]] = {
    "GET": read.get,
    "HEAD": read.head,
    "PUT": write.put,
    "PATCH": write.patch,
    "DELETE": delete.delete,
}


def answer(state: State, request: Request, principal: Principal) -> Response:
    """Let a request in, and have it answered."""
    _check_version(request)
    if long_running.is_poll(request.path):
        return long_running.poll(state, request)
    who = state.stamp(principal.name, principal.kind)
    id_ = _read(state, request)
    if isinstance(id_, Response):
        return id_
    _check_subscription(state, id_)
    if not principal.may(request.method, id_.text):
        raise _forbidden(request, principal, id_)
    return _on(Call(state, request, id_, who))


def place_of(path: str) -> ArmId | None:
    """Return the target of a path for the journal. The target of a list of everything is its parent."""
    bare = path.rstrip("/")
    if bare.casefold().endswith("/resources"):
        bare = bare.rpartition("/")[0]
    return parse(bare)


def _on(call: Call) -> Response:
    """Answer on a resource or a list of them."""
    method, id_ = call.request.method, call.id
    whole = call.request.path.rstrip("/").casefold()
    if whole.endswith("/resources") and method == "GET":
        return read.everything(call, id_)
    buried = soft_delete.habits_below(call.state, id_)
    if buried is not None:
        return soft_delete.answer(call, buried)
    if not id_.namespace and not id_.is_collection and id_.types[-1].casefold() == "subscriptions":
        return Response.of(200, read.subscription(call.state, id_.name))
    if id_.is_collection:
        return _action(call) if method == "POST" else read.collection(call)
    habits = call.habits
    _check_type_version(call)
    if method not in habits.verbs or method not in _ANSWERS:
        raise method_not_allowed(method, id_.type, habits.verbs)
    return _ANSWERS[method](call)


def _read(state: State, request: Request) -> ArmId | Response:
    """Return the target of a path. Requests about providers are answered here."""
    provider = re.fullmatch(r"(?i)/subscriptions/([^/]+)/providers/([^/]+)(/register)?", request.path.rstrip("/"))
    if provider:
        return _provider(state, request, *provider.groups())
    id_ = place_of(request.path)
    if id_ is None:
        raise gateway(404, "InvalidResourceType", f"There is nothing at '{request.path}'.")
    return id_


def _provider(state: State, request: Request, subscription: str, namespace: str, register: str | None) -> Response:
    """Show or register a resource provider."""
    if register and request.method == "POST":
        state.unregistered = {item for item in state.unregistered if item.casefold() != namespace.casefold()}
    word = "NotRegistered" if _is_unregistered(state, namespace) else "Registered"
    id_ = f"/subscriptions/{subscription}/providers/{namespace}"
    types = [
        {"resourceType": habits.type.partition("/")[2], "apiVersions": list(habits.api_versions)}
        for habits in state.habits.values()
        if habits.type.casefold().startswith(f"{namespace.casefold()}/")
    ]
    body = {"id": id_, "namespace": namespace, "registrationState": word, "resourceTypes": types}
    return Response.of(200, body)


def _is_unregistered(state: State, namespace: str) -> bool:
    return namespace.casefold() in {item.casefold() for item in state.unregistered}


# -- checks


def _check_version(request: Request) -> None:
    if not request.api_version:
        raise gateway(
            400,
            "MissingApiVersionParameter",
            "The api-version query parameter (?api-version=) is required for all requests.",
        )
    if not _VERSION.fullmatch(request.api_version):
        message = f"The api-version '{request.api_version}' is invalid. It is a date, and '-preview' after some."
        raise gateway(400, "InvalidApiVersionParameter", message)


def _check_type_version(call: Call) -> None:
    allowed, version = call.habits.api_versions, call.request.api_version
    if allowed and version not in allowed:
        raise gateway(
            400,
            "NoRegisteredProviderFound",
            f"No registered resource provider found for API version '{version}' for type '{call.id.type}'. "
            f"The supported api-versions are '{', '.join(allowed)}'.",
        )
    if call.request.method == "PUT" and _is_unregistered(call.state, call.id.namespace):
        raise gateway(
            409,
            "MissingSubscriptionRegistration",
            f"The subscription is not registered to use namespace '{call.id.namespace}'.",
            details=[{"code": "MissingSubscriptionRegistration", "target": call.id.namespace}],
        )


def _check_subscription(state: State, id_: ArmId) -> None:
    if id_.subscription is not None and id_.subscription.casefold() not in state.subscriptions:
        raise gateway(404, "SubscriptionNotFound", f"The subscription '{id_.subscription}' could not be found.")


def _forbidden(request: Request, principal: Principal, id_: ArmId) -> RefusalError:
    verb = {"GET": "read", "HEAD": "read", "DELETE": "delete", "POST": "action"}.get(request.method, "write")
    return gateway(
        403,
        "AuthorizationFailed",
        f"The client '{principal.name}' with object id '{principal.object_id}' does not have authorization to perform "
        f"action '{id_.type}/{verb}' over scope '{id_.text}'.",
    )


# -- actions


def _action(call: Call) -> Response:
    """Answer a POST on a resource, such as listKeys."""
    owner = call.id.parent
    resource = read.seen(call.state, owner) if owner is not None else None
    if owner is None or resource is None:
        raise not_found(call.id.type, call.id.names[-1] if call.id.names else "", call.id.group)
    habits = call.state.habits_of(owner.type)
    for action in habits.actions:
        if action.name.casefold() == call.id.types[-1].casefold():
            shown: Json = get(resource.body, action.shows) if action.shows else action.value
            work: Filling = call.state.filling(resource, None)
            return Response.of(200, work.expanded(shown) or {})
    raise method_not_allowed("POST", call.id.type, habits.verbs)
