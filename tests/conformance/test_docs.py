"""docs/providers.md shows the code of the example, docs/conformance.md has current score cards."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.testing.conformance import scenario_catalogue

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/providers.md").read_text(encoding="utf-8")
KIT_PAGE = (ROOT / "docs/conformance.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples/provider"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_all_code_of_the_example_is_on_the_page_and_nothing_else():
    rest = {name: (EXAMPLE / name).read_text(encoding="utf-8") for name in ("keyvalue.py", "keyvalue_conformance.py")}
    for block in blocks("python"):
        (name,) = [name for name, text in rest.items() if block in text]
        rest[name] = rest[name].replace(block, "", 1)
    assert {name: text.strip() for name, text in rest.items()} == {"keyvalue.py": "", "keyvalue_conformance.py": ""}


def test_the_entry_point_on_the_page_is_that_of_the_example():
    (block,) = blocks("toml")
    assert block == (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8")


def score_card(opening: str) -> dict:
    command = [sys.executable, "-m", "holdfast.testing.conformance", opening, "-o", "json"]
    done = subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_the_example_passes_the_kit_as_the_page_runs_it():
    assert "$ python -m holdfast.testing.conformance keyvalue_conformance:entries" in PAGE
    card = score_card("keyvalue_conformance:entries")
    left_out = {result["scenario"] for result in card["results"] if result["outcome"] == "not applicable"}
    assert (card["passed"], left_out) == (len(scenario_catalogue.ALL) - 3, {"throttle", "not-the-thing", "watch"})


def test_the_second_example_passes_every_scenario_but_watching_which_its_service_cannot():
    card = score_card("flags_conformance:flags")
    left_out = {result["scenario"] for result in card["results"] if result["outcome"] == "not applicable"}
    assert (card["passed"], left_out) == (len(scenario_catalogue.ALL) - 1, {"watch"})


@pytest.mark.parametrize("name", ["keyvalue.py", "flags.py", "keyvalue_conformance.py", "flags_conformance.py"])
def test_an_example_imports_nothing_of_holdfast_but_the_public_modules(name: str):
    modules = {
        node.module or ""
        for node in ast.walk(ast.parse((EXAMPLE / name).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
    }
    public = {"holdfast.provider", "holdfast.testing.conformance", "holdfast.testing.fault_proxy"}
    assert {module for module in modules if module.startswith("holdfast")} <= public
    assert "noqa: ARG" not in (EXAMPLE / name).read_text(encoding="utf-8")


def test_every_scenario_is_explained():
    rows = re.findall(r"^\| ([a-z, -]+) \| \S", KIT_PAGE, re.MULTILINE)
    explained = {name for row in rows for name in row.split(", ")}
    assert set(scenario_catalogue.ALL) <= explained


@pytest.mark.slow
def test_the_cards_on_the_page_are_current():
    done = subprocess.run(
        [sys.executable, "tools/score_cards.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"run python tools/score_cards.py\n{done.stdout}{done.stderr}"


def test_the_pages_are_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "providers.md" in navigation
    assert "conformance.md" in navigation
