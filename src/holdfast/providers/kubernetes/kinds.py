"""Kinds: a mapping that answers for every kind, because the server may serve it tomorrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.compare import hash_schemes
from holdfast.compare.profile import Profile
from holdfast.model.json import Json
from holdfast.providers.kubernetes import schema_rules
from holdfast.providers.kubernetes.cluster import Cluster
from holdfast.providers.kubernetes.discovery import Catalogue, ServedKind, group_version_kind
from holdfast.providers.kubernetes.kind_names import split
from holdfast.providers.protocol import Kind, Versions


class Kinds(Mapping[str, Kind]):
    """Every kind of a connection."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._kinds: dict[str, Kind] = {}

    def __getitem__(self, name: str) -> Kind:
        kind = self._kinds.get(name)
        if kind is None:
            if not name or "/" in name:
                raise KeyError(name)
            kind = self._kinds[name] = self._kind(name)
        return kind

    def _kind(self, name: str) -> Kind:
        catalogue = self._cluster.catalogue or Catalogue()
        served = catalogue.find(name, None)
        usual = served.gvk.api_version if isinstance(served, ServedKind) else ""

        def version_of(desired: Mapping[str, Json]) -> str:
            declared = desired.get("apiVersion")
            version = declared if isinstance(declared, str) else usual
            self._cluster.declared_versions.setdefault(name, set()).add(version)
            return version

        def rules(version: str) -> tuple[Profile, ...]:
            gvk = group_version_kind(version, split(name)[0])
            return schema_rules.rules_for(gvk, self._cluster.openapi)

        return Kind(
            name,
            lists=not isinstance(served, ServedKind) or "list" in served.verbs,
            conditional=True,
            watches=not isinstance(served, ServedKind) or "watch" in served.verbs,
            hash_scheme=hash_schemes.FINGERPRINT.id,
            profiles=rules(usual) if usual else (),
            versions=Versions(version_of, rules),
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._cluster.catalogue.names() if self._cluster.catalogue is not None else ())

    def __len__(self) -> int:
        return sum(1 for _ in self)
