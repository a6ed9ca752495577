"""The facts that ship: what is taken from them, in which version, and that nobody pays for what is not asked."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from holdfast.compare import profiles
from holdfast.providers.azure import kinds, type_facts
from holdfast.providers.azure.type_catalog import Types

SOURCE = Path(__file__).resolve().parents[5] / "shared" / "schemas" / type_facts.FILE
DATA = resources.files("holdfast.providers.azure").joinpath("data")


def row(version: str, read_only: Any = (), write_only: Any = (), **enums: Any) -> dict[str, Any]:
    words = {f"/properties/{name}": list(values) for name, values in enums.items()}
    return {"version": version, "read_only": list(read_only), "write_only": list(write_only), "enums": words}


def test_every_type_and_version_makes_rules():
    found = [(row["type"], row["version"]) for type_ in type_facts.types() for row in type_facts.rows(type_)]
    assert (len(type_facts.types()), len(found)) == (288, 580)
    for type_, version in found:
        profile = type_facts.profile(type_, version)
        assert profile is not None
        assert profiles.build(profile.raw) == profile


@pytest.mark.skipif(not SOURCE.is_file(), reason=f"no facts at {SOURCE}")
def test_they_ship_as_they_were_published():
    shipped, source = (hashlib.sha256(item.read_bytes()).hexdigest() for item in (DATA / type_facts.FILE, SOURCE))
    assert shipped == source


def test_their_licence_ships_beside_them_and_in_the_notice():
    notice = (Path(__file__).resolve().parents[4] / "NOTICE").read_text()
    for text in ((DATA / "LICENSE").read_text(), notice):
        assert "Copyright (c) Microsoft Corporation." in text
        assert "Permission is hereby granted, free of charge" in text


def test_nothing_is_unpacked_before_a_type_is_asked_for():
    code = (
        "import holdfast.cli, sys; from holdfast.providers import registry; registry.get('azure').kinds['Resource'];"
        "m = sys.modules.get('holdfast.providers.azure.type_facts');"
        "print(m is None or m._lines.cache_info().currsize == 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_a_type_is_found_whatever_its_case_and_one_that_is_not_listed_has_none():
    assert type_facts.profile("microsoft.compute/VIRTUALMACHINES", "2022-03-01") is not None
    assert type_facts.profile("Contoso.Test/widgets", "2024-01-01") is None


def test_a_listed_version_is_taken_at_its_word():
    facts = type_facts.of_version([row("1", ["/properties/a"], ["/properties/b"], c=["X", "Y"])], "1")
    assert facts.is_whole
    assert facts.read_only == {"/properties/a"}
    assert facts.write_only == {"/properties/b"}
    assert facts.words == {"/properties/c"}


def test_what_names_a_thing_and_the_parts_of_the_envelope_are_never_hidden():
    said = ["/id", "/name", "/type", "/location", "/tags", "/identity", "/zones", "/managedBy"]
    assert type_facts.of_version([row("1", said)], "1").read_only == {"/managedBy"}


def test_words_that_differ_by_case_only_keep_it():
    assert type_facts.of_version([row("1", c=["on", "ON"])], "1").words == set()


def test_to_another_version_only_what_all_agree_on_is_carried_over():
    rows = [
        row("1", ["/properties/a", "/properties/b", "/properties/e"], ["/properties/w"], e=["X"], f=["X"]),
        row("3", ["/properties/a", "/properties/e"], ["/properties/w", "/properties/v"], f=["X"]),
    ]
    for version in ("0", "2", "4", ""):
        facts = type_facts.of_version(rows, version)
        assert not facts.is_whole
        assert facts.read_only == {"/properties/a"}  # b is settable in 3; e takes words, and may become settable
        assert facts.write_only == {"/properties/w"}
        assert facts.words == {"/properties/f"}


def test_all_properties_are_hidden_only_if_every_version_says_that_none_can_be_set():
    whole, finer = row("1", ["/properties"]), row("2", ["/properties/a"])
    assert type_facts.of_version([whole], "1").read_only == {"/properties"}
    contradicted = type_facts.of_version([whole, finer], "1")
    assert contradicted.read_only == {"/properties/a"}
    assert not contradicted.is_whole
    assert type_facts.of_version([whole], "2").read_only == set()


def test_guesses_by_name_give_way_only_where_a_version_is_known():
    def guesses(version: str) -> int:
        own = kinds.rules_of("Microsoft.Compute/disks", version, Types()["Microsoft.Compute/disks"])
        return sum(rule.guess for rule in profiles.stack(own).rules)

    assert guesses("2024-03-02") == 0
    assert guesses("2099-01-01") > 0


def test_facts_stand_between_the_rules_of_a_type_and_those_of_all():
    names = [item.name for item in kinds.Kinds()["VirtualNetwork"].profiles_in("2024-03-01")]
    assert [name.split("/")[1].split()[0] for name in names] == ["children", "declaration", "types", "general"]


def test_a_row_is_found_without_parsing_the_others():
    packed = gzip.decompress((DATA / type_facts.FILE).read_bytes())
    assert len(packed) < 400_000
    assert all(line.startswith(b'{"type":"') for line in packed.splitlines())
