"""Faults in the words of the API that they affect.

A fault names a method and a path as in the journal. A GraphQL request is at `/graphql#saveEndpoint`, by the first field
it asks for. The kinds of faults are those of `holdfast.testing.rest_faults`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from aiohttp import web

from holdfast.testing.rest_faults import Fault, Wrong
from holdfast_emulators.runpod import rest
from holdfast_emulators.runpod.console import Console

__all__ = ["Fault", "Script", "Wrong", "answer"]


@dataclass(slots=True)
class Script:
    """Something a person does at the console at a certain moment: before the nth request that matches, or after it."""

    do: Callable[[Console], object]
    method: str = "*"
    path: str = "*"
    nth: int = 1
    after: bool = False

    def is_due(self, method: str, path: str) -> bool:
        """Return True if this is the request it was waiting for, and count it."""
        if self.nth == 0 or not (fnmatchcase(method, self.method) and fnmatchcase(path, self.path)):
            return False
        self.nth -= 1
        return self.nth == 0


async def answer(fault: Fault, request: web.Request, place: str, proper: web.Response | None) -> web.StreamResponse:
    """Answer wrongly, as this API would."""
    if fault.wrong is Wrong.STATUS:
        return _status(fault, place)
    if fault.wrong is Wrong.EMPTY_LIST:
        return _nothing(place)
    return await fault.answer(request, proper)


def _status(fault: Fault, place: str) -> web.Response:
    if place.startswith("/graphql"):
        body = {"errors": [{"message": "Internal server error"}], "data": None}
        return web.json_response(body, status=fault.status, headers=fault.headers)
    if place.startswith("/v2/"):
        reply = rest.problem(fault.status, "made to fail")
        return web.json_response(
            reply.body, status=reply.status, headers=fault.headers, content_type="application/problem+json"
        )
    return web.json_response({"message": "made to fail"}, status=fault.status, headers=fault.headers)


def _nothing(place: str) -> web.Response:
    """Return a successful answer without content: an empty list, or for GraphQL no account."""
    if place.startswith("/graphql"):
        return web.json_response({"data": {"myself": None}})
    names = {"serverless": "endpoints", "templates": "templates", "network-volumes": "networkVolumes"}
    return web.json_response({names.get(place.rpartition("/")[2], "items"): []})
