"""Reading manifests: from what a person named to declarations and strategies, or to everything that is wrong with them.

The result does not depend on the order in which files are named or found.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO, Final, TypeVar

from holdfast.errors import InputError, Location
from holdfast.manifests import documents, file_discovery, kubernetes_objects, resources, strategies
from holdfast.manifests.file_discovery import Source
from holdfast.manifests.project import Project
from holdfast.manifests.resources import GROUP, VERSION, VERSION_EXAMPLE, Surroundings
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.policy import dependency_graph, source_location
from holdfast.policy.dependency_graph import Graph
from holdfast.policy.strategies import Strategy
from holdfast.schema import did_you_mean, fields
from holdfast.schema.document import Place, raise_all
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

    project: Project
    declarations: tuple[Declaration, ...] = ()  # in order of their addresses
    strategies: tuple[Strategy, ...] = ()  # in order of their names
    passed_over: tuple[str, ...] = ()  # files of the folders that hold no manifest
    templates: tuple[Template, ...] = ()  # in order of their names


def read(
    given: Sequence[str],
    project: Project,
    *,
    kinds: Mapping[str, Collection[str]] | None = None,
    stdin: BinaryIO | None = None,
    whole: bool = True,
) -> Manifests:
    """Read files, folders, globs and `-`; raise InputError, or InputErrors with all that is wrong in all of them.

    `kinds` are the known providers with their kinds (none for any kind); without it any provider passes. What can only
    be wrong between documents of several files is not asked where these are not the `whole`.
    """
    project = project.with_local(file_discovery.common_folder(given))
    found, errors = file_discovery.find(given, project.profiles)
    reader = _Reader(Surroundings(project.connections, project.default_connection, kinds), errors)
    passed_over = []
    for source in found:
        try:
            data = file_discovery.load(source, stdin)
            if source.was_named or file_discovery.may_be_manifest(data, has_kubernetes=reader.has_kubernetes):
                reader.source(source, data)
            else:
                passed_over.append(source.name)
        except InputError as error:
            errors.append(error)
    if found and len(passed_over) == len(found):  # an empty result must not look like a clean one
        message = (
            f"none of the {len(found)} files found is a manifest; ours say apiVersion: <provider>.{GROUP}/{VERSION}"
        )
        errors.append(InputError(message, Location(passed_over[0])))
    manifests = Manifests(project, reader.declarations(), reader.strategies(), tuple(passed_over), reader.templates())
    if whole and manifests.templates and not errors:  # what is missing in between may be what could not be read
        errors += _template_manifest().mistakes(manifests.templates, manifests.declarations)
    raise_all(errors)
    return manifests


def graph(manifests: Manifests, known: Iterable[Address] = ()) -> Graph:
    """Return what needs what; raise InputError or InputErrors for references that lead nowhere and for cycles."""
    found, errors = dependency_graph.build(manifests.declarations, known)
    raise_all(errors)
    return found


class _Reader:
    """Collects the declarations of documents; of two with one name the first, by file and line, is kept."""

    def __init__(self, around: Surroundings, errors: list[InputError]) -> None:
        self._around = around
        self._errors = errors
        self._declared: list[Declaration] = []
        self._strategies: list[Strategy] = []
        self._templates: list[Template] = []
        self.has_kubernetes = any(spec.provider == kubernetes_objects.PROVIDER for spec in around.connections.values())

    def source(self, source: Source, data: bytes) -> None:
        """Read the documents of one file."""
        name = source.name.lower()
        is_json = name.endswith(".json") or (
            not name.endswith(file_discovery.SUFFIXES) and documents.looks_like_json(data)
        )
        found = documents.read(data, source.name, is_json=is_json, has_kubernetes=self.has_kubernetes)
        if not found:
            raise InputError("there is no document in it", Location(source.name))
        for document in found:
            if self.has_kubernetes and kubernetes_objects.is_object(document.value):
                self._declared += kubernetes_objects.read(Place(document, self._errors), self._around)
            elif source.was_named or not documents.is_kubernetes(document.value):
                self._document(Place(document, self._errors))

    def _document(self, at: Place) -> None:
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
            self._declared.append(declaration)
        if template is not None:
            self._templates.append(template)

    def _provider(self, at: Place) -> str | None:
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

    def _own_kind(self, at: Place, kind: Json) -> None:
        if BLOCK in at.document.value and kind in (STRATEGY, TEMPLATE):
            hint = "it is one already: write this in its spec" if kind == TEMPLATE else "a strategy cannot be one"
            at.fail(f"{BLOCK} makes a template of a resource; {hint}", BLOCK)
        elif kind == STRATEGY:
            strategy = strategies.read(at)
            if strategy is not None:
                self._strategies.append(strategy)
        elif kind == TEMPLATE:
            template = _template_manifest().read(at, self._around)
            if template is not None:
                self._templates.append(template)
        elif kind is None:
            at.fail(f"`kind` is missing; write kind: {STRATEGY} or kind: {TEMPLATE}")
        else:
            hint = f"{GROUP}/{VERSION} has the kinds {STRATEGY} and {TEMPLATE}"
            at.fail(f"unknown kind {kind!r:.60}; {hint}; resources say <provider>.{GROUP}/{VERSION}", "kind")

    def declarations(self) -> tuple[Declaration, ...]:
        """Return the declarations in order of their addresses, noting those that stand twice."""
        declared = self._declared
        if self.has_kubernetes:
            declared = kubernetes_objects.with_dependencies(declared, self._errors)
        return self._unique({id(each): str(each.address) for each in declared}, declared, "")

    def strategies(self) -> tuple[Strategy, ...]:
        """Return the strategies in order of their names, noting those that stand twice."""
        return self._unique({id(each): each.name for each in self._strategies}, self._strategies, "the strategy ")

    def templates(self) -> tuple[Template, ...]:
        """Return the templates in order of their names, noting those that stand twice."""
        return self._unique({id(each): each.name for each in self._templates}, self._templates, "the template ")

    def _unique(self, names: Mapping[int, str], found: Sequence[_Named], what: str) -> tuple[_Named, ...]:
        kept: dict[str, _Named] = {}
        for each in sorted(found, key=lambda item: (item.location.file or "", item.location.line or 0)):
            name = names[id(each)]
            first = kept.setdefault(name, each)
            if first is not each:
                where = source_location.text(first.location)
                message = f"{what}{name} is declared twice (first in {where}); rename or remove one"
                self._errors.append(InputError(message, replace(each.location, field="/metadata/name")))
        return tuple(kept[name] for name in sorted(kept))


def _template_manifest() -> ModuleType:
    from holdfast.rollouts import manifest  # noqa: PLC0415 - imported only where a manifest has a template

    return manifest
