"""Faults in the words of ARM: spoilt answers, and operations that are accepted and then fail.

Methods and paths are globs, whatever their case. `times` counts down; None goes on for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from holdfast.model.json import Json
from holdfast.testing.rest_faults import PAGE, Wrong
from holdfast_emulators.azure.errors import RefusalError
from holdfast_emulators.azure.messages import Headers, Response

__all__ = ["Failure", "Fault", "Script", "Wrong"]


@dataclass(slots=True)
class Fault:
    """A spoilt answer: an error of any code and shape, a web page, no answer at all."""

    wrong: Wrong = Wrong.STATUS
    method: str = "*"
    path: str = "*"
    status: int = 500
    code: str = "InternalServerError"
    message: str = "Made to fail."
    retry_after: int | str | None = None
    details: tuple[Mapping[str, Json], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int | None = 1
    delay_seconds: float = 0.0
    shape: str = "arm"
    body: bytes = b"{}"

    def strikes(self, method: str, path: str) -> bool:
        """Return True if a request is struck, and count it."""
        if self.times == 0 or not _fits(self.method, self.path, method, path):
            return False
        if self.times is not None:
            self.times -= 1
        return True

    def answer(self, proper: Callable[[], Response]) -> Response:
        """Answer wrongly; what the doors must do to the line is left to them."""
        response = self._spoilt(proper)
        if self.retry_after is not None:
            response.headers["Retry-After"] = str(self.retry_after)
        if self.wrong in (Wrong.TRUNCATED, Wrong.RESET_AFTER, Wrong.RESET, Wrong.HANG):
            response.broken = self.wrong
        response.delay_seconds = self.delay_seconds
        return response

    def _spoilt(self, proper: Callable[[], Response]) -> Response:
        match self.wrong:
            case Wrong.STATUS:
                more = {"details": list(self.details)} if self.details else {}
                response = RefusalError(self.status, self.code, self.message, more=more).response(self.shape)
                response.headers.update(self.headers)
                return response
            case Wrong.HTML:
                return Response(self.status, Headers({**self.headers, "Content-Type": "text/html"}), PAGE.encode())
            case Wrong.EMPTY | Wrong.REDIRECT:
                return Response(self.status, Headers(self.headers))
            case Wrong.GARBAGE:
                return Response.raw(self.status, b'{"name": tru', self.headers)
            case Wrong.BODY:
                return Response.raw(self.status, self.body, self.headers)
            case Wrong.EMPTY_LIST:
                return Response.of(200, {"value": []}, self.headers)
            case Wrong.TRUNCATED | Wrong.RESET_AFTER | Wrong.LATE:
                return proper()
            case Wrong.RESET | Wrong.HANG:
                return Response(0)


@dataclass(slots=True)
class Failure:
    """A write that is accepted, and whose operation then fails or is cancelled."""

    method: str = "PUT"
    path: str = "*"
    code: str = "InternalServerError"
    message: str = "The operation failed."
    word: str = "Failed"
    details: tuple[Mapping[str, Json], ...] = ()
    applied: bool = True  # what was sent is there all the same, in a failed state; else it is as before
    times: int | None = 1

    def strikes(self, method: str, path: str) -> bool:
        """Return True if a write is struck, and count it."""
        if self.times == 0 or not _fits(self.method, self.path, method, path):
            return False
        if self.times is not None:
            self.times -= 1
        return True

    def error(self) -> dict[str, Json]:
        """Return the error that polls show."""
        return {"code": self.code, "message": self.message, **({"details": [*self.details]} if self.details else {})}


@dataclass(slots=True)
class Script:
    """An action of another actor at a certain moment: before the nth request that matches, or after it."""

    do: Callable[[], object]
    method: str = "*"
    path: str = "*"
    nth: int = 1
    after: bool = False

    def is_due(self, method: str, path: str) -> bool:
        """Return True if this is the request it was waiting for, and count it."""
        if self.nth == 0 or not _fits(self.method, self.path, method, path):
            return False
        self.nth -= 1
        return self.nth == 0


def _fits(methods: str, paths: str, method: str, path: str) -> bool:
    return fnmatchcase(method, methods) and fnmatchcase(path.casefold(), paths.casefold())
