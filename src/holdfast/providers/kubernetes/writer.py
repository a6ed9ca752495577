"""The writer: server-side apply under our own field manager, and deletes with preconditions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import orjson

from holdfast.model.json import Json
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.write_result import Done, InProgress, WriteError, WriteFailure, WriteResult
from holdfast.providers.http.client import Answer, Lost
from holdfast.providers.kubernetes import apply_body, client, errors, objects, owners, platform
from holdfast.providers.kubernetes.client import Client
from holdfast.providers.kubernetes.cluster import Cluster
from holdfast.providers.kubernetes.locations import ObjectLocation, Unlocated, locate
from holdfast.providers.protocol import Change, Target, Writer

_CLIENT_SIDE: Final = ("kubectl-client-side-apply", "before-first-apply")  # managers whose fields move to us
_ATTEMPTS: Final = 5  # of an apply whose object moved in parts that do not count, such as its status
_POLL_SECONDS: Final = 1.0
_DEFINITIONS: Final = frozenset(("CustomResourceDefinition", "APIService"))


class KubernetesWriter(Writer):
    """A writer of the objects of one cluster."""

    def __init__(self, api: Client, cluster: Cluster) -> None:
        self._client = api
        self._cluster = cluster
        self._manager = api.settings.manager

    async def create(self, target: Target, key: str) -> WriteResult:  # noqa: ARG002 - an apply repeats itself harmlessly
        """Create an object by applying it; an object that is there already must be ours and as declared."""
        place = await self._located(target)
        if isinstance(place, WriteFailure):
            return place
        body = apply_body.for_create(target.desired)
        live = await self._live(place)
        if isinstance(live, WriteFailure):
            return live
        if live is not None:
            return await self._repeated(place, body)
        answer = await self._apply(place, body, force=False)
        return self._result(place, answer, "create", body)

    async def _repeated(self, place: ObjectLocation, body: dict[str, Json]) -> WriteResult:
        """Return Done for an object of an earlier attempt: applying it again would change nothing."""
        for attempt in range(_ATTEMPTS):
            live = await self._live(place)
            if live is None or isinstance(live, WriteFailure):
                return live or WriteFailure(WriteError.MOVED, f"{place.text} was deleted meanwhile")
            metadata = live["metadata"]
            if not any(entry.manager == self._manager for entry in owners.entries(metadata.get("managedFields"))):
                break
            answer = await self._apply(place, _conditional(body, metadata), force=False, query={"dryRun": "All"})
            after = objects.parsed(answer.body) if isinstance(answer, Answer) and answer.status == 200 else None
            if after is not None and _compared(after, body) == _compared(live, body):
                return Done(place.ident, objects.document(live, place.served.gvk), objects.etag(metadata))
            await asyncio.sleep(0.05 * 2**attempt)  # a controller may have written the status in between
        return WriteFailure(WriteError.MOVED, f"{place.text} exists already")

    async def update(self, target: Target, change: Change, key: str) -> WriteResult:  # noqa: ARG002
        """Apply the declaration with the paths that must stay as they are, in the state that was decided on."""
        place = await self._located(target)
        if isinstance(place, WriteFailure):
            return place
        failure: WriteFailure | None = None
        for attempt in range(_ATTEMPTS):
            live = await self._live(place)
            if isinstance(live, WriteFailure):
                return live
            if live is None or not _is_decided_on(live, change):
                return WriteFailure(WriteError.MOVED, f"{place.text} changed since the update was decided")
            result = await self._updated(place, change, live)
            if not isinstance(result, WriteFailure) or result.refusal is not WriteError.MOVED:
                return result
            failure = result
            await asyncio.sleep(0.05 * 2**attempt)
        assert failure is not None
        return failure

    async def _updated(self, place: ObjectLocation, change: Change, live: dict[str, Json]) -> WriteResult:
        document = objects.document(live, place.served.gvk)
        ours = owners.applied_by(document["metadata"].get(objects.OWNERS), self._manager)
        others = platform.fields_of_others(change.desired, document, self._client.settings)
        contested = apply_body.conflicts(change.paths, others)
        if contested:
            return _contested(place, contested)
        body = apply_body.for_update(change.desired, live, change.left, ours, others)
        patch = apply_body.corrections(change.exact or change.paths, body, live)
        if patch:
            answer = await self._patch(place, patch, live)
            if not isinstance(answer, Answer) or answer.status != 200:
                return self._result(place, answer, "patch", body)
            live = objects.parsed(answer.body) or live
        answer = await self._apply_to(place, body, live)
        result = self._result(place, answer, "patch", body)
        after = objects.parsed(answer.body) if isinstance(answer, Answer) and isinstance(result, Done) else None
        return result if after is None else await self._disowned(place, after, result, is_first=not ours)

    async def _apply_to(self, place: ObjectLocation, body: dict[str, Json], live: dict[str, Json]) -> Answer | Lost:
        """Apply a body to an object in a state; status and other counters of the server may move meanwhile."""
        attempt = 0
        while True:
            answer = await self._apply(place, _conditional(body, live["metadata"]), force=True)
            attempt += 1
            if not isinstance(answer, Answer) or answer.status != 409 or attempt == _ATTEMPTS:
                return answer
            again = await self._live(place)
            if not isinstance(again, dict) or _compared(again, body) != _compared(live, body):
                return answer
            live = again
            await asyncio.sleep(0.05 * 2**attempt)

    async def _disowned(
        self, place: ObjectLocation, after: dict[str, Json], result: WriteResult, *, is_first: bool
    ) -> WriteResult:
        """Give up the fields that updates of ours or, at our first write, client-side apply own beside our apply.

        A field with a second owner would stay when it leaves the declaration. A failure is no failure of the write.
        """
        managers = (self._manager, *(_CLIENT_SIDE if is_first else ()))
        managed = apply_body.without_owner(after["metadata"].get("managedFields") or [], managers, self._manager)
        if managed is None:
            return result
        patch = [{"op": "replace", "path": "/metadata/managedFields", "value": managed}]
        answer = await self._patch(place, patch, after)
        cleaned = self._result(place, answer, "patch", None)
        return cleaned if isinstance(cleaned, Done) else result

    async def _patch(
        self, place: ObjectLocation, patch: list[dict[str, Json]], live: Mapping[str, Json]
    ) -> Answer | Lost:
        """Send a JSON patch for an object in a state."""
        version = live["metadata"]["resourceVersion"]
        guard = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
        return await self._client.send(
            "PATCH",
            place.path,
            place.label("patch"),
            query={"fieldManager": self._manager},
            body=orjson.dumps([guard, *patch]),
            content_type=client.JSON_PATCH,
        )

    async def _apply(
        self, place: ObjectLocation, body: dict[str, Json], *, force: bool, query: Mapping[str, str] | None = None
    ) -> Answer | Lost:
        asked = {"fieldManager": self._manager, "force": str(force).lower(), **(query or {})}
        gvk = place.served.gvk
        metadata = {**body["metadata"], "name": place.name}
        sent = {**body, "apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata}
        return await self._client.send(
            "PATCH",
            place.path,
            place.label("patch"),
            query=asked,
            body=orjson.dumps(sent),
            content_type=client.APPLY,
        )

    async def delete(self, target: Target, key: str, etag: str | None = None) -> WriteResult:  # noqa: ARG002
        """Delete an object in the state of the etag; dependents are deleted in the background."""
        place = await self._located(target)
        if isinstance(place, WriteFailure):
            return place
        label = place.label("delete")
        options: dict[str, Json] = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        for _ in range(_ATTEMPTS):
            if etag is not None:
                uid, version, _ = objects.split_etag(etag)
                options["preconditions"] = {"uid": uid, "resourceVersion": version}
            answer = await self._client.send("DELETE", place.path, label, body=orjson.dumps(options))
            if not isinstance(answer, Answer) or answer.status != 409 or etag is None:
                return self._deleted(place, answer)
            live = await self._live(place)
            if not isinstance(live, dict) or not _has_same_spec(live["metadata"], etag):
                break
            etag = objects.etag(live["metadata"])  # only its status moved
        return WriteFailure(WriteError.MOVED, f"{place.text} changed since its deletion was decided")

    def _deleted(self, place: ObjectLocation, answer: Answer | Lost) -> WriteResult:
        if isinstance(answer, Answer) and answer.status == 404:
            return self._absent(place, answer)
        if isinstance(answer, Answer) and 200 <= answer.status < 300:
            self._note(place)
            return InProgress(place.ident, {"deleting": True}, 0.2)
        return errors.refused(answer, place.label("delete"))

    async def poll(self, target: Target, token: Mapping[str, Json]) -> WriteResult:
        """Return Done once a deleted object is no longer there; finalizers may take their time."""
        place = await self._located(target)
        if isinstance(place, WriteFailure):
            return place
        live = await self._live(place)
        if isinstance(live, WriteFailure):
            return live
        if live is None or live["metadata"].get("deletionTimestamp") is None:
            return Done(place.ident)
        return InProgress(place.ident, token, _POLL_SECONDS)

    # -- parts of a write

    async def _located(self, target: Target) -> ObjectLocation | WriteFailure:
        place = await locate(self._client, self._cluster, target)
        if isinstance(place, ReadFailure):
            return WriteFailure(WriteError.RETRYABLE, place.detail, place.retry_after_seconds)
        if isinstance(place, Unlocated):
            return WriteFailure(WriteError.RETRYABLE if place.is_absent else WriteError.TERMINAL, place.why)
        return place

    async def _live(self, place: ObjectLocation) -> dict[str, Json] | WriteFailure | None:
        """Return the object right before a write; None if there is none."""
        label = place.label("get")
        answer = await self._client.get(place.path, label)
        if isinstance(answer, Answer) and answer.status == 200:
            live = objects.parsed(answer.body)
            return live if live is not None else WriteFailure(WriteError.RETRYABLE, errors.malformed(label).detail)
        if isinstance(answer, Answer) and answer.status == 404 and errors.status_of(answer).name == place.name:
            return None
        failure = errors.unreadable(answer, label)
        denied = failure.trouble is ReadError.UNAUTHORISED
        throttled = failure.trouble is ReadError.THROTTLED
        error = WriteError.DENIED if denied else WriteError.THROTTLED if throttled else WriteError.RETRYABLE
        return WriteFailure(error, failure.detail, failure.retry_after_seconds)

    def _absent(self, place: ObjectLocation, answer: Answer) -> WriteResult:
        if errors.status_of(answer).name == place.name:
            return Done(place.ident)
        self._cluster.invalidate()
        return errors.refused(answer, place.label("delete"))

    def _result(self, place: ObjectLocation, answer: Answer | Lost, verb: str, sent: Json) -> WriteResult:
        if not isinstance(answer, Answer) or not 200 <= answer.status < 300:
            hidden = {
                key: value for key, value in (sent or {}).items() if key not in ("apiVersion", "kind", "metadata")
            }
            return errors.refused(answer, place.label(verb), hidden)
        live = objects.parsed(answer.body)
        if live is None:
            return WriteFailure(WriteError.RETRYABLE, errors.malformed(place.label(verb)).detail, is_unsure=True)
        self._note(place)
        return Done(place.ident, objects.document(live, place.served.gvk), objects.etag(live["metadata"]))

    def _note(self, place: ObjectLocation) -> None:
        if place.served.gvk.kind in _DEFINITIONS:
            self._cluster.forget()


def _conditional(body: Mapping[str, Json], metadata: Mapping[str, Json]) -> dict[str, Json]:
    """Return a body that the server accepts only for this object in this state."""
    state = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    return {**body, "metadata": {**body["metadata"], **state}}


def _is_decided_on(live: Mapping[str, Json], change: Change) -> bool:
    """Return True if an object is in the state that a change was decided on, apart from its status."""
    if change.etag is None or objects.etag(live["metadata"]) == change.etag:
        return True
    if objects.split_etag(change.etag)[0] != live["metadata"].get("uid"):
        return False
    before = change.observed if isinstance(change.observed, dict) else {"metadata": {}}
    return bool(_compared(live, change.desired) == _compared(before, change.desired))


def _has_same_spec(metadata: Mapping[str, Json], etag: str) -> bool:
    """Return True if an object has the specification and the labels of an etag, where these are counted."""
    uid, _, state = objects.split_etag(etag)
    current = objects.split_etag(objects.etag(metadata))
    return bool(state) and (current[0], current[2]) == (uid, state)


def _compared(live: Mapping[str, Json], declared: Mapping[str, Json]) -> Json:
    """Return the parts of an object that count for a write, without undeclared annotations of controllers."""
    kept = {key: value for key, value in objects.declared(live).items() if key not in ("apiVersion", "kind")}
    wanted = declared.get("metadata", {}).get("annotations") or {}
    annotations = {key: value for key, value in (kept["metadata"].get("annotations") or {}).items() if key in wanted}
    return {**kept, "metadata": {**kept["metadata"], "annotations": annotations}}


def _contested(place: ObjectLocation, contested: Mapping[str, str]) -> WriteFailure:
    listed = ", ".join(f"{path} ({name})" for path, name in sorted(contested.items()))
    message = (
        f"{place.text} was not written: another manager applies {listed}; set fieldConflicts: take to take it over"
    )
    return WriteFailure(WriteError.TERMINAL, message)
