"""A provider may say what a declaration leaves unsaid, and an import may be found by what another one brought."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from holdfast.errors import InputError, Location
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.resource import Import, ManagementPolicy
from holdfast.model.verdict import Status
from holdfast.providers.protocol import Draft, Provider
from tests.unit.reconcile.fixtures import Bench, declare


def run(coroutine):
    return asyncio.run(coroutine)


def complete(draft: Draft) -> Mapping[str, Json]:
    if "wrong" in draft.desired:
        raise InputError("there is no such field", Location(field="/wrong"))
    return {**({"title": draft.name} if draft.is_ours else {}), **draft.desired}


@dataclass
class Completing(Bench):
    patches: bool = True

    def provider(self) -> Provider:
        found = super().provider()
        found.kinds = {name: replace(kind, complete=complete) for name, kind in found.kinds.items()}
        return found


def test_what_is_left_unsaid_is_declared_and_put_back():
    bench = Completing()
    fleet = [declare("a", {"color": "red"})]
    run(bench.apply(fleet))
    assert bench.live_thing("a")["title"] == "a"
    bench.live_thing("a")["title"] = "drifted"
    (checked,) = run(bench.check(fleet)).checked
    assert (checked.verdict.status, checked.decision.action) == (Status.DRIFTED, Action.UPDATE)
    run(bench.apply(fleet))
    assert bench.live_thing("a")["title"] == "a"


@pytest.mark.parametrize(
    "given", [{"import_from": Import(id="id-1")}, {"policy": ManagementPolicy.OBSERVED}], ids=["imported", "observed"]
)
def test_what_is_not_ours_is_held_to_its_declaration_and_no_more(given):
    bench = Completing()
    run(bench.apply([declare("made", {"color": "red"})]))
    run(bench.store.commit(_forgotten(bench)))
    bench.live_thing("made")["title"] = "another"
    (ident,) = [ident for _, ident in bench.live.things]
    if "import_from" in given:
        given = {"import_from": Import(id=ident)}
    (checked,) = run(bench.check([declare("made", {"color": "red"}, **given)])).checked
    assert checked.verdict.status is Status.IN_SYNC


def _forgotten(bench: Bench):
    from holdfast.store.transaction import Transaction

    return Transaction(forgotten=[declare("made", {}).address])


def test_a_mistake_is_told_with_its_place_in_the_manifest():
    bench = Completing()
    wrong = replace(declare("a", {"wrong": 1}), location=Location("infra.yaml", 1), places={"/spec/resource/wrong": 7})
    with pytest.raises(InputError, match="there is no such field") as caught:
        run(bench.apply([wrong]))
    assert (caught.value.location.file, caught.value.location.line) == ("infra.yaml", 7)
    assert caught.value.location.field == "/spec/resource/wrong"


def test_an_import_is_found_by_what_another_resource_has():
    bench = Bench()
    run(bench.apply([declare("parent", {"x": 1}), declare("child", {"of": "nobody"})]))
    parent = declare("parent", {"x": 1})
    child = declare("taken", {}, import_from=Import(filter={"of": "${Thing/parent.id}"}))
    (waiting,) = run(bench.apply([parent, child])).waiting
    assert waiting.reason == "nothing to import matches the filter yet"
    bench.live_thing("child")["of"] = bench.id_of("parent")
    assert not run(bench.apply([parent, child])).waiting
    assert run(bench.store.state(child.address)).observed.provider_id == bench.id_of("child")


def test_an_import_waits_for_what_its_filter_refers_to():
    bench = Bench()
    parent = declare("parent", {"x": 1})
    child = declare("taken", {}, import_from=Import(filter={"of": "${Thing/parent.id}"}))
    (waiting,) = run(bench.check([parent, child])).waiting
    assert waiting.reason.startswith("${Thing/parent.id} in the import filter")
