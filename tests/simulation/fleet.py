"""What people declare: resources, files, settings; and the text of it, as it stands on the disk."""

from __future__ import annotations

import copy
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.simulation.documents import Document
from tests.simulation.kinds import KINDS

FILE_KIND = "Document"


@dataclass
class Resource:
    """One declared thing."""

    name: str
    kind: str
    connection: str
    file: str
    spec: Document  # as written: references are strings, secrets are {secretRef: ...}
    labels: dict[str, str] = field(default_factory=dict)
    options: Document = field(default_factory=dict)  # managedOptions
    policy: str = "managed"
    imports: Document | None = None
    declared: bool = True

    @property
    def address(self) -> str:
        """Return the address."""
        return f"{self.connection}/{self.kind}/{self.name}"

    @property
    def is_file(self) -> bool:
        """Tell whether it is a file on this machine."""
        return self.kind == FILE_KIND

    def manifest(self) -> Document:
        """Return the document that declares it."""
        spec: Document = {"connection": self.connection}
        if self.policy != "unmanaged":  # which is only looked up, and declares nothing
            spec["resource"] = self.spec
        if self.options and self.policy != "unmanaged":
            spec["managedOptions"] = self.options
        if self.policy != "managed":
            spec["managementPolicy"] = self.policy
        if self.imports is not None:
            spec["import"] = self.imports
        metadata: Document = {"name": self.name}
        if self.labels:
            metadata["labels"] = self.labels
        provider = "file" if self.is_file else "http"
        return {"apiVersion": f"{provider}.holdfast.dev/v1", "kind": self.kind, "metadata": metadata, "spec": spec}


@dataclass
class Fleet:
    """All that is declared, and the project it stands in."""

    resources: list[Resource] = field(default_factory=list)
    connections: dict[str, Document] = field(default_factory=dict)  # name -> limits, secrets
    project: Document = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)  # files that cannot be read for a while
    version: int = 0

    def copy(self) -> Fleet:
        """Return one that can be changed."""
        return copy.deepcopy(self)

    def get(self, name: str) -> Resource | None:
        """Return a resource by name."""
        return next((resource for resource in self.resources if resource.name == name), None)

    def by_address(self, address: str) -> Resource | None:
        """Return a resource by address."""
        return next((resource for resource in self.resources if resource.address == address), None)

    @property
    def declared(self) -> list[Resource]:
        """Return what stands in the manifests."""
        return [resource for resource in self.resources if resource.declared]

    def setting(self, resource: Resource, name: str, default: Any) -> Any:
        """Return a setting: of the resource, else of the project, else the documented default."""
        return resource.options.get(name, self.project.get("defaults", {}).get(name, default))

    def write(self, folder: Path, moment: float) -> None:
        """Put the project and the manifests on the disk, whole files at a time."""
        infra = folder / "infra"
        infra.mkdir(exist_ok=True)
        (folder / "live").mkdir(exist_ok=True)
        kinds = {
            name: {resource.kind for resource in self.resources if resource.connection == name}
            for name in self.connections
        }
        connections: Document = {}
        for name, extra in self.connections.items():
            if name == "files":
                connections[name] = {"provider": "file", "root": "./live", **extra}
            else:
                connections[name] = {
                    "provider": "http",
                    "base_url": f"http://{name}.sim",
                    "kinds": {kind: KINDS[kind].described() for kind in sorted(kinds[name]) or ["Plain"]},
                    **extra,
                }
        _replace(folder / "holdfast.yaml", json.dumps({"connections": connections, **self.project}), moment)
        texts: dict[str, list[str]] = {}
        for item in self.declared:
            texts.setdefault(item.file, []).append(json.dumps(item.manifest()))
        for path in infra.iterdir():
            if path.name not in texts:
                path.unlink()
        for name, documents in texts.items():
            text = "\n---\n".join(documents) + "\n"
            _replace(infra / name, "{ this is: [not yaml\n" + text if name in self.broken else text, moment)


def _replace(path: Path, text: str, moment: float) -> None:
    """Write a file if that changes it; its time is the world's, so that a history is the same each time."""
    if path.exists() and path.read_text() == text:
        return
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text)
    os.utime(beside, (moment, moment))
    beside.replace(path)
