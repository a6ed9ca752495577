"""Health of a live resource as its provider reports it: single signals, or the pods of a workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HealthSignal:
    """One health signal; None if the provider could not determine it."""

    name: str
    is_well: bool | None


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod."""

    is_ready: bool
    restarts: int = 0
    is_crash_looping: bool = False
    is_oom_killed: bool = False


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod as the API server reports it."""

    containers: tuple[Container, ...]
    created_at: float
    is_terminating: bool = False
    phase: str = "Running"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Workload:
    """The observed pods of a target."""

    exists: bool = True
    has_pods: bool = True  # False for kinds without pods
    is_scaled_to_zero: bool = False  # declared with zero replicas, which is not a failure
    total: int = 0
    ready: int = 0
    pending: int = 0
    restarts: int = 0  # since the remediation
    is_crash_looping: bool = False
    is_oom_killed: bool = False
    pods: frozenset[str] | None = None  # names of the running pods; None: unknown


def tally(pods: Sequence[Pod], remediated_at: float) -> Workload:
    """Count the pods that are meant to live.

    A pod is ready when all of its containers are. Restarts of pods that are as old as the remediation or older are not
    its doing.
    """
    live = [pod for pod in pods if not pod.is_terminating and pod.phase not in ("Succeeded", "Failed")]
    every = [container for pod in live for container in pod.containers]
    young = [container for pod in live if pod.created_at > remediated_at for container in pod.containers]
    return Workload(
        exists=bool(live),
        total=len(live),
        ready=sum(bool(pod.containers) and all(c.is_ready for c in pod.containers) for pod in live),
        pending=sum(pod.phase == "Pending" for pod in live),
        restarts=sum(container.restarts for container in young),
        is_crash_looping=any(container.is_crash_looping for container in every),
        is_oom_killed=any(container.is_oom_killed for container in young),
        pods=frozenset(pod.name for pod in live) if all(pod.name for pod in live) else None,
    )
