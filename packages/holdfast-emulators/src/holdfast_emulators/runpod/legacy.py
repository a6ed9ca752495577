"""The older and the other doors, as far as existing clients need them: REST v1 for volumes, and the data plane."""

from __future__ import annotations

from holdfast.model.json import Json
from holdfast_emulators.runpod.objects import Account, RefusedError, Volume
from holdfast_emulators.runpod.rest import Call, Reply
from holdfast_emulators.runpod.service import World


def answer(call: Call) -> Reply:
    """Answer a request to REST v1: bare arrays, and a message when refused."""
    try:
        return _routed(call)
    except RefusedError as error:
        return Reply(error.status, {"message": error.detail})


def _routed(call: Call) -> Reply:
    match (call.method, call.steps):
        case ("GET", ("networkvolumes",)):
            return Reply(200, [_view(volume) for volume in call.world.seen_volumes(call.account)])
        case ("POST", ("networkvolumes",)):
            body = call.body if isinstance(call.body, dict) else {}
            made = call.world.make_volume(
                call.account, str(body.get("name", "")), int(body.get("size", 0)), str(body.get("dataCenterId", ""))
            )
            return Reply(200, _view(made))
        case _:
            raise RefusedError(404, "not found")


def _view(volume: Volume) -> dict[str, Json]:
    return {"id": volume.id, "name": volume.name, "size": volume.size, "dataCenterId": volume.data_centre}


def data_plane(world: World, account: Account, ident: str, verb: str) -> Reply:
    """Answer what is asked of an endpoint itself: its health, and jobs, which keep it from counting as idle."""
    endpoint = account.endpoints.get(ident)
    if endpoint is None or (verb == "health" and not world.is_healthy_yet(ident)):
        return Reply(404, {"error": "endpoint not found"})
    if verb == "health":
        jobs = dict.fromkeys(("completed", "failed", "inProgress", "inQueue", "retried"), 0)
        names = ("idle", "initializing", "ready", "running", "throttled", "unhealthy")
        workers = {**dict.fromkeys(names, 0), "ready": endpoint.fields["workersMin"]}
        return Reply(200, {"jobs": jobs, "workers": workers})
    if verb in ("run", "runsync"):
        endpoint.last_request_at = world.now()
        return Reply(200, {"id": world.new_id(16), "status": "IN_QUEUE"})
    return Reply(404, {"error": "not found"})
