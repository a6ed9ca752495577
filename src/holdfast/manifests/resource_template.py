"""From a resource document with a block `template` to a Template: any kind can be declared as one.

apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: web, labels: {team: shop}}
template: {replicas: 10, rollout: {canary: 1}}     # what the spec of a document of kind Template has
spec:                                              # as of any resource; instead of `child` and `resource` there
  connection: fleet
  resource: {path: $(name).yaml, content: {image: "web:1.0"}}

With `replicas` or `selector` the document is the prototype of its children, and nothing in the world. With neither it
is a part that other templates use, and a resource of its own as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.manifests import resources, template_spec
from holdfast.manifests.field_reader import Fields
from holdfast.manifests.resources import Metadata, Surroundings
from holdfast.manifests.template_spec import Prototype
from holdfast.manifests.validation import Sheet
from holdfast.model.json import Json
from holdfast.model.resource import Declaration, ManagementPolicy
from holdfast.rollouts.core.templates import BLOCK, ChildKind, Template

_SAID: Final = {  # fields of a document of kind Template that this one has elsewhere
    "child": "the document itself says what its children are, in apiVersion, kind, metadata and spec; remove it",
    "resource": "what children are made from stands in spec.resource of this document; remove it",
}


def read(
    sheet: Sheet, top: Mapping[str, Json], provider: str, around: Surroundings
) -> tuple[Template | None, Declaration | None]:
    """Return the template, and what is declared beside it; None for what a mistake was noted in."""
    before = len(sheet.errors)
    settings = _settings(sheet, top.get(BLOCK))
    if "replicas" in settings.body or "selector" in settings.body:
        template = _prototype(settings, top, provider, around)
        return (template if len(sheet.errors) == before else None), None
    template, declaration = _part(settings, top, provider, around)
    return (template if len(sheet.errors) == before else None), declaration


def _settings(sheet: Sheet, value: Json) -> Fields:
    if isinstance(value, dict):
        for key, message in _SAID.items():
            if key in value:
                sheet.fail(message, (BLOCK, key))
        value = {key: item for key, item in value.items() if key not in _SAID}
    return Fields(sheet, value, (BLOCK,), template_spec.SETTINGS)


def _prototype(settings: Fields, top: Mapping[str, Json], provider: str, around: Surroundings) -> Template | None:
    """Read a document that has children, and is none of the things in the world itself."""
    sheet = settings.sheet
    head = resources.metadata(sheet, top)
    kind = resources.kind_of(sheet, top, provider, around)
    body = resources.spec_of(sheet, top)
    if body is None:
        return None
    _require_managed(sheet, body)
    connection = resources.connection_of(sheet, body, ("spec",), provider, around)
    content = resources.content_of(sheet, body, "write what children are made from: resource: {...}", connection)
    options = resources.managed_options(sheet, body, ("spec",))
    needs = resources.depends_on(sheet, body, ("spec",), head.annotations)
    if kind is None or connection is None:
        return None
    child = ChildKind(provider, top["apiVersion"], connection.name, kind, head.namespace)
    if "selector" not in settings.body:
        child = ChildKind(
            provider, top["apiVersion"], connection.name, kind, head.namespace, head.labels, options, needs
        )
    else:
        _leave_to_children(sheet, body)
    made = template_spec.understood(settings, Prototype(content, child))
    return template_spec.of_settings(settings, head, made)


def _require_managed(sheet: Sheet, body: Mapping[str, Json]) -> None:
    """Note what makes no sense for something that does not exist itself."""
    if "import" in body:
        sheet.fail("a template with children is nothing that could be imported; remove it", ("spec", "import"))
    policy = sheet.choice(body, "managementPolicy", ("spec",), ManagementPolicy.MANAGED)
    if policy is not ManagementPolicy.MANAGED:
        message = f"the children of a template are managed; with mode: notify in {BLOCK} it only tells what it finds"
        sheet.fail(message, ("spec", "managementPolicy"))


def _leave_to_children(sheet: Sheet, body: Mapping[str, Json]) -> None:
    for key in ("managedOptions", "dependsOn"):
        if key in body:
            sheet.fail(f"children that a selector finds have their own {key}; remove it", ("spec", key))


def _part(
    settings: Fields, top: Mapping[str, Json], provider: str, around: Surroundings
) -> tuple[Template | None, Declaration | None]:
    """Read a document that is a resource, and a part of templates."""
    sheet = settings.sheet
    if "uses" in settings.body:
        message = "a part cannot use others; with replicas or a selector it would have children that they belong to"
        sheet.fail(message, (BLOCK, "uses"))
    declaration = resources.read(sheet, top, provider, around)
    if declaration is None:
        return None, None
    if not declaration.desired:
        needed = "children are rolled when this is edited, so it has to say something: resource: {...}"
        sheet.missing("resource", ("spec",), needed)
    head = Metadata(
        declaration.address.name, None, dict(declaration.labels), dict(declaration.annotations)
    )  # what was wrong with it is noted already
    made = Prototype(top["spec"].get("resource") or {}, None, declaration.address)
    return template_spec.of_settings(settings, head, made), declaration
