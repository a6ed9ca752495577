"""Somebody who changes the world at one chosen moment of an action, and the scenes in which that matters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any

from holdfast.compare import paths
from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status
from holdfast.reconcile.action_result import ActionResult
from holdfast.store.protocol import Store
from holdfast.store.transaction import Transaction
from tests.unit.reconcile.fixtures import Bench, declare

PROFILE = "profile: test/thing\nversion: 1\nrules:\n  - {path: /kind, class: create_only}\n"
DECLARED: dict[str, Json] = {"color": "red", "size": 1, "kind": "round"}
WRITES = ("create", "update", "delete")

Change = Callable[[Bench], object]


def run(coroutine):
    return asyncio.run(coroutine)


class Moment(StrEnum):
    """When somebody comes in between."""

    BEFORE_LOOK = "before the look"
    BEFORE_CLAIM = "between look and claim"
    BEFORE_GUARD = "between claim and second look"
    BEFORE_WRITE = "between second look and write"
    UNDER_WAY = "while the operation is under way"
    BEFORE_SETTLE = "between write and settled read"


# -- what they do


def same_field(bench: Bench) -> None:
    bench.live_thing("a")["color"] = "white"


def other_field(bench: Bench) -> None:
    bench.live_thing("a")["size"] = 9


def undeclared_field(bench: Bench) -> None:
    bench.live_thing("a")["owner"] = "them"


def deletion(bench: Bench) -> None:
    del bench.live.things["Thing", bench.id_of("a")]


def appearance(bench: Bench) -> None:
    bench.live.things["Thing", "theirs"] = {"name": "a", "color": "white", "size": 7, "kind": "round"}


CHANGES: dict[str, Change] = {
    "same field": same_field,
    "other field": other_field,
    "undeclared field": undeclared_field,
    "deletion": deletion,
}


# -- when they do it


class Watched:
    """A store that lets somebody in at a claim, before or after it, or after a step of a write was recorded."""

    def __init__(self, store: Store, step: str, enter: Callable[[], Awaitable[object]]) -> None:
        self._store = store
        self._step = step  # "claim", "claimed", or the type of the event that the step leaves
        self._enter = enter
        self._is_over = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def claim(self, *arguments: Any) -> Any:
        await self._let_in("claim")
        claim = await self._store.claim(*arguments)
        await self._let_in("claimed")
        return claim

    async def commit(self, transaction: Transaction) -> None:
        await self._store.commit(transaction)
        for event in transaction.events:
            await self._let_in(event.type)

    async def _let_in(self, step: str) -> None:
        if step == self._step and not self._is_over:
            self._is_over = True
            await self._enter()


class Meddler:
    """Changes the world once, at one moment of the next action on a bench, and remembers what it left."""

    def __init__(self, bench: Bench, moment: Moment, change: Change, verb: str = "") -> None:
        self.bench = bench
        self.change = change
        self.moment = moment
        self.verb = verb  # for actions of two writes: at which one
        self.left: dict[tuple[str, str], Json] | None = None
        self._written = ""
        bench.live.writes.clear()
        bench.live.faults.append(self._on_call)
        bench.live.after_write = self._after_write
        steps = {Moment.BEFORE_CLAIM: "claim", Moment.BEFORE_GUARD: "claimed"}
        bench.store = Watched(bench.store, steps.get(moment, ""), self._enter)
        if moment is Moment.BEFORE_LOOK:
            self.strike()

    def strike(self) -> None:
        if self.left is None:
            self.change(self.bench)
            self.left = things(self.bench)

    async def _enter(self) -> None:
        self.strike()

    def _on_call(self, call: str) -> None:
        verb = call.partition(" ")[0]
        if self.moment is Moment.BEFORE_WRITE and verb in WRITES and verb == (self.verb or verb):
            self.strike()
        if self.moment is Moment.UNDER_WAY and verb == "poll" and self._written == (self.verb or self._written):
            self.strike()

    def _after_write(self, verb: str) -> None:
        self._written = verb
        if self.moment is Moment.BEFORE_SETTLE and verb == (self.verb or verb):
            self.strike()

    def is_kept(self) -> bool:
        """Tell whether the world is what the meddler left."""
        assert self.left is not None, "the moment never came"
        return things(self.bench) == self.left


def things(bench: Bench) -> dict[tuple[str, str], Json]:
    return {key: dict(value) for key, value in bench.live.things.items()}


def sees_the_truth(bench: Bench, fleet: list[Declaration]) -> bool:
    """Tell whether a check says of each declared field what is so, and nothing that is not."""
    bench.live.faults.clear()
    bench.live.after_write = lambda _verb: None
    (one,) = run(bench.check(fleet)).checked
    live = bench.live_thing("a")
    if live is None:
        return one.verdict.status in (Status.MISSING, Status.PENDING)
    wanted = fleet[0].desired
    wrong = {f"/{name}" for name, value in wanted.items() if live.get(name) != value}
    found = {paths.format_path(finding.path) for finding in one.verdict.findings}
    declared = {path for path in found if path.removeprefix("/") in wanted}
    return declared == wrong and not (wrong and one.verdict.status is Status.IN_SYNC)


# -- scenes: what the next action starts from; each returns the fleet to act with


def bench_of(**options: Any) -> Bench:
    return Bench(**{"profile": PROFILE, "patches": True, **options})


def declared(**fields: Json) -> list[Declaration]:
    return [declare("a", {**DECLARED, **fields}, resyncPeriod="1h", onImmutable="replace")]


def to_create(_bench: Bench) -> list[Declaration]:
    return declared()


def settled(bench: Bench) -> list[Declaration]:
    fleet = declared()
    run(bench.apply(fleet))
    return fleet


def drifted(bench: Bench) -> list[Declaration]:
    fleet = settled(bench)
    bench.live_thing("a")["color"] = "black"
    return fleet


def edited(bench: Bench) -> list[Declaration]:
    settled(bench)
    return declared(color="green")


def to_replace(bench: Bench) -> list[Declaration]:
    settled(bench)
    return declared(kind="square")


def removed(bench: Bench) -> list[Declaration]:
    fleet = settled(bench)
    deletion(bench)
    return fleet


def applied(bench: Bench, fleet: list[Declaration]) -> ActionResult:
    (one,) = run(bench.apply(fleet)).acted
    return one


def deleted(bench: Bench, fleet: list[Declaration]) -> ActionResult:
    (one,) = run(bench.delete(fleet)).acted
    return one
