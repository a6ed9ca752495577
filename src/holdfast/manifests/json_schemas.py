"""JSON Schemas of everything that people write, for editors and other tools."""

from __future__ import annotations

from typing import Any, Final

from holdfast.compare import profiles
from holdfast.manifests import project, resources, strategies, waivers
from holdfast.model.json import Json
from holdfast.schema import fields
from holdfast.schema.fields import FieldType

_TITLES: Final = {
    "project": "A Holdfast project file, holdfast.yaml",
    "resource": "A resource of Holdfast",
    "strategy": "A strategy of Holdfast",
    "template": "A template of Holdfast",
    "waivers": "A file of waivers of Holdfast",
    "profile": "A profile of Holdfast",
}


def build(kind: str) -> dict[str, Json]:
    """Return the JSON Schema of a kind of file: project, resource, strategy, template, waivers or profile."""
    return fields.json_schema(_schema(kind), _TITLES[kind])


def _schema(kind: str) -> FieldType[Any]:
    from holdfast.rollouts import manifest  # noqa: PLC0415 - imported only where a schema is asked for

    template_spec: fields.Table = {**manifest.SPEC.table, "child": manifest.CHILD}
    schemas: dict[str, FieldType[Any]] = {
        "project": project.SCHEMA,
        "resource": fields.plain(
            {**resources.TOP.table, "spec": fields.required(resources.SPEC), "template": manifest.SETTINGS}
        ),
        "strategy": strategies.SCHEMA,
        "template": fields.plain({**manifest.TOP.table, "spec": fields.required(fields.plain(template_spec))}),
        "waivers": waivers.SCHEMA,
        "profile": profiles.SCHEMA,
    }
    return schemas[kind]
