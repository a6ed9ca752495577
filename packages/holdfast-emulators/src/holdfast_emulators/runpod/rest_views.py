"""The answers of REST v2: the same objects under other names, with fewer fields.

No version, no templateId, no standby workers: only GraphQL and the releases show those.
"""

from __future__ import annotations

from holdfast.model.json import Json
from holdfast_emulators.runpod import respelling
from holdfast_emulators.runpod.catalog import Catalogue
from holdfast_emulators.runpod.objects import Endpoint, Release, Template, Volume
from holdfast_emulators.runpod.service import World

Document = dict[str, Json]
TYPES = {"QB": "QUEUE", "LB": "LOAD_BALANCER"}
_JOBS = {
    "run": "run",
    "runSync": "runsync",
    "status": "status",
    "stream": "stream",
    "cancel": "cancel",
    "retry": "retry",
    "purgeQueue": "purge-queue",
    "health": "health",
}


def endpoint(world: World, found: Endpoint, template: Template) -> Document:
    """Return an endpoint; `idleTimeout` is not shown where it has no meaning.

    A test moves the platform's clock and not its own, so the time of creation is shown as callers count time.
    """
    fields = found.fields
    workers = {"min": fields["workersMin"], "max": fields["workersMax"], "idleTimeout": fields["idleTimeout"]}
    if has_no_idle_timeout(fields["type"], fields["scalerType"]):
        del workers["idleTimeout"]
    return {
        "id": found.id,
        "name": fields["name"],
        "type": TYPES[fields["type"]],
        "requestUrls": _urls(found),
        **_container(template),
        **_compute(found),
        "workers": workers,
        "scaling": _scaling(found),
        "dataCenterIds": respelling.tokens(fields["locations"]),
        "networkVolumes": list(fields["networkVolumeIds"]),
        "timeout": fields["executionTimeoutMs"],
        "flashboot": fields["flashBootType"],
        "createdAt": respelling.moment(found.created_at - world.ahead_seconds),
    }


def has_no_idle_timeout(kind: str, scaler: str) -> bool:
    """Return True if an endpoint's workers are not stopped for idling: queues that scale by requests."""
    return kind == "QB" and scaler == "REQUEST_COUNT"


def _container(template: Template) -> Document:
    fields = template.fields
    return {
        "image": fields["imageName"],
        "args": fields["dockerArgs"],
        "disk": fields["containerDiskInGb"],
        "ports": list(fields["ports"]),
        "env": dict(fields["env"]),
        "registry": fields["containerRegistryAuthId"],
    }


def _compute(found: Endpoint) -> Document:
    fields = found.fields
    if found.is_cpu:
        parts = [respelling.instance_parts(name) for name in fields["instanceIds"]]
        return {"cpu": [{"id": name, "vcpuCount": vcpus, "memory": memory} for name, vcpus, memory in parts]}
    pools, cards = respelling.pools_and_cards(fields["gpuIds"])
    return {
        "gpu": {
            "pools": pools,
            "excludedTypes": cards,
            "count": fields["gpuCount"],
            "allowedCudaVersions": respelling.tokens(fields["allowedCudaVersions"]),
            "minCudaVersion": fields["minCudaVersion"],
        }
    }


def _scaling(found: Endpoint) -> Document:
    kind = found.fields["scalerType"]
    word = "queueDelay" if kind == "QUEUE_DELAY" else "requestCount"
    return {"type": kind, word: found.fields["scalerValue"]}


def _urls(found: Endpoint) -> Document:
    if found.fields["type"] == "LB":
        base = f"https://{found.id}.api.runpod.ai"
        return {"base": base, "health": f"{base}/ping"}
    return {name: f"https://api.runpod.ai/v2/{found.id}/{verb}" for name, verb in _JOBS.items()}


def releases(world: World, found: Endpoint) -> Document:
    """Return the releases, newest first, and how far the newest has come."""
    fresh = _fresh_workers(world, found)
    total = found.fields["workersMin"]
    return {
        "endpointVersion": found.version,
        "rollout": {
            "inProgress": fresh < total,
            "workersOnLatest": fresh,
            "workersTotal": total,
            "percentOnLatest": 100 if total == 0 else round(100 * fresh / total),
        },
        "releases": [_release(release, found) for release in found.releases],
    }


def _release(release: Release, found: Endpoint) -> Document:
    return {
        "id": release.id,
        "version": release.version,
        "source": release.source,
        "buildId": release.build,
        "createdByUserId": release.by,
        "workerCount": found.fields["workersMin"] if release.version == found.version else 0,
        "createdAt": respelling.moment(release.at),
        "diff": release.diff,
    }


def workers(world: World, found: Endpoint) -> Document:
    """Return the workers that always run; those of an older version are stale until their turn comes."""
    fresh = _fresh_workers(world, found)
    listed = [
        {
            "id": f"{found.id[:8]}{number:06d}",
            "status": "RUNNING",
            "version": found.version if number < fresh else found.version - 1,
            "isStale": number >= fresh,
        }
        for number in range(found.fields["workersMin"])
    ]
    return {"workers": listed}


def _fresh_workers(world: World, found: Endpoint) -> int:
    """Count the workers a release has reached; they are replaced one after the other."""
    total = int(found.fields["workersMin"])
    passed = world.now() - found.releases[0].at
    if found.version == 1 or passed >= world.habits.roll_seconds:
        return total
    return int(total * passed / world.habits.roll_seconds)


def template(found: Template) -> Document:
    """Return a template."""
    fields = found.fields
    return {
        "id": found.id,
        "name": fields["name"],
        **_container(found),
        "mounts": dict(fields["mounts"]),
        "serverless": fields["isServerless"],
        "public": fields["isPublic"],
        "category": fields["category"],
        "startSsh": fields["startSsh"],
        "startJupyter": fields["startJupyter"],
        "allowedCudaVersions": list(fields["allowedCudaVersions"]),
    }


def volume(found: Volume) -> Document:
    """Return a network volume."""
    return {
        "id": found.id,
        "name": found.name,
        "size": found.size,
        "dataCenter": found.data_centre,
        "type": found.type,
    }


def catalogue(offer: Catalogue, what: str) -> Document | None:
    """Return a part of the catalogue."""
    match what:
        case "gpus":
            pooled = [(card, pool) for pool, cards in offer.pools.items() for card in cards]
            return {"gpus": [{"id": card, "pool": pool} for card, pool in pooled]}
        case "cpus":
            return {"cpus": [{"id": name, "memoryPerVcpu": memory} for name, memory in offer.flavours.items()]}
        case "datacenters":
            return {"dataCenters": [{"id": name} for name in offer.data_centres]}
        case _:
            return None
