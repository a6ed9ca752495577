"""The world changes between plan and write, over real HTTP: If-Match refuses what the second look could not see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from holdfast.compare import paths
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status
from holdfast.providers import registry
from holdfast.providers.protocol import Connection, Provider
from holdfast.reconcile.action_result import ActionOutcome, ActionResult
from holdfast.reconcile.undo import CannotUndo
from holdfast.testing.rest_server import Collection, Fault, RestServer, Shape, Wrong
from tests.unit.reconcile.fixtures import Bench
from tests.unit.reconcile.meddling import Moment, Watched

RULES: Json = [
    {"path": "/revision", "class": "read_only"},
    {"path": "/id", "class": "identity"},
    {"path": "/kind", "class": "create_only"},
]
WIDGET: dict[str, Json] = {
    "read": "/widgets/{id}",
    "create": {"method": "PUT", "path": "/widgets/{name}"},
    "update": {"method": "PATCH", "path": "/widgets/{id}", "body": "merge"},
    "delete": "/widgets/{id}",
    "etag": "header",
    "conditional": True,
    "profile": {"rules": RULES},
}
WHOLE: dict[str, Json] = {**WIDGET, "update": {"method": "PUT", "path": "/widgets/{id}", "body": "whole"}}
COUNTED: dict[str, Json] = {
    **WIDGET,
    "create": {"method": "POST", "path": "/widgets", "id": "/id"},
    "list": {"path": "/widgets", "items": "/items", "id": "/id"},
    "find": {"by": ["/name"]},
}
SLOW: dict[str, Json] = {**WIDGET, "operation": {"header": "Location", "id": "/resource/id", "poll_seconds": 0.1}}
DECLARED: dict[str, Json] = {"name": "a", "color": "red", "size": 1, "kind": "round"}
WRITES = frozenset({"PUT", "POST", "PATCH", "DELETE"})

Change = Callable[[Collection], object]


def unconditional(kind: Mapping[str, Json]) -> dict[str, Json]:
    return {**kind, "conditional": False}


def declared(options: Mapping[str, Json] | None = None, **fields: Json) -> list[Declaration]:
    given = {"resyncPeriod": "1h", "onImmutable": "replace", **(options or {})}
    address = Address("api", "Widget", "a")
    return [Declaration(address, "http", "http.holdfast.dev/v1", {**DECLARED, **fields}, options=given)]


# -- what they do


def same_field(widgets: Collection) -> None:
    widgets.edit("a", lambda widget: widget.update(color="white"))


def other_field(widgets: Collection) -> None:
    widgets.edit("a", lambda widget: widget.update(size=9))


def undeclared_field(widgets: Collection) -> None:
    widgets.edit("a", lambda widget: widget.update(owner="them"))


def deletion(widgets: Collection) -> None:
    widgets.drop("a")


def appearance(widgets: Collection) -> None:
    widgets.put("a", {**DECLARED, "color": "white", "size": 7})


CHANGES: dict[str, Change] = {
    "same field": same_field,
    "other field": other_field,
    "undeclared field": undeclared_field,
    "deletion": deletion,
}


# -- the engine on a real server


@dataclass
class HttpBench(Bench):
    """The engine with the http provider, on a server that somebody else may reach into."""

    server: RestServer = field(default_factory=RestServer)
    left: dict[str, Json] | None = None  # what the meddler left, once it came

    def provider(self) -> Provider:
        return registry.get("http")

    @property
    def widgets(self) -> Collection:
        return self.server.collections["widgets"]

    def things(self) -> dict[str, Json]:
        return {ident: self.widgets[ident] for ident in self.widgets.ids()}

    def meddle(self, moment: Moment, change: Change, method: str = "") -> None:
        """Let somebody in once, at a moment of the next action."""
        self.server.journal.clear()

        def strike() -> None:
            if self.left is None:
                change(self.widgets)
                self.left = self.things()

        async def enter() -> None:
            strike()

        def before(asked: str, path: str) -> None:
            written = [entry.method for entry in self.server.writes()]
            is_after = bool(written) and written[-1] == (method or written[-1])
            at = {
                Moment.BEFORE_WRITE: asked in WRITES and asked == (method or asked),
                Moment.UNDER_WAY: path.startswith("/operations/") and is_after,
                Moment.BEFORE_SETTLE: asked == "GET" and is_after,
            }
            if at.get(moment, False):
                strike()

        steps = {Moment.BEFORE_CLAIM: "claim", Moment.BEFORE_GUARD: "claimed"}
        self.server.before_request = before
        self.store = Watched(self.store, steps.get(moment, ""), enter)

    def is_kept(self) -> bool:
        assert self.left is not None, "the moment never came"
        return self.things() == self.left

    async def sees_the_truth(self, fleet: list[Declaration]) -> bool:
        """Tell whether a check says of each declared field what is so, and nothing that is not."""
        self.server.before_request = lambda _method, _path: None
        (one,) = (await self.check(fleet)).checked
        named = [self.widgets[ident] for ident in self.widgets.ids() if self.widgets[ident]["name"] == "a"]
        if not named:
            return one.verdict.status in (Status.MISSING, Status.PENDING)
        wanted = fleet[0].desired
        wrong = {f"/{name}" for name, value in wanted.items() if named[0].get(name) != value}
        found = {paths.format_path(finding.path) for finding in one.verdict.findings}
        seen = {path for path in found if path.removeprefix("/") in wanted}
        return seen == wrong and not (wrong and one.verdict.status is Status.IN_SYNC)


def on_http(
    story: Callable[[HttpBench], Awaitable[object]],
    kind: Mapping[str, Json] | None = None,
    shape: Shape | None = None,
) -> None:
    async def run() -> None:
        async with RestServer({"widgets": shape or Shape(stamps=("revision",))}) as server:
            settings = {"base_url": server.url, "kinds": {"Widget": kind or WIDGET}}
            await story(HttpBench(connection=Connection("api", "http", settings), server=server))

    asyncio.run(run())


# -- scenes


async def to_create(_bench: HttpBench) -> list[Declaration]:
    return declared()


async def settled(bench: HttpBench) -> list[Declaration]:
    await bench.apply(declared())
    return declared()


async def drifted(bench: HttpBench) -> list[Declaration]:
    await bench.apply(declared())
    bench.widgets.edit("a", lambda widget: widget.update(color="black"))
    return declared()


async def edited(bench: HttpBench) -> list[Declaration]:
    await bench.apply(declared())
    return declared(color="green")


async def to_replace(bench: HttpBench) -> list[Declaration]:
    await bench.apply(declared())
    return declared(kind="square")


async def removed(bench: HttpBench) -> list[Declaration]:
    await bench.apply(declared())
    bench.widgets.drop("a")
    return declared()


async def applied(bench: HttpBench, fleet: list[Declaration]) -> ActionResult:
    (one,) = (await bench.apply(fleet)).acted
    return one


async def deleted(bench: HttpBench, fleet: list[Declaration]) -> ActionResult:
    (one,) = (await bench.delete(fleet)).acted
    return one


ON_WHAT_IS_THERE: dict[str, tuple[Any, Any]] = {
    "update of drift": (drifted, applied),
    "update of intent": (edited, applied),
    "replace": (to_replace, applied),
    "delete": (settled, deleted),
}
ON_WHAT_IS_NOT: dict[str, tuple[Any, Any]] = {"create": (to_create, applied), "recreate": (removed, applied)}
BEFORE_THE_WRITE = (Moment.BEFORE_CLAIM, Moment.BEFORE_GUARD, Moment.BEFORE_WRITE)


@pytest.mark.parametrize("moment", BEFORE_THE_WRITE)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("scene", ON_WHAT_IS_THERE)
def test_what_moves_before_the_write_is_not_overwritten(scene, change, moment):
    make, act = ON_WHAT_IS_THERE[scene]

    async def story(bench):
        fleet = await make(bench)
        bench.meddle(moment, CHANGES[change])
        acted = await act(bench, fleet)
        if change == "deletion" and moment is Moment.BEFORE_WRITE and scene in ("delete", "replace"):
            assert acted.result is ActionOutcome.DONE, "what was to be removed is gone, so nothing of theirs is lost"
        else:
            assert acted.result is ActionOutcome.MOVED, acted.message
            assert bench.is_kept()
            assert bench.server.writes() == []
        assert scene == "delete" or await bench.sees_the_truth(fleet)

    on_http(story)


@pytest.mark.parametrize("moment", BEFORE_THE_WRITE)
@pytest.mark.parametrize("scene", ON_WHAT_IS_NOT)
def test_what_appears_before_the_write_is_neither_doubled_nor_overwritten(scene, moment):
    make, act = ON_WHAT_IS_NOT[scene]

    async def story(bench):
        fleet = await make(bench)
        bench.meddle(moment, appearance)
        acted = await act(bench, fleet)
        assert acted.result is ActionOutcome.MOVED, acted.message
        assert bench.is_kept()
        assert bench.server.writes() == []
        assert await bench.sees_the_truth(fleet)

    on_http(story)


def test_what_appears_between_the_two_halves_of_a_replacement_is_not_overwritten():
    async def story(bench):
        fleet = await to_replace(bench)
        bench.meddle(Moment.BEFORE_WRITE, appearance, method="PUT")
        assert (await applied(bench, fleet)).result is ActionOutcome.MOVED
        assert bench.is_kept()
        assert await bench.sees_the_truth(fleet)

    on_http(story)


@pytest.mark.parametrize("change", CHANGES)
def test_what_moves_after_the_write_stays_as_it_is_and_is_seen(change):
    async def story(bench):
        fleet = await drifted(bench)
        bench.meddle(Moment.BEFORE_SETTLE, CHANGES[change])
        await applied(bench, fleet)
        assert bench.is_kept()
        assert await bench.sees_the_truth(fleet)

    on_http(story)


def test_what_moves_while_an_operation_is_under_way_stays_as_it_is_and_is_seen():
    """The operation has its effect at its last poll: what it does not write can move before that."""

    async def story(bench):
        fleet = await drifted(bench)
        bench.meddle(Moment.UNDER_WAY, other_field)
        await applied(bench, fleet)
        assert (bench.widgets["a"]["color"], bench.widgets["a"]["size"]) == ("red", 9)
        assert await bench.sees_the_truth(fleet)

    on_http(story, SLOW, Shape(stamps=("revision",), operation_polls=3))


# -- undo


async def corrected(bench: HttpBench) -> tuple[list[Declaration], str]:
    fleet = await drifted(bench)
    await bench.apply(fleet)
    return fleet, (await bench.store.corrections())[0].id


@pytest.mark.parametrize("moment", BEFORE_THE_WRITE)
@pytest.mark.parametrize("change", ["same field", "deletion"])
def test_an_undo_does_not_overwrite_what_moved_since(change, moment):
    async def story(bench):
        fleet, ident = await corrected(bench)
        bench.meddle(moment, CHANGES[change])
        with pytest.raises(CannotUndo):
            await bench.undo(ident, fleet)
        assert bench.is_kept()
        assert bench.server.writes() == []
        assert await bench.store.quarantines() == []
        assert await bench.sees_the_truth(fleet)

    on_http(story)


def test_an_undo_of_a_creation_does_not_remove_what_somebody_changes_at_that_moment():
    async def story(bench):
        fleet = await settled(bench)
        ident = (await bench.store.corrections())[0].id
        bench.meddle(Moment.BEFORE_WRITE, other_field)
        with pytest.raises(CannotUndo, match="refused"):
            await bench.undo(ident, fleet)
        assert bench.is_kept()
        assert await bench.sees_the_truth(fleet)

    on_http(story)


# -- whole documents


@pytest.mark.parametrize("moment", [Moment.BEFORE_CLAIM, Moment.BEFORE_GUARD])
@pytest.mark.parametrize("kind", [WHOLE, unconditional(WHOLE)], ids=["conditional", "unconditional"])
def test_a_field_that_is_not_compared_is_not_put_back_by_a_whole_write(kind, moment):
    async def story(bench):
        options: dict[str, Json] = {"onDriftPaths": {"/tags": "ignore"}}
        await bench.apply(declared(options))
        bench.widgets.edit("a", lambda widget: widget.update(color="black", tags="old"))
        bench.meddle(moment, lambda widgets: widgets.edit("a", lambda widget: widget.update(tags="new")))
        assert (await applied(bench, declared(options))).result is ActionOutcome.DONE
        assert (bench.widgets["a"]["color"], bench.widgets["a"]["tags"]) == ("red", "new")

    on_http(story, kind)


def test_without_a_precondition_a_whole_write_loses_what_moves_in_the_last_moment():
    async def story(bench):
        fleet = await drifted(bench)
        bench.meddle(Moment.BEFORE_WRITE, other_field)
        assert (await applied(bench, fleet)).result is ActionOutcome.DONE
        assert bench.widgets["a"]["size"] == 1, "known and documented: describe `conditional` where the API can"
        assert await bench.sees_the_truth(fleet)

    on_http(story, unconditional(WHOLE))


def test_without_a_precondition_a_patch_keeps_what_moves_elsewhere_in_the_last_moment():
    async def story(bench):
        fleet = await drifted(bench)
        bench.meddle(Moment.BEFORE_WRITE, other_field)
        await applied(bench, fleet)
        assert (bench.widgets["a"]["color"], bench.widgets["a"]["size"]) == ("red", 9)
        assert await bench.sees_the_truth(fleet)

    on_http(story, unconditional(WIDGET))


# -- ids that the service gives


@pytest.mark.parametrize("moment", [Moment.BEFORE_CLAIM, Moment.BEFORE_GUARD])
def test_what_takes_the_name_of_something_gone_is_neither_doubled_nor_overlooked(moment):
    async def story(bench):
        await bench.apply(declared())
        bench.widgets.drop("widgets-1")
        bench.meddle(moment, lambda widgets: widgets.put("theirs", {**DECLARED, "id": "theirs", "color": "white"}))
        acted = await applied(bench, declared())
        assert (acted.result, acted.message) == (ActionOutcome.MOVED, "it appeared since the plan")
        assert bench.is_kept()
        assert await bench.sees_the_truth(declared())
        assert (await applied(bench, declared())).result is ActionOutcome.DONE
        assert bench.widgets["theirs"]["color"] == "red"
        assert bench.widgets.ids() == ["theirs"]

    on_http(story, COUNTED, Shape(stamps=("id", "revision"), counted_ids=True))


# -- a lost answer is not somebody else


def test_a_deletion_whose_answer_was_lost_is_done_and_not_taken_for_a_strangers():
    async def story(bench):
        fleet = await settled(bench)
        bench.server.faults.append(Fault(Wrong.RESET_AFTER, "DELETE", "/widgets/*"))
        assert (await deleted(bench, fleet)).result is ActionOutcome.DONE
        assert bench.widgets.ids() == []

    on_http(story)
