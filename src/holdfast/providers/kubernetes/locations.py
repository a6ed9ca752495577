"""The location of an object: its kind as served, its namespace, its name, and its path."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.model.read_result import ReadFailure
from holdfast.providers.kubernetes import objects
from holdfast.providers.kubernetes.client import Client
from holdfast.providers.kubernetes.cluster import Cluster
from holdfast.providers.kubernetes.discovery import ServedKind, Unserved
from holdfast.providers.protocol import Target


@dataclass(frozen=True, slots=True)
class ObjectLocation:
    """Where an object is."""

    served: ServedKind
    namespace: str | None
    name: str

    @property
    def path(self) -> str:
        """The path of the object."""
        return self.served.path(self.namespace, self.name)

    @property
    def ident(self) -> str:
        """The id of the object."""
        return objects.ident(self.namespace, self.name)

    @property
    def text(self) -> str:
        """The name of the object in messages."""
        return f"{self.served.gvk.kind} {self.ident}"

    def label(self, verb: str) -> str:
        """Return a request in words, as roles name it: verb, kind and namespace."""
        group = f".{self.served.gvk.group}" if self.served.gvk.group else ""
        within = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{verb} {self.served.plural}{group} {self.name}{within}"


@dataclass(frozen=True, slots=True)
class Unlocated:
    """An object whose kind is not served."""

    why: str
    is_absent: bool  # the server serves no such kind yet, so that there is no such object


async def locate(client: Client, cluster: Cluster, target: Target) -> ObjectLocation | Unlocated | ReadFailure:
    """Return where the object of a call is."""
    declared = target.desired.get("apiVersion")
    version = target.version or (declared if isinstance(declared, str) else None)
    served = await cluster.served(client, target.kind, version)
    if isinstance(served, ReadFailure):
        return served
    if isinstance(served, Unserved):
        return Unlocated(served.why, served.is_certain and not served.is_mistake)
    metadata = target.desired.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    if target.id is not None:
        namespace, name = objects.split_ident(target.id)
    else:
        namespace, name = target.namespace or metadata.get("namespace"), str(metadata.get("name") or target.name)
    return ObjectLocation(served, (namespace or client.namespace) if served.is_namespaced else None, name)
