"""Steering the server from another process: the journal, faults, edits at the console, and time."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from aiohttp import web

from holdfast_emulators.runpod.faults import Fault, Wrong
from holdfast_emulators.runpod.objects import RefusedError

if TYPE_CHECKING:
    from holdfast_emulators.runpod.server import RunPodServer


async def answer(server: RunPodServer, request: web.Request) -> web.Response:
    """Do what is asked under /_control/: journal, counts, faults, edit, delete, advance."""
    what = request.path.removeprefix("/_control/")
    body = await request.json() if request.can_read_body else {}
    try:
        return web.json_response(_done(server, what, body))
    except KeyError as error:
        return web.json_response({"message": f"{error.args[0]!r} is missing or unknown"}, status=404)
    except RefusedError as error:
        return web.json_response({"message": error.detail}, status=error.status)


def _done(server: RunPodServer, what: str, body: dict[str, object] | list[dict[str, object]]) -> object:
    if isinstance(body, list):
        if what != "faults":
            raise KeyError(what)
        server.faults[:] = [Fault(**{**item, "wrong": Wrong(str(item["wrong"]))}) for item in body]  # type: ignore[arg-type]
        return len(server.faults)
    match what:
        case "journal":
            return [{**asdict(entry), "body": None} for entry in server.journal]
        case "counts":
            return server.counts()
        case "edit":
            console = server.console(str(body.get("by", "user_console")))
            console.edit(str(body["endpoint"]), body.get("template"), **dict(body.get("fields", {})))  # type: ignore[arg-type, call-overload]
            return True
        case "delete":
            server.console(str(body.get("by", "user_console"))).delete(str(body["endpoint"]))
            return True
        case "advance":
            return server.advance(float(str(body.get("seconds", 0))), days=float(str(body.get("days", 0))))
        case "endpoints":
            return {ident: endpoint.fields["name"] for ident, endpoint in server.account.endpoints.items()}
        case _:
            raise KeyError(what)
