"""Discovery: the kinds that an API server serves, in which groups and versions, and under which paths.

A group version that cannot be read hides its own kinds and no others. What is known is the state of the last read: the
caller refreshes it when a kind is unknown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from holdfast.model.json import Json
from holdfast.providers.http.client import Answer, Lost
from holdfast.providers.kubernetes import errors, kind_names
from holdfast.providers.kubernetes.client import Client
from holdfast.providers.kubernetes.group_version_kind import GroupVersionKind
from holdfast.providers.protocol import ReadFailed
from holdfast.schema import did_you_mean

_AT_ONCE: Final = 8  # group versions read at the same time


@dataclass(frozen=True, slots=True)
class ServedKind:
    """One kind in one version, as the server serves it."""

    gvk: GroupVersionKind
    plural: str
    is_namespaced: bool
    verbs: frozenset[str]
    has_scale: bool = False

    def path(self, namespace: str | None, name: str | None = None) -> str:
        """Return the path of an object, or of all objects of the kind."""
        root = f"/apis/{self.gvk.api_version}" if self.gvk.group else f"/api/{self.gvk.version}"
        within = f"/namespaces/{namespace}" if self.is_namespaced and namespace else ""
        return f"{root}{within}/{self.plural}" + (f"/{name}" if name is not None else "")


@dataclass(frozen=True, slots=True)
class Unserved:
    """A kind that the server does not serve, or a group whose discovery failed."""

    why: str
    is_certain: bool  # the server was asked, and answered for the group
    is_mistake: bool = False  # the group is one of Kubernetes itself, so that no definition can add the kind


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The kinds of a server."""

    kinds: Mapping[tuple[str, str], tuple[ServedKind, ...]] = field(default_factory=dict)  # preferred version first
    failed: Mapping[str, str] = field(default_factory=dict)  # group -> the reason

    def find(self, name: str, api_version: str | None) -> ServedKind | Unserved:
        """Return a kind by its name in addresses, in the version of a manifest if there is one."""
        kind, group = kind_names.split(name)
        if api_version is not None:
            wanted = group_version_kind(api_version, kind)
            served = self.kinds.get((wanted.group, kind), ())
            exact = next((item for item in served if item.gvk == wanted), None)
            return exact or self._unserved(wanted, served)
        groups = [group] if group is not None else self.groups(kind)
        if len(groups) == 1 and (groups[0], kind) in self.kinds:
            return self.kinds[groups[0], kind][0]
        if len(groups) > 1:
            names = ", ".join(f"{kind}.{item}" for item in groups)
            return Unserved(f"the kind {kind} is in several groups; write one of {names}", is_certain=False)
        return self._unserved(GroupVersionKind(group or "", "", kind), ())

    def groups(self, kind: str) -> list[str]:
        """Return the groups that a short name may mean: the built-in one alone, if there is one."""
        found = [group for group, other in self.kinds if other == kind]
        built_in = [group for group in found if kind_names.is_built_in(group)]
        return built_in[:1] or found

    def names(self) -> list[str]:
        """Return the kinds that can be listed, as addresses name them."""
        names = set()
        for (group, kind), versions in self.kinds.items():
            if {"get", "list"} <= versions[0].verbs:
                shared = len(self.groups(kind)) > 1
                names.add(f"{kind}.{group}" if shared else kind_names.address_kind(group, kind))
        return sorted(names)

    def _unserved(self, wanted: GroupVersionKind, others: Iterable[ServedKind]) -> Unserved:
        text = f"{wanted.kind} in {wanted.api_version}" if wanted.version else wanted.kind
        if wanted.group in self.failed:
            return Unserved(f"the group {wanted.group} cannot be read: {self.failed[wanted.group]}", is_certain=False)
        versions = sorted(item.gvk.version for item in others)
        if versions:
            better = GroupVersionKind(wanted.group, versions[-1], wanted.kind).api_version
            return Unserved(
                f"the server does not serve {text}; write apiVersion: {better}", is_certain=True, is_mistake=True
            )
        if kind_names.is_built_in(wanted.group):
            known = [kind for group, kind in self.kinds if group == wanted.group]
            hint = did_you_mean.hint(wanted.kind, known) or "; is the server too old or too new for it?"
            return Unserved(f"the server does not serve {text}{hint}", is_certain=True, is_mistake=True)
        return Unserved(f"the server does not serve {text}; install its CustomResourceDefinition", is_certain=True)


def group_version_kind(api_version: str, kind: str) -> GroupVersionKind:
    """Return the full name of a kind from the head of a manifest."""
    group, _, version = api_version.rpartition("/")
    return GroupVersionKind(group, version, kind)


async def discover(client: Client) -> Catalogue:
    """Read the kinds of a server; raise ReadFailed if the server does not name its groups."""
    groups = _document(await client.get("/apis", "the groups of the API"), "the groups of the API")
    core = _document(await client.get("/api", "the core versions of the API"), "the core versions of the API")
    versions = [("", version, rank) for rank, version in enumerate(core.get("versions", []))]
    for group in groups.get("groups", []):
        preferred = group.get("preferredVersion", {}).get("version")
        offered = [item["version"] for item in group.get("versions", [])]
        offered.sort(key=lambda version: version != preferred)  # stable: the server lists the best first
        versions += [(group["name"], version, rank) for rank, version in enumerate(offered)]
    slots = asyncio.Semaphore(_AT_ONCE)
    found: dict[tuple[str, str], list[tuple[int, ServedKind]]] = {}
    failed: dict[str, str] = {}

    async def read(group: str, version: str, rank: int) -> None:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        label = f"the kinds of {f'{group}/{version}' if group else version}"
        async with slots:
            answer = await client.get(path, label)
        try:
            document = _document(answer, label)
        except ReadFailed as error:
            failed[group] = str(getattr(error.reading, "detail", ""))
            return
        for served in _served(group, version, document):
            found.setdefault((group, served.gvk.kind), []).append((rank, served))

    async with asyncio.TaskGroup() as tasks:
        for group, version, rank in versions:
            tasks.create_task(read(group, version, rank), name=f"discover {group}/{version}")
    kinds = {
        key: tuple(served for _, served in sorted(items, key=lambda item: item[0])) for key, items in found.items()
    }
    return Catalogue(kinds, failed)


def _served(group: str, version: str, document: Mapping[str, Json]) -> list[ServedKind]:
    resources = [item for item in document.get("resources", []) if isinstance(item, dict)]
    scaled = {item["name"].removesuffix("/scale") for item in resources if item["name"].endswith("/scale")}
    return [
        ServedKind(
            GroupVersionKind(group, version, item["kind"]),
            item["name"],
            bool(item.get("namespaced")),
            frozenset(item.get("verbs", [])),
            item["name"] in scaled,
        )
        for item in resources
        if "/" not in item["name"]
    ]


def _document(answer: Answer | Lost, label: str) -> Mapping[str, Json]:
    if not isinstance(answer, Answer) or answer.status != 200:
        raise ReadFailed(errors.unreadable(answer, label))
    try:
        document = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        document = None
    if not isinstance(document, dict):
        raise ReadFailed(errors.malformed(label))
    return document
