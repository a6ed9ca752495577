"""Who changed an endpoint, from its releases; and what the platform does without telling anybody.

A release names its maker and what it changed. Changes of scaling make no release: of those only the platform's own can
be recognised, by the numbers it always uses.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.model.json import Json
from holdfast.model.suspect import Confidence, Suspect
from holdfast.providers.runpod import merging

PLATFORM: Final = "RunPod itself"
_IDLE: Final = {2: "three days without a request", 0: "seven days without a request"}
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


def suspects(found: Sequence[LiveChange], desired: Mapping[str, Json], live: Mapping[str, Json]) -> list[Suspect]:
    """Name who may have moved an endpoint: the platform where it looks like it, then makers of releases.

    A release that changed nothing but what is as declared again, our own among them, speaks for little.
    """
    out = [*_platform(desired, live)]
    seen: set[tuple[str, float | None]] = set()
    for change in found:
        if (change.by, change.at) not in seen:
            seen.add((change.by, change.at))
            paths = sorted({each.path for each in found if (each.by, each.at) == (change.by, change.at)})
            why = f"release {change.version} changed {', '.join(paths)}"
            moved = any(_may_have_moved(path.split("/")[1], desired, live) for path in paths)
            out.append(Suspect(change.by, Confidence.HIGH if moved else Confidence.LOW, why, change.at))
    return sorted(out, key=lambda suspect: suspect.confidence is Confidence.LOW)


def _may_have_moved(name: str, desired: Mapping[str, Json], live: Mapping[str, Json]) -> bool:
    """Tell whether a field is other than declared, or not declared at all."""
    if name not in desired or name not in live:
        return True
    return bool(merging.declared({name: desired[name]}, live) or merging.declared({name: live[name]}, desired))


def _platform(desired: Mapping[str, Json], live: Mapping[str, Json]) -> list[Suspect]:
    """Recognise an idle endpoint that was scaled down; a person may have chosen the same number."""
    wanted, now = desired.get("workersMax"), live.get("workersMax")
    if not isinstance(wanted, int) or not isinstance(now, int) or now >= wanted or now not in _IDLE:
        return []
    return [Suspect(PLATFORM, Confidence.MEDIUM, f"workersMax is {now}, as after {_IDLE[now]}")]


def moment(value: Json) -> float | None:
    """Read a time of the API."""
    try:
        return dt.datetime.fromisoformat(value).timestamp() if isinstance(value, str) else None
    except ValueError:
        return None
