"""From a written document of kind Template to a Template.

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
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.compare import paths
from holdfast.compat.karpenter.option1 import NODEPOOL
from holdfast.compat.karpenter.stamps import Hashed
from holdfast.errors import InputError, Location
from holdfast.manifests import field_reader, resources, rollout_spec, strategy_spec
from holdfast.manifests.field_reader import Fields
from holdfast.manifests.resources import Metadata, Surroundings
from holdfast.manifests.validation import Sheet, named, shown
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.policy import did_you_mean, source_location
from holdfast.providers import registry
from holdfast.rollouts.core import rendering
from holdfast.rollouts.core.revisions import Unstamped
from holdfast.rollouts.core.template_findings import FindingKind
from holdfast.rollouts.core.template_schemes import Keys, ListOrder, ListRule
from holdfast.rollouts.core.templates import (
    KEPT,
    ChildKind,
    Compatibility,
    FieldClasses,
    Method,
    RolloutMode,
    Stamping,
    Template,
)

UID: Final = "holdfast.dev/uid"  # annotation: another one makes another owner of the same name
MOST: Final = 100_000  # children of one template

_SPEC = (
    "child", "replicas", "selector", "uses", "zones", "schema", "nonce", "resource", "fields", "requirements",
    "readyWhen", "idleWhen", "stamps", "compatibility", "unstamped", "mode", "promote", "rollout", "keepRevisions",
)  # fmt: skip
SETTINGS: Final = tuple(key for key in _SPEC if key not in {"child", "resource"})
_CHILD = ("apiVersion", "kind", "connection", "namespace", "labels", "managedOptions", "dependsOn")
_OWN = ("labels", "managedOptions", "dependsOn")  # what selected children say of themselves
_FIELDS = ("inPlace", "behavioural", "removed", "keepEmpty", "defaults", "moved", "lists", "rewrite")
_LISTS = ("ordered", *(each.value for each in ListOrder))
_PROMOTED = (FindingKind.NEWLY_VISIBLE.value, FindingKind.DEFAULTS_CHANGED.value)


@dataclass(frozen=True, slots=True)
class Prototype:
    """What children are made from and what they are, wherever that is written."""

    content: Mapping[str, Json]
    child: ChildKind | None = None
    address: Address | None = None  # of a part that is a resource of its own


def read(sheet: Sheet, top: Mapping[str, Json], around: Surroundings) -> Template | None:
    """Return the template, or None if a mistake was noted."""
    before = len(sheet.errors)
    head = resources.metadata(sheet, top)
    if not isinstance(top.get("spec"), dict):
        sheet.missing("spec", (), "write spec: {child: {...}, replicas: 3, resource: {...}}")
        return None
    spec = Fields(sheet, top["spec"], ("spec",), _SPEC)
    child = _child(spec, around)
    _who(spec)
    connection = around.connections.get(child.connection) if child is not None else None
    wanted = resources.content_of(sheet, spec.body, "write what children are made from: resource: {...}", connection)
    made = understood(spec, Prototype(wanted, child))
    template = of_settings(spec, head, made)
    return template if len(sheet.errors) == before else None


def of_settings(settings: Fields, head: Metadata, made: Prototype) -> Template:
    """Return the template that settings, a head and a prototype come to; mistakes are noted."""
    sheet, body, pointer = settings.sheet, settings.body, settings.pointer
    selector = strategy_spec.selector(sheet, body["selector"], (*pointer, "selector")) if "selector" in body else None
    if "replicas" in body and selector is not None:
        sheet.fail("a template has either replicas or a selector: take one away", (*pointer, "selector"))
    default = Method.REWRITE if selector is not None else Method.REPLACE_BEFORE_REMOVE
    rollout = rollout_spec.read(sheet, body.get("rollout"), (*pointer, "rollout"), default)
    fields = _fields(settings.mapping("fields", _FIELDS), made)
    if fields.rewritten and rollout.limits.max_unavailable == 0:
        message = "maxUnavailable: 0 lets nothing be rewritten, and fields.rewrite names what is"
        sheet.fail(message, (*pointer, "rollout", "maxUnavailable"))
    if rollout.limits.per_zone is not None and not body.get("zones") and not rollout.spread_by:
        message = "perZone needs to know the zones: write zones: [...], or spreadBy: for children of a selector"
        sheet.fail(message, (*pointer, "rollout", "perZone"))
    if selector is not None and rollout.method is not Method.REWRITE:
        message = "children that a selector finds keep the names they were declared with, so they can only be rewritten"
        sheet.fail(message, (*pointer, "rollout", "method"))
    return Template(
        head.name or "",
        made.content,
        made.child,
        settings.read("replicas", _replicas, None),
        selector,
        uses=settings.words("uses"),
        zones=settings.words("zones"),
        schema=sheet.text(body, "schema", pointer) or "",
        nonce=sheet.text(body, "nonce", pointer) or "",
        uid=head.annotations.get(UID, ""),
        fields=fields,
        requirements=rollout_spec.requirements(settings),
        ready_when=rollout_spec.predicates(settings, "readyWhen"),
        idle_when=rollout_spec.predicates(settings, "idleWhen"),
        stamping=_stamping(settings),
        compatibility=sheet.choice(body, "compatibility", pointer, Compatibility.REGIMES),
        unstamped=sheet.choice(body, "unstamped", pointer, Unstamped.HOLD),
        mode=sheet.choice(body, "mode", pointer, RolloutMode.ENFORCE),
        promoted=_promoted(settings),
        method=rollout.method,
        limits=rollout.limits,
        gates=rollout.gates,
        holds=rollout.holds,
        spread_by=rollout.spread_by,
        kept=settings.read("keepRevisions", field_reader.count(1), KEPT),
        address=made.address,
        location=Location(sheet.written.file, sheet.written.line),
        places=resources.places(sheet),
    )


def understood(settings: Fields, made: Prototype) -> Prototype:
    """Return a prototype with its provider's own forms of reference as ours.

    What is whole only together with parts, or with what a selector finds, is not asked to be whole here.
    """
    child = made.child
    if child is None:
        return made
    is_whole = "selector" not in settings.body and "uses" not in settings.body
    content, type_ = resources.understood(
        settings.sheet, child.provider, child.kind, dict(made.content), is_whole=is_whole
    )
    kind = registry.canonical_kind(child.provider, child.kind)
    return replace(made, content=content, child=replace(child, kind=kind, type=type_))


def _replicas(value: Json) -> int | None:
    if type(value) is not int or not 0 <= value <= MOST:
        raise InputError(f"replicas must be a whole number from 0 to {MOST:,}")
    return value


def _who(spec: Fields) -> None:
    """Note what does not go together."""
    generates, selects, sheet = "replicas" in spec.body, "selector" in spec.body, spec.sheet
    if generates and "child" not in spec.body:
        example = "say what the children are: child: {apiVersion: file.holdfast.dev/v1, kind: Document}"
        sheet.missing("child", ("spec",), example)
    if "child" not in spec.body or generates:
        return
    if not selects:
        sheet.fail("child is for templates with replicas or a selector: write replicas: N beside it", ("spec", "child"))
        return
    child = spec.body["child"]
    for key in _OWN if isinstance(child, dict) else ():
        if key in child:
            sheet.fail(f"children that a selector finds have their own {key}; remove it", ("spec", "child", key))


def _child(spec: Fields, around: Surroundings) -> ChildKind | None:
    if "child" not in spec.body:
        return None
    sheet, pointer = spec.sheet, ("spec", "child")
    fields = spec.mapping("child", _CHILD)
    version = sheet.text(fields.body, "apiVersion", pointer, "such as file.holdfast.dev/v1")
    kind = sheet.text(fields.body, "kind", pointer, "name the kind of the children, such as Document")
    labels = sheet.texts(fields.body.get("labels"), (*pointer, "labels"))
    given = resources.managed_options(sheet, fields.body, pointer)
    provider = (version or "").partition(".")[0]
    if version is None or kind is None:
        return None
    if version != f"{provider}.{resources.GROUP}/{resources.VERSION}":
        example = f"write it as in file.{resources.GROUP}/{resources.VERSION}"
        sheet.fail(f"apiVersion {shown(version)} is not one of ours; {example}", (*pointer, "apiVersion"))
        return None
    connection = resources.connection_of(sheet, fields.body, pointer, provider, around)
    namespace = sheet.name(fields.body, "namespace", pointer)
    depends_on = resources.depends_on(sheet, fields.body, pointer)
    if connection is None:
        return None
    return ChildKind(provider, version, connection.name, kind, namespace, labels, given, depends_on)


def _fields(fields: Fields, made: Prototype) -> FieldClasses:
    out = FieldClasses(
        fields.keys("inPlace"),
        fields.keys("behavioural"),
        fields.keys("removed"),
        fields.keys("keepEmpty"),
        fields.read("defaults", _defaults, {}),
        fields.read("moved", _moved, {}),
        _lists(fields.mapping("lists")),
        fields.keys("rewrite"),
    )
    if out.rewritten and made.address is not None:
        message = "this part gives its children no content that could be rewritten; an edit of it replaces them"
        fields.sheet.fail(message, (*fields.pointer, "rewrite"))
    for keys in sorted(out.rewritten & (out.in_place | out.behavioural | out.removed)):
        message = f"{paths.format_path(keys)} cannot be rolled out and not rolled out: name it in one class only"
        fields.sheet.fail(message, (*fields.pointer, "rewrite"))
    return out


def _lists(fields: Fields) -> dict[Keys, ListRule]:
    out: dict[Keys, ListRule] = {}
    for path, value in fields.body.items():
        try:
            keys, rule = field_reader.keys_of(path), _list_rule(value)
        except InputError as error:
            fields.sheet.note(error, (*fields.pointer, path))
            continue
        if rule is not None:
            out[keys] = rule
    return out


def _list_rule(value: Json) -> ListRule | None:
    if value == "ordered":
        return None
    if isinstance(value, str) and value in _LISTS:
        return ListOrder(value)
    if isinstance(value, list) and value and all(isinstance(each, str) and each for each in value):
        return tuple(value)
    known = f"{', '.join(_LISTS)}, or names of fields that tell elements apart, such as [name]"
    if not isinstance(value, str):
        raise InputError(f"a list is {known}; not {named(value)}")
    raise InputError(f"a list is {known}; not {shown(value)}{did_you_mean.hint(value, _LISTS)}")


def _defaults(value: Json) -> Mapping[str, Mapping[Keys, Json]]:
    return {
        schema: {field_reader.keys_of(path): item for path, item in table.items()}
        for schema, table in _tables(value, "{v2: {/kind: Pool}}")
    }


def _moved(value: Json) -> Mapping[str, Mapping[Keys, Keys]]:
    return {
        schema: {field_reader.keys_of(old): field_reader.keys_of(new) for old, new in table.items()}
        for schema, table in _tables(value, "{v1: {/old: /new}}")
    }


def _tables(value: Json, example: str) -> Iterable[tuple[str, dict[str, Json]]]:
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise InputError(f"paths by schema are needed here, such as {example}")
    return value.items()


def _stamping(spec: Fields) -> Stamping | None:
    if "stamps" not in spec.body:
        return None
    fields = spec.mapping("stamps", ("at", "key", "of", "caBundle"))
    if "at" not in fields.body:
        spec.sheet.missing("at", fields.pointer, "say where annotations stand, such as /metadata/annotations")
        return None
    nowhere: Keys = ()
    at = fields.read("at", field_reader.keys_of, nowhere)
    key = spec.sheet.text(fields.body, "key", fields.pointer) or NODEPOOL
    bundle = spec.sheet.text(fields.body, "caBundle", fields.pointer)
    if "of" not in fields.body:
        return Stamping(at, key)
    return Stamping(at, key, Hashed(fields.read("of", field_reader.keys_of, nowhere), bundle))


def _promoted(spec: Fields) -> frozenset[FindingKind]:
    out = set()
    for word in spec.words("promote"):
        if word in _PROMOTED:
            out.add(FindingKind(word))
        else:
            guess = did_you_mean.hint(word, _PROMOTED) or f"; known: {', '.join(_PROMOTED)}"
            spec.sheet.fail(f"promote has no {shown(word)}{guess}", (*spec.pointer, "promote"))
    return frozenset(out)


# --- what can only be seen together -----------------------------------------------------------------------------------


def mistakes(templates: Sequence[Template], declarations: Sequence[Declaration]) -> list[InputError]:
    """Return what is wrong between templates, and between them and what is declared otherwise."""
    by_name = {each.name: each for each in templates}
    errors = [error for each in templates for error in _of_uses(each, by_name)]
    declared = {each.address: each for each in declarations}
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
    """Yield what two templates select, and parts that one selects."""
    selecting = [each for each in templates if each.selector is not None]
    parts = {each.address for each in templates if each.address is not None}
    for declaration in declarations if selecting else ():
        found = [each.name for each in selecting if each.selects(declaration)]
        if len(found) > 1:
            message = f"{declaration.address} is selected by {' and '.join(found)}; let one lead and use the other"
            yield InputError(message, declaration.location)
        elif found and declaration.address in parts:
            message = f"{declaration.address} is a part of templates, so {found[0]} cannot have it as a child"
            yield InputError(
                f"{message}; give it other labels", source_location.declared(declaration, ("metadata", "labels"))
            )
