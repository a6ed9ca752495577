"""Long-running operations: how a write is answered, what polls see, and what is there when it has ended."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from email.utils import format_datetime

from holdfast.model.json import Json
from holdfast_emulators.azure import response_view
from holdfast_emulators.azure.calls import Call
from holdfast_emulators.azure.defaults import guid
from holdfast_emulators.azure.errors import RefusalError, gateway
from holdfast_emulators.azure.faults import Failure
from holdfast_emulators.azure.ids import ArmId
from holdfast_emulators.azure.messages import Request, Response
from holdfast_emulators.azure.respelling import region_code
from holdfast_emulators.azure.state import Resource, Running, State, timestamp
from holdfast_emulators.azure.type_behaviour import Operation

STATUS_WORDS = ("operations", "operationstatuses")
RESULT_WORDS = ("operationresults",)
_STATES = {"create": "Creating", "update": "Updating", "patch": "Updating", "delete": "Deleting"}
_USUAL = {
    "create": {"sync": 201, "async": 201, "state": 201, "self": 201},
    "update": {"sync": 200, "async": 200, "state": 200, "self": 200},
    "delete": {"sync": 200},
}

# -- the beginning


def begin(call: Call, resource: Resource, before: Resource | None, kind: str, how: Operation) -> Response:
    """Answer a PUT or PATCH that has been stored: as done, or as under way."""
    failure = _failing(call)
    if how.style == "sync":
        _settle(call.state, resource, before, failure)
        return _written(call, resource, kind, how, {})
    running = start(call, resource, kind, how, lambda ended: _settle(call.state, resource, before, ended.failure))
    running.failure = failure
    resource.hidden = how.hidden and before is None
    return _written(call, resource, kind, how, _poll_headers(call.request, call.state, running))


def begin_delete(call: Call, resource: Resource, how: Operation, remove: Callable[[], None]) -> Response:
    """Answer a DELETE: as done, or as under way."""
    failure = _failing(call)
    if how.style == "sync":
        if failure is not None:
            raise RefusalError(409, failure.code, failure.message)
        remove()
        return Response.of(how.status or 200)

    def settle(ended: Running) -> None:
        if ended.failure is None:
            remove()
        else:
            resource.state, resource.running = ended.failure.word, None
            resource.cache.clear()

    running = start(call, resource, "delete", how, settle)
    running.failure = failure
    return Response.of(how.status or 202, headers=_poll_headers(call.request, call.state, running))


def start(call: Call, resource: Resource, kind: str, how: Operation, finish: Callable[[Running], None]) -> Running:
    """Begin an operation on a resource."""
    state, now = call.state, call.state.now()
    running = Running(guid(state.chance), kind, resource.id, how, now, now + how.seconds * state.pace, finish)
    running.location = region_code(str(resource.body.get("location", "westus")))
    state.operations[running.id] = running
    resource.running = running.id
    resource.state = how.state or _STATES[kind]
    resource.cache.clear()
    state.schedule(running.ends_at, lambda: end_if_due(state, running))
    return running


def _failing(call: Call) -> Failure | None:
    failures = call.state.failures
    return next((failure for failure in failures if failure.strikes(call.request.method, call.id.text)), None)


def _settle(state: State, resource: Resource, before: Resource | None, failure: Failure | None) -> None:
    """Bring a written resource to its final state."""
    resource.running, resource.hidden, resource.state = None, False, ""
    if failure is not None and failure.applied:
        resource.state = failure.word
    elif failure is not None and before is None:
        state.remove(resource.id)
    elif failure is not None and before is not None:
        resource.body, resource.state = before.body, before.state
    resource.cache.clear()


def _written(call: Call, resource: Resource, kind: str, how: Operation, headers: Mapping[str, str]) -> Response:
    usual = _USUAL["create" if kind == "create" else "update"]
    status = how.status or usual.get(how.style, 202)
    sent = {**response_view.headers(call.state, resource), **headers}
    if how.style == "self":
        sent["Location"] = resource.id.text if how.relative else f"{call.request.base}{resource.id.text}"
    if how.body == "empty" or (how.style == "location" and status == 202):
        return Response.of(status, headers=sent)
    if how.body == "null":
        return Response.raw(status, b"null", sent)
    version = call.request.api_version
    return Response.raw(status, response_view.rendered(call.state, resource, version, call.id), sent)


# -- meanwhile


def _poll_headers(request: Request, state: State, running: Running) -> dict[str, str]:
    how = running.how
    headers = {}
    if how.style in ("async", "both"):
        headers["Azure-AsyncOperation"] = _address(request, running, "operations")
    if how.style in ("location", "both"):
        headers["Location"] = _address(request, running, "operationResults")
    return {**headers, **_retry_after(state, how)}


def _address(request: Request, running: Running, word: str) -> str:
    id_ = running.resource
    below = f"/subscriptions/{id_.subscription}" if id_.subscription else ""
    path = (
        f"{below}/providers/{id_.namespace or 'Microsoft.Resources'}/locations/{running.location}/{word}/{running.id}"
    )
    hop = f"&hop={running.polls}" if running.how.moving else ""
    address = f"{path}?api-version={request.api_version}{hop}"
    if running.how.relative:
        return address
    return f"https://{running.how.host}{address}" if running.how.host else f"{request.base}{address}"


def _retry_after(state: State, how: Operation) -> dict[str, str]:
    if how.retry_after is None:
        return {}
    seconds = how.retry_after * state.pace
    if how.retry_as_date:
        return {"Retry-After": format_datetime(dt.datetime.fromtimestamp(state.now() + seconds, dt.UTC), usegmt=True)}
    return {"Retry-After": str(math.ceil(seconds))}


def look(state: State, running: Running) -> None:
    """Count a look at an operation, and end it if that was what it waited for."""
    running.polls += 1
    end_if_due(state, running)


def end_if_due(state: State, running: Running) -> None:
    """End an operation whose time has come and that was looked at often enough."""
    if running.ended_at is None and state.now() >= running.ends_at and running.polls >= running.how.polls:
        running.ended_at = state.now()
        running.finish(running)


def is_poll(path: str) -> bool:
    """Return True if a path is one where operations are polled."""
    parts = path.casefold().rsplit("/", 2)
    return len(parts) == 3 and parts[1] in STATUS_WORDS + RESULT_WORDS


def poll(state: State, request: Request) -> Response:
    """Answer a poll."""
    _, word, ident = request.path.rsplit("/", 2)
    running = state.operations.get(ident.casefold())
    if running is None or _is_forgotten(state, running):
        raise gateway(404, "NotFound", f"The operation '{ident}' was not found.")
    look(state, running)
    return _status(state, request, running) if word.casefold() in STATUS_WORDS else _result(state, request, running)


def operation_of(state: State, path: str) -> Running | None:
    """Return the operation that a polling path is about."""
    return state.operations.get(path.rpartition("/")[2].casefold())


def _is_forgotten(state: State, running: Running) -> bool:
    keeps = running.how.forgotten_seconds
    return running.ended_at is not None and keeps is not None and state.now() > running.ended_at + keeps


def _status(state: State, request: Request, running: Running) -> Response:
    """Answer at Azure-AsyncOperation: always 200, the truth is in the body."""
    body: dict[str, Json] = {"id": request.path, "name": running.id, "startTime": timestamp(running.started_at)}
    if running.ended_at is None:
        body |= {"status": _word(state, running), "percentComplete": 50.0}
        return Response.of(200, body, _retry_after(state, running.how))
    body["endTime"] = timestamp(running.ended_at)
    if running.failure is not None:
        return Response.of(200, {**body, "status": running.failure.word, "error": running.failure.error()})
    return Response.of(200, {**body, "status": running.how.done, "percentComplete": 100.0})


def _word(state: State, running: Running) -> str:
    """Return the word for how far it is: one after the other, by time or by polls."""
    words, how = running.how.words, running.how
    if how.polls:
        share = (running.polls - 1) / how.polls
    else:
        share = (state.now() - running.started_at) / max(running.ends_at - running.started_at, 1e-9)
    return words[min(len(words) - 1, int(share * len(words)))]


def _result(state: State, request: Request, running: Running) -> Response:
    """Answer at Location: 202 until the end, then the result, or the error as an HTTP error."""
    if running.ended_at is None:
        headers = {**_poll_headers(request, state, running), **_retry_after(state, running.how)}
        headers.pop("Azure-AsyncOperation", None)
        return Response.of(202, headers=headers)
    if running.failure is not None:
        more = {"details": list(running.failure.details)} if running.failure.details else {}
        raise RefusalError(409, running.failure.code, running.failure.message, more=more)
    resource = state.find(running.resource)
    if running.how.final == "empty" or resource is None:
        return Response.of(204)
    if running.how.final == "result":
        return Response.of(200, {"status": running.how.done, "operation": running.kind})
    return Response.raw(200, response_view.rendered(state, resource, request.api_version))


def keep_busy(state: State, id_: ArmId, seconds: float, word: str = "Updating") -> None:
    """Run an operation of another actor on a resource."""
    resource = state.resources[id_.key]
    now = state.now()

    def finish(ended: Running) -> None:
        if resource.running == ended.id:
            resource.running, resource.state = None, ""
            resource.cache.clear()

    running = Running(guid(state.chance), "update", id_, Operation("state"), now, now + seconds, finish)
    state.operations[running.id] = running
    resource.running, resource.state = running.id, word
    resource.cache.clear()
    state.schedule(running.ends_at, lambda: end_if_due(state, running))
