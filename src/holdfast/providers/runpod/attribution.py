"""Attribution of changes to an endpoint, from its releases and from the platform's habits.

A release names its author and its changes. Changes of scaling make no release. Of those only the platform's own can be
recognised, by the numbers it always uses.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.model.attribution import LikelyActor
from holdfast.model.confidence import Confidence
from holdfast.model.json import Json
from holdfast.providers.runpod import patch

PLATFORM: Final = "RunPod itself"
ACCOUNT_USER: Final = "a user with access to the account"
SCALING: Final = frozenset(
    {"workersMin", "workersMax", "workersStandby", "idleTimeout", "scalerType", "scalerValue", "executionTimeoutMs"}
)
"""Fields whose change makes no release."""
_DAY: Final = 86_400.0  # seconds
_IDLE: Final = {2: (3 * _DAY, "three days"), 0: (7 * _DAY, "seven days")}  # workersMax that the platform sets: after
_PATHS: Final = {
    "gpuIds": "/gpus",
    "locations": "/datacenter",
    "networkVolumeIds": "/networkVolumes",
    "allowedCudaVersions": "/cudaVersions",
    "flashBootType": "/flashboot",
    "template.imageName": "/imageName",
    "template.env": "/env",
    "template.ports": "/template/ports",
    "template.dockerArgs": "/template/dockerArgs",
    "template.containerDiskInGb": "/template/containerDiskInGb",
    "template.containerRegistryAuthId": "/template/containerRegistryAuthId",
}


@dataclass(frozen=True, slots=True)
class LiveChange:
    """One field that a release changed; values of an environment are not told."""

    path: str
    by: str
    at: float | None
    version: int | None
    source: str
    old: Json = None
    new: Json = None


def changes(body: Mapping[str, Json]) -> list[LiveChange]:
    """Read the releases of an endpoint, newest first; what has not the expected shape is passed over."""
    out = []
    for release in body.get("releases") or ():
        if not isinstance(release, Mapping):
            continue
        for entry in release.get("diff") or ():
            name = str(entry.get("field", ""))
            shown = name != "template.env"
            out.append(
                LiveChange(
                    _PATHS.get(name, f"/{name.removeprefix('template.')}"),
                    str(release.get("createdByUserId") or "unknown"),
                    moment(release.get("createdAt")),
                    release.get("version"),
                    str(release.get("source") or ""),
                    entry.get("old") if shown else None,
                    entry.get("new") if shown else None,
                )
            )
    return out


def likely_actors(
    found: Sequence[LiveChange], desired: Mapping[str, Json], live: Mapping[str, Json], now: float
) -> list[LikelyActor]:
    """Return the likely actors of an endpoint: the platform if it looks like it, then authors of releases.

    A release that changed nothing but what is as declared again, or what a newer one changed after it, speaks for
    little; our own are among those. Who changed the scaling, and is not the platform, cannot be named at all.
    """
    habits = platform(desired, live, now)
    out = [LikelyActor(PLATFORM, Confidence.MEDIUM, why, paths=(path,)) for path, why in habits.items()]
    told: set[str] = set()
    for release in dict.fromkeys((change.by, change.at, change.version) for change in found):
        by, at, version = release
        paths = sorted({change.path for change in found if (change.by, change.at, change.version) == release})
        moved = tuple(p for p in paths if p not in told and _may_have_moved(p.split("/")[1], desired, live))
        told.update(paths)
        why = f"release {version} changed {', '.join(paths)}"
        out.append(LikelyActor(by, Confidence.HIGH if moved else Confidence.LOW, why, at, moved or tuple(paths)))
    scaled = tuple(f"/{name}" for name in patch.declared(_only(desired, SCALING), live) if f"/{name}" not in habits)
    if scaled and live:
        why = f"RunPod keeps no record of who changes {', '.join(scaled)}"
        out.append(LikelyActor(ACCOUNT_USER, Confidence.LOW, why, paths=scaled))
    return sorted(out, key=lambda likely_actor: likely_actor.confidence is Confidence.LOW)


def _only(document: Mapping[str, Json], names: frozenset[str]) -> dict[str, Json]:
    return {name: value for name, value in document.items() if name in names}


def _may_have_moved(name: str, desired: Mapping[str, Json], live: Mapping[str, Json]) -> bool:
    """Return True if a field is other than declared, or not declared at all."""
    if name not in desired or name not in live:
        return True
    return bool(patch.declared({name: desired[name]}, live) or patch.declared({name: live[name]}, desired))


def platform(desired: Mapping[str, Json], live: Mapping[str, Json], now: float) -> dict[str, str]:
    """Recognise an idle endpoint that the platform scaled down, by path; a person may have chosen the same number.

    An endpoint younger than the time after which the platform acts was scaled by a user.
    """
    wanted, workers = desired.get("workersMax"), live.get("workersMax")
    if not isinstance(wanted, int) or not isinstance(workers, int) or workers >= wanted or workers not in _IDLE:
        return {}
    seconds, words = _IDLE[workers]
    made_at = moment(live.get("createdAt"))
    if made_at is not None and 0 <= now - made_at < seconds:
        return {}
    return {"/workersMax": f"workersMax is {workers}, as after {words} without a request"}


def moment(value: Json) -> float | None:
    """Read a time of the API."""
    try:
        return dt.datetime.fromisoformat(value).timestamp() if isinstance(value, str) else None
    except ValueError:
        return None
