"""Health of workloads: the pods that the selector of a workload names, counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import orjson

from holdfast.model import health
from holdfast.model.health import Container, HealthSignal, Pod, Workload
from holdfast.model.json import Json
from holdfast.providers.http.client import Answer
from holdfast.providers.kubernetes import objects, owners
from holdfast.providers.kubernetes.client import Client
from holdfast.providers.kubernetes.locations import ObjectLocation

_WORKLOADS: Final = frozenset(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job"))
_UNKNOWN: Final = (HealthSignal("pods", None),)


async def observe(client: Client, place: ObjectLocation, since: float) -> Sequence[HealthSignal] | Workload:
    """Return the pods of a workload or a pod; `has_pods` is False for kinds without pods."""
    kind = place.served.gvk.kind
    if kind not in _WORKLOADS and kind != "Pod":
        return Workload(has_pods=False)
    answer = await client.get(place.path, place.label("get"))
    if isinstance(answer, Answer) and answer.status == 404:
        return Workload(exists=False)
    live = objects.parsed(answer.body) if isinstance(answer, Answer) and answer.status == 200 else None
    if live is None:
        return _UNKNOWN
    if kind == "Pod":
        return health.tally([pod_of(live)], since)
    selector = selector_text(live.get("spec", {}).get("selector"))
    if not selector:
        return _UNKNOWN
    label = f"list pods in namespace {place.namespace}"
    pods = await client.get(f"/api/v1/namespaces/{place.namespace}/pods", label, labelSelector=selector)
    if not isinstance(pods, Answer) or pods.status != 200:
        return _UNKNOWN
    counted = health.tally([pod_of(item) for item in orjson.loads(pods.body).get("items") or ()], since)
    wants_none = live.get("spec", {}).get("replicas") == 0
    return replace(counted, exists=True, is_scaled_to_zero=wants_none)


def selector_text(selector: Json) -> str:
    """Return a selector as a query writes it; empty if it selects by nothing that can be written."""
    if not isinstance(selector, Mapping):
        return ""
    labels = selector.get("matchLabels", {} if "matchExpressions" in selector else selector)
    terms = [f"{key}={value}" for key, value in labels.items()]
    for term in selector.get("matchExpressions") or ():
        key, values = term["key"], ",".join(term.get("values") or ())
        match term["operator"]:
            case "In":
                terms.append(f"{key} in ({values})")
            case "NotIn":
                terms.append(f"{key} notin ({values})")
            case "Exists":
                terms.append(key)
            case "DoesNotExist":
                terms.append(f"!{key}")
            case _:
                return ""
    return ",".join(terms)


def pod_of(live: Mapping[str, Json]) -> Pod:
    """Return a pod as the API server reports it."""
    metadata, status = live["metadata"], live.get("status", {})
    return Pod(
        tuple(_container(item) for item in status.get("containerStatuses") or ()),
        owners.moment(metadata.get("creationTimestamp")) or 0.0,
        metadata.get("deletionTimestamp") is not None,
        str(status.get("phase", "Pending")),
        str(metadata.get("name", "")),
    )


def _container(status: Mapping[str, Json]) -> Container:
    waiting = (status.get("state") or {}).get("waiting") or {}
    ended = [(status.get(name) or {}).get("terminated") or {} for name in ("state", "lastState")]
    return Container(
        bool(status.get("ready")),
        int(status.get("restartCount") or 0),
        waiting.get("reason") == "CrashLoopBackOff",
        any(item.get("reason") == "OOMKilled" for item in ended),
    )
