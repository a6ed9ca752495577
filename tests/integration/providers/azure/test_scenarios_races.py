"""Scenarios 24 to 28, 34 and 35 of research/aso.md, section 5: others at work, quotas, crashes, two engines."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from holdfast.model.verdict import Status
from holdfast.policy.contention_rules import ContentionRules
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.providers.azure.provider import AzureProvider
from holdfast.reconcile.policy_evaluation import PolicyRules
from holdfast.store.sqlite.store import SqliteStore
from holdfast_emulators import virtual_time
from holdfast_emulators.azure import Computed, Etag, Fault, Fill, Limits, Operation, Operations, Script, Wrong
from holdfast_emulators.azure.transport import ArmTransport
from holdfast_emulators.virtual_time import VirtualClock
from tests.integration.providers.azure.estate import WIDGET, Estate, logged, run, widget

SLOW = Operations(create=Operation("async", 201, seconds=120), update=Operation("async", 202, seconds=120))


class Crash(BaseException):
    """The process is killed here."""


class Mortal(ArmTransport):
    """Dies at its nth request: before it is sent, or when the answer is there."""

    def __init__(self, world, nth, *, after):
        super().__init__(world)
        self.left, self.after = nth, after

    async def send(self, request, **options):
        self.left -= 1
        if self.left == 0 and not self.after:
            raise Crash
        response = await super().send(request, **options)
        if self.left == 0:
            raise Crash
        return response


class Forgetful(SqliteStore):
    """Loses the process at its nth commit: before it is kept, or after."""

    left, after = 0, False

    async def commit(self, transaction):
        self.left -= 1
        if self.left == 0 and not self.after:
            raise Crash
        await super().commit(transaction)
        if self.left == 0:
            raise Crash


async def killed(coroutine):
    """Run something that may be killed; return whether it was."""
    try:
        await coroutine
    except Crash:
        return True
    except BaseExceptionGroup as group:
        if group.subgroup(Crash) is None:
            raise
        return True
    return False


def test_24_an_edit_made_during_an_operation_is_sent_when_that_has_ended(estate):
    estate.arm.tune(WIDGET, operations=SLOW)
    dying = estate.restarted()
    dying._azure = AzureProvider(lambda: Mortal(estate.arm, 3, after=True))  # a process that dies while it polls

    async def scenario():
        assert await killed(dying.apply([widget(weight=1)]))
        assert estate.puts() == 1
        assert len(await estate.store.operations()) == 1
        edited = widget(weight=2)
        await estate.sync(edited, minutes=1)  # the operation is still under way; it is followed to its end first
        await estate.sync(edited, times=2)
        assert [item.body["properties"]["weight"] for item in estate.arm.journal.find("PUT")] == [1, 2]
        assert await estate.status(edited) is Status.IN_SYNC
        assert (await estate.caused())[-1] == ("intent", ("/properties/weight",))

    run(scenario())


class TestBetweenGetAndPut:
    """Scenario 25: alice writes just before our PUT."""

    def meddling(self, estate, field="colour"):
        estate.arm.scripts.append(
            Script(lambda: estate.edit({f"/properties/{field}": "hers"}), "PUT", f"*{WIDGET}*", nth=1)
        )

    def test_25_where_etags_are_honoured_our_put_is_refused_and_we_look_again(self, estate):
        estate.arm.tune(WIDGET, etag=Etag(header=True, honoured=True))
        settings = {**estate.connection.settings, "habits": [{"types": WIDGET, "conditional": True}]}
        careful = estate.restarted(connection=replace(estate.connection, settings=settings))

        async def scenario():
            await careful.apply([widget(weight=1, colour="ours")])
            self.meddling(estate)
            both = widget(weight=2, colour="ours")
            report = await careful.sync(both)
            assert [item.result.value for item in report.acted] == ["moved"]
            assert estate.arm.journal.find("PUT")[-1].status == 412
            assert estate.shown()["properties"]["colour"] == "hers"
            await careful.sync(both, times=2)
            assert estate.puts() == 2
            assert (await careful.caused())[-1] == ("conflict", ("/properties/weight", "/properties/colour"))
            assert estate.shown()["properties"]["colour"] == "ours"

        run(scenario())

    def test_25_where_they_are_not_what_is_learnt_is_marked_as_less_than_certain(self, estate):
        estate.arm.tune(WIDGET, put="merge")
        estate.arm.teach(WIDGET, Fill("/properties/colour", "red"))

        async def scenario():
            await estate.apply([widget(weight=1)])
            self.meddling(estate)
            await estate.sync(widget(weight=2))
            entry = (await estate.known(widget()))["/properties/colour"]
            assert (entry["observed"], entry["confidence"]) == ("hers", "medium")
            done = (await estate.events("write.done"))[-1]
            assert done.data["side_effects"] == ["/properties/colour"]  # and it is told as something the write moved
            assert estate.puts() == 2
            assert (await estate.caused())[1:] == [("intent", ("/properties/weight",))]

        run(scenario())


@pytest.mark.slow
@pytest.mark.parametrize("count", [1_000])
def test_26_a_release_that_adds_a_field_everywhere_is_one_alert_and_no_put(estate, count):
    guarded = estate.restarted(rules=PolicyRules(CorrectionRules()))

    async def scenario():
        things = [widget(f"w{number}", weight=number) for number in range(count)]
        await guarded.apply(things)
        assert estate.puts() == count
        estate.arm.roll_out(WIDGET, Fill("/properties/newFlag", False))
        await guarded.sync(*things)
        assert estate.puts() == count
        held = await guarded.events("mass_drift.held")
        assert len(held) == 1
        assert held[0].data["count"] == count
        assert "/properties/newFlag" in held[0].data["message"]
        assert {reason for reason, _ in await guarded.caused()} == {"create"}

    run(scenario())


def test_27_a_field_that_moves_with_every_read_starts_no_write(estate):
    estate.arm.teach(WIDGET, Computed("/properties/tick", "${guid}", renewed="read"))

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        await estate.sync(thing, times=8)
        assert estate.puts() == 1  # what moves between two looks is not what was decided on
        assert {paths for _, paths in estate.told("update")} == {("/properties/tick",)}  # decided, and given up again

    run(scenario())


def test_27_a_field_that_moves_by_itself_is_left_alone_after_a_few_writes(estate, caplog):
    rules = PolicyRules(CorrectionRules(mass_drift=None, contention=ContentionRules(reverts=1_000, backoff=0)))
    patient = estate.restarted(rules=rules)

    async def scenario():
        thing = widget(weight=1)
        await patient.apply([thing])
        for number in range(10):
            estate.edit({"/properties/messageCount": number})
            await patient.sync(thing)
        assert estate.puts() == 4
        assert await patient.status(thing) is Status.DRIFTED
        estate.edit({"/properties/weight": 5})  # and what is declared is still looked after
        await patient.sync(thing)
        assert estate.puts() == 5
        assert (await patient.caused())[1:] == [
            *[("drift", ("/properties/messageCount",))] * 3,
            ("drift", ("/properties/weight",)),
        ]

    run(scenario())
    assert any("volatile" in line and "/properties/messageCount" in line for line in logged(caplog))


class TestQuota:
    """Scenario 28."""

    @pytest.mark.parametrize("retry_after", [None, 40])
    @pytest.mark.parametrize("method", ["GET", "PUT"])
    def test_28_a_429_is_waited_out_and_not_hammered(self, estate, method, retry_after):
        async def scenario():
            things = [widget(f"w{number}", weight=1) for number in range(5)]
            await estate.apply(things)
            estate.arm.journal.clear()
            fault = Fault(Wrong.STATUS, method, f"*{WIDGET}*", 429, code="TooManyRequests", retry_after=retry_after)
            fault.times = 3
            estate.arm.faults.append(fault)
            changed = [widget(f"w{number}", weight=2) for number in range(5)]
            await estate.sync(*changed, times=6)
            refused = estate.arm.journal.throttled()
            assert len(refused) == 3
            assert estate.puts() == 5
            assert set((await estate.caused())[5:]) == {("intent", ("/properties/weight",))}
            assert await estate.status(changed[4]) is Status.IN_SYNC
            following = [e for e in estate.arm.journal if e.method == method and e.at > refused[-1].at]
            assert following[0].at - refused[-1].at >= (retry_after or 4)

        run(scenario())

    def test_28_what_a_dependency_holds_up_slows_down_nobody_else(self, estate):
        async def scenario():
            fault = Fault(
                Wrong.STATUS, "PUT", "*widgets/w0*", 429, code="RetryableError",
                details=({"code": "ReferencedResourceNotProvisioned"},),
            )  # fmt: skip
            estate.arm.faults.append(fault)
            things = [widget(f"w{number}", weight=1) for number in range(5)]
            await estate.apply(things)
            assert estate.puts() == 5
            assert set(await estate.caused()) == {("create", ())}
            times = {e.path: e.at for e in estate.arm.journal.find("PUT") if e.accepted}
            waited = max(times.values()) - min(times.values())
            assert waited < 4  # a moment of patience for one, no pause for all

        run(scenario())

    def test_28_drift_checks_yield_to_changes(self):
        estate = Estate(clock=VirtualClock())
        estate.arm.limits = Limits.buckets(reads=(500, 0.1), writes=(200, 0.1))

        async def scenario():
            things = [widget(f"w{number:02}", weight=1) for number in range(60)]
            await estate.apply(things)
            for _ in range(4):  # checks run far too often for the quota: they go down to its reserve, and wait
                await estate.apply(things)
            estate.arm.journal.clear()
            began = estate.clock.now()
            await estate.apply([*things[:-1], widget("w59", weight=2)])
            (put,) = estate.arm.journal.find("PUT")
            checks = [item.at - began for item in estate.arm.journal.find("GET") if not item.path.endswith("w59")]
            assert put.at - began < 1  # what somebody waits for goes at once
            assert estate.puts() == 1
            assert (await estate.caused())[-1] == ("intent", ("/properties/weight",))
            assert max(checks) > 300  # and what nobody waits for takes what is left over
            assert estate.arm.journal.throttled() == []

        virtual_time.run(scenario())

    def test_28_what_is_left_is_learnt_from_every_answer(self, estate):
        estate.arm.limits = Limits.hourly(reads=12_000, writes=1_200)

        async def scenario():
            await estate.apply([widget(weight=1)])
            (quota,) = estate._azure._quotas.values()
            assert quota.buckets["write"].capacity == 1_199
            assert quota.buckets["read"].left < 12_000
            assert estate.puts() == 1
            assert await estate.caused() == [("create", ())]

        run(scenario())


class TestCrashes:
    """Scenario 34: killed at every request and at every commit."""

    @pytest.mark.parametrize("after", [False, True])
    @pytest.mark.parametrize("nth", range(1, 9))
    def test_34_killed_at_any_request(self, estate, nth, after):
        estate.arm.tune(WIDGET, operations=SLOW)
        estate.arm.teach(WIDGET, Fill("/properties/colour", "red"))

        async def scenario():
            thing = widget(weight=1)
            dying = estate.restarted()
            dying._azure = AzureProvider(lambda: Mortal(estate.arm, nth, after=after))
            await killed(dying.apply([thing]))
            await self.converged(estate.restarted(), thing)

        run(scenario())

    @pytest.mark.parametrize("after", [False, True])
    @pytest.mark.parametrize("nth", range(1, 7))
    @pytest.mark.parametrize("weight", [1, 2])
    def test_34_killed_at_any_commit(self, nth, after, weight):
        estate = Estate(store=Forgetful.in_memory())
        estate.arm.teach(WIDGET, Fill("/properties/colour", "red"))

        async def scenario():
            thing = widget(weight=weight)
            if weight == 2:
                await estate.apply([widget(weight=1)])
                estate.arm.journal.clear()
            estate.store.left, estate.store.after = nth, after
            await killed(estate.apply([thing]))
            estate.store.left = 0
            await self.converged(estate.restarted(), thing)

        run(scenario())

    async def converged(self, survivor, thing):
        survivor.clock.advance(600)  # the claim of the dead process runs out
        await survivor.sync(thing, times=4)
        assert survivor.puts() <= 2
        assert {reason for reason, _ in await survivor.caused()} <= {"create", "intent"}
        assert await survivor.status(thing) is Status.IN_SYNC
        assert survivor.shown()["properties"]["weight"] == thing.desired["properties"]["weight"]
        survivor.edit({"/properties/colour": "blue"})  # and nothing was learnt wrongly on the way
        await survivor.sync(thing, times=2)
        assert survivor.shown()["properties"]["colour"] == "red"
        assert await survivor.store.operations() == []


def test_35_two_engines_on_one_store_write_once(estate):
    estate.arm.tune(WIDGET, operations=SLOW)

    async def scenario():
        one, other = estate.restarted(owner="one"), estate.restarted(owner="other", seed=9)
        thing = widget(weight=1)
        await asyncio.gather(one.apply([thing]), other.apply([thing]))
        estate.edit({"/properties/weight": 7})
        estate.clock.advance(900)
        await asyncio.gather(one.apply([thing]), other.apply([thing]))
        assert estate.puts() == 2
        assert await estate.caused() == [("create", ()), ("drift", ("/properties/weight",))]
        assert estate.shown()["properties"]["weight"] == 1

    run(scenario())


def test_35_two_engines_that_know_nothing_of_one_another_stop_fighting(estate, caplog):
    async def scenario():
        mine, theirs = (
            estate.restarted(store=SqliteStore.in_memory(), rules=PolicyRules(CorrectionRules(mass_drift=None)))
            for _ in range(2)
        )
        await mine.apply([widget(weight=1)])
        for _ in range(24):
            await theirs.sync(widget(weight=2), minutes=5)
            await mine.sync(widget(weight=1), minutes=5)
        assert estate.puts() <= 8
        assert {paths for _, paths in (await mine.caused())[1:]} == {("/properties/weight",)}
        assert len(await mine.events("contention.detected")) + len(await theirs.events("contention.detected")) >= 1

    run(scenario())
    assert any("contention" in line for line in logged(caplog))
