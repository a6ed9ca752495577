"""Telling people: once, again only when asked to, and of the end; whatever a sink does, the run goes on."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.manifests import notify_spec
from holdfast.manifests.notify_spec import ToFile, Topic
from holdfast.manifests.secrets import Resolver
from holdfast.model.address import Address
from holdfast.model.decision import Action, Reason
from holdfast.model.json import Json
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.model.verdict import Status
from holdfast.notify import deliver, rules
from holdfast.notify.cloudevents import CloudEventType
from holdfast.notify.deliver import Notifier, notify
from holdfast.notify.rules import DeliveryHistory, Incident, NotificationCandidates
from holdfast.notify.sinks import SinkContext
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import Blocked
from holdfast.store.records import AuditEvent
from holdfast.store.sqlite.store import SqliteStore
from tests.unit.reconcile.fixtures import Bench, declare

RED = declare("a", {"colour": "red", "size": 1}, resyncPeriod="1h")
BLUE = declare("b", {"colour": "blue"}, resyncPeriod="1h")


class Town:
    """A world, an engine, and people who are told."""

    def __init__(self, folder: Path, *sinks: notify_spec.SinkSpec, bench: Bench | None = None) -> None:
        self.bench = bench or Bench()
        self.folder = folder
        self.warnings: list[str] = []
        self.office = self.open(sinks or (sink(folder),))
        self._read: dict[str, int] = {}

    def open(self, sinks: tuple[notify_spec.SinkSpec, ...]) -> Notifier:
        bench = self.bench
        means = SinkContext(bench.clock, bench.random, Resolver(bench.environ))
        letters = self.folder / "undelivered.jsonl"
        return Notifier(bench.store, sinks, means, "/holdfast/test", letters, self.warnings.append)

    async def told(self, report: RunReport) -> list[str]:
        """Tell, and return what arrived in the file since the last time: kind and subject, or how many."""
        await notify(report, rules.statuses_before(report), self.office)
        return self.news()

    async def check(self, *declarations: Any) -> list[str]:
        return await self.told(await self.bench.check(declarations))

    async def apply(self, *declarations: Any) -> list[str]:
        return await self.told(await self.bench.apply(declarations))

    def events(self, name: str = "events.jsonl") -> list[dict[str, Any]]:
        file = self.folder / name
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def news(self, name: str = "events.jsonl") -> list[str]:
        events = self.events(name)
        new = events[self._read.get(name, 0) :]
        self._read[name] = len(events)
        return [_brief(event) for event in new]

    def set(self, name: str, **fields: Json) -> None:
        self.bench.live_thing(name).update(fields)


def _brief(event: dict[str, Any]) -> str:
    kind = event["type"].removeprefix("dev.holdfast.").removesuffix(".v1")
    who = event["subject"].rpartition("/")[2] if "subject" in event else f"({event['data']['count']})"
    again = event["data"]["resources"][0].get("reminder")
    return f"{kind} {who}" + (f" again {again}" if again else "")


def sink(folder: Path, name: str = "events.jsonl", **fields: Any) -> notify_spec.SinkSpec:
    return notify_spec.SinkSpec(name, ToFile(folder / name), group=fields.pop("group", notify_spec.NEVER), **fields)


def scenario(play: Callable[[], Any]) -> None:
    asyncio.run(play())


# -- what is told, and when


def test_a_drift_is_told_once_and_so_is_its_end(tmp_path):
    async def play() -> None:
        town = Town(tmp_path)
        assert await town.apply(RED, BLUE) == []
        assert await town.check(RED, BLUE) == []
        town.set("a", colour="green")
        assert await town.check(RED, BLUE) == ["drift.detected a"]
        assert await town.check(RED, BLUE) == []
        town.set("a", colour="red")
        assert await town.check(RED, BLUE) == ["drift.resolved a"]
        assert await town.check(RED, BLUE) == []
        town.set("a", colour="green")
        assert await town.check(RED, BLUE) == ["drift.detected a"]

    scenario(play)


def test_another_value_at_the_same_path_is_no_news_and_another_path_is(tmp_path):
    async def play() -> None:
        town = Town(tmp_path)
        await town.apply(RED)
        town.set("a", colour="green")
        assert await town.check(RED) == ["drift.detected a"]
        town.set("a", colour="yellow")
        assert await town.check(RED) == []
        town.set("a", size=2)
        assert await town.check(RED) == ["drift.detected a"]
        town.set("a", size=1)
        assert await town.check(RED) == []  # as it was told at first
        town.set("a", colour="red")
        assert await town.check(RED) == ["drift.resolved a"]
        first, second, end = town.events()
        keys = {event["data"]["resources"][0]["key"] for event in (first, second)}
        assert set(end["data"]["resources"][0]["resolves"]) == keys

    scenario(play)


def test_missing_and_unknown_are_told_as_what_they_are(tmp_path):
    async def play() -> None:
        town = Town(tmp_path, bench=Bench(lists=False))
        await town.apply(RED, BLUE)
        del town.bench.live.things["Thing", town.bench.id_of("a")]
        town.bench.live.faults.append(lambda call: ReadFailure(ReadError.TIMEOUT) if call.endswith("/b") else None)
        assert sorted(await town.check(RED, BLUE)) == ["check.unknown b", "drift.detected a"]
        statuses = {event["subject"]: event["data"]["resources"][0]["status"] for event in town.events()}
        assert statuses == {"mem/Thing/a": "missing", "mem/Thing/b": "unknown"}
        assert await town.check(RED, BLUE) == []
        town.bench.live.faults.clear()
        assert await town.check(RED, BLUE) == ["drift.resolved b"]

    scenario(play)


def test_a_read_that_fails_in_between_does_not_make_an_old_drift_news(tmp_path):
    async def play() -> None:
        town = Town(tmp_path, bench=Bench(lists=False))
        await town.apply(RED)
        town.set("a", colour="green")
        assert await town.check(RED) == ["drift.detected a"]
        town.bench.live.faults.append(lambda _: ReadFailure(ReadError.SERVER_ERROR))
        assert await town.check(RED) == ["check.unknown a"]
        town.bench.live.faults.clear()
        assert await town.check(RED) == []
        town.set("a", colour="red")
        assert await town.check(RED) == ["drift.resolved a"]
        assert len(town.events()[-1]["data"]["resources"][0]["resolves"]) == 2

    scenario(play)


def test_what_cannot_even_be_looked_for_is_unknown(tmp_path):
    async def play() -> None:
        town = Town(tmp_path)
        report = RunReport(waiting=[Blocked(RED, "two things match", is_error=True), Blocked(BLUE, "not yet")])
        assert await town.told(report) == ["check.unknown a"]
        assert await town.told(report) == []

    scenario(play)


def test_what_is_put_back_in_the_same_run_is_told_as_that_alone(tmp_path):
    async def play() -> None:
        town = Town(tmp_path)
        await town.apply(RED)
        town.set("a", colour="green")
        assert await town.apply(RED) == ["correction.done a"]
        data = town.events()[0]["data"]["resources"][0]
        assert (data["found"], data["status"], data["findings"][0]["path"]) == ("drifted", "in_sync", "/colour")
        town.set("a", colour="green")
        assert await town.check(RED) == ["drift.detected a"]
        assert await town.apply(RED) == ["correction.done a", "drift.resolved a"]
        assert await town.apply(RED) == []

    scenario(play)


def test_an_edit_of_the_declaration_is_no_correction(tmp_path):
    async def play() -> None:
        town = Town(tmp_path)
        await town.apply(RED)
        assert await town.apply(declare("a", {"colour": "black", "size": 1}, resyncPeriod="1h")) == []

    scenario(play)


def test_a_reminder_comes_after_the_interval_and_not_before(tmp_path):
    async def play() -> None:
        town = Town(tmp_path, sink(tmp_path, remind=3600.0))
        await town.apply(RED)
        town.set("a", colour="green")
        assert await town.check(RED) == ["drift.detected a"]
        town.bench.clock.advance(3599)
        assert await town.check(RED) == []
        town.bench.clock.advance(2)
        assert await town.check(RED) == ["drift.detected a again 1"]
        assert await town.check(RED) == []
        town.bench.clock.advance(3601)
        assert await town.check(RED) == ["drift.detected a again 2"]
        assert len({event["id"] for event in town.events()}) == 3

    scenario(play)


def test_a_drift_that_came_back_unseen_by_us_is_told_anew(tmp_path):
    """A run that tells nobody, such as a plan, may have seen it in sync."""

    async def play() -> None:
        town = Town(tmp_path)
        await town.apply(RED)
        town.set("a", colour="green")
        assert await town.check(RED) == ["drift.detected a"]
        town.set("a", colour="red")
        await town.bench.check([RED])
        town.set("a", colour="green")
        assert await town.check(RED) == ["drift.detected a"]
        assert len({event["id"] for event in town.events()}) == 2

    scenario(play)


def test_another_process_knows_what_was_told(tmp_path):
    async def play() -> None:
        store = await SqliteStore.open(tmp_path / "store.db")
        bench = Bench(store=store)
        town = Town(tmp_path, bench=bench)
        await town.apply(RED)
        town.set("a", colour="green")
        assert await town.check(RED) == ["drift.detected a"]
        await store.close()
        again = await SqliteStore.open(tmp_path / "store.db")
        other = Town(tmp_path, bench=Bench(live=bench.live, store=again, clock=bench.clock))
        other.news()
        assert await other.check(RED) == []
        other.set("a", colour="red")
        assert await other.check(RED) == ["drift.resolved a"]
        assert await again.verify_chain() > 0
        await again.close()

    scenario(play)


# -- who wants to know


def test_a_sink_hears_of_what_it_asked_for_and_of_its_end_only(tmp_path):
    async def play() -> None:
        some = sink(tmp_path, "missing.jsonl", on=frozenset({Topic.MISSING}))
        town = Town(tmp_path, some, sink(tmp_path))
        await town.apply(RED, BLUE)
        town.set("a", colour="green")
        del town.bench.live.things["Thing", town.bench.id_of("b")]
        await town.check(RED, BLUE)
        assert town.news("missing.jsonl") == ["drift.detected b"]
        await town.apply(RED, BLUE)
        assert town.news("missing.jsonl") == ["drift.resolved b"]

    scenario(play)


@pytest.mark.parametrize(
    "group, expected", [(1, ["drift.detected (3)"]), (2, ["drift.detected (3)"]), (3, ["a", "b", "c"])]
)
def test_more_events_of_a_kind_than_the_group_are_one(tmp_path, group, expected):
    async def play() -> None:
        town = Town(tmp_path, sink(tmp_path, group=group))
        things = [declare(name, {"colour": "red"}) for name in "abc"]
        await town.apply(*things)
        for name in "abc":
            town.set(name, colour="green")
        told = await town.check(*things)
        assert [item.removeprefix("drift.detected ") if group == 3 else item for item in told] == expected
        assert await town.check(*things) == []
        named = [resource["address"] for event in town.events() for resource in event["data"]["resources"]]
        assert named == ["mem/Thing/a", "mem/Thing/b", "mem/Thing/c"]

    scenario(play)


def test_an_event_about_many_names_some_and_counts_all(tmp_path):
    async def play() -> None:
        town = Town(tmp_path, sink(tmp_path, group=1))
        things = [declare(f"n{number:03}", {"colour": "red"}) for number in range(80)]
        await town.apply(*things)
        for number in range(80):
            town.set(f"n{number:03}", colour="green")
        assert await town.told(await town.bench.check(things, record=False)) == ["drift.detected (80)"]
        data = town.events()[0]["data"]
        assert (data["count"], len(data["resources"])) == (80, rules.MOST_RESOURCES)
        assert data["summary"] == "80 resources drifted"

    scenario(play)


# -- what keeps something from being reverted


def decided(report: RunReport, action: Action, code: str, held: Action | None = None, **fields: Any) -> RunReport:
    """Return the report in which something was decided for the first resource."""
    one = report.checked[0]
    decision = replace(one.decision, action=action, reasons=(Reason(code, "because", ("/colour",)),), held=held)
    lapsed = fields.pop("lapsed", "")
    first: CheckResult = replace(one, decision=decision, evaluation=replace(one.evaluation, lapsed=lapsed), **fields)
    return replace(report, checked=[first, *report.checked[1:]])


@pytest.mark.parametrize(
    "action, code, expected",
    [
        (Action.HOLD, "approval", ["drift.detected a", "correction.held a"]),
        (Action.HOLD, "budget", ["drift.detected a", "correction.held a"]),
        (Action.HOLD, "massDrift", ["drift.detected a", "massdrift.held a"]),
        (Action.REPORT, "contention", ["drift.detected a", "contention.detected a"]),
        (Action.HOLD, "debounce", ["drift.detected a"]),
        (Action.REPORT, "report_only", ["drift.detected a"]),
    ],
)
def test_what_holds_a_correction_back_is_told_once(tmp_path, action, code, expected):
    async def play() -> None:
        town = Town(tmp_path)
        await town.apply(RED)
        town.set("a", colour="green")
        held = Action.UPDATE if action is Action.HOLD else None
        report = decided(await town.bench.check([RED]), action, code, held)
        assert await town.told(report) == expected
        assert await town.told(decided(await town.bench.check([RED]), action, code, held)) == []
        town.set("a", colour="red")
        assert await town.check(RED) == ["drift.resolved a"]

    scenario(play)


def test_a_waiver_that_has_run_out_is_told(tmp_path):
    async def play() -> None:
        town = Town(tmp_path)
        await town.apply(RED)
        town.set("a", colour="green")
        report = decided(
            await town.bench.check([RED]), Action.REPORT, "report_only", lapsed="the waiver of ada ran out"
        )
        assert await town.told(report) == ["drift.detected a", "waiver.expired a"]
        assert town.events()[1]["data"]["resources"][0]["reason"] == "the waiver of ada ran out"

    scenario(play)


def test_a_real_hold_is_told_with_what_would_be_done(tmp_path):
    async def play() -> None:
        town = Town(tmp_path)
        held = declare("a", {"colour": "red"}, onDrift="approve")
        await town.apply(held)
        town.set("a", colour="green")
        assert await town.apply(held) == ["drift.detected a", "correction.held a"]
        data = town.events()[1]["data"]["resources"][0]
        assert (data["code"], data["held"], data["paths"]) == ("approval", "update", ["/colour"])

    scenario(play)


def test_a_mass_drift_is_one_event_however_many_it_holds(tmp_path):
    async def play() -> None:
        town = Town(tmp_path)
        things = [declare(name, {"colour": "red"}) for name in "abc"]
        await town.apply(*things)
        for name in "abc":
            town.set(name, colour="green")
        report = await town.bench.check(things)
        stormy = [
            decided(RunReport(checked=[item]), Action.HOLD, "massDrift", Action.UPDATE).checked[0]
            for item in report.checked
        ]
        told = await town.told(replace(report, checked=stormy))
        assert told == ["drift.detected a", "drift.detected b", "drift.detected c", "massdrift.held (3)"]

    scenario(play)


# -- what an event holds


def test_an_event_is_a_cloud_event(tmp_path):
    async def play() -> None:
        town = Town(tmp_path)
        await town.apply(RED)
        town.set("a", colour="green")
        await town.check(RED)
        (event,) = town.events()
        assert {key: event[key] for key in ("specversion", "type", "source", "subject", "datacontenttype")} == {
            "specversion": "1.0",
            "type": "dev.holdfast.drift.detected.v1",
            "source": "/holdfast/test",
            "subject": "mem/Thing/a",
            "datacontenttype": "application/json",
        }
        assert event["time"] == "2027-01-15T08:00:00.000Z"
        assert event["data"]["resources"][0]["findings"] == [
            {
                "path": "/colour",
                "op": "changed",
                "class": "specified",
                "changedBy": "live",
                "desired": "red",
                "observed": "green",
            }
        ]

    scenario(play)


def test_no_secret_is_told(tmp_path):
    async def play() -> None:
        bench = Bench(environ={"PASSWORD": "correct horse"})
        town = Town(tmp_path, bench=bench)
        thing = declare("a", {"password": {"secretRef": {"env": "PASSWORD"}}, "note": "x"})
        await town.apply(thing)
        town.set("a", password="battery staple", note="it was correct horse")
        assert await town.check(thing) == ["drift.detected a"]
        text = (tmp_path / "events.jsonl").read_text()
        assert "horse" not in text
        assert "staple" not in text
        assert "hmac-sha256:" in text

    scenario(play)


def test_a_large_value_is_told_by_its_beginning(tmp_path):
    async def play() -> None:
        town = Town(tmp_path)
        await town.apply(RED)
        town.set("a", colour="x" * 100_000)
        await town.check(RED)
        assert (tmp_path / "events.jsonl").stat().st_size < 3_000

    scenario(play)


# -- sinks that fail


def test_without_sinks_nothing_is_asked_of_the_store(tmp_path):
    async def play() -> None:
        town = Town(tmp_path)
        town.office.sinks = ()
        await town.apply(RED)
        town.set("a", colour="green")
        assert await town.check(RED) == []
        assert [event async for event in town.bench.store.events(type_prefix="notify.")] == []

    scenario(play)


def test_a_sink_that_fails_is_warned_of_and_tried_again_later(tmp_path):
    async def play() -> None:
        broken = notify_spec.SinkSpec("broken", ToFile(tmp_path / "nowhere/events.jsonl"), group=9)
        town = Town(tmp_path, broken, sink(tmp_path))
        await town.apply(RED)
        town.set("a", colour="green")
        assert await town.check(RED) == ["drift.detected a"]
        (warning,) = town.warnings
        assert warning.startswith("1 of 1 notifications not delivered to broken: ")
        assert warning.endswith("No such file or directory")
        assert [letter["sink"] for letter in town.events("undelivered.jsonl")] == ["broken"]
        (tmp_path / "nowhere").mkdir()
        assert await town.check(RED) == []  # too soon
        assert town.events("nowhere/events.jsonl") == []
        town.bench.clock.advance(deliver.REST_SECONDS)
        assert await town.check(RED) == []
        (told,) = town.events("nowhere/events.jsonl")
        (letter,) = town.events("undelivered.jsonl")
        assert told["id"] == letter["event"]["id"]

    scenario(play)


def test_an_event_that_keeps_failing_is_one_dead_letter_and_one_line_of_the_trail(tmp_path):
    async def play() -> None:
        town = Town(tmp_path, notify_spec.SinkSpec("broken", ToFile(tmp_path / "nowhere/events.jsonl")))
        await town.apply(RED)
        town.set("a", colour="green")
        for _ in range(4):
            await town.check(RED)
            town.bench.clock.advance(deliver.REST_SECONDS)
        assert len(town.warnings) == 4
        assert len(town.events("undelivered.jsonl")) == 1
        trail = [link.event.type async for link in town.bench.store.events(type_prefix="notify.")]
        assert trail == ["notify.undelivered"]

    scenario(play)


def test_an_end_that_could_not_be_told_is_told_later(tmp_path):
    async def play() -> None:
        town = Town(tmp_path, notify_spec.SinkSpec("shaky", ToFile(tmp_path / "shaky/events.jsonl")))
        (tmp_path / "shaky").mkdir()
        await town.apply(RED)
        town.set("a", colour="green")
        await town.check(RED)
        assert town.news("shaky/events.jsonl") == ["drift.detected a"]
        (tmp_path / "shaky").rename(tmp_path / "gone")
        town.set("a", colour="red")
        await town.check(RED)
        (tmp_path / "gone").rename(tmp_path / "shaky")
        town.bench.clock.advance(deliver.REST_SECONDS)
        await town.check(RED)
        assert town.news("shaky/events.jsonl") == ["drift.resolved a"]
        await town.check(RED)
        assert town.news("shaky/events.jsonl") == []

    scenario(play)


def test_a_mistake_of_ours_in_a_sink_changes_nothing_for_the_run(tmp_path, monkeypatch):
    async def play() -> None:
        town = Town(tmp_path)
        await town.apply(RED)
        town.set("a", colour="green")
        report = await town.bench.check([RED])
        await notify(report, rules.statuses_before(report), town.office)
        assert town.warnings == [
            "1 of 1 notifications not delivered to events.jsonl: failed unexpectedly (ZeroDivisionError)"
        ]
        assert report.checked[0].verdict.status is Status.DRIFTED

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("holdfast.notify.sinks.open_sink", broken)
    scenario(play)


def test_a_store_that_cannot_remember_is_warned_of(tmp_path, monkeypatch):
    async def play() -> None:
        town = Town(tmp_path)
        await town.apply(RED)
        town.set("a", colour="green")
        report = await town.bench.check([RED])

        async def full(_transaction: object) -> None:
            from holdfast.errors import StoreError

            raise StoreError("the disk is full")

        monkeypatch.setattr(town.bench.store, "commit", full)
        await notify(report, rules.statuses_before(report), town.office)
        assert town.warnings == ["notifications may be missing or come twice: the disk is full"]

    scenario(play)


# -- laws

A = Address("mem", "Thing", "a")
STATES = st.lists(
    st.sampled_from(["in_sync", "drifted:/a", "drifted:/b", "drifted:/a,/b", "missing", "unknown"]), max_size=30
)


def seen(state: str, was: Status | None) -> NotificationCandidates:
    status, _, where = state.partition(":")
    if status == "in_sync":
        return NotificationCandidates((), {A: was} if was is not Status.IN_SYNC else {}, frozenset({A}))
    anew = frozenset({A}) if was in (None, Status.IN_SYNC) else frozenset()
    key = rules.key_of(A, status, where.split(","))
    return NotificationCandidates((Incident(CloudEventType.DRIFT_DETECTED, Topic(status), A, key, {}),), anew=anew)


@given(STATES)
def test_each_trouble_is_told_once_between_two_ends_and_each_end_after_a_trouble(states):
    trail: list[AuditEvent] = []
    everyone = notify_spec.SinkSpec("all", ToFile(Path("x")))
    was: Status | None = None
    told: set[str] = set()
    ids: list[str] = []
    for at, state in enumerate(states):
        found = rules.news(seen(state, was), everyone, {A: rules.told("all", trail)}, float(at))
        for notice in found:
            ids.append(notice.id)
            if notice.type is CloudEventType.DRIFT_RESOLVED:
                assert told == set(notice.keys)
                told = set()
                trail.append(AuditEvent(at, rules.RESOLVED, str(A), {"sinks": ["all"]}))
            else:
                assert notice.keys[0] not in told
                told.add(notice.keys[0])
                trail.append(
                    AuditEvent(at, rules.SENT, str(A), {"sinks": ["all"], "key": notice.keys[0], "lasts": True})
                )
        if state == "in_sync":
            assert not told
        was = Status(state.partition(":")[0])
    assert len(ids) == len(set(ids))


@given(st.permutations(["/a", "/b[name=x]", "/c"]))
def test_the_key_does_not_depend_on_the_order_of_paths(where):
    assert rules.key_of(A, "drifted", where) == rules.key_of(A, "drifted", ["/a", "/b[name=x]", "/c"])


def test_what_another_sink_was_told_does_not_count():
    sent = AuditEvent(1.0, rules.SENT, str(A), {"sinks": ["one"], "key": "k", "lasts": True})
    assert rules.told("one", [sent]) == DeliveryHistory(open={"k": 1.0}, times=Counter({"k": 1}))
    assert rules.told("other", [sent]) == DeliveryHistory()


def test_every_type_has_words():
    assert set(rules._WORDS) == set(CloudEventType)
