"""Signs of life of a live thing, as its provider tells them: single ones, or the pods of a workload."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HealthSignal:
    """Whether a thing is well in one respect; None: that could not be told."""

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
    """One pod as the API server tells it."""

    containers: tuple[Container, ...]
    created_at: float
    is_terminating: bool = False
    phase: str = "Running"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Workload:
    """What was seen of the target."""

    exists: bool = True
    has_pods: bool = True  # whether things of this kind have any
    is_scaled_to_zero: bool = False  # it is declared to have no replicas: that is a wish, not an illness
    total: int = 0
    ready: int = 0
    pending: int = 0
    restarts: int = 0  # since the remediation
    is_crash_looping: bool = False
    is_oom_killed: bool = False
    pods: frozenset[str] | None = None  # the names of those that live; None: not known
