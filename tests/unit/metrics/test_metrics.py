"""What the store knows as metrics: every status, templates in mid-rollout, counters that only grow, few labels."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from holdfast.cli.commands import metrics
from holdfast.metrics import definitions, resources, store_samples
from holdfast.metrics.families import MetricType
from holdfast.model.address import Address
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.resource import OnDrift
from holdfast.model.verdict import Status
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.policy.windows import Mode, Window
from holdfast.rollouts import serialization
from holdfast.rollouts.core.rollout_limits import HaltRules, RolloutLimits, Waves
from holdfast.rollouts.core.templates import Compatibility, FieldClasses, Template
from holdfast.store.governance import CorrectionOutcome, Pause, Quarantine
from holdfast.store.protocol import Store
from holdfast.store.records import AuditEvent, Claim, OperationStep, WriteOperation
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.state import UNCHECKED, DeclaredState, ObservedState, ResourceState, ScheduleState
from holdfast.store.transaction import GovernanceChanges, RecordChanges, Transaction, WriteChanges
from holdfast.testing.memory import once
from tests.unit.reconcile.fixtures import Bench, declare
from tests.unit.rollouts.group_fixtures import Nursery, template
from tests.unit.store.examples import changed_state

NOW = 1_800_000_000.0
PARSERS = {"prometheus": prometheus, "openmetrics": openmetrics}
Sample = tuple[str, frozenset[tuple[str, str]]]


def run(coroutine):
    return asyncio.run(coroutine)


class Read:
    """The text that is printed, parsed by the library of whoever reads it."""

    def __init__(self, store: Store, now: float = NOW, format_: str = "prometheus", **options) -> None:
        families = run(store_samples.gather(store, now, "1.2.3", **options))
        self.text = metrics.writer(format_)(families).decode()
        self.samples: dict[Sample, float] = {}
        for family in PARSERS[format_](self.text):
            for sample in family.samples:
                key = (sample.name, frozenset(sample.labels.items()))
                assert key not in self.samples, f"{key} is there twice"
                self.samples[key] = sample.value

    def __call__(self, name: str, **labels: str) -> float:
        """Return the value of one sample; labels may be called class_ where Python has another use for the word."""
        return self.samples[name, frozenset((key.rstrip("_"), value) for key, value in labels.items())]

    def of(self, name: str) -> list[dict[str, str]]:
        return [dict(labels) for sample, labels in self.samples if sample == name]

    def sum(self, name: str, **labels: str) -> float:
        wanted = set(labels.items())
        return sum(value for (sample, have), value in self.samples.items() if sample == name and wanted <= have)

    def counters(self) -> Iterator[tuple[Sample, float]]:
        totals = {item.name for item in definitions.ALL if item.sort is MetricType.COUNTER}
        return ((key, value) for key, value in self.samples.items() if key[0] in totals)


def state(name: str, status: Status | None, **more) -> ResourceState:
    given = {"checked_at": NOW - 10, "good_at": NOW - 10, **more}
    bare = ResourceState(Address("mem", "Thing", name), DeclaredState("memory"), observed=ObservedState(status=status))
    return changed_state(bare, **given)


def stored(*states: ResourceState, **more) -> SqliteStore:
    store = SqliteStore.in_memory()
    run(store.commit(Transaction(states=list(states), **more)))
    return store


# --- resources --------------------------------------------------------------------------------------------------------

EVERY = [
    *(state(Statu.value, Statu) for Statu in Status if Statu is not Status.UNKNOWN),
    state("unreadable", Status.UNKNOWN, failures=3, good_at=NOW - 500),
    state("new", None, checked_at=None, good_at=None),
    state("forgotten", Status.IN_SYNC, resync_seconds=100.0, due_at=NOW - 150, good_at=NOW - 250),
    state("slow", Status.IN_SYNC, resync_seconds=100.0, due_at=NOW + 20, good_at=NOW - 80),
    state("unscheduled", Status.IN_SYNC, good_at=NOW - 1e6),
    state("refused", Status.DRIFTED, terminal="no such size"),
]


def test_every_status_is_counted_and_what_is_not_to_be_believed_is_told():
    read = Read(stored(*EVERY))
    at = {"connection": "mem", "kind": "Thing"}
    found = {item["status"]: read("holdfast_resources", **item) for item in read.of("holdfast_resources")}
    assert found == {
        "in_sync": 4,
        "pending": 1,
        "drifted": 2,
        "conflicted": 1,
        "missing": 1,
        "unknown": 1,
        UNCHECKED: 1,
    }
    assert read("holdfast_stale_resources", **at) == 3, "unreadable, new and forgotten"
    assert read("holdfast_oldest_good_check_timestamp_seconds", **at) == 0, "one never had any"
    assert read("holdfast_overdue_resources", **at) == 1
    assert read("holdfast_failing_resources", **at) == 1
    assert read("holdfast_blocked_resources", cause="terminal", **at) == 1
    assert read("holdfast_gathered_timestamp_seconds") == NOW
    assert read("holdfast_build_info", version="1.2.3") == 1


def test_the_oldest_good_check_is_that_of_each_kind():
    other = dataclasses.replace(state("a", Status.IN_SYNC, good_at=NOW - 7), address=Address("mem", "Other", "a"))
    read = Read(stored(state("a", Status.IN_SYNC), state("b", Status.DRIFTED, good_at=NOW - 90), other))
    name = "holdfast_oldest_good_check_timestamp_seconds"
    assert read(name, connection="mem", kind="Thing") == NOW - 90
    assert read(name, connection="mem", kind="Other") == NOW - 7


def test_a_status_that_nothing_has_is_told_as_zero():
    read = Read(stored(state("a", Status.IN_SYNC)))
    assert {item["status"] for item in read.of("holdfast_resources")} == {*map(str, Status), UNCHECKED}
    assert read("holdfast_stale_resources", connection="mem", kind="Thing") == 0


def test_findings_are_counted_by_class_and_side_with_the_time_of_the_oldest():
    moved = Finding(("a",), Op.CHANGED, FindingClass.SPECIFIED, ChangedBy.LIVE)
    others = (
        Finding(("b",), Op.ADDED, FindingClass.UNDECLARED, ChangedBy.LIVE),
        moved._replace(changed_by=ChangedBy.BOTH),
    )
    store = stored(state("a", Status.DRIFTED), findings={EVERY[0].address: ()}, findings_at=NOW)
    run(store.commit(Transaction(states=[state("b", Status.DRIFTED)])))
    address = Address("mem", "Thing", "a")
    run(store.commit(Transaction(findings={address: (moved,)}, findings_at=NOW - 60)))
    run(store.commit(Transaction(findings={Address("mem", "Thing", "b"): others}, findings_at=NOW - 30)))
    read = Read(store)
    at = {"connection": "mem", "kind": "Thing"}
    assert read("holdfast_findings", class_="specified", changed_by="live", **at) == 1
    assert read("holdfast_findings", class_="specified", changed_by="both", **at) == 1
    assert read("holdfast_findings", class_="undeclared", changed_by="live", **at) == 1
    assert read("holdfast_oldest_finding_timestamp_seconds", **at) == NOW - 60


def test_what_is_suppress_is_counted_by_why():
    suppressed = (("waived", "/a", "ada"), ("waived", "/b", "ada"), ("baselined", "/c", "bob"))
    read = Read(stored(state("a", Status.IN_SYNC, suppressed=suppressed)))
    assert read("holdfast_suppressed_differences", connection="mem", kind="Thing", reason="waived") == 2
    assert read.sum("holdfast_suppressed_differences") == 3


STATES = st.lists(
    st.builds(
        lambda connection, kind, number, status, good, resync, terminal: ResourceState(
            Address(connection, kind, f"n{number}"),
            declared=DeclaredState("memory"),
            observed=ObservedState(status=status),
            schedule=ScheduleState(good_at=good, resync_seconds=resync, terminal=terminal),
        ),
        st.sampled_from(["a", 'b"\\', "c d"]),
        st.sampled_from(["X", "Y\n"]),
        st.integers(0, 10_000),
        st.sampled_from([None, *Status]),
        st.none() | st.floats(0, NOW),
        st.sampled_from([0.0, 60.0, 3600.0]),
        st.none() | st.just("no"),
    ),
    unique_by=lambda each: each.address,
    max_size=40,
)


@given(STATES, st.sampled_from(sorted(PARSERS)))
def test_the_sum_over_statuses_is_the_number_of_resources_and_nothing_counts_more_than_that(states, format_):
    store = stored(*states)
    read = Read(store, format_=format_)
    assert read.sum("holdfast_resources") == len(states) == run(store.count_statuses(NOW)).total
    assert read.sum("holdfast_overdue_resources") == run(store.count_statuses(NOW)).overdue
    for (connection, kind), size in run(store.count_resources()).items():
        at = {"connection": connection, "kind": kind}
        assert read.sum("holdfast_resources", **at) == size >= read("holdfast_stale_resources", **at)
    unsure = [state for state in states if state.observed.status in (None, Status.UNKNOWN)]
    assert read.sum("holdfast_stale_resources") >= len(unsure), "what nobody could tell is never green"


def test_a_thousand_resources_make_no_more_series_than_one():
    many = [
        state(f"r{number}", list(Status)[number % 6], terminal="x" if number % 3 else None) for number in range(1000)
    ]
    found = {address.address: _findings(3) for address in many}
    events = [AuditEvent(NOW, "check.status_changed", str(item.address)) for item in many]
    store = stored(*many, findings=found, findings_at=NOW, events=events)
    few = stored(*many[:6], findings={item.address: _findings(3) for item in many[:6]}, findings_at=NOW, events=events)
    read = Read(store)
    assert len(read.samples) == len(Read(few).samples) < 100
    assert "r999" not in read.text
    whole = Read(store, per_resource=True)
    assert len(whole.of("holdfast_resource_status")) == 1000
    assert whole("holdfast_resource_status", address="mem/Thing/r999", status=list(Status)[999 % 6].value) == 1
    assert whole.sum("holdfast_resource_status") == whole.sum("holdfast_resources")


def _findings(number: int) -> tuple[Finding, ...]:
    return tuple(
        Finding((f"p{item}",), Op.CHANGED, FindingClass.SPECIFIED, ChangedBy.LIVE, desired=item)
        for item in range(number)
    )


# --- through the engine -----------------------------------------------------------------------------------------------


def test_unknown_is_told_when_a_read_fails_and_green_only_when_it_does_not():
    bench, fleet = Bench(), [declare("a", {"v": 1}), declare("b", {"v": 1})]
    run(bench.apply(fleet))
    at = {"connection": "mem", "kind": "Thing"}
    read = Read(bench.store, bench.clock.now())
    assert read("holdfast_resources", status="in_sync", **at) == 2
    assert read("holdfast_stale_resources", **at) == 0
    bench.live.faults.append(lambda _call: ReadFailure(ReadError.UNREACHABLE, "down"))
    run(bench.check(fleet))
    read = Read(bench.store, bench.clock.now())
    assert read("holdfast_resources", status="unknown", **at) == read("holdfast_stale_resources", **at) == 2
    assert read("holdfast_failing_resources", **at) == 2


def test_what_is_held_back_is_told_by_its_cause():
    bench, fleet = Bench(), [declare("a", {"v": 1}), declare("b", {"v": 1}, onDrift=OnDrift.APPROVE.value)]
    run(bench.apply(fleet))
    run(
        bench.store.commit(
            Transaction(governance=GovernanceChanges(pauses=[Pause("mem/Thing/a", "ada", "busy", bench.clock.now())]))
        )
    )
    for name in "ab":
        bench.live_thing(name)["v"] = 2
    run(bench.check(fleet))
    read = Read(bench.store, bench.clock.now())
    at = {"connection": "mem", "kind": "Thing"}
    causes = {
        item["cause"]: read("holdfast_blocked_resources", **item) for item in read.of("holdfast_blocked_resources")
    }
    assert causes == {"terminal": 0, "paused": 1, "approval": 1}
    assert read("holdfast_findings", class_="specified", changed_by="live", **at) == 2
    assert read("holdfast_paused_scopes", scope="resource") == 1


def test_counters_only_grow_over_applies_and_tell_how_writes_ended():
    bench = Bench()
    before: dict[Sample, float] = {}
    for value in range(6):
        if value == 3:
            bench.live.faults.append(once("update*", WriteFailure(WriteError.TERMINAL, "too large")))
        if value == 5:
            bench.live_thing("a")["v"] = "moved"
        run(bench.apply([declare("a", {"v": value}), declare("b", {"v": value % 2})]))
        now = dict(Read(bench.store, bench.clock.now()).counters())
        assert before.keys() <= now.keys()
        assert all(now[key] >= value for key, value in before.items())
        before = now
    read = Read(bench.store, bench.clock.now())
    assert read("holdfast_corrections_total", outcome="failed") == 1
    assert read("holdfast_corrections_total", outcome="done") == read("holdfast_events_total", type="write.done") > 6
    kept = run(bench.store.corrections())
    assert read("holdfast_corrections_total", outcome="done") == sum(
        item.outcome is CorrectionOutcome.DONE for item in kept
    )


def test_what_is_under_way_and_what_people_said():
    store, address = SqliteStore.in_memory(), Address("mem", "Thing", "a")
    run(
        store.commit(
            Transaction(
                writes=WriteChanges(
                    operations=[WriteOperation("1", address, "update", OperationStep.SENT, NOW - 40, None, None)]
                ),
                governance=GovernanceChanges(
                    pauses=[
                        Pause("", "ada", "all", NOW),
                        Pause("mem", "ada", "over", NOW - 9, NOW - 1),
                        Pause("mem/Thing", "ada", "kind", NOW),
                    ],
                    quarantines=[Quarantine(address, "/v", "contention", NOW)],
                ),
            )
        )
    )
    for name, until in (("a", NOW + 9), ("b", NOW - 1)):
        assert isinstance(run(store.claim(Address("mem", "Thing", name), "one", NOW - 20, until)), Claim)
    read = Read(store)
    assert read("holdfast_unfinished_operations", step="sent") == read.sum("holdfast_unfinished_operations") == 1
    assert read("holdfast_oldest_operation_timestamp_seconds") == NOW - 40
    assert (read("holdfast_claims", state="held"), read("holdfast_claims", state="lapsed")) == (1, 1)
    scopes = {item["scope"]: read("holdfast_paused_scopes", **item) for item in read.of("holdfast_paused_scopes")}
    assert scopes == {"everything": 1, "connection": 0, "kind": 1, "resource": 0}
    assert read("holdfast_quarantined_paths", cause="contention") == 1


# --- templates --------------------------------------------------------------------------------------------------------

CAREFUL = RolloutLimits(
    max_surge=2, max_unavailable=1, budgets={"spec": 3}, waves=Waves(canary=1, soak=600.0), halt=HaltRules(after=1)
)


def rolled(nursery: Nursery, *templates: Template) -> None:
    run(nursery.roll(*templates))


def reading(nursery: Nursery, **options) -> Read:
    return Read(nursery.store, nursery.clock.now(), **options)


def test_a_canary_that_soaks():
    nursery, after = Nursery(), template({"v": 2}, 5, limits=CAREFUL)
    rolled(nursery, template({"v": 1}, 5, limits=CAREFUL))
    rolled(nursery, after)
    read = reading(nursery)
    assert read("holdfast_rollout_phase", template="web", phase="canary") == read.sum("holdfast_rollout_phase") == 1
    assert read("holdfast_template_children", template="web", state="ready") == 5
    assert read("holdfast_template_up_to_date_children", template="web") == 1
    assert read("holdfast_template_revision", owner="web") == 2
    assert read("holdfast_template_revision_children", template="web", owner="web", revision="1") == 4
    assert read("holdfast_template_revision_children", template="web", owner="web", revision="2") == 1
    assert read("holdfast_template_findings", template="web", owner="web", class_="spec", reason="edited") == 4
    slots = {item["state"]: read("holdfast_rollout_slots", **item) for item in read.of("holdfast_rollout_slots")}
    assert slots == {"done": 1, "working": 0, "left": 4}
    assert read.of("holdfast_rollout_blocked") == read.of("holdfast_rollout_budget_allowed") == []
    told = reading(nursery, templates=[after])
    budgets = told.of("holdfast_rollout_budget_allowed")
    assert {budget["budget"]: told("holdfast_rollout_budget_allowed", **budget) for budget in budgets} == {
        "maxSurge": 2,
        "maxUnavailable": 1,
        "spec": 3,
    }
    assert told("holdfast_rollout_budget_used", template="web", budget="spec") == 0
    nursery.clock.advance(601)
    for _ in range(5):
        rolled(nursery, after)
        nursery.clock.advance(601)
    read = reading(nursery)
    assert read("holdfast_rollout_phase", template="web", phase="complete") == 1
    assert read("holdfast_template_up_to_date_children", template="web") == 5
    assert read.of("holdfast_template_findings") == read.of("holdfast_rollout_slots") == []
    assert read("holdfast_template_restamped_children", template="web") == 0


def test_a_rollout_that_halted_backs_off_and_says_why_it_waits():
    nursery, after = Nursery(), template({"v": 2}, 4, limits=CAREFUL)
    rolled(nursery, template({"v": 1}, 4, limits=CAREFUL))
    nursery.live.faults.append(
        lambda call: WriteFailure(WriteError.TERMINAL, "no") if call.startswith("create") else None
    )
    rolled(nursery, after)
    read = reading(nursery)
    assert read("holdfast_rollout_phase", template="web", phase="halted") == 1
    assert read("holdfast_rollout_halts_total", template="web") == 1
    assert read("holdfast_rollout_failures", template="web") == 1
    assert read("holdfast_rollout_backing_off_slots", template="web") == 1
    assert read("holdfast_rollout_blocked", template="web", cause="halted") == 1
    assert len(read.of("holdfast_rollout_blocked")) == 1


def test_a_pause_of_everything_holds_a_rollout_and_a_hold_of_a_slot_is_in_the_manifests():
    nursery, before = Nursery(), template({"v": 1}, 4, limits=CAREFUL)
    rolled(nursery, before)
    run(
        nursery.store.commit(
            Transaction(governance=GovernanceChanges(pauses=[Pause("mem", "ada", "busy", nursery.clock.now())]))
        )
    )
    after = template({"v": 2}, 4, limits=CAREFUL, holds={"web-1": 3600.0})
    rolled(nursery, after)
    causes = [item["cause"] for item in reading(nursery).of("holdfast_rollout_blocked")]
    assert causes == ["pause"]
    causes = [item["cause"] for item in reading(nursery, templates=[after]).of("holdfast_rollout_blocked")]
    assert sorted(causes) == ["hold", "pause"]


def test_findings_of_two_owners_are_told_apart():
    nursery = Nursery()
    part = Template("class", {"disk": 1})
    careful = dataclasses.replace(template({"v": 1}, 3, limits=CAREFUL), uses=("class",))
    rolled(nursery, part, careful)
    rolled(nursery, Template("class", {"disk": 2}), dataclasses.replace(careful, content={"v": 2}))
    read = reading(nursery)
    for owner in ("class", "web"):
        assert read("holdfast_template_findings", template="web", owner=owner, class_="spec", reason="edited") == 2
        assert read("holdfast_template_revision_children", template="web", owner=owner, revision="2") == 1
        assert read("holdfast_template_revision", owner=owner) == 2
    assert read.of("holdfast_rollout_halts_total") == [{"template": "web"}], "a part has no rollouts"


UPGRADE = FieldClasses(behavioural=frozenset({("size",)}))


@pytest.mark.parametrize("is_edited", [False, True])
def test_another_choice_of_fields_is_an_activation_and_restamps_nobody(is_edited):
    nursery = Nursery()
    rolled(nursery, template({"level": "info", "size": 1}, 4, limits=CAREFUL))
    assert reading(nursery)("holdfast_scheme_activations_total", owner="web") == 0
    content = {"level": "debug" if is_edited else "info", "size": 1}
    rolled(nursery, template(content, 4, limits=CAREFUL, fields=UPGRADE))
    read = reading(nursery)
    assert read("holdfast_scheme_activations_total", owner="web") == 1
    assert read("holdfast_template_restamped_children", template="web") == 0
    assert read("holdfast_template_up_to_date_children", template="web") == (1 if is_edited else 4)
    rolled(nursery, template(content, 4, limits=CAREFUL))
    assert reading(nursery)("holdfast_scheme_activations_total", owner="web") == 2


@pytest.mark.parametrize("is_edited", [False, True])
def test_option_1_restamps_and_that_is_seen(is_edited):
    nursery, mode = Nursery(), Compatibility.OPTION1
    rolled(nursery, template({"level": "info", "size": 1}, 4, limits=CAREFUL, compatibility=mode))
    rolled(nursery, template({"level": "info", "size": 1}, 4, limits=CAREFUL, compatibility=mode))
    assert reading(nursery)("holdfast_template_restamped_children", template="web") == 0
    content = {"level": "debug" if is_edited else "info", "size": 1}
    rolled(nursery, template(content, 4, limits=CAREFUL, compatibility=mode, fields=UPGRADE))
    assert reading(nursery)("holdfast_template_restamped_children", template="web") == 4


def test_a_stamp_of_another_revision_is_seen_whoever_put_it_there():
    nursery = Nursery()
    rolled(nursery, template({"v": 1}, 3, limits=CAREFUL))
    rolled(nursery, template({"v": 2}, 3, limits=CAREFUL))
    kept = {item.key: item for item in run(_children(nursery.store))}
    births = [item.data["births"]["web"] for item in kept.values()]
    stamps = {birth["revision"]: birth["stamp"] for birth in births}
    old = next(item for item in kept.values() if item.data["births"]["web"]["revision"] == 1)
    forgery = {"web": {**old.data["births"]["web"], "stamp": stamps[2]}}
    forged = dataclasses.replace(old, data={**old.data, "births": forgery}, version=old.version + 1)
    assert reading(nursery)("holdfast_template_restamped_children", template="web") == 0
    run(nursery.store.commit(Transaction(records=RecordChanges(put=[forged]))))
    assert reading(nursery)("holdfast_template_restamped_children", template="web") == 1


async def _children(store: Store):
    return [record async for record in store.records(serialization.CHILDREN)]


def test_a_closed_window_and_a_part_that_is_not_as_declared_are_told_without_manifests():
    nursery = Nursery()
    frozen = dataclasses.replace(CAREFUL, windows=(Window(Mode.FREEZE, reason="holidays"),))
    part = template({"disk": 1}, None, name="class", address=Address("mem", "Thing", "class"))
    web = dataclasses.replace(template({"v": 1}, 3, limits=frozen), uses=("class",))
    nursery.declared = [declare("class", {"disk": 1})]
    run(nursery.apply(nursery.declared))
    rolled(nursery, part, web)
    rolled(nursery, part, dataclasses.replace(web, content={"v": 2}))
    assert reading(nursery).of("holdfast_rollout_blocked") == [{"template": "web", "cause": "window"}]
    nursery.live_thing("class")["disk"] = 2
    run(nursery.check(nursery.declared))
    causes = {item["cause"] for item in reading(nursery).of("holdfast_rollout_blocked")}
    assert causes == {"window", "part"}


# --- names ------------------------------------------------------------------------------------------------------------


def test_names_are_as_prometheus_wants_them():
    names = [item.name for item in definitions.ALL]
    assert len(set(names)) == len(names)
    for element in definitions.ALL:
        assert element.name.startswith("holdfast_")
        assert element.name.endswith("_total") is (element.sort is MetricType.COUNTER)
        assert element.name.endswith("_info") is (element.sort is MetricType.INFO)
        assert not element.name.endswith(("_age", "_count", "_sum", "_bucket"))
        assert element.name.endswith("_timestamp_seconds") is ("timestamp" in element.name)
        assert element.text.endswith(".")
    assert {
        label for meter in definitions.ALL if meter is not definitions.RESOURCE_STATUS for label in meter.labels
    }.isdisjoint({"address", "name", "path", "slot", "who"})


def test_every_family_is_told_of_even_where_there_is_nothing():
    text = Read(SqliteStore.in_memory()).text
    for item in definitions.ALL:
        assert f"# TYPE {item.name} " in text
        assert f"# HELP {item.name} {item.text}\n" in text


def test_what_has_no_periodic_checks_is_not_stale_by_age_alone():
    assert not resources.is_stale(state("a", Status.IN_SYNC, good_at=1.0), NOW)
    assert resources.is_stale(state("a", Status.IN_SYNC, good_at=NOW - 201, resync_seconds=100.0), NOW)
    assert not resources.is_stale(state("a", Status.IN_SYNC, good_at=NOW - 199, resync_seconds=100.0), NOW)
