"""Who is at the other end of contention is named where the provider can tell, and never mistaken for ourselves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from holdfast.model.address import Address
from holdfast.model.attribution import LikelyActor
from holdfast.model.confidence import Confidence
from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.policy.contention_rules import ContentionRules
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.providers import registry
from holdfast.providers.protocol import Connection, Provider
from holdfast.reconcile import attribution
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.testing.memory import OURSELVES, UNREACHABLE
from holdfast.testing.rest_server import RestServer, Shape
from tests.unit.reconcile.fixtures import Bench, declare

RULES = PolicyRules(CorrectionRules(mass_drift=None, contention=ContentionRules(reverts=2, backoff=0.0)))


def run(coroutine):
    return asyncio.run(coroutine)


def contention(bench: Bench, fleet, *, rounds: int = 3, who: str | None = "otherWriter") -> None:
    """Let somebody move a field as often as we put it back; the last time it stays moved."""
    run(bench.apply(fleet))
    for _ in range(rounds):
        bench.live_thing("a")["color"] = "black"
        if who is not None:
            bench.live.actors["Thing", bench.id_of("a")] = who
        run(bench.apply(fleet))
        bench.clock.advance(60)


async def listed(iterator):
    return [item async for item in iterator]


def detected(bench: Bench) -> list[dict[str, Json]]:
    return [dict(item.event.data) for item in run(listed(bench.store.events(type_prefix="contention.detected")))]


def suspicions(bench: Bench, fleet) -> tuple[LikelyActor, ...]:
    """Ask for likely actors as the engine does."""

    async def ask():
        async with bench.world() as world:
            (item,), _ = await bench.applier(world, fleet).preparer.prepare([fleet[0].address])
            return await attribution.likely_actors_of(world, item)

    return run(ask())


FLEET = [declare("a", {"color": "red"})]


def test_a_new_contention_names_the_other_writer_in_the_quarantine_in_the_event_and_in_what_is_said_from_then_on():
    bench = Bench(rules=RULES)
    contention(bench, FLEET)
    (quarantine,) = run(bench.store.quarantines())
    assert quarantine.data["otherWriter"] == "otherWriter"
    named = {"who": "otherWriter", "confidence": "high", "why": "last writer of the resource", "at": None}
    assert quarantine.data["attributedTo"] == [named]
    (event,) = detected(bench)
    assert (event["path"], event["otherWriter"], event["attributedTo"]) == ("/color", "otherWriter", [named])
    (one,) = run(bench.check(FLEET)).checked
    assert "contention with otherWriter" in one.decision.reasons[0].message


def test_the_check_that_sees_a_contention_first_hands_its_likely_actors_on():
    bench = Bench(rules=RULES)
    contention(bench, FLEET, rounds=2)
    bench.live_thing("a")["color"] = "black"
    bench.live.actors["Thing", bench.id_of("a")] = "otherWriter"
    (one,) = run(bench.check(FLEET)).checked
    assert [actor.who for actor in one.likely_actors] == ["otherWriter"]


def test_nobody_is_asked_where_no_contention_begins():
    bench = Bench(rules=RULES)
    contention(bench, FLEET, rounds=2)
    assert not [call for call in bench.live.calls if call.startswith("likely actors")]
    bench.live_thing("a")["color"] = "black"
    for _ in range(3):
        run(bench.check(FLEET))
    assert [call for call in bench.live.calls if call.startswith("likely actors")] == ["likely actors Thing/a"]


def test_a_look_that_is_not_recorded_asks_nobody():
    bench = Bench(rules=RULES)
    contention(bench, FLEET, rounds=2)
    bench.live_thing("a")["color"] = "black"
    (one,) = run(bench.check(FLEET, record=False)).checked
    assert (len(one.new_contentions), one.likely_actors) == (1, ())
    assert not [call for call in bench.live.calls if call.startswith("likely actors")]


def test_we_do_not_accuse_ourselves():
    bench = Bench(rules=RULES)
    contention(bench, FLEET, who=None)
    assert bench.live.actors["Thing", bench.id_of("a")] == OURSELVES
    (quarantine,) = run(bench.store.quarantines())
    assert "otherWriter" not in quarantine.data
    assert "attributedTo" not in quarantine.data


@pytest.mark.parametrize("trouble", ["says nothing", "raises", "hangs"])
def test_a_provider_that_fails_to_tell_costs_the_check_nothing(trouble, monkeypatch):
    bench = Bench(rules=RULES)

    def strike(call):
        if not call.startswith("likely actors"):
            return None
        if trouble == "raises":
            raise RuntimeError("broken reader")
        return UNREACHABLE

    if trouble == "hangs":
        from holdfast.testing.memory import _MemoryReader

        async def hang(_self, _target):
            await asyncio.Event().wait()

        monkeypatch.setattr(_MemoryReader, "likely_actors", hang)
        monkeypatch.setattr(attribution, "PATIENCE_SECONDS", 0.01)
    bench.live.faults.append(strike)
    contention(bench, FLEET)
    (quarantine,) = run(bench.store.quarantines())
    assert (quarantine.path, "otherWriter" in quarantine.data) == ("/color", False)


class Plain:
    """A reader that offers only what every reader must."""

    def __init__(self, reader: Any) -> None:
        self.kinds, self.read, self.list = reader.kinds, reader.read, reader.list
        self.parse, self.find = reader.parse, reader.find


class Nameless(Plain):
    """A reader that names likely actors and does not know our own name."""

    def __init__(self, reader: Any) -> None:
        super().__init__(reader)
        self.likely_actors = reader.likely_actors


class Narrowed:
    """A provider whose reader offers less."""

    def __init__(self, provider: Any, narrow: Callable[[Any], Any]) -> None:
        self.name, self.kinds, self.writer = provider.name, provider.kinds, provider.writer
        self._provider, self._narrow = provider, narrow

    @asynccontextmanager
    async def reader(self, connection: Connection) -> AsyncIterator[Any]:
        async with self._provider.reader(connection) as reader:
            yield self._narrow(reader)


@dataclass
class NarrowBench(Bench):
    narrow: Callable[[Any], Any] = Plain

    def provider(self) -> Provider:
        return Narrowed(super().provider(), self.narrow)


def test_a_provider_that_cannot_tell_is_not_asked():
    bench = NarrowBench(rules=RULES)
    contention(bench, FLEET)
    assert len(run(bench.store.quarantines())) == 1
    assert suspicions(bench, FLEET) == ()


def test_a_reader_that_does_not_know_our_name_tells_its_likely_actors_all_the_same():
    bench = NarrowBench(rules=RULES, narrow=Nameless)
    contention(bench, FLEET)
    (quarantine,) = run(bench.store.quarantines())
    assert quarantine.data["otherWriter"] == "otherWriter"


def offering(monkeypatch, *found: LikelyActor) -> None:
    from holdfast.testing.memory import _MemoryReader

    async def likely_actors(_self, _target):
        return found

    monkeypatch.setattr(_MemoryReader, "likely_actors", likely_actors)


def test_the_surest_likely_actor_is_the_other_writer_and_one_that_is_only_possible_is_none(monkeypatch):
    low, medium, high = (LikelyActor(name, Confidence(name), "a clause") for name in ("low", "medium", "high"))
    offering(monkeypatch, low, medium, high)
    bench = Bench(rules=RULES)
    assert [suspicion.who for suspicion in suspicions(bench, FLEET)] == ["high", "medium", "low"]
    assert attribution.as_data((high, low))["otherWriter"] == "high"
    assert attribution.as_data((low,)).keys() == {"attributedTo"}
    assert attribution.as_data(()) == {}


def test_no_secret_and_no_nonsense_becomes_a_name(monkeypatch):
    names = ("ada", "with s3cret-value inside", "", "two\nlines", "x" * 500)
    offering(monkeypatch, *(LikelyActor(name, Confidence.HIGH, "a clause") for name in names))
    bench = Bench(environ={"PASSWORD": "s3cret-value"})
    fleet = [declare("a", {"color": "red", "password": {"secretRef": {"env": "PASSWORD"}}})]
    found = [suspicion.who for suspicion in suspicions(bench, fleet)]
    assert found == ["ada"]


# -- over a real API


@dataclass
class HttpBench(Bench):
    def provider(self) -> Provider:
        return registry.get("http")


KIND: Json = {
    "read": "/widgets/{id}",
    "create": {"method": "PUT", "path": "/widgets/{name}"},
    "update": {"method": "PATCH", "path": "/widgets/{id}", "body": "merge"},
    "attribution": {"who": "/updated_by", "at": "/updated_at"},
    "profile": {"rules": [{"path": path, "class": "read_only"} for path in ("/updated_by", "/updated_at")]},
}


def fought_over_http(*, last_writer_is_us: bool) -> dict[str, Json]:
    """Fight over a color; return what the quarantine says."""

    async def story():
        async with RestServer({"widgets": Shape(stamps=("updated_by", "updated_at"))}) as server:
            settings = {"base_url": server.url, "kinds": {"Widget": KIND}, "headers": {"X-Actor": "deployer"}}
            bench = HttpBench(connection=Connection("api", "http", settings), rules=RULES)
            desired = {"name": "a", "color": "red"}
            fleet = [Declaration(Address("api", "Widget", "a"), "http", "http.holdfast.dev/v1", desired)]
            await bench.apply(fleet)
            widgets = server.collections["widgets"]
            for number in range(3):
                is_last = number == 2
                actor = "deployer" if is_last and last_writer_is_us else "autoscaler"
                widgets.edit("a", lambda widget: widget.update(color="black"), actor)
                await bench.apply(fleet)
                bench.clock.advance(60)
            (quarantine,) = await bench.store.quarantines()
            return dict(quarantine.data)

    return run(story())


def test_over_http_the_other_writer_is_who_the_thing_says_wrote_it_last():
    data = fought_over_http(last_writer_is_us=False)
    assert data["otherWriter"] == "autoscaler"
    (likely_actor,) = data["attributedTo"]
    assert (likely_actor["confidence"], likely_actor["why"]) == ("high", "/updated_by of the thing")


def test_over_http_our_own_name_is_learnt_from_our_own_writes_and_never_accused():
    assert "otherWriter" not in fought_over_http(last_writer_is_us=True)
