"""Discovery: what counts as live, as declared, and as not known; nothing is written anywhere."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.resource import Import, ManagementPolicy
from holdfast.reconcile.discover import Coverage, Discoverer, KindListing, Survey, coverage
from holdfast.reconcile.observe import Observer
from holdfast.testing.memory import MemoryProvider, once
from tests.unit.reconcile.fixtures import Bench, declare

THINGS = {
    ("Thing", "id-a"): {"name": "a", "color": "red"},
    ("Thing", "id-b"): {"name": "b", "color": "blue"},
    ("Thing", "id-c"): {"name": "c", "color": "green"},
}


def bench() -> Bench:
    made = Bench()
    made.live.things.update({key: dict(body) for key, body in THINGS.items()})
    return made


class Pooled(MemoryProvider):
    """Two kinds, of which the second sees the things of the first."""

    def __init__(self, made: Bench, **fields) -> None:
        super().__init__(made.live, ("Thing", "Other"))
        self.kinds = {name: replace(kind, **fields) for name, kind in self.kinds.items()}


async def discovered(made: Bench, declarations=(), provider=None, keeps_raw=False, wanted=lambda _kind: True):
    async with made.world() as world:
        if provider is not None:
            world.providers = {"memory": provider}
        preparer = made.applier(world, list(declarations)).preparer
        looker = Observer(world, made.clock, made.random, made.patience, made.fingerprint)
        discoverer = Discoverer(preparer, looker, keeps_raw)
        surveys = await discoverer.survey("mem", wanted)
        drafts = (
            [[draft async for draft in discoverer.drafts(survey, ManagementPolicy.OBSERVED)] for survey in surveys]
            if keeps_raw
            else []
        )
        return surveys, drafts


def strangers(made: Bench, declarations=(), **options) -> list[str]:
    (survey,), _ = asyncio.run(discovered(made, declarations, **options))
    assert survey.listing is KindListing.LISTED, survey.reason
    assert survey.live == 3
    return [stranger.id for stranger in survey.strangers]


def test_what_nothing_declares_is_a_stranger():
    assert strangers(bench()) == ["id-a", "id-b", "id-c"]


DECLARED = {
    "it reads as that": declare("a", {"color": "red"}),
    "it is imported by that id": declare("whatever", {}, import_from=Import(id="id-a")),
    "it is imported by a filter for that": declare("whatever", {}, import_from=Import(filter={"color": "red"})),
}


@pytest.mark.parametrize("declaration", DECLARED.values(), ids=DECLARED.keys())
def test_a_thing_is_declared_if(declaration):
    assert strangers(bench(), [declaration]) == ["id-b", "id-c"]


def test_a_thing_is_declared_if_the_store_knows_its_id_and_then_nobody_reads_it():
    made = bench()
    fleet = [declare("a", {"color": "red"})]
    asyncio.run(made.apply(fleet))
    made.live.calls.clear()
    assert strangers(made, fleet) == ["id-b", "id-c"]
    assert made.live.calls == ["list Thing"]


def test_what_is_declared_and_not_there_covers_nothing():
    missing = [declare("z", {}), declare("y", {"of": "${Thing/z.id}"}), declare("x", {}, import_from=Import(id="id-z"))]
    assert strangers(bench(), missing) == ["id-a", "id-b", "id-c"]


def test_two_matches_of_an_import_filter_are_both_meant():
    made = bench()
    made.live.things["Thing", "id-b"]["color"] = "red"
    fleet = [declare("x", {}, import_from=Import(filter={"color": "red"}))]
    assert strangers(made, fleet) == ["id-c"]


def test_nothing_is_remembered_or_written():
    made = bench()
    strangers(made, [declare("a", {"color": "black"}), declare("z", {})])
    assert made.live.writes == []
    assert asyncio.run(made.store.state(declare("a", {}).address)) is None


def test_a_kind_that_cannot_be_listed_is_named_and_counts_for_nothing():
    made = bench()
    (survey,), _ = asyncio.run(discovered(made, provider=MemoryProvider(made.live, lists=False)))
    assert survey.listing is KindListing.NOT_LISTED
    assert (survey.live, survey.strangers) == (0, ())
    assert made.live.calls == []


def test_kinds_of_one_pool_see_the_same_things():
    made = bench()
    made.live.things["Other", "id-a"] = {"name": "a"}
    fleet = [declare("a", {"color": "red"})]
    apart, _ = asyncio.run(discovered(made, fleet, Pooled(made)))
    assert [len(survey.strangers) for survey in apart] == [1, 2]
    together, _ = asyncio.run(discovered(made, fleet, Pooled(made, pool="things")))
    assert [len(survey.strangers) for survey in together] == [0, 2]
    only, _ = asyncio.run(discovered(made, fleet, Pooled(made, pool="things"), wanted=lambda kind: kind == "Other"))
    assert [(survey.kind, len(survey.strangers)) for survey in only] == [("Other", 0)]


@pytest.mark.parametrize("trouble", list(ReadError))
def test_a_list_that_fails_has_failed_and_is_not_empty(trouble):
    made = bench()
    made.live.faults.append(lambda call: ReadFailure(trouble, "broken") if call.startswith("list") else None)
    (survey,), _ = asyncio.run(discovered(made))
    assert survey.listing is KindListing.FAILED
    assert "broken" in survey.reason
    assert str(coverage([survey])) == "nothing is live in what was listed"


@pytest.mark.parametrize("trouble", [ReadError.THROTTLED, ReadError.TIMEOUT])
def test_a_passing_trouble_is_waited_out(trouble):
    made = bench()
    made.live.faults.append(once("list *", ReadFailure(trouble, "", 7.0)))
    assert strangers(made) == ["id-a", "id-b", "id-c"]
    assert made.clock.slept >= 7.0


DOUBTS = {
    "read": (declare("a", {}), "a"),
    "find": (declare("a", {}, import_from=Import(filter={"color": "red"})), "a"),
}


@pytest.mark.parametrize("call, declaration", [(call, item) for call, (item, _) in DOUBTS.items()])
def test_where_a_declaration_cannot_be_placed_no_stranger_is_named(call, declaration):
    made = bench()
    denied = ReadFailure(ReadError.UNAUTHORISED, "who are you")
    made.live.faults.append(lambda asked: denied if asked.startswith(call) else None)
    (survey,), _ = asyncio.run(discovered(made, [declaration]))
    assert survey.listing is KindListing.FAILED
    assert "mem/Thing/a is declared, and which live thing it is could not be told" in survey.reason
    assert survey.strangers == ()


def test_drafts_have_names_that_no_declaration_has():
    made = bench()
    made.live.things["Thing", "id-a"]["name"] = "zzz"
    _, (drafts,) = asyncio.run(discovered(made, [declare("id-a", {}, import_from=Import(id="id-c"))], keeps_raw=True))
    assert [(draft.id, str(draft.address)) for draft in drafts] == [
        ("id-a", "mem/Thing/id-a-2"),
        ("id-b", "mem/Thing/id-b"),
    ]


def test_what_a_list_only_sums_up_is_read_before_it_is_drafted():
    made = bench()
    provider = Pooled(made, lists=False, discovers=True)
    _, (_, drafts) = asyncio.run(discovered(made, provider=provider, keeps_raw=True))
    assert [call for call in made.live.calls if call.startswith("read")] == ["read Thing/"] * 3
    assert [draft.manifest["spec"]["resource"] for draft in drafts] == [{"color": c} for c in ("red", "blue", "green")]


def test_a_thing_that_cannot_be_read_for_its_draft_is_said_not_to_be_written():
    made = bench()
    made.live.faults.append(once("read *", ReadFailure(ReadError.UNAUTHORISED, "who are you")))
    _, (_, drafts) = asyncio.run(discovered(made, provider=Pooled(made, lists=False, discovers=True), keeps_raw=True))
    assert [(draft.address is None, draft.trouble) for draft in drafts] == [
        (True, "who are you"),
        (False, ""),
        (False, ""),
    ]


def test_the_coverage_adds_up_what_was_listed_and_nothing_else():
    surveys = [
        Survey("c", "p", "A", KindListing.LISTED, live=40, strangers=()),
        Survey("c", "p", "B", KindListing.NOT_LISTED, "cannot"),
        Survey("c", "p", "C", KindListing.FAILED, "broken"),
    ]
    assert coverage(surveys) == Coverage(40, 40)
    assert str(Coverage(40, 31)) == "31 of 40 live things are declared: 77.5 %"
