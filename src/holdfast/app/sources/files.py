"""Declarations in files: manifests that were named, or those beside the project file."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from holdfast.app.options import ProjectOptions
from holdfast.app.sources import catalog
from holdfast.errors import InputError
from holdfast.manifests import file_discovery, loader
from holdfast.manifests import project as project_files
from holdfast.manifests.loader import Manifests
from holdfast.model.record import dataclass
from holdfast.providers import registry
from holdfast.reconcile.clock import SystemClock
from holdfast.store.state import ResourceState


def find_config(options: ProjectOptions) -> project_files.ProjectFile:
    """Return the named project file, or the one that the manifests or this folder belong to."""
    named = Path(options.project) if options.project else None
    return project_files.load(named, Path.cwd(), registry.AVAILABLE, options.files)


@dataclass(frozen=True, slots=True)
class FileSource:
    """The manifests of a project."""

    files: tuple[str, ...]
    config: project_files.ProjectFile
    store: Path | None = None  # whose manifest index is used; None: without one

    @classmethod
    def of(cls, options: ProjectOptions, config: project_files.ProjectFile | None = None) -> FileSource:
        """Return the named manifests, else those in the folder of the project file."""
        config = config if config is not None else find_config(options)
        files = options.files or ((str(config.folder),) if config.file is not None else ())
        if not files:
            raise InputError("no manifests: name them with -f, or put a holdfast.yaml beside them")
        return cls(files, config)

    def version(self) -> str:
        """Return a digest that changes with any edit. Reads names, sizes and times of files, not their content."""
        sources, _ = file_discovery.find(self.files, self.config.profiles)
        manifests = [source.path for source in sources if source.path is not None]
        digest = hashlib.sha256()
        for file in [*manifests, *self.other_files()]:
            with contextlib.suppress(OSError):
                stat = os.stat(file)  # noqa: PTH116 - of every file of a fleet
                digest.update(
                    f"{file}\0{stat.st_mtime_ns}\0{stat.st_ctime_ns}\0{stat.st_size}\0{stat.st_ino}\n".encode()
                )
        return digest.hexdigest()

    def other_files(self) -> list[Path]:
        """Return the files that are not manifests and whose edits count as well."""
        return [*([self.config.file] if self.config.file is not None else []), *self.config.waivers]

    def read(self) -> Manifests:
        """Read all declarations; raise InputErrors with every mistake in them."""
        return loader.read(self.files, self.config)

    def read_declaring(self, states: Iterable[ResourceState]) -> Manifests:
        """Read the files that declared some resources when these were last checked.

        Other declarations of those files are left out, because their references may lead to files that are not read.
        """
        wanted: Mapping[str, ResourceState] = {str(state.address): state for state in states}
        files = {state.declared.source.rpartition(":")[0] for state in wanted.values() if state.declared.source}
        existing = sorted(filter(os.path.exists, files))
        if not existing:
            return Manifests(self.config)
        manifests = None
        if self.store is not None:
            manifests = catalog.read_declared(existing, self.config, self.store, SystemClock().now, wanted)
        if manifests is None:
            manifests = loader.read(existing, self.config, whole=False)
        declared = (declaration for declaration in manifests.declarations if str(declaration.address) in wanted)
        return replace(manifests, declarations=tuple(declared))
