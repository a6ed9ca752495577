"""A state machine over store, engine and a breakable world: whatever happens in whatever order, the invariants hold."""

from __future__ import annotations

import asyncio

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from holdfast.model.decision import Action
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.verdict import Status
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.reconcile import serialize
from holdfast.testing.memory import once
from tests.unit.reconcile.fixtures import Bench, declare

NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from(["red", "green", "blue", None, 1, True])
TROUBLES = st.sampled_from(
    [ReadError.TIMEOUT, ReadError.SERVER_ERROR, ReadError.UNAUTHORISED, ReadError.MALFORMED, ReadError.THROTTLED]
)


class Crash(Exception):  # noqa: N818
    """The process died here."""


class Fleet(RuleBasedStateMachine):
    """Users edit, the world edits, reads and writes fail or die half-way, processes restart, clocks jump."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench(patches=False)
        self.bench.live.defaults = {"size": "small"}
        self.declared: dict[str, dict[str, object]] = {}
        self.restarts = 0

    def run(self, coroutine):
        return asyncio.run(coroutine)

    def fleet(self):
        return [declare(name, body, resyncPeriod="1h") for name, body in sorted(self.declared.items())]

    # -- what people and the world do

    @rule(name=NAMES, color=VALUES)
    def the_user_declares(self, name, color):
        self.declared[name] = {"color": color, "shape": "round"}

    @rule(name=NAMES, color=VALUES)
    def the_world_edits_a_declared_field(self, name, color):
        thing = self.bench.live_thing(name)
        if thing is not None:
            thing["color"] = color

    @rule(name=NAMES, size=VALUES.filter(lambda value: value is not None))
    def the_world_edits_a_default(self, name, size):
        """A default that vanishes is reported, not revert: nothing declared could do that."""
        thing = self.bench.live_thing(name)
        if thing is not None:
            thing["size"] = size

    @rule(name=NAMES)
    def the_world_deletes(self, name):
        ident = self.bench.live.find("Thing", name)
        if ident is not None:
            del self.bench.live.things["Thing", ident]

    @rule(trouble=TROUBLES, name=NAMES)
    def a_read_will_fail(self, trouble, name):
        self.bench.live.faults.append(once(f"read Thing/{name}", ReadFailure(trouble, "broken")))

    @rule(
        verb=st.sampled_from(["create", "update"]),
        refusal=st.sampled_from([WriteError.RETRYABLE, WriteError.THROTTLED, WriteError.MOVED]),
    )
    def a_write_will_be_refused(self, verb, refusal):
        self.bench.live.faults.append(once(f"{verb} *", WriteFailure(refusal, "not now")))

    @rule(seconds=st.sampled_from([-3600.0, 1.0, 600.0, 86_400.0]))
    def the_clock_jumps(self, seconds):
        self.bench.clock.advance(seconds)

    # -- what we do

    @precondition(lambda self: self.declared)
    @rule()
    def check(self):
        """A check writes nothing, and never calls what it could not read missing or drifted."""
        writes = len(self.bench.live.writes)
        report = self.run(self.bench.check(self.fleet()))
        assert len(self.bench.live.writes) == writes
        for item in report.checked:
            if isinstance(item.reading, ReadFailure):
                assert item.verdict.status is Status.UNKNOWN

    @precondition(lambda self: self.declared)
    @rule()
    def apply(self):
        """Every write has a reason that names what caused it."""
        report = self.run(self.bench.apply(self.fleet()))
        for result in report.acted:
            if result.checked.decision.action is Action.UPDATE:
                assert result.checked.decision.reasons[0].paths
        for checked in report.checked:
            if checked.decision.action is Action.NONE and checked.observed not in (None, ...):
                assert checked.verdict.status in (Status.IN_SYNC, Status.UNKNOWN)

    @precondition(lambda self: self.declared)
    @rule(after=st.booleans(), verb=st.sampled_from(["create", "update"]))
    def a_process_dies_in_a_write(self, after, verb):
        """A new process on the same store carries on; the dead one's claims run out with time."""

        def die(happening):
            if happening == verb:
                raise Crash

        live = self.bench.live
        live.before_write, live.after_write = (lambda _v: None, die) if after else (die, lambda _v: None)
        try:
            self.run(self.bench.apply(self.fleet()))
        except* Crash:
            pass
        live.before_write = live.after_write = lambda _verb: None
        self.restarts += 1
        self.bench.owner = f"process {self.restarts}"
        self.bench.clock.advance(1000.0)

    @precondition(lambda self: self.declared)
    @rule()
    def things_calm_down(self):
        """Without further trouble it converges, and the check after that is clean and writes nothing."""
        self.bench.live.faults.clear()
        self.bench.clock.advance(1000.0)
        for _ in range(4):
            report = self.run(self.bench.apply(self.fleet()))
            if not report.acted and all(item.verdict.status is Status.IN_SYNC for item in report.checked):
                break
        writes = len(self.bench.live.writes)
        again = self.run(self.bench.apply(self.fleet()))
        assert [item.verdict.status for item in again.checked] == [Status.IN_SYNC] * len(self.declared)
        assert again.acted == []
        assert len(self.bench.live.writes) == writes
        for name, body in self.declared.items():
            thing = self.bench.live_thing(name)
            assert thing is not None
            assert {key: value for key, value in body.items() if value is not None}.items() <= thing.items()

    # -- what always holds

    @invariant()
    def nothing_exists_twice(self):
        names = [body["name"] for body in self.bench.live.things.values()]
        assert len(names) == len(set(names))

    @invariant()
    def the_audit_chain_is_unbroken_and_decisions_replay(self):
        async def verify():
            await self.bench.store.verify_chain()
            for record in await self.bench.store.decisions(None, 5):
                stored, recomputed = await serialize.replay(self.bench.store, record)
                assert stored == recomputed

        self.run(verify())


TestFleet = Fleet.TestCase
TestFleet.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
