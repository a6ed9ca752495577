"""Plain Kubernetes objects as declarations: the object itself is the wanted document, options are annotations.

metadata:
  annotations:
    holdfast.dev/onDrift: report                # every managed option, as in managedOptions
    holdfast.dev/managementPolicy: observed
    holdfast.dev/connection: production
    holdfast.dev/fieldConflicts: take           # read by the provider
    holdfast.dev/depends-on: ConfigMap/settings
    holdfast.dev/kind: Cluster.example.org      # the name of the kind in addresses, where two groups share it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from holdfast.errors import InputError
from holdfast.manifests import documents, resources
from holdfast.manifests.project import ConnectionSpec
from holdfast.manifests.resources import Surroundings
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration, ManagementPolicy
from holdfast.policy import dependency_graph, references, settings, source_location
from holdfast.providers.kubernetes import kind_names
from holdfast.schema import did_you_mean, fields
from holdfast.schema.document import DocumentPath
from holdfast.schema.fields import shown

PROVIDER: Final = "kubernetes"
_PREFIX: Final = "holdfast.dev/"
_POLICY: Final = "managementPolicy"
_CONNECTION: Final = "connection"
_KIND: Final = "kind"
_CONFLICTS: Final = "fieldConflicts"
_OWN: Final = (_POLICY, _CONNECTION, _KIND, _CONFLICTS, "depends-on")
_STAMPS: Final = ("template", "slot", "uid", "hash", "hash-version")  # written by rollouts, not options
_POLICIES: Final = fields.word([ManagementPolicy.MANAGED.value, ManagementPolicy.OBSERVED.value])
_CONFLICT_WORDS: Final = fields.word(["leave", "take"])
_KUSTOMIZE: Final = "kustomize.config.k8s.io/"  # an input of a tool, never an object of a server
_SERVER_METADATA: Final = frozenset(
    ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
)


def is_object(value: Json) -> bool:
    """Return True if a document is an object for an API server."""
    return documents.is_kubernetes(value) and not str(value["apiVersion"]).startswith(_KUSTOMIZE)


def read(at: DocumentPath, around: Surroundings) -> Iterator[Declaration]:
    """Yield the declaration of an object; note its mistakes."""
    before = len(at.errors)
    value = at.document.value
    metadata, kind = _metadata(at, value), value.get("kind")
    if not isinstance(kind, str) or not kind:
        at.fail("`kind` is missing; write kind: Deployment, or another kind that the server serves")
    annotations = _texts(metadata.get("annotations"), at.below("metadata", "annotations"))
    labels = _texts(metadata.get("labels"), at.below("metadata", "labels"))
    options = _options(annotations, at)
    connection = _connection(annotations, at, around)
    if len(at.errors) > before or connection is None:
        return
    group = str(value["apiVersion"]).rpartition("/")[0]
    namespace = _namespace(metadata, group, str(kind), connection, at)
    name = _address_kind(annotations, group, str(kind), at)
    desired = _desired(value)
    resources.check_secrets(desired, at, connection)
    if len(at.errors) > before:
        return
    yield Declaration(
        address=Address(connection.name, name, metadata["name"], namespace),
        provider=PROVIDER,
        api_version=value["apiVersion"],
        desired=desired,
        labels=labels,
        annotations=annotations,
        policy=ManagementPolicy(annotations.get(_PREFIX + _POLICY, ManagementPolicy.MANAGED)),
        options=options,
        location=resources.start_of(at),
        places=resources.lines_of(at),
    )


def _metadata(at: DocumentPath, value: Mapping[str, Json]) -> Mapping[str, Any]:
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        at.fail("`metadata` is missing; write metadata: {name: ...}")
        return {}
    name = metadata.get("name")
    if metadata.get("generateName") and not name:
        at.fail(
            "an object with generateName has another name each time; write metadata.name", "metadata", "generateName"
        )
    elif not isinstance(name, str) or not name:
        at.fail(
            "`name` is missing; every object needs a name, and names that are numbers need quotes", "metadata", "name"
        )
    elif "/" in name:
        at.fail(f"the name {shown(name)} must not have a slash", "metadata", "name")
    return metadata


def _texts(given: Json, at: DocumentPath) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        at.fail("expected a mapping from names to strings")
        return {}
    for name, value in given.items():
        if not isinstance(value, str):
            at.fail(f"expected a string; put {shown(str(value))} in quotes", name)
    return {name: value for name, value in given.items() if isinstance(value, str)}


def _options(annotations: Mapping[str, str], at: DocumentPath) -> dict[str, Json]:
    options: dict[str, Json] = {}
    known = (*settings.BY_SPELLING, *_OWN)
    for annotation, text in annotations.items():
        if not annotation.startswith(_PREFIX):
            continue
        word, place = annotation.removeprefix(_PREFIX), at.below("metadata", "annotations", annotation)
        setting = settings.BY_SPELLING.get(word)
        if setting is not None:
            options[word] = _option(setting, text, place)
        elif word in (_POLICY, _CONFLICTS):
            (_POLICIES if word == _POLICY else _CONFLICT_WORDS).read(text, place)
        elif word not in known and word not in _STAMPS:
            place.fail(f"there is no option {shown(word)}{did_you_mean.hint(word, known)}")
    return options


def _option(setting: settings.Setting, text: str, at: DocumentPath) -> Json:
    try:
        value = setting.from_text(text)
    except InputError as error:
        at.note(error)
        return None
    setting.type.read(value, at)
    return value


def _connection(annotations: Mapping[str, str], at: DocumentPath, around: Surroundings) -> ConnectionSpec | None:
    named = annotations.get(_PREFIX + _CONNECTION)
    return resources.find_connection({"connection": named} if named else {}, at, PROVIDER, around)


def _namespace(
    metadata: Mapping[str, Any], group: str, kind: str, connection: ConnectionSpec, at: DocumentPath
) -> str | None:
    """Return the namespace of an object; a custom kind without one is left to the server, which knows its scope."""
    is_built_in = kind_names.is_built_in(group)
    if is_built_in and kind in kind_names.CLUSTER_SCOPED:
        return None
    namespace = metadata.get("namespace") or connection.settings.get("namespace")
    if namespace is None and is_built_in:
        message = f"a {kind} is in a namespace: write metadata.namespace, or set namespace of the connection"
        at.fail(f"{message} {connection.name}", "metadata", "name")
    elif namespace is not None and (not isinstance(namespace, str) or "/" in namespace):
        at.fail("expected the name of a namespace; names that are numbers need quotes", "metadata", "namespace")
    elif not is_built_in and not metadata.get("namespace"):
        return None
    return str(namespace) if namespace else None


def _address_kind(annotations: Mapping[str, str], group: str, kind: str, at: DocumentPath) -> str:
    named = annotations.get(_PREFIX + _KIND)
    if named is not None and named not in (kind, f"{kind}.{group}"):
        place = at.below("metadata", "annotations", _PREFIX + _KIND)
        place.fail(f"expected {kind} or {kind}.{group}")
    return named or kind_names.address_kind(group, kind)


def _desired(value: Mapping[str, Json]) -> dict[str, Json]:
    """Return the desired document: the object without fields that only a server writes. `${` in it is plain text."""
    metadata = {key: item for key, item in value["metadata"].items() if key not in _SERVER_METADATA}
    kept = {key: item for key, item in value.items() if key != "status"}
    return dict(_escaped({**kept, "metadata": metadata}))


def _escaped(value: Json) -> Json:
    if isinstance(value, str):
        return references.escape(value) if references.MARK in value else value
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list) else value


# --- between objects


def with_dependencies(declared: Sequence[Declaration], errors: list[InputError]) -> list[Declaration]:
    """Return the declarations, each object after its declared namespace and its declared definition.

    A kind that two groups share is an error, because both would have the same name in addresses.
    """
    needed = {key: str(item.address) for item in declared for key in _provides(item)}
    groups: dict[tuple[str, str], Declaration] = {}
    result = []
    for declaration in declared:
        if not is_object({"apiVersion": declaration.api_version}):
            result.append(declaration)
            continue
        first = groups.setdefault((declaration.address.connection, declaration.address.kind), declaration)
        if _group(first) != _group(declaration):
            errors.append(_shared(first, declaration))
        wanted = [needed[key] for key in _needs(declaration) if key in needed]
        result.append(_depending(declaration, [name for name in wanted if name != str(declaration.address)]))
    return result


def _group(declaration: Declaration) -> str:
    group = declaration.api_version.rpartition("/")[0]
    return "" if kind_names.is_built_in(group) else group


def _shared(first: Declaration, second: Declaration) -> InputError:
    kind = second.address.kind
    message = (
        f"the kind {kind} is in two groups: here and in {source_location.text(first.location)}; "
        f"add the annotation {_PREFIX}{_KIND}: {kind}.{_group(second) or _group(first)} to one of them"
    )
    return InputError(message, source_location.declared(second, ("kind",)))


def _provides(declaration: Declaration) -> Iterator[tuple[str, ...]]:
    connection, desired = declaration.address.connection, declaration.desired
    if declaration.address.kind == "Namespace":
        yield connection, "namespace", declaration.address.name
    elif declaration.address.kind == "CustomResourceDefinition":
        spec = desired.get("spec")
        spec = spec if isinstance(spec, dict) else {}
        names = spec.get("names")
        if isinstance(names, dict):
            yield connection, "kind", str(spec.get("group")), str(names.get("kind"))


def _needs(declaration: Declaration) -> Iterator[tuple[str, ...]]:
    connection, namespace = declaration.address.connection, declaration.address.namespace
    if namespace is not None:
        yield connection, "namespace", namespace
    yield connection, "kind", _group(declaration), str(declaration.desired.get("kind"))


def _depending(declaration: Declaration, names: Sequence[str]) -> Declaration:
    if not names:
        return declaration
    needs = resources.depends_on(names, declaration.annotations)
    return replace(declaration, annotations={**declaration.annotations, dependency_graph.DEPENDS_ON: needs})
