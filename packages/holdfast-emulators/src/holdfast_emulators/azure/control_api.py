"""Control of the server by another process, under /_control/. A test in this process calls the emulator directly."""

from __future__ import annotations

from dataclasses import asdict

import msgspec
from aiohttp import web

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast_emulators.azure.faults import Failure, Fault, Wrong
from holdfast_emulators.azure.limits import Limits
from holdfast_emulators.azure.policies import Policy
from holdfast_emulators.azure.service import World
from holdfast_emulators.azure.type_behaviour import Habits

REMOVE = "${absent}"  # as the value of an edit: take it out


async def answer(world: World, request: web.Request) -> web.Response:
    """Do what is asked: journal, counts, stored, edit, put, delete, busy, tune, limits, faults, failures, ..."""
    what = request.path.removeprefix("/_control/")
    body = await request.json() if request.can_read_body else {}
    try:
        return web.json_response(_done(world, what, body))
    except KeyError as error:
        return web.json_response({"message": f"{error.args[0]!r} is missing or unknown"}, status=404)
    except (TypeError, ValueError, msgspec.ValidationError) as error:
        return web.json_response({"message": str(error)}, status=400)


def _done(world: World, what: str, body: Json) -> Json:
    if what in _LOOKS:
        return _LOOKS[what](world, body)
    if what in _LISTS:
        return _LISTS[what](world, body)
    console = world.console(body.get("by", "portal@example.com"), body.get("kind", "User"))
    match what:
        case "edit":
            changes = {at: ABSENT if value == REMOVE else value for at, value in body["changes"].items()}
            console.edit(body["id"], changes)
        case "put":
            console.put(body["id"], body["document"])
        case "delete":
            console.delete(body["id"])
        case "recreate":
            console.recreate(body["id"])
        case "busy":
            console.keep_busy(body["id"], float(body["seconds"]))
        case "advance":
            world.advance(float(body["seconds"]))
        case "tune":
            world.state.habits[body["type"].casefold()] = _tuned(world, body)
        case _:
            raise KeyError(what)
    return True


def _tuned(world: World, body: Json) -> Habits:
    """Lay habits as JSON over those the type has."""
    before = msgspec.to_builtins(world.habits(body["type"]))
    return msgspec.convert({**before, **body}, Habits)


def _set_limits(world: World, body: Json) -> Json:
    world.limits = Limits.hourly(**body) if body else Limits()
    return True


def _set_faults(world: World, body: Json) -> Json:
    world.faults[:] = [Fault(**{**item, "wrong": Wrong(item.get("wrong", "status"))}) for item in body]
    return len(world.faults)


def _set_failures(world: World, body: Json) -> Json:
    world.failures[:] = [Failure(**item) for item in body]
    return len(world.failures)


def _set_policies(world: World, body: Json) -> Json:
    world.policies[:] = [Policy(**item) for item in body]
    return len(world.policies)


_LOOKS = {
    "journal": lambda world, _body: [asdict(entry) for entry in world.journal],
    "counts": lambda world, _body: {" ".join(key): count for key, count in world.journal.counts().items()},
    "stored": lambda world, body: world.stored(body["id"]),
    "shown": lambda world, body: world.shown(body["id"]),
    "ids": lambda world, body: world.ids(body.get("type", "*")),
    "limits": _set_limits,
}
_LISTS = {"faults": _set_faults, "failures": _set_failures, "policies": _set_policies}
