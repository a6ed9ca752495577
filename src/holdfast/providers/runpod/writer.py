"""The writing half: v2 first, GraphQL for what v2 cannot say, and always on what is there now.

Neither API takes idempotency keys. A create looks by name first, and again when its answer was lost; through GraphQL
it also gives the template a name made of the key, which the service lets exist only once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

from holdfast.model.json import Json
from holdfast.model.read_result import NotFound, ReadFailure
from holdfast.model.write_result import Done, WriteError, WriteFailure, WriteResult
from holdfast.providers.protocol import Change, ReadFailed, Target
from holdfast.providers.runpod import documents, graphql, kinds, patch, request_body
from holdfast.providers.runpod.calls import Calls, quoted
from holdfast.providers.runpod.documents import Document
from holdfast.providers.runpod.listing import Lists, Shared
from holdfast.providers.runpod.reader import RunPodReader

_LOOKS: Final = 3  # for what a lost create may have made
_IN_USE: Final = "in use"


class RunPodWriter:
    """Changes the things of one account."""

    def __init__(self, calls: Calls, shared: Shared | None = None) -> None:
        self._calls = calls
        self._shared = shared or Shared()
        self._reader = RunPodReader(calls, self._shared)
        self._lists = Lists(calls, self._shared)

    # -- making

    async def create(self, target: Target, key: str) -> WriteResult:
        """Make the thing; one of that name that is there already is made what was declared instead."""
        place = kinds.collection(target.kind)
        if place is None:
            return WriteFailure(WriteError.TERMINAL, f"RunPod has no kind {target.kind!r}")
        there = await self._there(target)
        if there is not None:
            return there if isinstance(there, WriteFailure) else await self._made_so(target, there)
        made = await self._make(target, place[0], key)
        if isinstance(made, WriteFailure) and made.refusal is not WriteError.THROTTLED:
            return await self._perhaps_made(target, made)
        return made

    async def _there(self, target: Target) -> str | WriteFailure | None:
        """Return the id of the one thing of that name, if there is one."""
        try:
            found = await self._reader.named(target)
        except ReadFailed as error:
            detail = error.reading.detail if isinstance(error.reading, ReadFailure) else "it is not there"
            return WriteFailure(WriteError.RETRYABLE, f"whether it exists could not be looked up: {detail}")
        if len(found) > 1:
            return WriteFailure(
                WriteError.TERMINAL, f"{len(found)} things are called {kinds.live_name(target)!r} already"
            )
        return found[0].id if found else None

    async def _perhaps_made(self, target: Target, refused: WriteFailure) -> WriteResult:
        """Look for what a create may have made although its answer says no, or never came."""
        if refused.refusal is WriteError.DENIED:
            return refused
        if refused.refusal is WriteError.TERMINAL and "must be unique" not in refused.message:
            return refused
        for _ in range(_LOOKS):
            there = await self._there(target)
            if isinstance(there, str):
                return Done(there)
        return WriteFailure(WriteError.RETRYABLE, refused.message, refused.retry_after_seconds)

    async def _make(self, target: Target, path: str, key: str) -> WriteResult:
        self._shared.writes += 1
        label = f"POST /v2/{path}"
        if target.kind not in kinds.ENDPOINTS:
            document = {**target.desired, "name": kinds.live_name(target)}
            write = request_body.volume if target.kind == kinds.VOLUME else request_body.template
            answer = await self._calls.send("POST", f"/{path}", label, write(document, list(document)))
            return answer if isinstance(answer, WriteFailure) else _done(answer, label)
        document = kinds.whole(target)
        if not request_body.is_expressible(document):
            return await self._make_by_graphql(document, key)
        answer = await self._calls.send("POST", f"/{path}", label, request_body.new_endpoint(document))
        return answer if isinstance(answer, WriteFailure) else _done(answer, label)

    async def _make_by_graphql(self, document: Document, key: str) -> WriteResult:
        given = graphql.new_endpoint(document, f"{document['name']}__{key}")
        saved = await self._calls.mutate(graphql.SAVE, {"input": given}, "saveEndpoint")
        if isinstance(saved, WriteFailure):
            return saved
        ident = (saved.get("saveEndpoint") or {}).get("id")
        return (
            Done(ident) if ident else WriteFailure(WriteError.RETRYABLE, "saveEndpoint: the answer does not say the id")
        )

    async def _made_so(self, target: Target, ident: str) -> WriteResult:
        """Make something that is there already what was declared."""
        known = Target(target.kind, target.name, ident, target.desired, target.namespace)
        live = await self._live(known)
        if isinstance(live, WriteFailure):
            return live
        desired = kinds.whole(target) if target.kind in kinds.ENDPOINTS else dict(target.desired)
        names = [name for name in patch.declared(desired, live[0]) if name != "name"]
        if not names:
            return Done(ident)
        change = Change(desired, live[0], tuple(f"/{name}" for name in names))
        return await self._changed(known, change, live)

    # -- changing

    async def update(self, target: Target, change: Change, key: str) -> WriteResult:  # noqa: ARG002 - it is repeatable
        """Change the decided paths and nothing else, on what is there now."""
        if target.id is None or kinds.collection(target.kind) is None:
            return WriteFailure(WriteError.MOVED, "there is nothing to update")
        live = await self._live(target)
        return live if isinstance(live, WriteFailure) else await self._changed(target, change, live)

    async def _live(self, target: Target) -> tuple[Document, Mapping[str, Json]] | WriteFailure:
        """Read what is there: as a document, and as the service has it, in clear."""
        path, _ = kinds.collection(target.kind) or ("", "")
        raw = await self._calls.get(f"/{path}/{quoted(target.id or '')}", f"GET /v2/{path}/{{id}}")
        if isinstance(raw, NotFound):
            return WriteFailure(WriteError.MOVED, "it is not there any more")
        if isinstance(raw, ReadFailure):
            return WriteFailure(WriteError.RETRYABLE, f"what is there could not be read before the write: {raw.detail}")
        try:
            item = orjson.loads(raw)
            more = await self._more(target)
        except orjson.JSONDecodeError:
            return WriteFailure(
                WriteError.RETRYABLE, "what is there could not be read before the write: it is not JSON"
            )
        except ReadFailed as error:
            return WriteFailure(WriteError.RETRYABLE, f"what is there could not be read before the write: {error}")
        if target.kind == kinds.VOLUME:
            return documents.volume(item), item
        if target.kind == kinds.TEMPLATE:
            return documents.template(item), item
        return documents.endpoint(item, more), item

    async def _more(self, target: Target) -> Json:
        if target.kind not in kinds.ENDPOINTS or not self._calls.account.extended:
            return None
        return await self._lists.of_graphql(target.id or "")

    async def _changed(self, target: Target, change: Change, live: tuple[Document, Mapping[str, Json]]) -> WriteResult:
        self._shared.writes += 1
        document, item = live
        after, names = patch.wanted(change, document, item.get("env") or {})
        if not names:
            return Done(target.id or "")
        path, _ = kinds.collection(target.kind) or ("", "")
        if target.kind not in kinds.ENDPOINTS:
            write = request_body.volume if target.kind == kinds.VOLUME else request_body.template
            return await self._patched(target, path, write(after, names))
        return await self._changed_endpoint(target, after, names, item)

    async def _patched(self, target: Target, path: str, body: Document) -> WriteResult:
        label = f"PATCH /v2/{path}/{{id}}"
        answer = await self._calls.send("PATCH", f"/{path}/{quoted(target.id or '')}", label, body)
        return answer if isinstance(answer, WriteFailure) else Done(target.id or "")

    async def _changed_endpoint(
        self, target: Target, after: Document, names: list[str], item: Mapping[str, Json]
    ) -> WriteResult:
        """Send v2 what it can say, and GraphQL the rest."""
        ours = [name for name in names if name in documents.GRAPHQL_ONLY]
        if not request_body.is_expressible({"instanceIds": after.get("instanceIds")}) and "instanceIds" in names:
            ours.append("instanceIds")
        rest = [name for name in names if name not in ours]
        if rest:
            written = await self._patched(
                target, "serverless", _with_exclusions(request_body.endpoint_parts(after, rest), item)
            )
            if isinstance(written, WriteFailure) and _is_cpu_trouble(written, after):
                ours, written = names, Done(target.id or "")
            if isinstance(written, WriteFailure):
                return written
        return await self._saved(target, after, ours) if ours else Done(target.id or "")

    async def _saved(self, target: Target, after: Document, names: list[str]) -> WriteResult:
        """Save through GraphQL: read all, change some, send all."""
        mine = await self._calls.myself(graphql.ENDPOINT, {"id": target.id}, "an endpoint (GraphQL)")
        if isinstance(mine, ReadFailure):
            return WriteFailure(WriteError.RETRYABLE, mine.detail)
        live = mine.get("endpoint")
        if not isinstance(live, dict):
            return WriteFailure(WriteError.MOVED, "an endpoint (GraphQL): it is not there any more")
        given = {**graphql.as_input(live), **graphql.endpoint_input(after, names)}
        saved = await self._calls.mutate(graphql.SAVE, {"input": given}, "saveEndpoint")
        if isinstance(saved, WriteFailure):
            return saved
        if {"imageName", "env", "template"}.isdisjoint(names):
            return Done(target.id or "")
        container = dict(after.get("template") or {}) if "template" in names else {}
        container |= {name: after.get(name) for name in ("imageName", "env") if name in names}
        return await self._saved_template(target, str(live.get("templateId") or ""), container)

    async def _saved_template(self, target: Target, ident: str, container: Document) -> WriteResult:
        """Save an endpoint's template through GraphQL, which rolls the endpoint: read all, change some, send all."""
        found = await self._calls.graphql(graphql.TEMPLATE, {"id": ident}, "a template (GraphQL)")
        live = found.get("podTemplate") if isinstance(found, Mapping) else None
        if not isinstance(live, dict):
            return WriteFailure(WriteError.RETRYABLE, "a template (GraphQL) could not be read before the write")
        given = {**live, **graphql.template_input(container)}
        saved = await self._calls.mutate(graphql.SAVE_TEMPLATE, {"input": given}, "saveTemplate")
        return saved if isinstance(saved, WriteFailure) else Done(target.id or "")

    # -- removing

    async def delete(self, target: Target, key: str, etag: str | None = None) -> WriteResult:  # noqa: ARG002
        """Delete the resource. One that no longer exists counts as deleted; one in use is tried again later."""
        place = kinds.collection(target.kind)
        if target.id is None or place is None:
            return Done(target.id or "")
        self._shared.writes += 1
        answer = await self._calls.send("DELETE", f"/{place[0]}/{quoted(target.id)}", f"DELETE /v2/{place[0]}/{{id}}")
        if not isinstance(answer, WriteFailure) or answer.refusal is WriteError.MOVED:
            return Done(target.id)
        if answer.refusal is WriteError.TERMINAL and _IN_USE in answer.message:
            return WriteFailure(WriteError.RETRYABLE, answer.message)
        return answer

    async def poll(self, target: Target, token: Mapping[str, Json]) -> WriteResult:
        """Nothing here takes its time."""
        return Done(str(token.get("id") or target.id or ""))


def _done(answer: bytes, label: str) -> WriteResult:
    try:
        ident = orjson.loads(answer).get("id")
    except (orjson.JSONDecodeError, AttributeError):
        ident = None
    if not isinstance(ident, str):
        return WriteFailure(WriteError.RETRYABLE, f"{label} was answered without the id of what it made")
    return Done(ident)


def _with_exclusions(body: Document, item: Mapping[str, Json]) -> Document:
    """Repeat the excluded cards, because an update without them was seen to include them again."""
    gpu = item.get("gpu")
    if not isinstance(gpu, Mapping) or not gpu.get("excludedTypes") or "pools" in body.get("gpu", {}):
        return body
    kept = {"pools": list(gpu["pools"]), "excludedTypes": list(gpu["excludedTypes"])}
    return {**body, "gpu": {**body.get("gpu", {}), **kept}}


def _is_cpu_trouble(refused: WriteFailure, after: Document) -> bool:
    """Recognise v2 taking an endpoint on CPUs for one on GPUs; GraphQL does not."""
    return (
        refused.refusal is WriteError.TERMINAL and bool(after.get("instanceIds")) and "gpu" in refused.message.lower()
    )
