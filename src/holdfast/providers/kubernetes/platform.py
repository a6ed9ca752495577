"""Fields that belong to other managers: reported with the name of the manager, and left as they are. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.providers.kubernetes import objects, owners
from holdfast.providers.kubernetes.settings import FieldConflicts, Settings

ANNOTATION = "holdfast.dev/fieldConflicts"


def takes(desired: Mapping[str, Json], settings: Settings) -> bool:
    """Return True if a declared field is taken from a manager that applies it with another value."""
    declared = paths.resolve(desired, ("metadata", "annotations", ANNOTATION))
    return bool((settings.conflicts if declared is ABSENT else declared) == FieldConflicts.TAKE)


def fields_of_others(desired: Mapping[str, Json], observed: Json, settings: Settings) -> dict[Path, str]:
    """Return the paths that are left to other managers, each with the manager."""
    if takes(desired, settings):
        return {}
    return owners.applied_by_others(paths.resolve(observed, ("metadata", objects.OWNERS)), settings.manager)


def changes(desired: Mapping[str, Json], observed: Json, settings: Settings) -> dict[str, str]:
    """Return the paths of other managers with everything above and below them, each with the reason."""
    reasons: dict[str, str] = {}
    for path, name in fields_of_others(desired, observed, settings).items():
        verb = "sets" if name.startswith("HorizontalPodAutoscaler/") else "applies"
        reason = f"{name} {verb} this field; set fieldConflicts: take to take it over"
        for related in _related(path, desired, observed):
            reasons.setdefault(paths.format_path(related), reason)
    return reasons


def _related(path: Path, desired: Json, observed: Json) -> Iterator[Path]:
    for length in range(1, len(path) + 1):
        yield path[:length]
    for document in (desired, observed):
        yield from _below(path, paths.resolve(document, path))


def _below(path: Path, value: Json) -> Iterator[Path]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*path, key)
            yield from _below((*path, key), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield (*path, index)
            yield from _below((*path, index), item)
