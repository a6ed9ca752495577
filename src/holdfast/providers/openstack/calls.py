"""Exchanges with the services, each way they can end told apart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import orjson

from holdfast.provider import Json, NotFound, ReadError, ReadFailed, ReadFailure, WriteFailure
from holdfast.providers.http.client import Answer, Lost
from holdfast.providers.http.status_mapping import is_success
from holdfast.providers.openstack import status_mapping
from holdfast.providers.openstack.cloud import Cloud, Params

_PAGES: Final = 10_000


@dataclass(frozen=True, slots=True)
class ServiceDialect:
    """A service, in the dialect a kind speaks with it."""

    service: str
    microversion: str | None = None


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls that reader and writer make to a cloud."""

    cloud: Cloud

    async def get(
        self, place: ServiceDialect, path: str, ident: str, params: Params = ()
    ) -> Mapping[str, Json] | NotFound | ReadFailure:
        """Read one thing; that it is not there counts only if the service itself says so."""
        label = _label("GET", path, ident)
        answer = await self.cloud.send(
            place.service, "GET", path, label, params=params, microversion=place.microversion
        )
        if isinstance(answer, Lost):
            return ReadFailure(answer.trouble, answer.detail)
        if not is_success(answer.status):
            return status_mapping.absence(answer, label, ident) or status_mapping.unreadable(answer, label)
        found = _parsed(answer)
        return found if found is not None else ReadFailure(ReadError.MALFORMED, f"the answer to {label} is not JSON")

    async def pages(
        self, place: ServiceDialect, path: str, many: str, params: Params = ()
    ) -> AsyncIterator[Mapping[str, Json]]:
        """Yield a list page by page; raise ReadFailed if any page fails."""
        label = f"GET {path}"
        for _ in range(_PAGES):
            answer = await self.cloud.send(
                place.service, "GET", path, label, params=params, microversion=place.microversion
            )
            if isinstance(answer, Lost):
                raise ReadFailed(ReadFailure(answer.trouble, answer.detail))
            if not is_success(answer.status):
                raise ReadFailed(status_mapping.unreadable(answer, label))
            found = _parsed(answer)
            items = found.get(many) if found is not None else None
            if found is None or not isinstance(items, list):
                raise ReadFailed(ReadFailure(ReadError.MALFORMED, f"the answer to {label} is not a list of {many}"))
            for item in items:
                yield item
            following = _next(found, many)
            if following is None:
                return
            given = dict(params)
            wider = [(key, value) for key, value in following if given.get(key) != value]
            params = (*(pair for pair in params if pair[0] not in dict(following)), *following)
            if not wider:
                raise ReadFailed(ReadFailure(ReadError.MALFORMED, f"{label}: the next page is the same page"))
        raise ReadFailed(ReadFailure(ReadError.OTHER, f"{label} has no end"))

    async def everything(
        self, place: ServiceDialect, path: str, many: str, params: Params = ()
    ) -> list[Mapping[str, Json]]:
        """Return a whole list; raise ReadFailed if any of it fails."""
        return [item async for item in self.pages(place, path, many, params)]

    async def send(  # noqa: PLR0913, PLR0917 - a request is made of these
        self,
        place: ServiceDialect,
        method: str,
        path: str,
        body: Json = None,
        ident: str = "",
        headers: Mapping[str, str] | None = None,
        data: bytes | Path | None = None,
    ) -> Mapping[str, Json] | WriteFailure:
        """Change something; an answer without a body is an empty one."""
        label = _label(method, path, ident)
        answer = await self.cloud.send(
            place.service, method, path, label, body=body, headers=headers, data=data, microversion=place.microversion
        )
        if isinstance(answer, Answer) and is_success(answer.status):
            return _parsed(answer) or {}
        return status_mapping.refused(answer, label, (*self.cloud.account.secrets.values(), *_secrets(body)))


def _label(method: str, path: str, ident: str) -> str:
    return f"{method} {path.replace(ident, '{id}') if ident else path}"


def _parsed(answer: Answer) -> Mapping[str, Json] | None:
    try:
        found = orjson.loads(answer.body) if answer.body.strip() else {}
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _next(found: Mapping[str, Json], many: str) -> list[tuple[str, str]] | None:
    """Return the parameters of the next page: Neutron, Nova and Cinder link to it, Glance and Keystone name it."""
    links = found.get(f"{many}_links")
    link = next((item.get("href") for item in links if item.get("rel") == "next"), None) if links else None
    if link is None:
        link = found.get("next") or (found.get("links") or {}).get("next")
    return parse_qsl(urlsplit(link).query) if isinstance(link, str) else None


def _secrets(body: Json) -> list[str]:
    """Return the passwords in a body, which an error may repeat."""
    out: list[str] = []
    pending = [body]
    while pending:
        here = pending.pop()
        if isinstance(here, dict):
            out += [value for key, value in here.items() if "pass" in key and isinstance(value, str)]
            pending.extend(here.values())
        elif isinstance(here, list):
            pending.extend(here)
    return out
