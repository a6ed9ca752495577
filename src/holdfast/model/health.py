"""Health of a live resource as its provider reports it: single signals, or the pods of a workload."""

from __future__ import annotations

from holdfast.model.record import dataclass


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
