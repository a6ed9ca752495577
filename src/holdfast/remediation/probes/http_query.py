"""One way to GET a JSON answer: a time limit, a size limit, a token that is never shown, and no exception."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Final

import aiohttp
import msgspec

import holdfast
from holdfast.model.json import Json
from holdfast.model.record import dataclass

MOST_BYTES: Final = 64 * 1024 * 1024
_AGENT: Final = f"holdfast/{holdfast.__version__}"


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server is, and who we are to it."""

    url: str = field(repr=False)  # without a slash at the end; may hold a name and password
    token: str | None = field(default=None, repr=False)  # a bearer token
    timeout: float = 10.0  # seconds

    def at(self, path: str) -> str:
        """Return the address of a path of the server."""
        return self.url.rstrip("/") + path


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An HTTP answer. A status of 0 and a reason stand for no answer."""

    status: int
    body: Json = None
    why: str = ""

    @property
    def is_ok(self) -> bool:
        """True if the server answered with what was asked for."""
        return self.status == 200


async def get(server: Server, path: str, params: Sequence[tuple[str, str]] = ()) -> HttpAnswer:
    """Ask once; there is always a next pass."""
    timeout = aiohttp.ClientTimeout(total=server.timeout)
    headers = {"Accept": "application/json", "User-Agent": _AGENT}
    if server.token is not None:
        headers["Authorization"] = f"Bearer {server.token}"
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
            session.get(server.at(path), params=list(params), headers=headers, allow_redirects=False) as response,
        ):
            data = await response.content.read(MOST_BYTES + 1)
            while len(data) <= MOST_BYTES and not response.content.at_eof():
                data += await response.content.read(MOST_BYTES + 1)
            return _answer(response.status, data)
    except TimeoutError:
        return HttpAnswer(0, why="did not answer in time")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return HttpAnswer(0, why=f"could not be reached ({type(error).__name__})")  # the message may hold the whole URL


def _answer(status: int, data: bytes) -> HttpAnswer:
    if len(data) > MOST_BYTES:
        return HttpAnswer(0, why="answered more than can be read")
    try:
        body = msgspec.json.decode(data) if data.strip() else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        body = None  # `/-/ready` answers in words
    return HttpAnswer(status, body, "" if status == 200 else f"answered {status}")
