"""The hashes of a Kubernetes object in events are seed 003's, and equal to `holdfast hash --fingerprint` of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import pytest
from click.testing import CliRunner

from holdfast.cli.commands.hash import hash_command
from holdfast.compare import go_json, hash_schemes
from holdfast.providers.protocol import Provider
from holdfast.remediation.core.state_hash import StateHash
from tests.unit.reconcile.fixtures import declare
from tests.unit.remediation.assessment_fixtures import Ward
from tests.vectors.load import by_name, vectors

SCHEME = hash_schemes.FINGERPRINT.id


@dataclass
class Cluster(Ward):
    """A service whose kind has its states hashed as kubernaut does."""

    def provider(self) -> Provider:
        provider: Any = super().provider()
        provider.kinds = {name: replace(kind, hash_scheme=SCHEME) for name, kind in provider.kinds.items()}
        return provider


def printed(text: str, tmp_path: Any, *options: str) -> str:
    file = tmp_path / "object.json"
    file.write_text(text)
    done = CliRunner().invoke(hash_command, ["--fingerprint", *options, str(file)])
    assert done.exit_code == 0, done.output
    return done.output.strip()


@pytest.mark.parametrize("case", vectors("fingerprint_go"), ids=by_name)
def test_before_and_after_are_the_hashes_of_the_vectors_and_of_the_command(case, tmp_path):
    given = go_json.loads(case["object"], "int64")
    ward = Cluster(declarations=[declare("a", given)])
    asyncio.run(ward.apply(ward.declarations))

    async def story() -> list:
        await ward.start()
        await ward.complete()
        await ward.finish()
        return await ward.trail()

    told = {event.type: event.data for event in asyncio.run(story())}
    created, hashed = told["remediation.workflow_created"], told["effectiveness.hash.computed"]
    assert created["pre_remediation_spec_hash"] == hashed["post_remediation_spec_hash"] == case["hash"]
    assert created["hash_scheme"] == hashed["hash_scheme"] == SCHEME
    assert hashed["hash_match"] is True
    assert printed(case["object"], tmp_path) == case["hash"]


def test_large_integers_are_exact_as_in_a_cluster(tmp_path):
    text = '{"spec": {"n": 9007199254740993}}'
    exact = hash_schemes.FINGERPRINT.digest(go_json.loads(text, "int64"))
    assert printed(text, tmp_path) == printed(text, tmp_path, "--numbers", "int64") == exact
    assert printed(text, tmp_path, "--numbers", "float64") != exact


def test_other_rules_of_the_kind_do_not_make_the_hash_another_one():
    ward = Cluster(declarations=[declare("a", {"spec": {"replicas": 3}, "status": {"ready": 1}})])

    async def pre() -> StateHash:
        await ward.apply(ward.declarations)
        record = await ward.start()
        assert record.pre is not None
        await ward.complete()
        await ward.finish()
        return record.pre

    before = asyncio.run(pre())
    ward.profile = "profile: later\nversion: 2\nrules: [{path: /spec/replicas, compare: number}]\n"
    assert asyncio.run(pre()) == before
