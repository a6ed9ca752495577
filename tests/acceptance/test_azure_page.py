"""What docs/azure.md shows is what Holdfast takes."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from holdfast.cli.command_group import cli
from holdfast.compare import yaml_reader
from holdfast.manifests import loader, project
from holdfast.providers import registry
from holdfast.providers.azure import settings, type_catalog
from holdfast.providers.protocol import Connection

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/azure.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
PROJECT = next(block for block in BLOCKS if block.startswith("connections:"))


def spec_of(block: str) -> str:
    """Complete what the page leaves out of a declaration."""
    if block.startswith("kind: Resource"):
        kind, _, spec = block.partition("\n")
        return f"apiVersion: azure.holdfast.dev/v1\n{kind}\nmetadata: {{name: maps}}\n{spec}"
    return block


@pytest.mark.parametrize("block", [block for block in BLOCKS if block != PROJECT], ids=lambda text: text[:40])
def test_the_documents_on_the_page_can_be_read(block, tmp_path):
    (tmp_path / "holdfast.yaml").write_text(PROJECT)
    parent = (
        "apiVersion: azure.holdfast.dev/v1\nkind: VirtualNetwork\nmetadata: {name: core}\nspec: {resource: {}}\n---\n"
    )
    (tmp_path / "page.yaml").write_text(parent + spec_of(block))
    found = loader.read([str(tmp_path / "page.yaml")], project.load(None, tmp_path, registry.names()))
    assert len(found.declarations) + len(found.strategies) == 2


def test_the_connection_on_the_page_can_be_opened():
    (document,) = yaml_reader.documents(PROJECT)
    given = {key: value for key, value in document.value["connections"]["prod"].items() if key != "provider"}
    found = settings.account(Connection("prod", "azure", given))
    assert found.group == "platform"
    assert "ready" in found.types["Contoso.Test/x"].terminal


def test_the_page_names_every_word_of_a_connection_every_way_to_sign_in_and_every_habit():
    words = [
        f"`{word}"
        for word in settings.SETTINGS.table
        if word not in ("subscription", "resource_group", "auth", "habits")
    ]
    words += [f"type: {item}" for item in settings.AUTHS]
    words += [f"| `{word}" for word in type_catalog._WORDS if word != "types"]
    assert [word for word in words if word not in PAGE] == []


def test_the_commands_on_the_page_exist():
    for name in set(re.findall(r"`?holdfast ([a-z-]+)", PAGE)):
        assert cli.get_command(click.Context(cli), name) is not None, name


def test_the_page_is_in_the_navigation():
    assert "azure.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
