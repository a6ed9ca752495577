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
from dataclasses import replace
from typing import Final

from holdfast.errors import InputError, Location
from holdfast.manifests import fieldreading, options, policies, resources, rolloutsettings, secrets
from holdfast.manifests.fieldreading import Fields
from holdfast.manifests.resources import Surroundings
from holdfast.manifests.validation import Sheet, named, shown
from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.plan import suggestions
from holdfast.plan.rolling_out import template_rendering
from holdfast.plan.rolling_out.adoption import Unstamped
from holdfast.plan.rolling_out.option1 import NODEPOOL
from holdfast.plan.rolling_out.template_findings import FindingKind
from holdfast.plan.rolling_out.template_schemes import Keys
from holdfast.plan.rolling_out.templates import (
    KEPT,
    ChildKind,
    Compatibility,
    FieldClasses,
    Method,
    Mode,
    Stamping,
    Template,
)
from holdfast.plan.settings import Level

UID: Final = "holdfast.dev/uid"  # annotation: another one makes another owner of the same name
MOST: Final = 100_000  # children of one template

_SPEC = (
    "child", "replicas", "selector", "uses", "zones", "schema", "nonce", "resource", "fields", "requirements",
    "readyWhen", "idleWhen", "stamps", "compatibility", "unstamped", "mode", "promote", "rollout", "keepRevisions",
)  # fmt: skip
_CHILD = ("apiVersion", "kind", "connection", "namespace", "labels", "managedOptions")
_FIELDS = ("inPlace", "behavioural", "removed", "keepEmpty", "defaults", "moved")
_PROMOTED = (FindingKind.LATENT.value, FindingKind.DEFAULTS_CHANGED.value)


def read(sheet: Sheet, top: Mapping[str, Json], around: Surroundings) -> Template | None:
    """Return the template, or None if a mistake was noted."""
    before = len(sheet.errors)
    head = resources.metadata(sheet, top)
    if not isinstance(top.get("spec"), dict):
        sheet.missing("spec", (), "write spec: {child: {...}, replicas: 3, resource: {...}}")
        return None
    spec = Fields(sheet, top["spec"], ("spec",), _SPEC)
    selector = policies.selector(sheet, spec.body["selector"]) if "selector" in spec.body else None
    replicas = spec.read("replicas", _replicas, None)
    child = _child(spec, around)
    _who(spec, selects=selector is not None)
    default = Method.REWRITE if selector is not None else Method.REPLACE_BEFORE_REMOVE
    rollout = rolloutsettings.read(sheet, spec.body.get("rollout"), ("spec", "rollout"), default)
    if selector is not None and rollout.method is not Method.REWRITE:
        message = "children that a selector finds keep the names they were declared with, so they can only be rewritten"
        sheet.fail(message, ("spec", "rollout", "method"))
    template = Template(
        head.name or "",
        _content(spec),
        child,
        replicas,
        selector,
        spec.words("uses"),
        spec.words("zones"),
        sheet.text(spec.body, "schema", ("spec",)) or "",
        sheet.text(spec.body, "nonce", ("spec",)) or "",
        head.annotations.get(UID, ""),
        _fields(spec.mapping("fields", _FIELDS)),
        rolloutsettings.predicates(spec, "requirements"),
        rolloutsettings.predicates(spec, "readyWhen"),
        rolloutsettings.predicates(spec, "idleWhen"),
        _stamping(spec),
        sheet.choice(spec.body, "compatibility", ("spec",), Compatibility.REGIMES),
        sheet.choice(spec.body, "unstamped", ("spec",), Unstamped.HOLD),
        sheet.choice(spec.body, "mode", ("spec",), Mode.ENFORCE),
        _promoted(spec),
        rollout.method,
        rollout.limits,
        rollout.gates,
        rollout.holds,
        rollout.spread_by,
        spec.read("keepRevisions", fieldreading.count(1), KEPT),
        Location(sheet.written.file, sheet.written.line),
    )
    return template if len(sheet.errors) == before else None


def _replicas(value: Json) -> int | None:
    if type(value) is not int or not 0 <= value <= MOST:
        raise InputError(f"replicas must be a whole number from 0 to {MOST:,}")
    return value


def _who(spec: Fields, *, selects: bool) -> None:
    """Note what does not go together."""
    generates, sheet = "replicas" in spec.body, spec.sheet
    if generates and selects:
        sheet.fail("a template has either replicas or a selector: take one away", ("spec", "selector"))
    if generates and "child" not in spec.body:
        example = "say what the children are: child: {apiVersion: file.holdfast.dev/v1, kind: Document}"
        sheet.missing("child", ("spec",), example)
    if not generates and "child" in spec.body:
        sheet.fail("child is for templates with replicas: write replicas: N beside it", ("spec", "child"))


def _content(spec: Fields) -> dict[str, Json]:
    value = spec.body.get("resource")
    if value is None:
        spec.sheet.missing("resource", ("spec",), "write what children are made from: resource: {...}")
        return {}
    if not isinstance(value, dict):
        spec.sheet.fail(f"a mapping is needed here, not {named(value)}", ("spec", "resource"))
        return {}
    for pointer, found in secrets.find(value):
        if isinstance(found, InputError):
            spec.sheet.note(found, ("spec", "resource", *pointer))
    return value


def _child(spec: Fields, around: Surroundings) -> ChildKind | None:
    if "child" not in spec.body:
        return None
    sheet, pointer = spec.sheet, ("spec", "child")
    fields = spec.mapping("child", _CHILD)
    version = sheet.text(fields.body, "apiVersion", pointer, "such as file.holdfast.dev/v1")
    kind = sheet.text(fields.body, "kind", pointer, "name the kind of the children, such as Document")
    labels = sheet.texts(fields.body.get("labels"), (*pointer, "labels"))
    options.read(sheet, fields.body.get("managedOptions"), (*pointer, "managedOptions"), Level.RESOURCE)
    provider = (version or "").partition(".")[0]
    if version is None or kind is None:
        return None
    if version != f"{provider}.{resources.GROUP}/{resources.VERSION}":
        example = f"write it as in file.{resources.GROUP}/{resources.VERSION}"
        sheet.fail(f"apiVersion {shown(version)} is not one of ours; {example}", (*pointer, "apiVersion"))
        return None
    connection = resources.connection_of(sheet, fields.body, pointer, provider, around)
    given = sheet.mapping(fields.body.get("managedOptions"), (*pointer, "managedOptions"))
    namespace = sheet.name(fields.body, "namespace", pointer)
    return None if connection is None else ChildKind(provider, version, connection, kind, namespace, labels, given)


def _fields(fields: Fields) -> FieldClasses:
    return FieldClasses(
        fields.keys("inPlace"),
        fields.keys("behavioural"),
        fields.keys("removed"),
        fields.keys("keepEmpty"),
        fields.read("defaults", _defaults, {}),
        fields.read("moved", _moved, {}),
    )


def _defaults(value: Json) -> Mapping[str, Mapping[Keys, Json]]:
    return {
        schema: {fieldreading.keys_of(path): item for path, item in table.items()}
        for schema, table in _tables(value, "{v2: {/kind: Pool}}")
    }


def _moved(value: Json) -> Mapping[str, Mapping[Keys, Keys]]:
    return {
        schema: {fieldreading.keys_of(old): fieldreading.keys_of(new) for old, new in table.items()}
        for schema, table in _tables(value, "{v1: {/old: /new}}")
    }


def _tables(value: Json, example: str) -> Iterable[tuple[str, dict[str, Json]]]:
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise InputError(f"paths by schema are needed here, such as {example}")
    return value.items()


def _stamping(spec: Fields) -> Stamping | None:
    if "stamps" not in spec.body:
        return None
    fields = spec.mapping("stamps", ("at", "key"))
    if "at" not in fields.body:
        spec.sheet.missing("at", ("spec", "stamps"), "say where annotations stand, such as /metadata/annotations")
        return None
    nowhere: Keys = ()
    at = fields.read("at", fieldreading.keys_of, nowhere)
    return Stamping(at, spec.sheet.text(fields.body, "key", fields.pointer) or NODEPOOL)


def _promoted(spec: Fields) -> frozenset[FindingKind]:
    out = set()
    for word in spec.words("promote"):
        if word in _PROMOTED:
            out.add(FindingKind(word))
        else:
            guess = suggestions.hint(word, _PROMOTED) or f"; known: {', '.join(_PROMOTED)}"
            spec.sheet.fail(f"promote has no {shown(word)}{guess}", ("spec", "promote"))
    return frozenset(out)


# --- what can only be seen together -----------------------------------------------------------------------------------


def mistakes(templates: Sequence[Template], declarations: Sequence[Declaration]) -> list[InputError]:
    """Return what is wrong between templates, and between them and what is declared otherwise."""
    by_name = {each.name: each for each in templates}
    errors = [error for each in templates for error in _of_uses(each, by_name)]
    declared = {each.address: each for each in declarations}
    for template in templates:
        for index in range(template.replicas or 0):
            name = template_rendering.slot_name(template, index)
            clash = declared.get(template_rendering.child_address(template, name))
            if clash is not None:
                message = f"{clash.address} is declared here, and template {template.name} would make one of that name"
                errors.append(InputError(message, clash.location))
    return [*errors, *_twice_selected(templates, declarations)]


def _of_uses(template: Template, by_name: Mapping[str, Template]) -> Iterable[InputError]:
    for name in template.uses:
        used = by_name.get(name)
        where = replace(template.location, field="/spec/uses")
        if used is None:
            guess = suggestions.hint(name, by_name) or "; parts must be read with the templates that use them"
            yield InputError(f"there is no template {shown(name)}{guess}", where)
        elif not used.is_part:
            yield InputError(f"template {name} has children of its own; only parts can be used", where)
        elif used.uses:
            yield InputError(f"template {name} uses parts itself; name these in {template.name} instead", where)


def _twice_selected(templates: Sequence[Template], declarations: Sequence[Declaration]) -> Iterable[InputError]:
    selecting = [each for each in templates if each.selector is not None]
    for declaration in declarations if len(selecting) > 1 else ():
        found = [each.name for each in selecting if each.selector and each.selector.matches(declaration.labels)]
        if len(found) > 1:
            message = f"{declaration.address} is selected by {' and '.join(found)}; let one lead and use the other"
            yield InputError(message, declaration.location)
