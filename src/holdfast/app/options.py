"""Options that say which project to open and which of its resources a run is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from holdfast.model.record import dataclass

# project: the named manifests, else those beside the project file. named: only those that were named.
# none: named manifests only say which project is meant.
Reads = Literal["project", "named", "none"]


@dataclass(frozen=True, slots=True)
class ProjectOptions:
    """The manifests, project file and store to open, and the selection of resources."""

    files: tuple[str, ...] = ()
    project: str | None = None
    store: str | None = None
    targets: tuple[str, ...] = ()
    selector: str | None = None
    flags: Mapping[str, str | None] = field(default_factory=dict)
    is_watch: bool = False  # resources without a resyncPeriod are checked at the period of a watch
