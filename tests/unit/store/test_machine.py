"""A store on a file that is opened again and again, and one in memory, agree after any sequence of calls."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from holdfast.errors import StoreError
from holdfast.model.budget_charge import BudgetCharge
from holdfast.model.verdict import Status
from holdfast.store.governance import BudgetSpent, CorrectionOutcome, PathCorrection
from holdfast.store.records import Claim, ClaimLost
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.state import CheckRequest, Relink, UnchangedCheck, WithdrawnVerdict
from holdfast.store.transaction import GovernanceChanges, PartialUpdates, Transaction, WriteChanges
from tests.unit.store import examples
from tests.unit.store.examples import A, B, C, D, listed

ADDRESSES = [A, B, C, D]
addresses = st.sampled_from(ADDRESSES)
small_times = st.integers(0, 20).map(float)
documents = st.dictionaries(st.sampled_from("ab"), st.integers(0, 1) | st.text(max_size=200), max_size=2)
revisions = st.builds(examples.revision, st.integers(1, 2), addresses, st.sampled_from("xy"), small_times)
decisions = st.builds(
    lambda name, address, summary: examples.decision(name, address, summary=summary),
    st.sampled_from(["d1", "d2", "d3"]),
    addresses,
    st.sampled_from(["s", "t"]),
)
operations = st.builds(
    lambda name, address, at, drift: examples.operation(name, address, started_at=at, drift=drift),
    st.sampled_from(["o1", "o2"]),
    addresses,
    small_times,
    st.lists(examples.findings, max_size=1).map(tuple),
)
touches = st.builds(UnchangedCheck, addresses, small_times, st.none() | small_times, examples.tags, examples.tags)
events = st.builds(
    examples.event, addresses | st.sampled_from(["", "engine"]), small_times, st.sampled_from(["a", "a.b", "c"])
)
names = st.sampled_from(["c1", "c2", "c3"])
some_paths = st.sampled_from(["", "a", "a.b"])
paths = st.builds(PathCorrection, some_paths, examples.odd_values, examples.odd_values, st.booleans())
corrections = st.builds(
    lambda name, address, at, outcome, paths: examples.correction(name, address, at=at, outcome=outcome, paths=paths),
    names,
    addresses,
    small_times,
    st.sampled_from(CorrectionOutcome),
    st.lists(paths, max_size=2).map(tuple),
)
charges = st.builds(BudgetCharge, st.sampled_from(["p", "q"]), st.integers(0, 3), small_times)
scopes = st.sampled_from(["", "prod", "prod/Network"])
pauses = st.builds(lambda scope, until: examples.pause(scope, until=until), scopes, st.none() | small_times)
approvals = st.builds(
    lambda plan, address, used_at: examples.approval(plan, address, used_at=used_at),
    st.sampled_from(["x", "y"]),
    addresses,
    st.none() | small_times,
)
quarantines = st.builds(
    lambda path, address, value: examples.quarantine(path, address, data={"value": value}),
    some_paths,
    addresses,
    examples.odd_values,
)
acceptances = st.builds(
    lambda path, address, value: examples.acceptance(path, address, value=value),
    some_paths,
    addresses,
    examples.odd_values,
)
ended = st.lists(st.tuples(addresses, some_paths), max_size=1)
withdrawals = st.builds(
    WithdrawnVerdict,
    addresses,
    st.integers(0, 2),
    examples.texts,
    st.lists(examples.conditions, max_size=2).map(tuple),
    st.none() | small_times,
    st.booleans(),
)
transactions = st.builds(
    Transaction,
    documents=st.lists(documents.map(examples.kept), max_size=2).map(dict),
    states=st.lists(examples.states(addresses), max_size=3),
    forgotten=st.lists(addresses, max_size=1),
    findings=st.dictionaries(addresses, st.lists(examples.findings, max_size=2).map(tuple), max_size=2),
    findings_at=small_times,
    checked=st.sets(addresses, max_size=2),
    revisions=st.lists(revisions, max_size=1),
    decisions=st.lists(decisions, max_size=1),
    events=st.lists(events, max_size=3),
    updates=st.builds(
        PartialUpdates,
        unchanged=st.lists(touches, max_size=2),
        rescheduled=st.lists(st.tuples(addresses, st.none() | small_times), max_size=2),
        requested=st.lists(st.builds(CheckRequest, addresses, st.sampled_from(["r1", "r2"]), small_times), max_size=2),
        relinked=st.lists(st.builds(Relink, addresses, st.none() | examples.texts), max_size=2),
        withdrawn=st.lists(withdrawals, max_size=1),
        outdated=st.lists(st.tuples(addresses, small_times), max_size=1),
        set_back=st.lists(st.tuples(addresses, small_times), max_size=1),
    ),
    writes=st.builds(
        WriteChanges,
        operations=st.lists(operations, max_size=2),
        finished=st.lists(st.sampled_from(["o1", "o2"]), max_size=1),
        fences=st.dictionaries(addresses, st.integers(0, 2), max_size=1),
    ),
    governance=st.builds(
        GovernanceChanges,
        corrections=st.lists(corrections, max_size=2),
        charges=st.dictionaries(names, st.lists(charges, max_size=2), max_size=1),
        pauses=st.lists(pauses, max_size=1),
        resumed=st.lists(scopes, max_size=1),
        approvals=st.lists(approvals, max_size=1),
        quarantines=st.lists(quarantines, max_size=2),
        unquarantined=ended,
        accepted=st.lists(acceptances, max_size=2),
        unaccepted=ended,
    ),
)


class Stores(RuleBasedStateMachine):
    """Does everything twice and compares."""

    claims: Bundle[Claim] = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.memory = SqliteStore.in_memory()
        self.disk = self.opened()
        self.digests = set(map(examples.digest, range(2)))

    def opened(self) -> SqliteStore:
        return self.runner.run(SqliteStore.open(Path(self.folder.name) / "s.db"))

    def both(self, method: str, *values: object) -> Any:
        answers = []
        for store in (self.memory, self.disk):
            try:
                answers.append(self.runner.run(getattr(store, method)(*values)))
            except (StoreError, ClaimLost, BudgetSpent, ValueError) as error:
                answers.append(type(error))
        assert answers[0] == answers[1]
        return answers[0]

    @rule(facts=transactions)
    def commit(self, facts: Transaction) -> None:
        self.digests |= set(facts.documents)
        self.both("commit", facts)

    @rule(target=claims, address=addresses, owner=st.sampled_from(["me", "you"]), now=small_times)
    def claim(self, address, owner, now):
        claim = self.both("claim", address, owner, now, now + 5)
        return multiple(claim) if claim else multiple()

    @rule(claim=claims, until=small_times)
    def renew(self, claim, until):
        self.both("renew", claim, until)

    @rule(claim=claims)
    def release(self, claim):
        self.both("release", claim)

    @rule(claim=claims, facts=transactions)
    def commit_under_a_claim(self, claim, facts):
        facts.writes.fences = {claim.address: claim.fence}
        self.commit(facts)

    @rule()
    def open_again(self) -> None:
        self.runner.run(self.disk.close())
        self.disk = self.opened()

    @rule(now=small_times, limit=st.integers(0, 3))
    def ask_what_is_due(self, now, limit):
        memory, disk = (self.runner.run(store.due(now, limit)) for store in (self.memory, self.disk))
        assert [state.schedule.due_at for state in memory] == [state.schedule.due_at for state in disk]
        assert {state.address: state for state in self.runner.run(self.memory.due(now, 9))}.items() >= {
            state.address: state for state in disk
        }.items()

    @rule(now=small_times, address=addresses, prefix=st.sampled_from(["a", "a.", None]))
    def ask_everything(self, now, address, prefix):
        for method, values in {
            "count_statuses": [now],
            "next_due": [],
            "count_resources": [],
            "addresses_with_status": [Status.MISSING],
            "findings": [],
            "operations": [],
            "decision": ["d1"],
            "verify_chain": [],
        }.items():
            self.both(method, *values)
        self.both("decisions", None, 2)
        for method in ("findings", "revisions", "operations"):
            self.both(method, address)
        self.both("decisions", address, 9)
        self.same(lambda store: store.events(subject=str(address), type_prefix=prefix, since=now))
        self.same(lambda store: store.unchecked(address.connection, address.kind, now))
        self.same(lambda store: store.all_states(kind=address.kind))

    @rule(now=small_times, some=st.none() | st.lists(addresses, max_size=3), limit=st.none() | st.integers(0, 2))
    def ask_what_was_done_and_what_holds_it_back(self, now, some, limit):
        for method in ("corrections", "approvals", "quarantines", "accepted_values"):
            self.both(method, some)
        self.same_answer(lambda store: store.corrections(some, since=now, limit=limit))
        self.both("findings_of", some or [])
        self.both("correction", "c1")
        self.both("pauses")
        self.both("count_charges", [("p", now), ("q", 0.0)])

    @rule(address=addresses, listed=st.lists(st.tuples(examples.texts, examples.tags.filter(bool)), max_size=2))
    def ask_what_is_settled(self, address, listed):
        states = self.runner.run(self.memory.states(ADDRESSES)).values()
        known = [
            (state.observed.provider_id, state.observed.raw_digest)
            for state in states
            if state.observed.provider_id and state.observed.raw_digest
        ]
        self.same_answer(lambda store: self.settled(store, address, [*known, *listed]))

    async def settled(self, store, address, listed):
        return set(await store.find_unchanged(address.connection, address.kind, listed))

    def same_answer(self, question) -> None:
        memory, disk = (self.runner.run(question(store)) for store in (self.memory, self.disk))
        assert memory == disk

    def same(self, stream) -> None:
        memory, disk = (self.runner.run(listed(stream(store))) for store in (self.memory, self.disk))
        assert memory == disk

    @invariant()
    def both_remember_the_same(self) -> None:
        self.both("states", ADDRESSES)
        self.both("documents", sorted(self.digests))
        self.same(lambda store: store.all_states())
        self.same(lambda store: store.events())

    def teardown(self) -> None:
        self.runner.run(self.disk.close())
        self.runner.close()
        self.folder.cleanup()


Stores.TestCase.settings = hypothesis.settings(max_examples=40, stateful_step_count=20)
TestStores = Stores.TestCase
