"""Attribution: the managers of an object's fields, from its managedFields and its autoscaler. Pure."""

from __future__ import annotations

from typing import Final

from holdfast.compare import paths
from holdfast.model.attribution import LikelyActor
from holdfast.model.confidence import Confidence
from holdfast.model.json import Json
from holdfast.providers.kubernetes import owners

_VERBS: Final = {owners.APPLY: "applied", owners.UPDATE: "updated"}


def likely_actors(managed: Json, autoscaler: str | None) -> list[LikelyActor]:
    """Return the managers with the paths that they own, the latest first."""
    entries = sorted(owners.entries(managed), key=lambda entry: entry.at or 0.0, reverse=True)
    actors = [
        LikelyActor(
            entry.manager,
            Confidence.HIGH,
            f"managedFields: {_VERBS.get(entry.operation, entry.operation)} these fields",
            entry.at,
            tuple(map(paths.format_path, entry.paths)),
        )
        for entry in entries
        if entry.manager
    ]
    if autoscaler is not None:
        why = "the autoscaler sets the replicas"
        actors.insert(0, LikelyActor(autoscaler, Confidence.HIGH, why, None, ("/spec/replicas",)))
    return actors
