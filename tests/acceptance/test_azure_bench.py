"""`holdfast bench verdicts` sees Azure's cases as the provider would: through its conversion, with its rules."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path

import pytest

from tests.acceptance.test_commands import run

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "azure_public.jsonl.gz"
GROUP = "/subscriptions/s/resourceGroups/rg/providers"


def look(observed, expect, cls, path=None):
    return {"observed": observed, "expect": expect, "class": cls, "path": path, "baseline": "settled", "note": ""}


def table(**more):
    """Return a route table as GET shows it: as declared, with its envelope, and its routes, which are resources too."""
    shown = {"id": f"{GROUP}/Microsoft.Network/routeTables/t", "name": "t", "type": "Microsoft.Network/routeTables"}
    properties = {"disableBgpRoutePropagation": False, "provisioningState": "Succeeded", "routes": [], **more}
    return {**shown, "etag": 'W/"1"', "location": "westus2", "properties": properties}


@pytest.fixture
def sample(tmp_path):
    route = {"name": "out", "etag": 'W/"7"', "properties": {"addressPrefix": "0.0.0.0/0", "nextHopType": "Internet"}}
    case = {
        "id": "made/up/1",
        "provider": "azure",
        "kind": "Microsoft.Network/routeTables",
        "version": "2023-11-01",
        "schema": None,
        "desired": {"location": "westus2", "properties": {"disableBgpRoutePropagation": False}},
        "settled": table(),
        "observations": [
            look({**table(), "etag": 'W/"2"', "id": table()["id"].upper()}, "in_sync", "recorded"),
            look(table(routes=[route]), "in_sync", "recorded_child_write"),
            look(table(disableBgpRoutePropagation=True), "drift", "declared_change",
                 "/properties/disableBgpRoutePropagation"),
        ],
    }  # fmt: skip
    file = tmp_path / "sample.jsonl"
    file.write_text(json.dumps(case) + "\n")
    return file


def rows(file: Path, *options: str) -> dict[str, tuple[int, int]]:
    done = run("bench", "verdicts", str(file), "-o", "json", *options)
    assert done.returncode == 0, done.stderr
    return {row["class"]: (row["n"], row["wrong"]) for row in json.loads(done.stdout)["rows"]}


def test_a_child_that_its_parent_shows_is_no_drift_through_the_provider_and_is_in_the_raw_answers(sample):
    quiet = {"recorded": (1, 0), "declared_change": (1, 0)}
    assert rows(sample) == {**quiet, "recorded_child_write": (1, 0)}
    assert rows(sample, "--raw") == {**quiet, "recorded_child_write": (1, 1)}


@pytest.mark.skipif(not CORPUS.is_file(), reason=f"no corpus at {CORPUS}")
@pytest.mark.parametrize("options", [(), ("--no-schema",)])
def test_a_sample_of_the_recordings_is_judged_without_a_mistake(tmp_path, options):
    file = tmp_path / "sample.jsonl.gz"
    with gzip.open(CORPUS) as whole, gzip.open(file, "wb") as part:
        part.writelines(itertools.islice(whole, 0, None, 8))
    found = rows(file, *options)
    assert sum(n for n, _ in found.values()) > 500
    assert found["recorded"][0] > 40
    wrong = {cls: count for cls, (_, count) in found.items() if count and cls != "recorded_child_write"}
    assert wrong == {}
