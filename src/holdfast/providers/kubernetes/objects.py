"""Objects: from the bytes of the server to the document of a read, and the identity of an object. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

import orjson

from holdfast.compare import go_json
from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.providers.kubernetes import owners
from holdfast.providers.kubernetes.group_version_kind import GroupVersionKind

OWNERS: Final = "owners"
# Fields of metadata that the server writes. They are never sent.
SERVER_METADATA: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    OWNERS,
    "resourceVersion",
    "selfLink",
    "uid",
)


def parsed(raw: bytes) -> dict[str, Json] | None:
    """Return the object in an answer; None if there is no object in it."""
    try:
        found = go_json.loads(raw)
    except InputError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("metadata"), dict) else None


def document(live: Mapping[str, Json], gvk: GroupVersionKind, autoscaler: str | None = None) -> dict[str, Json]:
    """Return a live object with the owners of its fields in place of its managedFields."""
    metadata = dict(live["metadata"])
    owned = owners.as_document(owners.entries(metadata.pop("managedFields", None)))
    if autoscaler is not None:
        owned[owners.AUTOSCALER] = {autoscaler: ["/spec/replicas"]}
    if owned:
        metadata[OWNERS] = owned
    return {**live, "apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata}


def declared(desired: Mapping[str, Json]) -> dict[str, Json]:
    """Return the part of a declaration or document that a write may send."""
    metadata = {key: value for key, value in desired.get("metadata", {}).items() if key not in SERVER_METADATA}
    return {**{key: value for key, value in desired.items() if key != "status"}, "metadata": metadata}


def ident(namespace: str | None, name: str) -> str:
    """Return the id of an object: its namespace, if it has one, and its name."""
    return f"{namespace}/{name}" if namespace else name


def split_ident(text: str) -> tuple[str | None, str]:
    """Return the namespace and the name of an id."""
    namespace, _, name = text.rpartition("/")
    return namespace or None, name


def digest(metadata: Mapping[str, Json]) -> str:
    """Return the digest of an object: it is another one when anything of the object changes."""
    return f"{metadata.get('uid', '')}@{metadata.get('resourceVersion', '')}"


def etag(metadata: Mapping[str, Json]) -> str:
    """Return the precondition of a write: the object itself, in this state."""
    return f"{digest(metadata)}@{settled_state(metadata.get('generation'), metadata.get('labels'))}"


def settled_state(generation: int | None, labels: Mapping[str, str] | None) -> str:
    """Return a text that stays while only the status moves; empty for kinds whose specifications are not counted."""
    if generation is None:
        return ""
    named = orjson.dumps(dict(labels or {}), option=orjson.OPT_SORT_KEYS)
    return f"{generation}-{hashlib.sha256(named).hexdigest()[:12]}"


def split_etag(text: str) -> tuple[str, str, str]:
    """Return the uid, the resourceVersion and the settled state of an etag."""
    uid, version, state = text.split("@")
    return uid, version, state
