"""From one page of a list to the next; a list that goes in circles is a broken one, not an endless one."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec

from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.providers.http import raw_slices, status_mapping
from holdfast.providers.http.client import Answer, Client, Lost
from holdfast.providers.http.description import ByCursor, ByLink, ByPage, ListDescription
from holdfast.providers.protocol import ReadFailed

_MAX_PAGES: Final = 100_000
_LINK = re.compile(r"<([^>]*)>([^<]*)")
_REL_NEXT = re.compile(r'rel\s*=\s*"?(?:[^"]*\s)?next\b', re.IGNORECASE)

Page = Sequence[msgspec.Raw]


async def pages(client: Client, listing: ListDescription, path: str, query: dict[str, str]) -> AsyncIterator[Page]:
    """Yield the pages of a list; raise ReadFailed at the first that cannot be had whole."""
    walk = _Walk(client, listing)
    url: str | None = walk.first(client.base + path, query)
    while url is not None:
        answer = await client.send(listing.call.method, url, listing.call.label)
        if isinstance(answer, Lost) or not status_mapping.is_whole(answer.status):
            raise ReadFailed(status_mapping.unreadable(answer, listing.call.label))
        page, following = walk.cut(answer)
        yield page
        url = walk.after(answer, page, following)


@dataclass(slots=True)
class _Walk:
    """The progress of reading a list page by page."""

    client: Client
    listing: ListDescription
    seen: set[str] = field(default_factory=set)
    number: int = 0
    last: bytes | None = None

    def first(self, url: str, query: dict[str, str]) -> str:
        paging = self.listing.paging
        if isinstance(paging, ByPage):
            self.number = paging.start
            query = {**query, paging.param: str(paging.start)}
            if paging.size_param and paging.size:
                query[paging.size_param] = str(paging.size)
        return _with_query(url, query) if query else url

    def cut(self, answer: Answer) -> tuple[Page, Any]:
        """Cut a page; one that is not of the described shape is no page."""
        try:
            page, following = raw_slices.pages(self.listing)(answer.body)
        except raw_slices.BROKEN:
            raise self._broken("is not a list of the described shape") from None
        return page, following

    def after(self, answer: Answer, page: Page, following: Any) -> str | None:  # noqa: ANN401 - a link or a token
        """Return where the next page is, or None after the last."""
        url = self._next(answer, page, following)
        if url is not None:
            if url in self.seen or len(self.seen) > _MAX_PAGES:
                raise self._broken("goes in circles")
            self.seen.add(url)
        return url

    def _next(self, answer: Answer, page: Page, following: Any) -> str | None:  # noqa: ANN401
        match self.listing.paging:
            case ByLink(pointer=None):
                return self._within(answer, _next_link(answer.headers.get("Link", "")))
            case ByLink():
                return self._within(answer, following)
            case ByCursor(param=param):
                return None if following in (None, "") else _with_query(answer.url, {param: str(following)})
            case ByPage(param=param, size=size):
                if not page or (size is not None and len(page) < size):
                    return None
                first = bytes(page[0])
                if first == self.last:
                    raise self._broken("has the same page again under the next number")
                self.last = first
                self.number += 1
                return _with_query(answer.url, {param: str(self.number)})
            case None:
                return None

    def _within(self, answer: Answer, link: Any) -> str | None:  # noqa: ANN401
        if link is None or link == "":
            return None
        url = self.client.within(answer.url, str(link))
        if url is None:
            raise self._broken("goes on at another host, which is not followed")
        return url

    def _broken(self, how: str) -> ReadFailed:
        return ReadFailed(ReadFailure(ReadError.MALFORMED, f"the answer to {self.listing.call.label} {how}"))


def _next_link(header: str) -> str | None:
    return next((match[1] for match in _LINK.finditer(header) if _REL_NEXT.search(match[2])), None)


def _with_query(url: str, query: dict[str, str]) -> str:
    """Return a URL with some of its parameters set, the others as they are."""
    parts = urlsplit(url)
    kept = [(key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True) if key not in query]
    return urlunsplit(parts._replace(query=urlencode([*kept, *query.items()])))
