"""The generated JSON Schemas accept every file of the examples and the documentation, and refuse mistakes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from holdfast.compare import yaml_reader
from holdfast.errors import InputError
from holdfast.manifests import json_schemas, project

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^```ya?ml\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHIPPED = sorted(ROOT.glob("src/holdfast/providers/*/profiles/*.yaml"))


def kind_of(value):
    """Return the kind of file that a document is, None for fragments and the files of other programs."""
    if not isinstance(value, dict):
        return None
    version = value.get("apiVersion")
    if (
        isinstance(version, str)
        and version.endswith("holdfast.dev/v1")
        and value.keys() >= {"kind", "spec", "metadata"}
    ):
        own = {"Strategy": "strategy", "Template": "template"}
        return own.get(value["kind"]) if version == "holdfast.dev/v1" else "resource"
    if value.keys() >= {"profile", "version"}:
        return "profile"
    waivers = value.get("waivers")
    if isinstance(waivers, list) and waivers and isinstance(waivers[0], dict):
        return "waivers"
    return "project" if version is None and value and value.keys() <= project.SCHEMA.table.keys() else None


def texts():
    for file in sorted([*ROOT.glob("examples/**/*.yaml"), *SHIPPED]):
        yield str(file.relative_to(ROOT)), file.read_text()
    for file in sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md"]):
        for number, block in enumerate(BLOCK.findall(file.read_text()), 1):
            yield f"{file.name} {number}", block


def documents():
    for name, text in texts():
        try:
            found = yaml_reader.documents(text, name)
        except InputError:  # a fragment
            continue
        for document in found:
            kind = kind_of(document.value)
            if kind is not None:
                yield pytest.param(kind, document.value, id=f"{name}:{document.line}")


@pytest.mark.parametrize("kind, value", list(documents()))
def test_every_example_is_valid(kind, value):
    jsonschema.validate(value, json_schemas.build(kind))


def test_examples_of_every_kind_are_checked():
    assert {param.values[0] for param in documents()} >= {"project", "resource", "strategy", "waivers", "profile"}


@pytest.mark.parametrize("kind", ["project", "resource", "strategy", "template", "waivers", "profile"])
def test_a_schema_is_json_and_a_schema(kind):
    schema = json_schemas.build(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize(
    "kind, value",
    [
        ("project", {"conections": {}}),
        ("project", {"connections": {"a": {"limits": {"concurrency": 0}}}}),
        ("project", {"defaults": {"onDrift": "fix"}}),
        ("resource", {"apiVersion": "file.holdfast.dev/v1", "kind": "Document", "metadata": {}, "spec": {}}),
        ("strategy", {"apiVersion": "holdfast.dev/v1", "kind": "Strategy", "metadata": {"name": "a"}}),
        ("waivers", {"waivers": [{"resource": "a"}]}),
        ("profile", {"profile": "p", "version": 1, "rules": [{"class": "ignore"}]}),
    ],
)
def test_a_mistake_is_refused(kind, value):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, json_schemas.build(kind))
