"""Reading manifests: from the named files to declarations and strategies, or to all mistakes in them.

The result does not depend on the order in which files are named or found.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, TypeVar

from holdfast.errors import InputError, Location
from holdfast.manifests import documents, file_discovery, resources, strategies
from holdfast.manifests.file_discovery import Source
from holdfast.manifests.project import ConnectionSpec, ProjectFile
from holdfast.manifests.resources import GROUP, VERSION, VERSION_EXAMPLE, Surroundings
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.policy import dependency_graph, source_location
from holdfast.policy.dependency_graph import Graph
from holdfast.policy.strategies import Strategy
from holdfast.schema import did_you_mean, fields
from holdfast.schema.document import Document, DocumentPath, raise_all
from holdfast.schema.fields import shown

if TYPE_CHECKING:
    from holdfast.rollouts.core.templates import Template

STRATEGY: Final = "Strategy"
TEMPLATE: Final = "Template"
BLOCK: Final = "template"  # of a resource document that is a template

_API_VERSION = re.compile(rf"(?:(?P<provider>[A-Za-z0-9-]+)\.)?{re.escape(GROUP)}/(?P<version>[^/]+)")
_HEADER = fields.plain(  # for a document whose apiVersion does not say how to read it
    {"apiVersion": resources.HEAD["apiVersion"], **dict.fromkeys(("kind", "metadata", "spec", BLOCK), fields.ANY)}
)
_Named = TypeVar("_Named", "Declaration", "Strategy", "Template")


@dataclass(frozen=True, slots=True)
class Manifests:
    """Everything that was read; `project` has the connection `local` where it was left to us."""

    project: ProjectFile
    declarations: tuple[Declaration, ...] = ()  # in order of their addresses
    strategies: tuple[Strategy, ...] = ()  # in order of their names
    passed_over: tuple[str, ...] = ()  # files of the folders that hold no manifest
    templates: tuple[Template, ...] = ()  # in order of their names


def read(
    given: Sequence[str],
    project: ProjectFile,
    *,
    kinds: Mapping[str, Collection[str]] | None = None,
    stdin: BinaryIO | None = None,
    whole: bool = True,
) -> Manifests:
    """Read files, folders, globs and `-`; raise InputError, or InputErrors with all mistakes in all of them.

    `kinds` are the known providers with their kinds (none for any kind); without it any provider passes. Mistakes
    between documents of several files are not searched for if these are not the `whole`.
    """
    project = project.with_local(file_discovery.common_folder(given))
    found, errors = file_discovery.find(given, project.profiles)
    around = Surroundings(project.connections, project.default_connection, kinds)
    files: list[FileReading] = []
    passed_over = []
    for source in found:
        try:
            reading = read_file(source, file_discovery.load(source, stdin), around)
        except InputError as error:
            errors.append(error)
            continue
        errors += reading.errors
        files.append(reading)
        if reading.is_passed_over:
            passed_over.append(source.name)
    if found and len(passed_over) == len(found):  # an empty result must not look like a clean one
        message = (
            f"none of the {len(found)} files found is a manifest; ours say apiVersion: <provider>.{GROUP}/{VERSION}"
        )
        errors.append(InputError(message, Location(passed_over[0])))
    manifests = join(project, files, errors, tuple(passed_over))
    if whole and not errors:  # what is missing in between may be what could not be read
        errors += template_mistakes(manifests)
    raise_all(errors)
    return manifests


def template_mistakes(manifests: Manifests) -> list[InputError]:
    """Return the mistakes between templates, and between them and other declarations."""
    if not manifests.templates:
        return []
    mistakes: list[InputError] = _template_manifest().mistakes(manifests.templates, manifests.declarations)
    return mistakes


def join(
    project: ProjectFile, files: Iterable[FileReading], errors: list[InputError], passed_over: tuple[str, ...] = ()
) -> Manifests:
    """Return the declarations of several files in order of names. Duplicate names are added to the errors."""
    declared, strategies_, templates = [], [], []
    for reading in files:
        declared += reading.declarations
        strategies_ += reading.strategies
        templates += reading.templates
    if has_cluster(project.connections):
        declared = _kubernetes_objects().with_dependencies(declared, errors)
    return Manifests(
        project,
        _unique({id(item): str(item.address) for item in declared}, declared, "", errors),
        _unique({id(item): item.name for item in strategies_}, strategies_, "the strategy ", errors),
        passed_over,
        _unique({id(item): item.name for item in templates}, templates, "the template ", errors),
    )


def graph(manifests: Manifests, known: Iterable[Address] = ()) -> Graph:
    """Return the dependency graph. Raise InputError or InputErrors for cycles and for references without a target."""
    found, errors = dependency_graph.build(manifests.declarations, known)
    raise_all(errors)
    return found


class DocumentOrigin(NamedTuple):
    """A document, and its position among those of its file."""

    document: Document
    position: int


@dataclass(slots=True)
class FileReading:
    """The content of one file."""

    errors: list[InputError] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)
    plain: list[tuple[Declaration, DocumentOrigin]] = field(
        default_factory=list
    )  # those without a template, among the above
    strategies: list[Strategy] = field(default_factory=list)
    templates: list[Template] = field(default_factory=list)
    others: list[DocumentOrigin] = field(default_factory=list)  # of documents that are not one plain declaration
    begins: list[int | None] = field(default_factory=list)  # where the texts of all documents begin
    is_passed_over: bool = False  # a file of a folder that is no manifest
    has_foreign: bool = False  # documents of other programs were left out, because the file was not named


def read_file(source: Source, data: bytes, around: Surroundings) -> FileReading:
    """Return the content of one file with the mistakes in it; raise InputError if it has no documents."""
    reading, cluster = FileReading(), has_cluster(around.connections)
    if not source.was_named and not file_discovery.may_be_manifest(data, has_kubernetes=cluster):
        reading.is_passed_over = True
        return reading
    found = documents.read(data, source.name, is_json=is_json(source.name, data), has_kubernetes=cluster)
    if not found:
        raise InputError("there is no document in it", Location(source.name))
    for position, document in enumerate(found):
        reading.begins.append(document.begin)
        if cluster and _kubernetes_objects().is_object(document.value):
            reading.declarations += _kubernetes_objects().read(DocumentPath(document, reading.errors), around)
            reading.others.append(DocumentOrigin(document, position))
        elif source.was_named or not documents.is_kubernetes(document.value):
            read_document(DocumentOrigin(document, position), around, reading)
        else:
            reading.has_foreign = True
    return reading


def has_cluster(connections: Mapping[str, ConnectionSpec]) -> bool:
    """Return True if plain Kubernetes objects are declarations, because a connection leads to a cluster."""
    return any(connection.provider == "kubernetes" for connection in connections.values())


def is_json(name: str, data: bytes) -> bool:
    """Return True if a file is read as JSON: by its suffix, else by its first characters."""
    lower = name.lower()
    return lower.endswith(".json") or (not lower.endswith(file_discovery.SUFFIXES) and documents.looks_like_json(data))


def read_document(origin: DocumentOrigin, around: Surroundings, reading: FileReading) -> None:
    """Add the content of one document to that of its file."""
    count, value = len(reading.declarations), origin.document.value
    _Reader(around, reading).read(DocumentPath(origin.document, reading.errors))
    if isinstance(value, dict) and BLOCK not in value and len(reading.declarations) > count:
        reading.plain.append((reading.declarations[-1], origin))
    else:
        reading.others.append(origin)


class _Reader:
    """Reads documents by their apiVersion and kind."""

    def __init__(self, around: Surroundings, reading: FileReading) -> None:
        self._around = around
        self._reading = reading

    def read(self, at: DocumentPath) -> None:
        """Read one document."""
        value = at.document.value
        if not isinstance(value, dict):
            at.fail("a manifest is a mapping with apiVersion, kind, metadata and spec")
            return
        provider = self._provider(at)
        if provider is None:
            return
        if provider == "":
            self._own_kind(at, value.get("kind"))
            return
        template = None
        if BLOCK in value:  # also with nothing in it
            template, declaration = _template_manifest().read_block(at, provider, self._around)
        else:
            declaration = resources.read(at, provider, self._around)
        if declaration is not None:
            self._reading.declarations.append(declaration)
        if template is not None:
            self._reading.templates.append(template)

    def _provider(self, at: DocumentPath) -> str | None:
        """Return the provider of a document, an empty text for our own kinds, None if a mistake was noted."""
        text = at.document.value.get("apiVersion")
        if not isinstance(text, str) or not text:
            _HEADER.read_fields(at.document.value, at)
            return None
        match = _API_VERSION.fullmatch(text)
        if match is None or match["version"] != VERSION:
            hint = f"write {VERSION_EXAMPLE}"
            if documents.is_kubernetes(at.document.value):
                hint = f"{hint}; for objects of Kubernetes declare a connection with provider: kubernetes"
            at.fail(f"apiVersion {shown(text)} is unknown; {hint}", "apiVersion")
            return None
        provider = match["provider"] or ""
        known = self._around.kinds
        if provider and known is not None and provider not in known:
            hint = did_you_mean.hint(provider, known) or f"; known: {', '.join(sorted(known))}"
            at.fail(f"there is no provider {shown(provider)}{hint}", "apiVersion")
            return None
        return provider

    def _own_kind(self, at: DocumentPath, kind: Json) -> None:
        if BLOCK in at.document.value and kind in (STRATEGY, TEMPLATE):
            hint = "it is one already: write this in its spec" if kind == TEMPLATE else "a strategy cannot be one"
            at.fail(f"{BLOCK} makes a template of a resource; {hint}", BLOCK)
        elif kind == STRATEGY:
            strategy = strategies.read(at)
            if strategy is not None:
                self._reading.strategies.append(strategy)
        elif kind == TEMPLATE:
            template = _template_manifest().read(at, self._around)
            if template is not None:
                self._reading.templates.append(template)
        elif kind is None:
            at.fail(f"`kind` is missing; write kind: {STRATEGY} or kind: {TEMPLATE}")
        else:
            hint = f"{GROUP}/{VERSION} has the kinds {STRATEGY} and {TEMPLATE}"
            at.fail(f"unknown kind {kind!r:.60}; {hint}; resources say <provider>.{GROUP}/{VERSION}", "kind")


def _unique(
    names: Mapping[int, str], found: Sequence[_Named], what: str, errors: list[InputError]
) -> tuple[_Named, ...]:
    """Return the items in order of their names. Of two with one name the first, by file and line, is kept."""
    kept: dict[str, _Named] = {}
    for item in sorted(found, key=lambda item: (item.location.file or "", item.location.line or 0)):
        name = names[id(item)]
        first = kept.setdefault(name, item)
        if first is not item:
            where = source_location.text(first.location)
            message = f"{what}{name} is declared twice (first in {where}); rename or remove one"
            errors.append(InputError(message, replace(item.location, field="/metadata/name")))
    return tuple(kept[name] for name in sorted(kept))


def _kubernetes_objects() -> ModuleType:
    from holdfast.manifests import kubernetes_objects  # noqa: PLC0415 - imported only in a project with a cluster

    return kubernetes_objects


def _template_manifest() -> ModuleType:
    from holdfast.rollouts import manifest  # noqa: PLC0415 - imported only where a manifest has a template

    return manifest
