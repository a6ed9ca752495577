"""Resources that are no longer declared: the store has them and the manifests do not.

A store belongs to a project, and a run may read only part of it. A resource counts as no longer declared if the file
that declared it was read and does not have it, or does not exist any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.manifests import file_discovery, loader
from holdfast.manifests.project import ProjectFile
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status
from holdfast.reconcile.clock import SystemClock
from holdfast.reconcile.resolved_resource import is_no_longer_declared
from holdfast.store.protocol import Store
from holdfast.store.state import ResourceState

if TYPE_CHECKING:
    from holdfast.app.project import Project as OpenProject
    from holdfast.rollouts.core.template_groups import TemplateGroup


@dataclass(slots=True)
class Reach:
    """The manifests that a run has read, and where files that the store names may be."""

    read: frozenset[Path]
    folders: frozenset[Path]
    bases: Sequence[Path]  # what the names of files may be relative to
    _known: dict[str, bool] = field(default_factory=dict)

    def covers(self, source: str | None) -> bool:
        """Return True if a declaration from there would have been seen: its file was read, or does not exist."""
        name = (source or "").rpartition(":")[0]
        if not name.lower().endswith(file_discovery.SUFFIXES):  # from standard input, or from Python
            return False
        if name not in self._known:
            self._known[name] = self._covers(name)
        return self._known[name]

    def _covers(self, name: str) -> bool:
        places = [(base / name).resolve() for base in self.bases]
        there = [place for place in places if place.exists()]
        if not there:
            return True
        return any(place in self.read or not self.folders.isdisjoint(place.parents) for place in there)


def reach_of(files: Sequence[str], project: ProjectFile, store: Path) -> Reach:
    """Return the files and folders that were read, given the named files."""
    found, _ = file_discovery.find(files, project.profiles)
    read = frozenset(Path(source.key) for source in found if source.path is not None)
    folders = frozenset(Path(name).resolve() for name in files if Path(name).is_dir())
    return Reach(read, folders, _bases(project, store))


def _bases(project: ProjectFile, store: Path) -> list[Path]:
    return list(dict.fromkeys(path.resolve() for path in (Path.cwd(), project.folder, store.parent.parent)))


def is_missed(
    address: Address, source: str | None, declared: Collection[Address], groups: Iterable[TemplateGroup], reach: Reach
) -> bool:
    """Return True if a resource is no longer declared; children of templates come and go with these."""
    if address in declared or not reach.covers(source):
        return False
    return not any(address in group.children for group in groups)


async def in_store(project: OpenProject, states: Sequence[ResourceState]) -> set[Address]:
    """Return the resources that are known, or turn out now, to be no longer declared, for a command that reads none."""
    return await edited_away(states, project.config, project.store, project.store_file)


async def in_whole_store(project: OpenProject) -> set[Address]:
    """Return the same for all resources of the store, without reading all of their states."""
    store, config, path = project.store, project.config, project.store_file
    addresses = await store.addresses_with_status(Status.UNKNOWN)  # a resource that is not declared has this status
    unknown = list((await store.states(addresses)).values())
    undeclared = {state.address for state in unknown if is_no_longer_declared(state)}
    files = await store.declaring_files(without=Status.UNKNOWN)
    for name, checked_at in _files_of([state for state in unknown if state.address not in undeclared]).items():
        files[name] = min(checked_at, files.get(name, checked_at))
    edited = _edited_files(files, _bases(config, path))
    if not edited:
        return undeclared
    states = [
        state async for state in store.all_states() if _file_of(state) in edited and state.address not in undeclared
    ]
    return undeclared | await _no_longer_among(states, config, store, path)


async def edited_away(states: Sequence[ResourceState], project: ProjectFile, store: Store, path: Path) -> set[Address]:
    """Return the resources that are no longer declared, by the store or by the files as they are now.

    Only files that were deleted, or edited after the last check of their declarations, are read.
    """
    undeclared = {state.address for state in states if is_no_longer_declared(state)}
    declared = [state for state in states if state.address not in undeclared]
    edited = _edited_files(_files_of(declared), _bases(project, path))
    moved = [state for state in declared if _file_of(state) in edited]
    return undeclared | await _no_longer_among(moved, project, store, path)


def _file_of(state: ResourceState) -> str:
    return (state.declared.source or "").rpartition(":")[0]


def _files_of(states: Iterable[ResourceState]) -> dict[str, float]:
    """Return the files that declared resources, each with the earliest last check of its resources."""
    files: dict[str, float] = {}
    for state in states:
        checked_at = state.schedule.checked_at or 0.0
        files[_file_of(state)] = min(checked_at, files.get(_file_of(state), checked_at))
    return files


def _edited_files(files: Mapping[str, float], bases: Sequence[Path]) -> set[str]:
    """Return the manifests that do not exist any more, or were edited after the last check of their declarations."""
    edited: set[str] = set()
    for name, checked_at in files.items():
        if not name.lower().endswith(file_discovery.SUFFIXES):
            continue
        place = next((base / name for base in bases if (base / name).exists()), None)
        if place is None or place.stat().st_mtime > checked_at:
            edited.add(name)
    return edited


async def _no_longer_among(
    moved: Sequence[ResourceState], project: ProjectFile, store: Store, path: Path
) -> set[Address]:
    """Return the resources of edited files that these do not declare any more; none if they cannot be read."""
    if not moved:
        return set()
    still = await _declared_now(moved, project, store, path)
    return set() if still is None else {state.address for state in moved if state.address not in still}


async def _declared_now(
    moved: Sequence[ResourceState], project: ProjectFile, store: Store, path: Path
) -> set[Address] | None:
    """Return the addresses declared now in the project or in the files of some resources. None: cannot be read."""
    if project.file is not None:
        files = [str(project.folder)]
    else:
        names = {(state.declared.source or "").rpartition(":")[0] for state in moved}
        places = (base / name for name in sorted(names) for base in _bases(project, path)[:1])
        files = [str(place) for place in places if place.exists()]
    try:
        manifests = loader.read(files, project, whole=False) if files else loader.Manifests(project)
        if not manifests.templates:
            return {declaration.address for declaration in manifests.declarations}
        from holdfast.app import template_groups

        groups = await template_groups.look(store, SystemClock(), manifests)
    except HoldfastError:
        return None
    declared = template_groups.with_children(manifests, groups).declarations
    return {declaration.address for declaration in declared} | {child for group in groups for child in group.children}
