"""A fleet that is checked in many batches gives the results of one batch, and keeps no more than it must."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.model.decision import Action
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.verdict import Status
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.mass_drift import MassDriftGuard
from holdfast.providers.protocol import Listed, Unchanged
from holdfast.reconcile import check, fleet_check
from holdfast.reconcile.action_result import ActionResult
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.listing import Listing
from holdfast.reconcile.observe import LIST_FROM
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.store import blobs
from tests.unit.reconcile.fixtures import Bench, declare

GUARDED = PolicyRules(CorrectionRules(mass_drift=MassDriftGuard(share=0.3, at_least=4, identical=4)))
COUNT = 23


def run(coroutine):
    return asyncio.run(coroutine)


def fleet(edited: range = range(0)) -> list:
    return [declare(f"r{n:02}", {"x": 100 + n if n in edited else n}) for n in range(COUNT)]


@pytest.fixture(params=[3, 500], ids=["many batches", "one batch"])
def batch(request, monkeypatch):
    monkeypatch.setattr(fleet_check, "BATCH", request.param)
    monkeypatch.setattr(fleet_check, "RELISTED", 4)
    monkeypatch.setattr(check, "BATCH", request.param)
    return request.param


def disturbed(rules: PolicyRules | None = None, drifted: range = range(2)) -> Bench:
    """Apply a fleet; then some drift, one vanishes, and one is not yet known."""
    bench = Bench() if rules is None else Bench(rules=rules)
    run(bench.apply(fleet()[:-1]))
    bench.clock.advance(10_000)
    for number in drifted:
        bench.live_thing(f"r{number:02}")["x"] = "moved"
    del bench.live.things["Thing", bench.id_of("r10")]
    return bench


def summary(report) -> dict[str, tuple[Status, Action]]:
    return {item.address.name: (item.verdict.status, item.decision.action) for item in report.checked}


@pytest.mark.parametrize("lists", [True, False])
def test_verdicts_do_not_depend_on_the_size_of_batches(batch, lists):
    bench = disturbed()
    bench.lists = lists
    found = summary(run(bench.check(fleet(edited=range(12, 20)))))
    expected = {f"r{n:02}": (Status.IN_SYNC, Action.NONE) for n in range(COUNT)}
    expected |= {f"r{n:02}": (Status.DRIFTED, Action.UPDATE) for n in range(2)}
    expected |= {f"r{n:02}": (Status.PENDING, Action.UPDATE) for n in range(12, 20)}
    expected["r10"] = (Status.MISSING, Action.RECREATE)
    expected["r22"] = (Status.PENDING, Action.CREATE)
    assert found == expected
    assert list(found) == sorted(found)


def test_edited_resources_are_listed_again_rather_than_read_one_by_one(batch):
    bench = disturbed(drifted=range(0))
    bench.live.calls.clear()
    run(bench.check(fleet(edited=range(12, 20))))
    reads = [call for call in bench.live.calls if call.startswith("read")]
    assert len(reads) < 2 + LIST_FROM  # the missing one, the one that is not known, and too few for a list


def test_mass_drift_is_judged_over_all_batches_before_the_first_correction(batch):
    bench = disturbed(GUARDED, drifted=range(8))
    report = run(bench.apply(fleet()))
    assert {item.decision.action for item in report.checked if item.verdict.status is Status.DRIFTED} == {Action.HOLD}
    assert [bench.live_thing(f"r{n:02}")["x"] for n in range(8)] == ["moved"] * 8
    assert bench.live_thing("r22") is not None  # a create is no correction


def test_a_few_corrections_pass_the_guard(batch):
    bench = disturbed(GUARDED, drifted=range(1))
    run(bench.apply(fleet()))
    assert bench.live_thing("r00")["x"] == 0
    assert bench.live_thing("r10")["x"] == 10


def test_results_that_are_not_kept_are_counted(batch):
    bench = disturbed()
    given: list[CheckResult | ActionResult] = []

    def sink(result):
        given.append(result)
        return False

    report = run(bench.apply(fleet(), sink=sink))
    assert report.checked == report.acted == []
    assert report.tally.statuses == {Status.IN_SYNC: 19, Status.DRIFTED: 2, Status.MISSING: 1, Status.PENDING: 1}
    assert report.tally.done == {Action.UPDATE: 2, Action.RECREATE: 1, Action.CREATE: 1}
    assert len({item.address for item in given if isinstance(item, CheckResult)}) == COUNT


def test_a_stopped_apply_names_every_resource_that_it_did_not_reach(batch):
    bench = Bench()

    async def stopped():
        async with bench.world() as world:
            stop = asyncio.Event()
            return await bench.applier(world, fleet(), stop=stop, progress=lambda _step: stop.set()).apply()

    report = run(stopped())
    reached = {item.checked.address for item in report.acted}
    assert sorted(map(str, [*reached, *report.not_reached])) == sorted(str(item.address) for item in fleet())
    assert not reached


def test_a_failing_list_leaves_every_known_resource_unknown(batch):
    bench = disturbed(drifted=range(0))
    failure = ReadFailure(ReadError.UNAUTHORISED, "no")
    bench.live.faults.append(lambda call: failure if call.startswith("list") else None)
    statuses = {name: status for name, (status, _) in summary(run(bench.check(fleet()))).items()}
    assert statuses.pop("r22") is Status.PENDING
    assert set(statuses.values()) == {Status.UNKNOWN}


class TestListing:
    """A list keeps the bytes of changed items only."""

    digest = "sha256:" + "a" * 64
    other = "sha256:" + "b" * 64

    def listing(self) -> Listing:
        return Listing({"same": blobs.pack_digest(self.digest), "changed": blobs.pack_digest(self.digest), "any": None})

    def test_items_are_unchanged_or_kept_or_missing(self):
        listing = self.listing()
        for ident in ("same", "any", "unexpected"):
            listing.take(Listed(ident, b"{}", self.digest))
        listing.take(Listed("changed", b"{1}", self.other))
        assert listing.get("same") == Unchanged(None, self.digest)
        assert listing.has_unchanged("same")
        assert not listing.has_unchanged("any")
        assert isinstance(listing.get("any"), Listed)
        assert isinstance(listing.get("changed"), Listed)
        assert listing.get("unexpected") is None

    @pytest.mark.parametrize("digests", [("a", "b"), ("b", "a"), ("b", "c")])
    def test_an_item_that_comes_twice_and_differs_is_not_listed(self, digests):
        listing = self.listing()
        for letter in digests:
            listing.take(Listed("same", b"{}", "sha256:" + letter * 64))
        assert listing.get("same") is None
        assert not listing.has_unchanged("same")
