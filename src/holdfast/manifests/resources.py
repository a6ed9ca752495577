"""The schema of resource documents, and their declarations."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import field
from functools import lru_cache
from typing import Any, Final

from holdfast.compare import paths, quick_scan
from holdfast.errors import InputError, Location
from holdfast.manifests import project, secrets
from holdfast.manifests.project import ConnectionSpec
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration, Import, ManagementPolicy
from holdfast.policy import dependency_graph, settings
from holdfast.providers import registry
from holdfast.schema import did_you_mean, fields
from holdfast.schema.document import DocumentPath
from holdfast.schema.fields import shown

GROUP: Final = "holdfast.dev"
VERSION: Final = "v1"
VERSION_EXAMPLE: Final = f"apiVersion: file.{GROUP}/{VERSION}, with the name of your provider"

_KIND = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The possible targets of declarations: the connections of the project, and the providers with their kinds."""

    connections: Mapping[str, ConnectionSpec] = field(default_factory=dict)
    default_connection: str | None = None
    kinds: Mapping[str, Collection[str]] | None = None  # by provider; None: any provider; no kinds: any kind


@dataclass(frozen=True, slots=True)
class Metadata:
    """The head of a document."""

    name: str
    namespace: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


# --- the schema


def _kind(text: str) -> str:
    if not _KIND.fullmatch(text):
        raise InputError(f"the kind {shown(text)} must be a word of letters, digits, dots and dashes")
    return text


def _import(id: str | None = None, filter: dict[str, Json] | None = None) -> Import:  # noqa: A002 - names in the file
    if (id is None) == (not filter):
        raise InputError("import needs either an id or a filter that is not empty")
    return Import(id, filter or None)


def _address(text: str) -> str:
    if "," in text:
        raise InputError("expected an address such as Network/core")
    return text


METADATA: Final = fields.record(
    Metadata,
    {
        "name": fields.required(fields.NAME, "every document needs a name"),
        "namespace": fields.NAME,
        "labels": fields.LABELS,
        "annotations": fields.LABELS,
    },
)
HEAD: Final[fields.Table] = {
    "apiVersion": fields.required(fields.STRING, f"write {VERSION_EXAMPLE}"),
    "kind": fields.required(fields.STRING.then(_kind), "name the kind, such as kind: Network"),
    "metadata": fields.required(METADATA, "write metadata: {name: ...}"),
}
DEPENDS_ON: Final = fields.list_of(fields.STRING.then(_address))
_IMPORT: Final = fields.record(_import, {"id": fields.STRING, "filter": fields.DOCUMENT})
SPEC: Final = fields.plain(
    {
        "connection": fields.STRING,
        "managementPolicy": fields.renamed(fields.choice(ManagementPolicy), "policy"),
        "managedOptions": settings.OPTIONS,
        "import": fields.renamed(
            fields.record(_import, {"id": fields.STRING, "filter": fields.DOCUMENT}), "import_from"
        ),
        "resource": fields.DOCUMENT,
        "dependsOn": DEPENDS_ON,
    },
)
TOP: Final = fields.plain(
    {
        **HEAD,
        "spec": fields.required(fields.DOCUMENT, "write spec: {resource: {...}}"),
        "template": fields.ANY,
    }
)


# --- declarations


def read(at: DocumentPath, provider: str, around: Surroundings) -> Declaration | None:
    """Return the declaration of a document, or None if a mistake was noted."""
    before = len(at.errors)
    resource = read_parts(at, provider, around)
    if resource.spec is not None:
        _check_policy(resource.spec, at.document.value["spec"], at.below("spec"))
    desired, type_ = rewrite(at, provider, resource.kind or "", resource.desired)
    if resource.kind is None or resource.head is None or resource.connection is None or len(at.errors) > before:
        return None
    spec, head = resource.spec or {}, resource.head
    needs = depends_on(spec.get("depends_on", ()), head.annotations)
    annotations = {**head.annotations, dependency_graph.DEPENDS_ON: needs} if needs else head.annotations
    return Declaration(
        address=Address(
            resource.connection.name, registry.canonical_kind(provider, resource.kind), head.name, head.namespace
        ),
        provider=provider,
        api_version=at.document.value["apiVersion"],
        desired=desired,
        labels=head.labels,
        annotations=annotations,
        policy=spec.get("policy", ManagementPolicy.MANAGED),
        options=written_options(at.document.value["spec"]),
        import_from=spec.get("import_from"),
        type=type_,
        location=start_of(at),
        places=lines_of(at),
    )


@dataclass(frozen=True, slots=True)
class ResourceParts:
    """The parts of a resource document that could be read."""

    head: Metadata | None
    kind: str | None
    spec: Mapping[str, Any] | None
    connection: ConnectionSpec | None

    @property
    def desired(self) -> dict[str, Json]:
        """The wanted document as written; null in it is a value."""
        return dict(self.spec.get("resource", {})) if self.spec is not None else {}


def read_parts(at: DocumentPath, provider: str, around: Surroundings) -> ResourceParts:
    """Return the parts of a resource document; mistakes are noted, also in its connection, kind and secrets."""
    given = TOP.read_fields(at.document.value, at)
    kind = check_kind(given.get("kind"), at.below("kind"), provider, around)
    if "spec" not in given:
        return ResourceParts(given.get("metadata"), kind, None, None)
    place = at.below("spec")
    spec = SPEC.read_fields(given["spec"], place)
    connection = find_connection(given["spec"], place, provider, around)
    check_secrets(spec.get("resource"), place.below("resource"), connection)
    return ResourceParts(given.get("metadata"), kind, spec, connection)


def start_of(at: DocumentPath) -> Location:
    """Return file and line of a document."""
    return Location(at.document.file, at.document.line)


def lines_of(at: DocumentPath) -> dict[str, int]:
    """Return the lines of the fields of a document."""
    return {_path_text(pointer): place[0] for pointer, place in at.document.places.items()}


@lru_cache(maxsize=65536)
def _path_text(pointer: Pointer) -> str:
    """Return the text of a path; resources of one kind share theirs, in time and in memory."""
    return paths.format_path(pointer)


def written_options(spec: Mapping[str, Json]) -> dict[str, Json]:
    """Return the managed options of a spec as written, without null."""
    return {name: value for name, value in (spec.get("managedOptions") or {}).items() if value is not None}


def rewrite(
    at: DocumentPath, provider: str, kind: str, desired: dict[str, Json], *, is_whole: bool = True
) -> tuple[dict[str, Json], str | None]:
    """Return a wanted document with its provider's own references as ours, and the provider's own type.

    One that is not whole is left as it is where the provider misses a field in it.
    """
    convert = registry.rewriting(provider)
    if convert is None:
        return desired, None
    try:
        return convert(kind, desired)
    except InputError as error:
        if is_whole:
            place = paths.parse_path(error.location.field or "")
            at.fail(error.message, "spec", "resource", *(str(step) for step in place))
        return desired, None


def check_kind(kind: str | None, at: DocumentPath, provider: str, around: Surroundings) -> str | None:
    """Return the kind if its provider has it; otherwise note that."""
    kinds = around.kinds.get(provider) if around.kinds is not None else None
    if kind is not None and kinds and kind not in kinds:
        hint = did_you_mean.hint(kind, kinds) or f"; it has {', '.join(sorted(kinds)[:12])}"
        at.fail(f"the provider {provider} has no kind {shown(kind)}{hint}")
        return None
    return kind


def check_secrets(desired: Json, at: DocumentPath, connection: ConnectionSpec | None) -> None:
    """Note references to secrets that are malformed, or that name a secret which the connection does not have."""
    if not quick_scan.may_mention(desired, secrets.SECRET_REF):
        return
    for pointer, reference in secrets.find(desired):
        if isinstance(reference, secrets.FromConnection) and connection and reference.key not in connection.secrets:
            hint = did_you_mean.hint(reference.key, connection.secrets)
            at.fail(f"the connection {connection.name} has no secret {shown(reference.key)}{hint}", *pointer)
        elif isinstance(reference, InputError):
            at.note(reference, *pointer)


def depends_on(names: Collection[str], annotations: Mapping[str, str] | None = None) -> str:
    """Return the explicit dependencies as one text, from the list and then the annotation."""
    return ",".join([*names, (annotations or {}).get(dependency_graph.DEPENDS_ON, "")]).strip(",")


def _check_policy(spec: Mapping[str, Any], written: Mapping[str, Json], at: DocumentPath) -> None:
    """Note fields that do not go together with the management policy."""
    policy = spec.get("policy", ManagementPolicy.MANAGED)
    has_import, has_resource = written.get("import") is not None, written.get("resource") is not None
    if policy is ManagementPolicy.UNMANAGED:
        if not has_import:
            at.fail("`import` is missing; an unmanaged resource is only looked up: name it with {id: ...}")
        if written.get("managedOptions") is not None:
            at.fail("an unmanaged resource has no managedOptions; remove them", "managedOptions")
        if has_resource:
            message = "an unmanaged resource is not compared; use managementPolicy: observed, or remove this"
            at.fail(message, "resource")
    elif not has_import and not has_resource and "resource" not in _meant(written):
        at.fail(f"`resource` is missing; a resource that is {policy} needs it, or import: {{...}}")


def _meant(written: Mapping[str, Json]) -> set[str | None]:
    """Return the fields that unknown ones were probably meant to be, which have been noted already."""
    return {did_you_mean.closest(name, SPEC.table) for name in written if name not in SPEC.table}


# --- connections


def find_connection(
    spec: Mapping[str, Json], at: DocumentPath, provider: str, around: Surroundings
) -> ConnectionSpec | None:
    """Return the connection that is named, else the only one that can be meant; otherwise note that."""
    name = spec.get("connection")
    if name is None:
        return None if "connection" in _meant(spec) else _only_connection(at, provider, around)
    if not isinstance(name, str) or not name:
        return None
    connection = around.connections.get(name)
    if connection is None:
        hint = did_you_mean.hint(name, sorted(around.connections)) or _known_connections(around)
        at.fail(f"there is no connection {shown(name)}{hint}", "connection")
        return None
    if connection.provider != provider:
        message = (
            f"the connection {name} is of provider {connection.provider}, but apiVersion says {provider}; "
            f"write apiVersion: {connection.provider}.{GROUP}/{VERSION} or name another connection"
        )
        at.fail(message, "connection")
        return None
    return connection


def _only_connection(at: DocumentPath, provider: str, around: Surroundings) -> ConnectionSpec | None:
    fitting = {name: spec for name, spec in around.connections.items() if spec.provider == provider}
    for name in (around.default_connection, project.LOCAL):
        if name is not None and name in fitting:
            return fitting[name]
    if len(fitting) == 1:
        return next(iter(fitting.values()))
    names = f"one of {', '.join(sorted(fitting))}" if fitting else f"declare one of provider {provider} first"
    at.fail(f"`connection` is missing; name a connection of holdfast.yaml: {names}")
    return None


def _known_connections(around: Surroundings) -> str:
    # `local` may be implied, and is then in no file
    written = sorted(name for name, spec in around.connections.items() if name != project.LOCAL or spec.location.file)
    if written:
        return f"; holdfast.yaml has {', '.join(written[:12])}"
    return "; connections are named in holdfast.yaml, beside or above the manifests"
