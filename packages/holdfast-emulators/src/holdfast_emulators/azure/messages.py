"""Requests and answers as the emulator handles them: no sockets, no event loop, the same through every door."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

import orjson

from holdfast.model.json import Json
from holdfast.testing.rest_faults import Wrong


class Headers(MutableMapping[str, str]):
    """Headers by name, whatever its case; names are shown as they were first written."""

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        self._held: dict[str, tuple[str, str]] = {}
        self.update(given or {})

    def __getitem__(self, name: str) -> str:
        return self._held[name.casefold()][1]

    def __setitem__(self, name: str, value: str) -> None:
        self._held[name.casefold()] = (name, value)

    def __delitem__(self, name: str) -> None:
        del self._held[name.casefold()]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._held.values())

    def __len__(self) -> int:
        return len(self._held)


@dataclass(frozen=True, slots=True)
class Request:
    """One request."""

    method: str
    url: str  # with scheme and host: what links in the answer begin with
    headers: Headers = field(default_factory=Headers)
    body: bytes = b""
    path: str = ""
    query: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Request:
        """Take a URL apart; query parameters are found in lower case, as ARM finds them."""
        parts = urlsplit(url)
        query = {name.casefold(): value for name, value in parse_qsl(parts.query, keep_blank_values=True)}
        return cls(method.upper(), url, Headers(headers), body, parts.path, query)

    @property
    def base(self) -> str:
        """The scheme and host."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def api_version(self) -> str:
        """The api-version, or nothing."""
        return self.query.get("api-version", "")


@dataclass(slots=True)
class Response:
    """One answer. `broken` says how a door is to spoil it, `delay_seconds` how long it is to wait before."""

    status: int
    headers: Headers = field(default_factory=Headers)
    body: bytes = b""
    broken: Wrong | None = None
    delay_seconds: float = 0.0
    code: str = ""  # of the error, for the journal
    changed: bool | None = None  # whether a write changed what it wrote, for the journal

    @classmethod
    def of(cls, status: int, document: Json = None, headers: Mapping[str, str] | None = None) -> Response:
        """Answer with a document, or with nothing."""
        if document is None:
            return cls(status, Headers(headers))
        return cls.raw(status, orjson.dumps(document), headers)

    @classmethod
    def raw(cls, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> Response:
        """Answer with JSON that is written already."""
        sent = Headers({"Content-Type": "application/json; charset=utf-8"})
        sent.update(headers or {})
        return cls(status, sent, body)

    def json(self) -> Json:
        """Return the document."""
        return orjson.loads(self.body) if self.body else None
