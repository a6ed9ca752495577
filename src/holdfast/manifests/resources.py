"""From a written document to a Declaration."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from holdfast.compare import paths
from holdfast.errors import InputError, Location
from holdfast.manifests import options, project, secrets
from holdfast.manifests.project import ConnectionSpec
from holdfast.manifests.validation import Sheet, shown
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.model.resource import Declaration, Import, ManagementPolicy
from holdfast.policy import dependency_graph, did_you_mean
from holdfast.policy.settings import Level
from holdfast.providers import registry

GROUP: Final = "holdfast.dev"
VERSION: Final = "v1"
TOP: Final = ("apiVersion", "kind", "metadata", "spec", "template")
METADATA: Final = ("name", "namespace", "labels", "annotations")
SPEC: Final = ("connection", "managementPolicy", "managedOptions", "import", "resource", "dependsOn")

_KIND = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What declarations may refer to: the connections of the project, and the providers with their kinds."""

    connections: Mapping[str, ConnectionSpec] = field(default_factory=dict)
    default_connection: str | None = None
    kinds: Mapping[str, Collection[str]] | None = None  # by provider; None: any provider; no kinds: any kind


@dataclass(frozen=True, slots=True)
class Metadata:
    """The head of a document."""

    name: str | None
    namespace: str | None
    labels: dict[str, str]
    annotations: dict[str, str]


def metadata(sheet: Sheet, top: Mapping[str, Json]) -> Metadata:
    """Read the head that resources and strategies share."""
    pointer = ("metadata",)
    if "metadata" not in top:
        sheet.missing("metadata", (), "write metadata: {name: ...}")
        return Metadata(None, None, {}, {})
    body = sheet.mapping(top["metadata"], pointer, METADATA)
    return Metadata(
        sheet.name(body, "name", pointer, "every document needs a name"),
        sheet.name(body, "namespace", pointer),
        sheet.texts(body.get("labels"), (*pointer, "labels")),
        sheet.texts(body.get("annotations"), (*pointer, "annotations")),
    )


def read(sheet: Sheet, top: Mapping[str, Json], provider: str, around: Surroundings) -> Declaration | None:
    """Return the declaration, or None if a mistake was noted that leaves no address."""
    before = len(sheet.errors)
    head = metadata(sheet, top)
    kind = kind_of(sheet, top, provider, around)
    body = spec_of(sheet, top)
    if body is None:
        return None
    spec = _Spec(sheet, body)
    connection = spec.connection(provider, around)
    policy = sheet.choice(body, "managementPolicy", ("spec",), ManagementPolicy.MANAGED)
    wanted, import_from = spec.resource(), spec.import_from()
    given = managed_options(sheet, body, ("spec",))
    spec.check_policy(policy)
    _check_secrets(sheet, wanted, connection)
    needed = depends_on(sheet, body, ("spec",), head.annotations)
    wanted, type_ = understood(sheet, provider, kind or "", wanted)
    if kind is None or head.name is None or connection is None or len(sheet.errors) > before:
        return None
    annotations = {**head.annotations, dependency_graph.DEPENDS_ON: needed} if needed else head.annotations
    return Declaration(
        address=Address(connection.name, registry.canonical_kind(provider, kind), head.name, head.namespace),
        provider=provider,
        api_version=top["apiVersion"],
        desired=wanted,
        labels=head.labels,
        annotations=annotations,
        policy=policy,
        options=given,
        import_from=import_from,
        type=type_,
        location=Location(sheet.written.file, sheet.written.line),
        places=places(sheet),
    )


def spec_of(sheet: Sheet, top: Mapping[str, Json]) -> dict[str, Json] | None:
    """Return the spec of a resource document, or None if there is none."""
    if isinstance(top.get("spec"), dict):
        return sheet.mapping(top["spec"], ("spec",), SPEC)
    if "spec" in top:
        sheet.mapping(top["spec"], ("spec",))
    else:
        sheet.missing("spec", (), "write spec: {resource: {...}}")
    return None


def places(sheet: Sheet) -> dict[str, int]:
    """Return the lines of the fields of a document."""
    return {_path_text(pointer): place[0] for pointer, place in sheet.written.places.items()}


def understood(
    sheet: Sheet, provider: str, kind: str, wanted: dict[str, Json], *, is_whole: bool = True
) -> tuple[dict[str, Json], str | None]:
    """Return a wanted document with its provider's own forms of reference as ours, and the provider's own type.

    One that is not whole is left as it is where the provider misses something in it.
    """
    rewrite = registry.rewriting(provider)
    if rewrite is None:
        return wanted, None
    try:
        return rewrite(kind, wanted)
    except InputError as error:
        if not is_whole:
            return wanted, None
        place = paths.parse_path(error.location.field or "")
        sheet.fail(error.message, ("spec", "resource", *(str(step) for step in place)))
        return wanted, None


@lru_cache(maxsize=65536)
def _path_text(pointer: Pointer) -> str:
    """Return the text of a path; resources of one kind share theirs, in time and in memory."""
    return paths.format_path(pointer)


def kind_of(sheet: Sheet, top: Mapping[str, Json], provider: str, around: Surroundings) -> str | None:
    """Return the kind of a resource document."""
    kind = sheet.text(top, "kind", (), "name what this is, such as kind: Network")
    if kind is None:
        return None
    if not _KIND.fullmatch(kind):
        sheet.fail(f"kind {shown(kind)} must be a word of letters, digits, dots and dashes", ("kind",))
        return None
    kinds = around.kinds.get(provider) if around.kinds is not None else None
    if kinds and kind not in kinds:
        guess = did_you_mean.hint(kind, kinds) or f"; it has {', '.join(sorted(kinds)[:12])}"
        sheet.fail(f"the provider {provider} has no kind {shown(kind)}{guess}", ("kind",))
        return None
    return kind


def connection_of(
    sheet: Sheet, body: Mapping[str, Json], pointer: Pointer, provider: str, around: Surroundings
) -> ConnectionSpec | None:
    """Return the connection that is named, else the only one that can be meant."""
    return _Spec(sheet, body, pointer).connection(provider, around)


def managed_options(sheet: Sheet, body: Mapping[str, Json], pointer: Pointer) -> dict[str, Json]:
    """Return the options as written, noting those that cannot be."""
    value, place = body.get("managedOptions"), (*pointer, "managedOptions")
    before = len(sheet.errors)
    options.read(sheet, value, place, Level.RESOURCE)
    return sheet.mapping(value, place) if len(sheet.errors) == before else {}


def content_of(
    sheet: Sheet, body: Mapping[str, Json], needed: str, connection: ConnectionSpec | None = None
) -> dict[str, Json]:
    """Return the wanted document of a spec that has to have one, noting secrets that are not to be had."""
    value = body.get("resource")
    if value is None:
        sheet.missing("resource", ("spec",), needed)
        return {}
    if not isinstance(value, dict):
        sheet.mapping(value, ("spec", "resource"))
        return {}
    _check_secrets(sheet, value, connection)
    return value


def _check_secrets(sheet: Sheet, wanted: Json, connection: ConnectionSpec | None) -> None:
    """Note references to secrets that are malformed, or ask the connection for what it does not have."""
    for pointer, found in secrets.find(wanted):
        place: Pointer = ("spec", "resource", *pointer)
        if isinstance(found, secrets.FromConnection) and connection and found.key not in connection.secrets:
            guess = did_you_mean.hint(found.key, connection.secrets)
            sheet.fail(f"the connection {connection.name} has no secret {shown(found.key)}{guess}", place)
        elif isinstance(found, Exception):
            sheet.note(found, place)


def depends_on(
    sheet: Sheet, body: Mapping[str, Json], pointer: Pointer, annotations: Mapping[str, str] | None = None
) -> str:
    """Return what is depended on in so many words, from the list and then the annotation."""
    value = body.get("dependsOn")
    place = (*pointer, "dependsOn")
    if value is not None and not isinstance(value, list):
        sheet.fail("dependsOn needs a list of addresses", place)
        value = None
    names = []
    for index, name in enumerate(value or ()):
        if isinstance(name, str) and name and "," not in name:
            names.append(name)
        else:
            sheet.fail("an address such as Network/core is needed here", (*place, index))
    return ",".join([*names, (annotations or {}).get(dependency_graph.DEPENDS_ON, "")]).strip(",")


class _Spec:
    """The spec of one resource."""

    def __init__(self, sheet: Sheet, body: Mapping[str, Json], pointer: Pointer = ("spec",)) -> None:
        self._sheet = sheet
        self._body = body
        self._pointer = pointer

    def connection(self, provider: str, around: Surroundings) -> ConnectionSpec | None:
        """Return the connection named, else the only one that can be meant."""
        name = self._sheet.text(self._body, "connection", self._pointer)
        if name is None:
            return None if "connection" in self._body else self._only_connection(provider, around)
        found = around.connections.get(name)
        if found is None:
            known = sorted(around.connections)
            guess = did_you_mean.hint(name, known) or _known_connections(around)
            self._sheet.fail(f"there is no connection {shown(name)}{guess}", (*self._pointer, "connection"))
        elif found.provider != provider:
            message = (
                f"the connection {name} is of provider {found.provider}, but apiVersion says {provider}; "
                f"write apiVersion: {found.provider}.{GROUP}/{VERSION} or name another connection"
            )
            self._sheet.fail(message, (*self._pointer, "connection"))
        else:
            return found
        return None

    def _only_connection(self, provider: str, around: Surroundings) -> ConnectionSpec | None:
        fitting = {name: each for name, each in around.connections.items() if each.provider == provider}
        for name in (around.default_connection, project.LOCAL):
            if name is not None and name in fitting:
                return fitting[name]
        if len(fitting) == 1:
            return next(iter(fitting.values()))
        which = f"one of {', '.join(sorted(fitting))}" if fitting else f"declare one of provider {provider} first"
        self._sheet.missing("connection", self._pointer, f"name a connection of holdfast.yaml: {which}")
        return None

    def resource(self) -> dict[str, Json]:
        value = self._body.get("resource")
        if value is not None and not isinstance(value, dict):
            self._sheet.mapping(value, ("spec", "resource"))
            return {}
        return value or {}  # null entries stay: here they are values

    def import_from(self) -> Import | None:
        if "import" not in self._body:
            return None
        pointer = ("spec", "import")
        before = len(self._sheet.errors)
        body = self._sheet.mapping(self._body["import"], pointer, ("id", "filter"))
        by_id = self._sheet.text(body, "id", pointer)
        self._sheet.mapping(body.get("filter"), (*pointer, "filter"))
        by_filter = body.get("filter")  # as written: a null in it asks for something
        if len(self._sheet.errors) == before and (by_id is None) == (not by_filter):
            self._sheet.fail("import needs either an id or a filter that is not empty", pointer)
        return Import(by_id, by_filter or None)

    def check_policy(self, policy: ManagementPolicy) -> None:
        """Note what does not go together with the policy."""
        body, fail, missing = self._body, self._sheet.fail, self._sheet.missing
        if policy is ManagementPolicy.UNMANAGED:
            if "import" not in body:
                missing("import", ("spec",), "an unmanaged resource is only looked up: say which with {id: ...}")
            if "managedOptions" in body:
                fail("an unmanaged resource has no managedOptions; remove them", ("spec", "managedOptions"))
            if "resource" in body:
                message = "an unmanaged resource is not compared; use managementPolicy: observed, or remove this"
                fail(message, ("spec", "resource"))
        elif "import" not in body and "resource" not in body:
            missing("resource", ("spec",), f"a resource that is {policy} needs it, or import: {{...}}")


def _known_connections(around: Surroundings) -> str:
    # `local` may be implied, and is then in no file
    written = sorted(name for name, spec in around.connections.items() if name != project.LOCAL or spec.location.file)
    if written:
        return f"; holdfast.yaml has {', '.join(written[:12])}"
    return "; connections are named in holdfast.yaml, beside or above the manifests"
