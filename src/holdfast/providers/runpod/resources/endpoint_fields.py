"""The fields of an endpoint, in one table: what each is, which compute family has it, what changing it leads to.

Everything else is derived from here: which fields are hashed for which class, which changes replace workers, which
replace the endpoint. Flash keeps five such lists, and they disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """The role of a field."""

    IDENTITY = "identity"  # names the thing; not configuration
    CONFIG = "config"  # what the user wants; hashed
    SPELLING = "spelling"  # another way to write a CONFIG field, kept in step with it
    RUNTIME = "runtime"  # assigned or computed by the API


class Family(StrEnum):
    """Compute families; an endpoint belongs to one for life."""

    BOTH = "both"
    GPU = "gpu"
    CPU = "cpu"


class Effect(StrEnum):
    """The effect of a change, mildest first."""

    IN_PLACE = "in_place"  # reaches the autoscaler at once
    ROLLING = "rolling"  # makes a release; workers are replaced one by one
    REPLACE = "replace"  # cannot be changed on the endpoint; another one takes its place


@dataclass(frozen=True, slots=True)
class Field:
    """One row."""

    name: str
    role: Role
    family: Family = Family.BOTH
    effect: Effect = Effect.IN_PLACE


_CONFIG: Final = (
    Field("imageName", Role.CONFIG, effect=Effect.ROLLING),
    Field("env", Role.CONFIG, effect=Effect.ROLLING),
    Field("flashboot", Role.CONFIG, effect=Effect.ROLLING),
    Field("gpuIds", Role.CONFIG, Family.GPU, Effect.ROLLING),
    Field("gpuCount", Role.CONFIG, Family.GPU, Effect.ROLLING),
    Field("allowedCudaVersions", Role.CONFIG, Family.GPU, Effect.ROLLING),
    Field("minCudaVersion", Role.CONFIG, Family.GPU, Effect.ROLLING),
    Field("instanceIds", Role.CONFIG, Family.CPU, Effect.ROLLING),
    Field("locations", Role.CONFIG, effect=Effect.ROLLING),
    Field("networkVolumes", Role.CONFIG, effect=Effect.ROLLING),
    Field("python_version", Role.CONFIG, effect=Effect.ROLLING),
    Field("type", Role.CONFIG, effect=Effect.REPLACE),
    Field("flashEnvironmentId", Role.CONFIG, effect=Effect.REPLACE),
    Field("workersMin", Role.CONFIG),
    Field("workersMax", Role.CONFIG),
    Field("workersPFBTarget", Role.CONFIG),
    Field("idleTimeout", Role.CONFIG),
    Field("executionTimeoutMs", Role.CONFIG),
    Field("scalerType", Role.CONFIG),
    Field("scalerValue", Role.CONFIG),
)
_SPELLINGS: Final = (
    Field("gpus", Role.SPELLING, Family.GPU, Effect.ROLLING),
    Field("cudaVersions", Role.SPELLING, Family.GPU, Effect.ROLLING),
    Field("datacenter", Role.SPELLING, effect=Effect.ROLLING),
    Field("networkVolume", Role.SPELLING, effect=Effect.ROLLING),
    Field("networkVolumeId", Role.SPELLING, effect=Effect.ROLLING),
)
RUNTIME: Final = frozenset(
    {
        "template",
        "templateId",
        "aiKey",
        "userId",
        "createdAt",
        "activeBuildid",
        "computeType",
        "hubRelease",
        "repo",
        "flashBootType",
    }
)
EXCLUDED: Final = frozenset({"id"})
IDENTITY: Final = frozenset({"name"})

TABLE: Final = {
    field.name: field
    for field in (
        *_CONFIG,
        *_SPELLINGS,
        *(Field(name, Role.IDENTITY) for name in sorted(EXCLUDED | IDENTITY)),
        *(Field(name, Role.RUNTIME) for name in sorted(RUNTIME)),
    )
}

SPELLINGS: Final = {
    "gpus": "gpuIds",
    "cudaVersions": "allowedCudaVersions",
    "datacenter": "locations",
    "networkVolume": "networkVolumes",
    "networkVolumeId": "networkVolumes",
}
"""Which field each other spelling stands for."""


def of_other_family(family: Family) -> frozenset[str]:
    """Return the fields that an endpoint of this family does not have."""
    return frozenset(
        field.name for field in TABLE.values() if field.family is not Family.BOTH and field.family is not family
    )


def effect(name: str) -> Effect:
    """Return the effect of changing a field; an unknown field is taken to replace workers."""
    return TABLE[name].effect if name in TABLE else Effect.ROLLING


def worst(effects: list[Effect]) -> Effect | None:
    """Return the gravest of some effects."""
    return max(effects, key=list(Effect).index, default=None)
