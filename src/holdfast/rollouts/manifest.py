"""The schema of templates: documents of kind Template, and resource documents with a block `template`.

    apiVersion: holdfast.dev/v1
    kind: Template
    metadata: {name: web}
    spec:
      child: {apiVersion: file.holdfast.dev/v1, kind: Document, connection: local}
      replicas: 10                         # or selector: {matchLabels: {pool: web}}, or neither for a part
      uses: [base]                         # parts: other templates that the children belong to as well
      resource: {path: etc/$(name).yaml, content: {level: info}}
      fields: {inPlace: [/content/labels], behavioural: [/content/weight]}
      requirements: [{path: /zone, operator: In, values: [a, b]}]
      rollout: {canary: 1, maxSurge: 10%}

Any kind of resource can be declared as a template:

    apiVersion: file.holdfast.dev/v1
    kind: Document
    metadata: {name: web, labels: {team: shop}}
    template: {replicas: 10, rollout: {canary: 1}}     # the same fields, without `child` and `resource`
    spec:                                              # as of any resource
      connection: fleet
      resource: {path: $(name).yaml, content: {image: "web:1.0"}}

With `replicas` or `selector` such a document is the prototype of its children, and no resource itself. With neither it
is a part that other templates use, and also a resource of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from holdfast.compare import paths
from holdfast.compat.karpenter.stamps import Hashed
from holdfast.errors import InputError
from holdfast.manifests import resources, strategies
from holdfast.manifests.resources import Metadata, Surroundings
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration, ManagementPolicy
from holdfast.policy import settings, source_location
from holdfast.providers import registry
from holdfast.rollouts import rollout_schema
from holdfast.rollouts.core import rendering
from holdfast.rollouts.core.revisions import Unstamped
from holdfast.rollouts.core.template_findings import FindingKind
from holdfast.rollouts.core.template_schemes import Keys, ListOrder, ListRule
from holdfast.rollouts.core.templates import (
    BLOCK,
    ChildChecks,
    ChildKind,
    Compatibility,
    FieldClasses,
    Method,
    RolloutMode,
    RolloutPolicy,
    Stamping,
    StampPolicy,
    Template,
    TemplateSource,
)
from holdfast.rollouts.rollout_schema import KEY_SET, KEYS, keys_of
from holdfast.schema import did_you_mean, fields
from holdfast.schema.document import DocumentPath
from holdfast.schema.fields import kind_name, shown

UID: Final = "holdfast.dev/uid"  # annotation: another value makes another owner of the same name
MOST: Final = 100_000  # children of one template

_OWN = ("labels", "managedOptions", "dependsOn")  # what selected children say themselves
_LISTS = ("ordered", *(kind.value for kind in ListOrder))
_PROMOTED = (FindingKind.NEWLY_VISIBLE.value, FindingKind.DEFAULTS_CHANGED.value)
_CONTENT = "write what children are made from: resource: {...}"
_ELSEWHERE: Final = {  # fields of a document of kind Template that a block has elsewhere
    "child": "the document itself says what its children are, in apiVersion, kind, metadata and spec; remove it",
    "resource": "what children are made from stands in spec.resource of this document; remove it",
}


@dataclass(frozen=True, slots=True)
class Prototype:
    """The content and the kind of the children, wherever that is written."""

    content: Mapping[str, Json]
    child: ChildKind | None = None
    address: Address | None = None  # of a part that is a resource of its own


# --- the schema


def _path_name(text: str) -> None:
    keys_of(text)


def _list_rule(value: Json) -> ListRule | None:
    if value == "ordered":
        return None
    if isinstance(value, str) and value in _LISTS:
        return ListOrder(value)
    if isinstance(value, list) and value and all(isinstance(name, str) and name for name in value):
        return tuple(value)
    got = f"{shown(value)}{did_you_mean.hint(value, _LISTS)}" if isinstance(value, str) else kind_name(value)
    raise InputError(
        f"expected {', '.join(_LISTS)}, or names of fields that identify elements, such as [name]; got {got}"
    )


def _by_keys(table: Mapping[str, Any]) -> dict[Keys, Any]:
    return {keys_of(path): value for path, value in table.items() if value is not None}


def _field_classes(given: dict[str, Any], at: DocumentPath) -> FieldClasses:
    classes = FieldClasses(**given)
    for keys in sorted(classes.rewritten & (classes.in_place | classes.behavioural | classes.removed)):
        message = f"{paths.format_path(keys)} cannot be rolled out and not rolled out: name it in one class only"
        at.fail(message, "rewrite")
    return classes


def _stamping(at: Keys, of: Keys | None = None, ca_bundle: str | None = None, **key: str) -> Stamping:
    return Stamping(at, **key, hashed=None if of is None else Hashed(of, ca_bundle))


SETTINGS: Final = fields.plain(
    {
        "replicas": fields.whole(0, MOST),
        "selector": strategies.SELECTOR,
        "uses": fields.STRINGS,
        "zones": fields.STRINGS,
        "schema": fields.STRING,
        "nonce": fields.STRING,
        "fields": fields.plain(
            {
                "inPlace": KEY_SET,
                "behavioural": KEY_SET,
                "removed": KEY_SET,
                "keepEmpty": fields.renamed(KEY_SET, "keeps_empty"),
                "defaults": fields.mapping_of(fields.mapping_of(fields.ANY, _path_name).then(_by_keys)),
                "moved": fields.mapping_of(fields.mapping_of(KEYS, _path_name).then(_by_keys)),
                "lists": fields.mapping_of(fields.parsed(_list_rule), _path_name).then(_by_keys),
                "rewrite": fields.renamed(KEY_SET, "rewritten"),
            },
        ).then_at(_field_classes),
        "requirements": rollout_schema.REQUIREMENTS,
        "readyWhen": rollout_schema.PREDICATES,
        "idleWhen": rollout_schema.PREDICATES,
        "stamps": fields.renamed(
            fields.record(
                _stamping,
                {
                    "at": fields.required(KEYS, "name the path of annotations, such as /metadata/annotations"),
                    "key": fields.STRING,
                    "of": KEYS,
                    "caBundle": fields.renamed(fields.STRING, "ca_bundle"),
                },
            ),
            "stamping",
        ),
        "compatibility": fields.choice(Compatibility),
        "unstamped": fields.choice(Unstamped),
        "mode": fields.choice(RolloutMode),
        "promote": fields.renamed(fields.list_of(fields.word(_PROMOTED).then(FindingKind)).then(frozenset), "promoted"),
        "rollout": rollout_schema.SECTION,
        "keepRevisions": fields.renamed(fields.COUNT, "kept"),
    },
)
CHILD: Final = fields.plain(
    {
        "apiVersion": fields.required(fields.STRING, "such as file.holdfast.dev/v1"),
        "kind": fields.required(fields.STRING, "name the kind of the children, such as Document"),
        "connection": fields.STRING,
        "namespace": fields.NAME,
        "labels": fields.LABELS,
        "managedOptions": settings.OPTIONS,
        "dependsOn": resources.DEPENDS_ON,
    },
)
SPEC: Final = fields.plain(
    {"child": fields.DOCUMENT, "resource": fields.required(fields.DOCUMENT, _CONTENT), **SETTINGS.table}
)
TOP: Final = fields.plain(
    {
        **resources.HEAD,
        "spec": fields.required(fields.DOCUMENT, "write spec: {child: {...}, replicas: 3, resource: {...}}"),
    },
)


# --- documents of kind Template


def read(at: DocumentPath, around: Surroundings) -> Template | None:
    """Return the template of a document of kind Template, or None if a mistake was noted."""
    before = len(at.errors)
    top = TOP.read_fields(at.document.value, at)
    written = top.get("spec")
    if written is None:
        return None
    place = at.below("spec")
    given = SPEC.read_fields(written, place)
    child = _child(written, place, around)
    connection = around.connections.get(child.connection) if child is not None else None
    content = given.pop("resource", {})
    given.pop("child", None)
    resources.check_secrets(content, place.below("resource"), connection)
    made = _rewritten(at, written, Prototype(content, child))
    head = top.get("metadata") or Metadata("")
    template = _template(given, written, place, head, made)
    return template if len(at.errors) == before else None


def _child(spec: Mapping[str, Json], at: DocumentPath, around: Surroundings) -> ChildKind | None:
    written = spec.get("child")
    has_children = spec.get("replicas") is not None
    if written is None:
        if has_children:
            example = "child: {apiVersion: file.holdfast.dev/v1, kind: Document}"
            at.fail(f"`child` is missing; declare the kind of the children: {example}")
        return None
    place = at.below("child")
    if not has_children and spec.get("selector") is None:
        place.fail("child is for templates with replicas or a selector: write replicas: N beside it")
    if not isinstance(written, dict):
        return None
    if not has_children and spec.get("selector") is not None:
        _refuse_own(written, place, _OWN)
    given = CHILD.read_fields(written, place)
    version, kind = given.get("api_version"), given.get("kind")
    if version is None or kind is None:
        return None
    provider = version.partition(".")[0]
    if version != f"{provider}.{resources.GROUP}/{resources.VERSION}":
        example = f"write it as in file.{resources.GROUP}/{resources.VERSION}"
        place.fail(f"apiVersion {shown(version)} is unknown; {example}", "apiVersion")
        return None
    connection = resources.find_connection(written, place, provider, around)
    if connection is None:
        return None
    options, needs = resources.written_options(written), resources.depends_on(given.get("depends_on", ()))
    labels = given.get("labels", {})
    return ChildKind(provider, version, connection.name, kind, given.get("namespace"), labels, options, needs)


def _refuse_own(written: Mapping[str, Json], at: DocumentPath, names: Iterable[str]) -> None:
    for name in names:
        if written.get(name) is not None:
            at.fail(f"children that a selector finds have their own {name}; remove it", name)


def _rewritten(at: DocumentPath, written: Mapping[str, Json], made: Prototype) -> Prototype:
    """Return a prototype with its provider's own references as ours.

    Content that is whole only together with parts, or with selected resources, need not be whole here.
    """
    child = made.child
    if child is None:
        return made
    is_whole = written.get("selector") is None and written.get("uses") is None
    content, type_ = resources.rewrite(at, child.provider, child.kind, dict(made.content), is_whole=is_whole)
    kind = registry.canonical_kind(child.provider, child.kind)
    return replace(made, content=content, child=replace(child, kind=kind, type=type_))


def _template(
    given: dict[str, Any], written: Mapping[str, Json], at: DocumentPath, head: Metadata, made: Prototype
) -> Template:
    """Return the template of settings as read, a head and a prototype; mistakes are noted."""
    has_selector = written.get("selector") is not None
    if has_selector and written.get("replicas") is not None:
        at.fail("a template has either replicas or a selector: remove one", "selector")
    default = Method.REWRITE if has_selector else Method.REPLACE_BEFORE_REMOVE
    rollout = rollout_schema.settings_of(given.pop("rollout", {}), default, at.below("rollout"))
    classes: FieldClasses = given.get("fields", FieldClasses())
    if classes.rewritten and made.address is not None:
        message = "this part gives its children no content that could be rewritten; an edit of it replaces them"
        at.fail(message, "fields", "rewrite")
    if classes.rewritten and rollout.limits.max_unavailable == 0:
        message = "maxUnavailable: 0 lets no child be rewritten, and fields.rewrite names such fields"
        at.fail(message, "rollout", "maxUnavailable")
    if rollout.limits.per_zone is not None and not written.get("zones") and not rollout.spread_by:
        message = "perZone needs to know the zones: write zones: [...], or spreadBy: for children of a selector"
        at.fail(message, "rollout", "perZone")
    if has_selector and rollout.method is not Method.REWRITE:
        message = "children that a selector finds keep the names they were declared with, so they can only be rewritten"
        at.fail(message, "rollout", "method")
    policy = RolloutPolicy(
        **_taken(given, "mode", "promoted", "zones", "kept"),
        method=rollout.method,
        limits=rollout.limits,
        gates=rollout.gates,
        holds=rollout.holds,
        spread_by=rollout.spread_by,
    )
    return Template(
        head.name,
        made.content,
        made.child,
        checks=ChildChecks(**_taken(given, "requirements", "ready_when", "idle_when")),
        stamps=StampPolicy(**_taken(given, "stamping", "compatibility", "unstamped")),
        rollout=policy,
        uid=head.annotations.get(UID, ""),
        address=made.address,
        source=TemplateSource(resources.start_of(at), resources.lines_of(at)),
        **given,
    )


def _taken(given: dict[str, Any], *names: str) -> dict[str, Any]:
    """Remove the named settings from those that were read, and return them."""
    return {name: given.pop(name) for name in names if name in given}


# --- resource documents with a block `template`


def read_block(at: DocumentPath, provider: str, around: Surroundings) -> tuple[Template | None, Declaration | None]:
    """Return the template of a resource document, and its declaration if it is also a resource of its own."""
    before = len(at.errors)
    place = at.below(BLOCK)
    written = at.document.value.get(BLOCK) or {}
    if isinstance(written, dict):
        for name, message in _ELSEWHERE.items():
            if name in written:
                place.fail(message, name)
        written = {name: value for name, value in written.items() if name not in _ELSEWHERE}
    given = SETTINGS.read_fields(written, place)
    if not isinstance(written, dict):
        written = {}
    has_children = written.get("replicas") is not None or written.get("selector") is not None
    read_as = _prototype if has_children else _part
    made, head, declaration = read_as(at, written, provider, around)
    template = None if made is None else _template(given, written, place, head, made)
    return (template if len(at.errors) == before else None), declaration


_Parts = tuple[Prototype | None, Metadata, Declaration | None]


def _prototype(at: DocumentPath, written: Mapping[str, Json], provider: str, around: Surroundings) -> _Parts:
    """Read a resource document that has children, and is no resource itself."""
    parts = resources.read_parts(at, provider, around)
    head = parts.head or Metadata("")
    place = at.below("spec")
    if parts.spec is None:
        return None, head, None
    spec = at.document.value["spec"]
    if spec.get("import") is not None:
        place.fail("the children of a template are created, not imported; remove it", "import")
    if parts.spec.get("policy", ManagementPolicy.MANAGED) is not ManagementPolicy.MANAGED:
        message = f"the children of a template are managed; with mode: notify in {BLOCK} it only reports"
        place.fail(message, "managementPolicy")
    if spec.get("resource") is None:
        place.fail(f"`resource` is missing; {_CONTENT}")
    if parts.kind is None or parts.connection is None:
        return None, head, None
    child = ChildKind(provider, at.document.value["apiVersion"], parts.connection.name, parts.kind, head.namespace)
    if written.get("selector") is not None:
        _refuse_own(spec, place, ("managedOptions", "dependsOn"))
    else:
        needs = resources.depends_on(parts.spec.get("depends_on", ()), head.annotations)
        child = replace(child, labels=head.labels, options=resources.written_options(spec), depends_on=needs)
    return _rewritten(at, written, Prototype(parts.desired, child)), head, None


def _part(at: DocumentPath, written: Mapping[str, Json], provider: str, around: Surroundings) -> _Parts:
    """Read a document that is a resource, and a part of templates."""
    if written.get("uses") is not None:
        message = "a part cannot use others; with replicas or a selector it would have children that they belong to"
        at.fail(message, BLOCK, "uses")
    declaration = resources.read(at, provider, around)
    if declaration is None:
        return None, Metadata(""), None
    if not declaration.desired:
        message = "`resource` is missing; children are rolled when it is edited, so it must not be empty"
        at.fail(message, "spec")
    head = Metadata(declaration.address.name, None, dict(declaration.labels), dict(declaration.annotations))
    made = Prototype(at.document.value["spec"].get("resource") or {}, None, declaration.address)
    return made, head, declaration


# --- what can only be seen together -----------------------------------------------------------------------------------


def mistakes(templates: Sequence[Template], declarations: Sequence[Declaration]) -> list[InputError]:
    """Return the mistakes between templates, and between them and other declarations."""
    by_name = {item.name: item for item in templates}
    errors = [error for item in templates for error in _of_uses(item, by_name)]
    declared = {declaration.address: declaration for declaration in declarations}
    for template in templates:
        for index in range(template.replicas or 0):
            name = rendering.slot_name(template, index)
            clash = declared.get(rendering.child_address(template, name))
            if clash is not None:
                message = f"{clash.address} is declared here, and template {template.name} would make one of that name"
                errors.append(InputError(message, clash.location))
    return [*errors, *_twice_declared(templates, declared), *_wrongly_selected(templates, declarations)]


def _twice_declared(templates: Sequence[Template], declared: Mapping[Address, Declaration]) -> Iterable[InputError]:
    """Yield prototypes that have the address of a resource: which of the two is meant could not be told."""
    for template in templates:
        if template.child is None or not template.is_written_as_resource:
            continue
        address = rendering.child_address(template, template.name)
        if address in declared:
            where = source_location.text(declared[address].location)
            message = f"{address} is declared twice, as a resource in {where} and as a template here; rename one"
            yield InputError(message, template.place(("metadata", "name")))


def _of_uses(template: Template, by_name: Mapping[str, Template]) -> Iterable[InputError]:
    for index, name in enumerate(template.uses):
        used = by_name.get(name)
        where = template.setting("uses", index)
        if used is None:
            guess = did_you_mean.hint(name, by_name) or "; parts must be read with the templates that use them"
            yield InputError(f"there is no template {shown(name)}{guess}", where)
        elif not used.is_part:
            yield InputError(f"template {name} has children of its own; only parts can be used", where)
        elif used.uses:
            yield InputError(f"template {name} uses parts itself; name these in {template.name} instead", where)


def _wrongly_selected(templates: Sequence[Template], declarations: Sequence[Declaration]) -> Iterable[InputError]:
    """Yield the resources that two templates select, and parts that a template selects."""
    selecting = [template for template in templates if template.selector is not None]
    parts = {template.address for template in templates if template.address is not None}
    for declaration in declarations if selecting else ():
        found = [template.name for template in selecting if template.selects(declaration)]
        if len(found) > 1:
            message = f"{declaration.address} is selected by {' and '.join(found)}; let one lead and use the other"
            yield InputError(message, declaration.location)
        elif found and declaration.address in parts:
            message = f"{declaration.address} is a part of templates, so {found[0]} cannot have it as a child"
            yield InputError(
                f"{message}; give it other labels", source_location.declared(declaration, ("metadata", "labels"))
            )
