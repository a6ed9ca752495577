"""Every kind of store agrees with a model of the contract after any sequence of calls, opened again and again."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from holdfast.errors import StoreError
from holdfast.model.budget_charge import BudgetCharge
from holdfast.model.verdict import Status
from holdfast.store.governance import BudgetSpent, CorrectionOutcome, PathCorrection
from holdfast.store.protocol import Store
from holdfast.store.records import Claim, ClaimLost, VersionConflict, VersionedRecord
from holdfast.store.state import CheckRequest, Relink, UnchangedCheck, WithdrawnVerdict
from holdfast.store.transaction import GovernanceChanges, PartialUpdates, RecordChanges, Transaction, WriteChanges
from tests import postgresql
from tests.unit.store import examples
from tests.unit.store.examples import A, B, C, D, listed
from tests.unit.store.model import Model

ADDRESSES = [A, B, C, D]
addresses = st.sampled_from(ADDRESSES)
small_times = st.integers(0, 20).map(float)
documents = st.dictionaries(st.sampled_from("ab"), st.integers(0, 1) | st.text(max_size=200), max_size=2)
revisions = st.builds(examples.revision, st.integers(1, 2), addresses, st.sampled_from("xy"), small_times)
decisions = st.builds(
    lambda name, address, summary, is_news: examples.decision(name, address, summary=summary, is_news=is_news),
    st.sampled_from(["d1", "d2", "d3"]),
    addresses,
    st.sampled_from(["s", "t"]),
    st.booleans(),
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
record_keys = st.sampled_from(["k1", "k2"])
records = st.builds(
    lambda key, version, data, due_at: VersionedRecord("r", key, data, version, due_at=due_at),
    record_keys,
    st.integers(1, 3),
    documents,
    st.none() | small_times,
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
    records=st.builds(
        RecordChanges,
        put=st.lists(records, max_size=1),
        deleted=st.lists(st.tuples(st.just("r"), record_keys), max_size=1),
    ),
)


class Stores(RuleBasedStateMachine):
    """Does everything on a model of the contract and on some kinds of stores, and compares."""

    kinds: tuple[str, ...] = ("memory", "sqlite")
    claims: Bundle[Claim] = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.model = Model()
        self.stores = {kind: self.opened(kind) for kind in self.kinds}
        self.digests = set(map(examples.digest, range(2)))

    def opened(self, kind: str) -> Store:
        return self.runner.run(examples.open_store(kind, Path(self.folder.name)))

    def same(self, question: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        """Ask the model and every store; return the answer, which may be the class of an error."""
        expected = self.answer(self.model, question)
        for kind, store in self.stores.items():
            assert self.answer(store, question) == expected, kind
        return expected

    def answer(self, store: Any, question: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        try:
            return self.runner.run(question(store))
        except (ClaimLost, BudgetSpent, VersionConflict, StoreError, ValueError) as error:
            return type(error)

    def same_call(self, method: str, *values: object) -> Any:
        return self.same(lambda store: getattr(store, method)(*values))

    @rule(facts=transactions)
    def commit(self, facts: Transaction) -> None:
        self.digests |= set(facts.documents)
        self.same_call("commit", facts)

    @rule(target=claims, address=addresses, owner=st.sampled_from(["me", "you"]), now=small_times)
    def claim(self, address, owner, now):
        """Take a claim by a clock that jumps to and fro."""
        claim = self.same_call("claim", address, owner, now, now + 5)
        return multiple(claim) if claim else multiple()

    @rule(claim=claims, until=small_times)
    def renew(self, claim, until):
        self.same_call("renew", claim, until)

    @rule(claim=claims)
    def release(self, claim):
        self.same_call("release", claim)

    @rule(claim=claims, facts=transactions, until=st.none() | small_times, releases=st.booleans())
    def commit_under_a_claim(self, claim, facts, until, releases):
        facts.writes.fences = {claim.address: claim.fence}
        facts.writes.renewed = [replace(claim, until=until)] if until is not None else []
        facts.writes.released = [claim] if releases else []
        self.commit(facts)

    @rule()
    def open_again(self) -> None:
        for kind in self.kinds:
            if kind != "memory":
                self.runner.run(self.stores[kind].close())
                self.stores[kind] = self.opened(kind)

    @rule(now=small_times, limit=st.integers(0, 3), without=st.sets(st.sampled_from(["prod", "test"]), max_size=1))
    def ask_for_due_resources(self, now, limit, without):
        """Resources of one due time come in any order."""
        everything = {state.address: state for state in self.runner.run(self.model.due(now, 9, without))}
        expected = [state.schedule.due_at for state in self.runner.run(self.model.due(now, limit, without))]
        for store in self.stores.values():
            due = self.runner.run(store.due(now, limit, without))
            assert [state.schedule.due_at for state in due] == expected
            assert all(everything[state.address] == state for state in due)
        self.same_call("next_due", without)

    @rule(now=small_times, address=addresses, prefix=st.sampled_from(["a", "a.", None]))
    def ask_for_history(self, now, address, prefix):
        for method, values in {
            "count_statuses": [now],
            "count_resources": [],
            "addresses_with_status": [Status.MISSING],
            "findings": [],
            "operations": [],
            "decision": ["d1"],
            "claims": [],
            "verify_chain": [],
        }.items():
            self.same_call(method, *values)
        self.same_call("decisions", None, 2)
        for method in ("findings", "revisions", "operations"):
            self.same_call(method, address)
        self.same_call("decisions", address, 9)
        self.same(lambda store: listed(store.unchecked(address.connection, address.kind, now)))
        self.same(lambda store: listed(store.all_states(kind=address.kind)))
        self.same(lambda store: listed(store.sources()))
        expected = [
            event
            for event in self.model.facts.events
            if event.subject == str(address) and event.type.startswith(prefix or "") and event.at >= now
        ]
        for store in self.stores.values():
            found = self.runner.run(listed(store.events(subject=str(address), type_prefix=prefix, since=now)))
            assert [chained.event for chained in found] == expected
            latest = self.runner.run(listed(store.latest_events(str(address))))
            assert latest == self.runner.run(listed(store.events(subject=str(address))))[::-1]

    @rule(now=small_times, some=st.none() | st.lists(addresses, max_size=3), limit=st.none() | st.integers(0, 2))
    def ask_for_corrections_and_their_limits(self, now, some, limit):
        for method in ("corrections", "approvals", "quarantines", "accepted_values"):
            self.same_call(method, some)
        self.same(lambda store: store.corrections(some, since=now, limit=limit))
        self.same_call("findings_of", some or [])
        self.same_call("correction", "c1")
        self.same_call("pauses")
        self.same_call("count_charges", [("p", now), ("q", 0.0)])

    @rule(key=record_keys)
    def ask_for_a_record(self, key):
        self.same_call("record", "r", key)

    @rule(address=addresses, more=st.lists(st.tuples(examples.texts, examples.tags.filter(bool)), max_size=2))
    def ask_for_unchanged_resources(self, address, more):
        known = [
            (state.observed.provider_id, state.observed.raw_digest)
            for state in self.model.facts.states.values()
            if state.observed.provider_id and state.observed.raw_digest
        ]

        async def unchanged(store):
            return set(await store.find_unchanged(address.connection, address.kind, [*known, *more]))

        self.same(unchanged)
        self.same_call("listed_digests", [address])

    @invariant()
    def all_remember_the_same(self) -> None:
        self.same_call("states", ADDRESSES)
        self.same_call("documents", sorted(self.digests))
        self.same(lambda store: listed(store.all_states()))
        trails = [self.runner.run(listed(store.events())) for store in self.stores.values()]
        for trail in trails:
            assert trail == trails[0]  # with their hashes
            assert [chained.event for chained in trail] == self.model.facts.events

    def teardown(self) -> None:
        for store in self.stores.values():
            self.runner.run(store.close())
        self.runner.close()
        self.folder.cleanup()


class PostgresStores(Stores):
    """The same on every version of PostgreSQL, and on SQLite for the hashes of the trail."""

    kinds = ("memory", *(f"postgres{version}" for version in postgresql.versions()))


Stores.TestCase.settings = hypothesis.settings(max_examples=40, stateful_step_count=20)
PostgresStores.TestCase.settings = hypothesis.settings(max_examples=12, stateful_step_count=15)
TestStores = Stores.TestCase
TestPostgresStores = pytest.mark.server(PostgresStores.TestCase)
