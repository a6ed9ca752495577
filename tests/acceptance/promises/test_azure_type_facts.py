"""What Azure publishes about its types is known to users, and hides no change of anything that can be set."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.compare import comparators, diff, profiles
from holdfast.compare.rule_tree import RuleTree
from holdfast.providers.azure import type_facts
from holdfast.providers.azure.kinds import rules_of
from holdfast.providers.azure.type_catalog import Types
from holdfast.testing import corpus, corpus_views
from tests.acceptance.test_commands import run
from tests.integration.providers.azure import estate
from tests.integration.providers.azure.estate import Estate

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus" / "azure_public.jsonl.gz"
needs_corpus = pytest.mark.skipif(not CORPUS.is_file(), reason=f"no corpus at {CORPUS}")
MACHINE = "Microsoft.Compute/virtualMachines"
ZONE = "Microsoft.Network/privateDnsZones"


def compared(folder: Path, kind: str, want: Any, seen: Any, before: Any = None) -> tuple[str, list[str]]:
    """Compare two documents by the command; return the status and the paths that differ."""
    words = []
    for name, document in (("want", want), ("seen", seen), ("before", before)):
        if document is not None:
            (folder / f"{name}.json").write_text(json.dumps(document))
            words.append(f"{name}.json")
    words[2:] = ["--baseline", *words[2:]] if before is not None else []
    done = run("diff", *words, "--provider", "azure", "--kind", kind, "-o", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    return body["status"], [finding["path"] for finding in body["findings"]]


# --- as a user gets it -----------------------------------------------------------------------------------------------


@needs_corpus
@pytest.mark.slow
def test_recorded_traffic_of_azure_is_judged_rightly_with_the_facts_that_ship():
    done = run("bench", "verdicts", "--no-schema", "-o", "json", str(CORPUS))
    rows = json.loads(done.stdout)["rows"]
    assert len(rows) == 23
    for row in rows:
        allowed = 0.003 if row["class"] == "adoption" else 0
        assert row["wrong"] <= allowed * row["n"], row


@needs_corpus
@pytest.mark.slow
def test_bare_withholds_the_facts_too():
    with_facts, bare = (
        json.loads(run("bench", "verdicts", word, "-o", "json", "--show", "fp", str(CORPUS)).stdout)["offenders"]
        for word in ("--no-schema", "--bare")
    )
    missing = {path for item in bare for path in item["paths"]} - {p for fact in with_facts for p in fact["paths"]}
    assert missing == {"/sku"}  # a registry does not return it, as its facts say


def test_a_size_in_another_case_is_no_drift_and_another_size_is(tmp_path):
    want = {"apiVersion": "2022-03-01", "properties": {"hardwareProfile": {"vmSize": "STANDARD_DS2"}}}
    seen = {"properties": {"hardwareProfile": {"vmSize": "standard_DS2"}}}
    assert compared(tmp_path, MACHINE, want, seen, want)[0] == "in_sync"
    seen["properties"]["hardwareProfile"]["vmSize"] = "Standard_DS3"
    status, where = compared(tmp_path, MACHINE, want, seen, want)
    assert (status, where) == ("drifted", ["/properties/hardwareProfile/vmSize"])


def test_words_that_a_type_knows_compare_without_case_and_other_texts_with_it(tmp_path):
    want = {"apiVersion": "2022-03-01", "properties": {"priority": "Spot", "licenseType": "Windows_Server"}}
    seen = {"properties": {"priority": "spot", "licenseType": "windows_server"}}
    assert compared(tmp_path, MACHINE, want, seen, want) == ("drifted", ["/properties/licenseType"])


def test_what_a_type_publishes_as_read_only_is_no_drift_when_it_moves(tmp_path):
    want = {"apiVersion": "2018-09-01", "location": "global"}
    before = {"location": "global", "properties": {"numberOfRecordSets": 1}}
    seen = {"location": "global", "properties": {"numberOfRecordSets": 7}}
    assert compared(tmp_path, ZONE, want, seen, before)[0] == "in_sync"


def test_what_a_type_does_not_return_is_no_drift_before_a_baseline_unless_it_is_returned(tmp_path):
    kind = "Microsoft.ApiManagement/service/apis"
    want = {"apiVersion": "2022-08-01", "properties": {"path": "a", "format": "openapi"}}
    seen: Any = {"properties": {"path": "a"}}
    assert compared(tmp_path, kind, want, seen)[0] == "in_sync"
    seen["properties"]["format"] = "wsdl"
    assert compared(tmp_path, kind, want, seen) == ("drifted", ["/properties/format"])


def test_the_version_that_a_declaration_names_decides_which_facts_hold():
    """The engine, on an emulated Azure: what is read-only in one version is a setting in the next."""

    async def story(version: str) -> int:
        kind, place = "Microsoft.DBforMySQL/flexibleServers", "/properties/network/publicNetworkAccess"
        here = Estate()
        thing = estate.declare("w", {"type": kind, "apiVersion": version, "location": "westus2", "properties": {}})
        await here.sync(thing)
        here.edit({place: "Enabled"}, type_=kind)
        await here.sync(thing)
        here.edit({place: "Disabled"}, type_=kind)
        before = here.puts()
        await here.sync(thing)
        return here.puts() - before

    assert asyncio.run(story("2021-05-01")) == 0
    assert asyncio.run(story("2023-06-30")) == 1


# --- no fact hides a change of something that can be set -------------------------------------------------------------


def rows() -> Iterator[Any]:
    for type_ in type_facts.types():
        yield from type_facts.rows(type_)


def rules(row: Any) -> profiles.RuleSet:
    return profiles.stack(rules_of(row["type"], row["version"], Types()[row["type"]]))


def document(path: str, value: Any) -> Any:
    """Return a document that has a value at a pointer; `*` is the only element of a list."""
    for step in reversed(path.split("/")[1:]):
        value = [value] if step == "*" else {step: value}
    return value


def differs(row: Any, path: str, want: Any, seen: Any, *, has_baseline: bool) -> bool:
    one, other = document(path, want), document(path, seen)
    baseline = diff.Baseline(one, one) if has_baseline else None
    return bool(diff.findings(one, other, rules(row).tree(one, other), baseline))


SECRET = ("password", "protectedsettings", "clientsecret", "storageaccountaccesskey")
PLACE = ("/id", "/name", "/type", "/etag", "/eTag")  # not part of a declaration's body


@pytest.mark.slow
@pytest.mark.parametrize("has_baseline", [False, True], ids=["adopting", "settled"])
def test_a_declared_field_is_compared_whatever_a_fact_says_of_it(has_baseline):
    hidden = [
        (row["type"], row["version"], path)
        for row in rows()
        for path in (*row["read_only"], *row["write_only"])
        if path not in PLACE and not differs(row, path, "one", "another", has_baseline=has_baseline)
    ]
    # What the general rules call a secret by its name is not compared before there is a baseline, facts or not.
    assert [item for item in hidden if has_baseline or not item[-1].casefold().endswith(SECRET)] == []


@pytest.mark.slow
def test_every_two_words_of_a_field_are_told_apart():
    same = [
        (row["type"], row["version"], path, item, other)
        for row in rows()
        for path, words in row["enums"].items()
        for item, other in itertools.pairwise(words)
        if path not in PLACE and not differs(row, path, item, other, has_baseline=True)
    ]
    assert same == []


@pytest.mark.parametrize(
    "kind, version, before, after, where",
    [
        (
            "Microsoft.Network/networkSecurityGroups",  # its facts call all of its properties read-only
            "2020-11-01",
            {"flushConnection": False},
            {"flushConnection": True},
            "/properties/flushConnection",
        ),
        (
            "Microsoft.Insights/actionGroups",  # its facts call all of its properties write-only
            "2023-01-01",
            {"enabled": True, "smsReceivers": []},
            {"enabled": False, "smsReceivers": []},
            "/properties/enabled",
        ),
    ],
)
def test_a_fact_about_all_properties_hides_none_that_can_be_set(tmp_path, kind, version, before, after, where):
    want = {"apiVersion": version, "location": "westus2"}
    known, seen = ({"location": "westus2", "properties": item} for item in (before, after))
    assert compared(tmp_path, kind, want, seen, known) == ("drifted", [where])
    want = {**want, "properties": before}
    assert compared(tmp_path, kind, want, seen) == ("drifted", [where])


def test_for_an_unlisted_version_only_what_all_versions_agree_on_holds(tmp_path):
    kind = "Microsoft.ContainerService/managedClusters/agentPools"
    before = {"properties": {"nodeImageVersion": "a", "currentOrchestratorVersion": "1.1"}}
    seen = {"properties": {"nodeImageVersion": "b", "currentOrchestratorVersion": "1.2"}}
    for version, item in (("2025-08-01", []), ("2099-01-01", ["/properties/nodeImageVersion"])):
        assert compared(tmp_path, kind, {"apiVersion": version}, seen, before)[1] == item


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, key))
    elif value is not None:
        yield path, value


def moved(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    out = copy.deepcopy(document)
    into = out
    for step in path[:-1]:
        into = into[step]
    into[path[-1]] = (not value) if isinstance(value, bool) else value + 1 if isinstance(value, int) else f"{value}-x9"
    return out


@needs_corpus
@pytest.mark.slow
@pytest.mark.parametrize("baseline", ["settled", "none"])
def test_on_recorded_documents_the_facts_hide_only_what_is_read_only_and_nothing_declared(baseline):
    """One case of each kind and version, each leaf moved: what is found without facts is found with them."""
    facts, bare = corpus_views.shipped()["azure"], corpus_views.shipped(facts=False)["azure"]
    tried, hidden, seen = 0, [], set()
    for raw in corpus.read(CORPUS):
        if raw.settled is None or raw.schema is None or (raw.kind, raw.version) in seen:
            continue
        seen.add((raw.kind, raw.version))
        case = facts.seen(raw)
        judges = [profiles.stack(list(lens.profiles(raw.kind, raw.version))) for lens in (bare, facts)]
        read_only = corpus.rules_of_schema({"read_only": raw.schema["read_only"]})
        schema = RuleTree(read_only or (), key_comparator=comparators.build("casefold"))
        for path, value in leaves(case.settled):
            if is_hidden(schema.root, path, case.settled):
                continue
            tried += 1
            there = moved(case.settled, path, value)
            known = corpus.remembered(case, baseline)
            without, given = (bool(corpus.judge(case, there, known, rules).findings) for rules in judges)
            if without and not given:
                hidden.append((raw.kind, raw.version, path))
    assert tried > 3000
    assert hidden == []


def is_hidden(node: Any, path: tuple[Any, ...], document: Any) -> bool:
    for step in path:
        node = node.child(step) if isinstance(step, str) else node.element(document[step], step)
        document = document[step]
        if node.hidden:
            return True
    return False
