"""Templates through the whole engine: births, edits, waves, failures, undo, and what must never happen."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
from collections import Counter
from fnmatch import fnmatchcase

import pytest

from holdfast.errors import InputError
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.policy.selectors import LabelSelector, Operator, Requirement
from holdfast.rollouts.core import group_rollouts
from holdfast.rollouts.core.records import RolloutPhase
from holdfast.rollouts.core.requirements import Asks, Predicate, Supply
from holdfast.rollouts.core.rollout_limits import HaltRules, OnHalt, RolloutLimits, Waves
from holdfast.rollouts.core.template_groups import TemplateGroup
from holdfast.rollouts.core.templates import FieldClasses, HealthGate, Method, RolloutMode
from holdfast.store.governance import Pause
from holdfast.store.transaction import GovernanceChanges, RecordChanges, Transaction
from holdfast.testing.memory import once
from tests.unit.reconcile.fixtures import declare
from tests.unit.rollouts.group_fixtures import Nursery, template


@pytest.fixture
def nursery() -> Nursery:
    return Nursery()


def rolled(nursery: Nursery, *templates):
    return asyncio.run(nursery.roll(*templates)).groups


def test_children_are_born_with_stable_names_and_an_edit_rolls_them(nursery):
    (group,) = rolled(nursery, template({"level": "info"}))
    assert nursery.names() == ["web-0", "web-1", "web-2"]
    assert group.rollout is None
    assert {child.state.value for child in group.children.values()} == {"ready"}
    (group,) = rolled(nursery, template({"level": "debug"}))
    assert group.rollout is not None
    assert group.rollout.rollout.phase is RolloutPhase.COMPLETE
    assert nursery.values("level") == {"web-0-r1": "debug", "web-1-r1": "debug", "web-2-r1": "debug"}
    writes = len(nursery.live.writes)
    rolled(nursery, template({"level": "debug"}))
    assert len(nursery.live.writes) == writes


def phase(group) -> RolloutPhase:
    assert group.rollout is not None
    return group.rollout.rollout.phase


def states(group) -> dict[str, int]:
    return dict(Counter(child.state.value for child in group.children.values()))


def kinds(group) -> set[tuple[str, str]]:
    return {(finding.owner, finding.kind.value) for child in group.children.values() for finding in child.findings}


def refuse(nursery: Nursery, pattern: str) -> None:
    def strike(call: str):
        return WriteFailure(WriteError.TERMINAL, "no room") if fnmatchcase(call, pattern) else None

    nursery.live.faults.append(strike)


# --- kinds of fields --------------------------------------------------------------------------------------------------


def test_in_place_fields_reach_every_child_at_once_and_roll_nobody(nursery):
    fields = FieldClasses(in_place=frozenset({("labels",)}))
    rolled(nursery, template({"level": "info", "labels": {"a": 1}}, fields=fields))
    edited = template({"level": "info", "labels": {"a": 2}}, fields=fields)
    (group,) = rolled(nursery, edited)
    asyncio.run(nursery.apply_children(edited))
    assert nursery.values("labels") == {f"web-{i}": {"a": 2} for i in range(3)}
    assert group.rollout is None
    assert kinds(group) == set()


@pytest.mark.parametrize("after", [FieldClasses(), FieldClasses(behavioural=frozenset({("labels",)}))])
def test_a_field_that_is_in_place_no_longer_keeps_what_children_got_and_writes_nothing(nursery, after):
    fields = FieldClasses(in_place=frozenset({("labels",)}))
    for value in (1, 2):
        rolled(nursery, template({"level": "info", "labels": value}, fields=fields))
        asyncio.run(nursery.apply_children(template({"level": "info", "labels": value}, fields=fields)))
    writes = len(nursery.live.writes)
    wanted = template({"level": "info", "labels": 2}, fields=after)
    (group,) = rolled(nursery, wanted)
    asyncio.run(nursery.apply_children(wanted))
    assert len(nursery.live.writes) == writes
    assert set(nursery.values("labels").values()) == {2}
    assert {kind for _, kind in kinds(group)} <= {"newly-visible"}
    wanted = template({"level": "info", "labels": 3}, 4, fields=after)
    (group,) = rolled(nursery, wanted)
    asyncio.run(nursery.apply_children(wanted))
    expected = {"web-3": 3, **({f"web-{i}": 2 for i in range(3)} if after.behavioural else {})}
    assert expected.items() <= nursery.values("labels").items()
    assert after.behavioural or set(nursery.values("labels").values()) == {3}


def test_behavioural_fields_are_for_new_children_only(nursery):
    fields = FieldClasses(behavioural=frozenset({("weight",)}))
    rolled(nursery, template({"level": "info", "weight": 1}, fields=fields))
    (group,) = rolled(nursery, template({"level": "info", "weight": 2}, 4, fields=fields))
    assert group.rollout is None
    assert nursery.values("weight") == {"web-0": 1, "web-1": 1, "web-2": 1, "web-3": 2}


@pytest.mark.parametrize("zone, found", [("b", ()), ("c", (("web", "dynamic"),))])
def test_requirements_are_asked_of_what_was_seen_and_a_broken_one_replaces_the_child_once(nursery, zone, found):
    rules = (Predicate("ZoneGone", ("zone",), Asks.IN, ("a", "b")),)
    rolled(nursery, template({"zone": "a"}, 1))
    nursery.live.things["Thing", nursery.id_of("web-0")]["zone"] = zone
    asyncio.run(nursery.check_children(template({"zone": "a"}, 1)))
    (group,) = asyncio.run(nursery.look(template({"zone": "a"}, 1, requirements=rules)))
    assert kinds(group) == set(found)
    *_, (group,) = [rolled(nursery, template({"zone": "a"}, 1, requirements=rules)) for _ in range(2)]
    assert nursery.names() == (["web-0-r1"] if found else ["web-0"])
    assert kinds(group) == set()


def test_a_child_that_breaks_a_predicate_again_is_told_and_not_made_for_ever(nursery):
    rules = (Predicate("ZoneGone", ("zone",), Asks.IN, ("b",)),)
    *_, (group,) = [rolled(nursery, template({"zone": "a"}, 1, requirements=rules)) for _ in range(4)]
    assert [verb for verb, _, _ in nursery.live.writes].count("create") == 2
    assert kinds(group) == {("web", "dynamic")}


def test_what_is_still_offered_is_read_from_another_resource_and_an_empty_list_says_nothing(nursery):
    catalogue = declare("types", {"offers": ["small"]})
    offer = Supply(catalogue.address, ("offers",))
    rules = (Predicate("InstanceTypeNotFound", ("type",), Asks.OFFERED, offer=offer),)
    asyncio.run(nursery.apply([catalogue]))
    wanted = template({"type": "small"}, 2, requirements=rules)
    for _ in range(2):
        (group,) = rolled(nursery, wanted)
        assert kinds(group) == set()
    for offers, expected in (([], set()), (["large"], {("web", "dynamic")})):
        nursery.live_thing("types")["offers"] = offers
        asyncio.run(nursery.check([catalogue]))
        (group,) = asyncio.run(nursery.look(wanted))
        assert kinds(group) == expected


# --- scale, names, selectors, parts -----------------------------------------------------------------------------------


def test_scaling_up_and_down_touches_only_the_slots_at_the_end(nursery):
    rolled(nursery, template({"level": "info"}, 3))
    rolled(nursery, template({"level": "info"}, 12))
    assert len(nursery.names()) == 12
    (group,) = rolled(nursery, template({"level": "info"}, 2))
    assert nursery.names() == ["web-0", "web-1"]
    assert states(group) == {"ready": 2}
    assert [verb for verb, _, _ in nursery.live.writes].count("create") == 12


def test_placeholders_are_the_childs_own_and_zones_take_turns(nursery):
    content = {"at": "$(zone)/$(name)", "number": "$(index)", "kept": "$$(name) $(other)"}
    rolled(nursery, template(content, 3, zones=("eu", "us")))
    assert nursery.values("at") == {"web-0": "eu/web-0", "web-1": "us/web-1", "web-2": "eu/web-2"}
    assert nursery.values("number")["web-2"] == 2
    assert set(nursery.values("kept").values()) == {"$(name) $(other)"}


def pool(name: str, **labels: str):
    return dataclasses.replace(declare(name, {"own": name}), labels={"pool": "web", **labels})


def selecting(content, **more):
    selector = LabelSelector((Requirement("pool", Operator.IN, frozenset({"web"})),))
    return template(content, None, selector=selector, method=Method.REWRITE, **more)


def test_selected_children_keep_their_names_and_are_rewritten_in_waves(nursery):
    nursery.declared = [pool("a"), pool("b"), declare("stranger", {"own": "x"})]
    rolled(nursery, selecting({"level": "info"}))
    assert nursery.values("level") == {"a": "info", "b": "info"}
    (group,) = rolled(
        nursery, selecting({"level": "debug"}, limits=RolloutLimits(max_unavailable=1, waves=Waves(canary=1)))
    )
    assert phase(group) is RolloutPhase.COMPLETE
    assert nursery.values("level") == {"a": "debug", "b": "debug"}
    assert nursery.values("own") == {"a": "a", "b": "b"}
    assert [verb for verb, _, _ in nursery.live.writes] == ["create"] * 2 + ["update"] * 2


def test_a_child_that_is_not_selected_any_more_is_let_go_and_not_deleted(nursery):
    nursery.declared = [pool("a"), pool("b")]
    rolled(nursery, selecting({"level": "info"}))
    nursery.declared = [pool("a"), dataclasses.replace(pool("b"), labels={})]
    (group,) = rolled(nursery, selecting({"level": "info"}))
    assert [child.name for child in group.children] == ["a"]
    assert nursery.names() == ["a", "b"]


def test_a_child_that_is_declared_in_a_file_that_was_not_named_keeps_its_record(nursery):
    nursery.declared = [pool("a"), pool("b")]
    rolled(nursery, selecting({"level": "info"}))
    nursery.declared = [pool("a")]
    rolled(nursery, selecting({"level": "debug"}))
    assert nursery.values("level") == {"a": "debug", "b": "info"}
    nursery.declared = [pool("a"), pool("b")]
    (group,) = rolled(nursery, selecting({"level": "debug"}))
    assert nursery.values("level") == {"a": "debug", "b": "debug"}
    assert kinds(group) == set()


def pooled(pool_content, class_content, **more):
    return template(pool_content, 2, uses=("class",), **more), template(class_content, None, name="class", **more)


def test_24_two_owners_have_findings_of_their_own_and_either_rolls_the_children(nursery):
    rolled(nursery, *pooled({"taint": 1}, {"image": "a"}))
    assert nursery.values("image") == {"web-0": "a", "web-1": "a"}
    (group,) = asyncio.run(nursery.look(*pooled({"taint": 1}, {"image": "b"})))
    assert kinds(group) == {("class", "spec")}
    (group,) = asyncio.run(nursery.look(*pooled({"taint": 2}, {"image": "a"})))
    assert kinds(group) == {("web", "spec")}
    (group,) = rolled(nursery, *pooled({"taint": 1}, {"image": "b"}))
    assert nursery.values("image") == {"web-0-r1": "b", "web-1-r1": "b"}
    assert kinds(group) == set()


def test_24_a_scheme_of_one_owner_that_changes_while_the_other_drifts_leaves_nothing_when_that_is_reverted(nursery):
    held = {"mode": RolloutMode.NOTIFY}
    rolled(nursery, *pooled({"taint": 1}, {"image": "a"}, **held))
    (group,) = rolled(nursery, *pooled({"taint": 2}, {"image": "a"}, **held))
    assert kinds(group) == {("web", "spec")}
    web, part = pooled({"taint": 2}, {"image": "a"}, **held)
    bumped = dataclasses.replace(part, fields=FieldClasses(behavioural=frozenset({("other",)})))
    (group,) = rolled(nursery, web, bumped)
    assert kinds(group) == {("web", "spec")}
    (group,) = rolled(nursery, dataclasses.replace(web, content={"taint": 1}), bumped)
    assert kinds(group) == set()


def test_a_part_that_is_put_in_or_taken_out_is_an_edit_that_is_rolled_and_not_written_at_once(nursery):
    limits = RolloutLimits(max_surge=1, waves=Waves(canary=1, soak=60.0))
    web, part = pooled({"taint": 1}, {"image": "a"}, limits=limits)
    alone = dataclasses.replace(web, uses=())
    rolled(nursery, alone, part)
    assert set(nursery.values("image").values()) == {None}
    for wanted, image, reason in ((web, "a", "part-added"), (alone, None, "part-removed")):
        (group,) = asyncio.run(nursery.look(wanted, part))
        assert {finding.reason for child in group.children.values() for finding in child.findings} == {reason}
        rolled(nursery, wanted, part)
        asyncio.run(nursery.apply_children(wanted, part))
        assert sorted(map(str, nursery.values("image").values())) == ["None", "a"], "one at a time"
        for _ in range(3):
            nursery.clock.advance(61.0)
            (group,) = rolled(nursery, wanted, part)
        assert phase(group) is RolloutPhase.COMPLETE
        assert set(nursery.values("image").values()) == {image}


# --- going wrong ------------------------------------------------------------------------------------------------------


def rolled_often(nursery, wanted, seconds: float) -> TemplateGroup:
    """Roll six times, with so much time between."""
    groups = []
    for _ in range(6):
        groups += rolled(nursery, wanted)
        nursery.clock.advance(seconds)
    return groups[-1]


def stopping(content, **more):
    more.setdefault(
        "limits",
        RolloutLimits(max_surge=1, max_unavailable=1, retry_base=10.0, waves=Waves(canary=1), halt=HaltRules(after=2)),
    )
    return template(content, 5, **more)


@pytest.mark.parametrize("method", list(Method))
def test_failures_halt_it_nothing_more_is_begun_and_a_person_resumes(nursery, method):
    rolled(nursery, stopping({"level": "info"}, method=method))
    verb = "update" if method is Method.REWRITE else "create"
    refuse(nursery, f"{verb} Thing/*")
    wanted = stopping({"level": "bad"}, method=method)
    group = rolled_often(nursery, wanted, 600.0)
    assert phase(group) is RolloutPhase.HALTED
    assert [value for value in nursery.values("level").values() if value == "bad"] == []
    nursery.live.faults.clear()
    asyncio.run(nursery.turn(wanted, group_rollouts.resumed))
    for _ in range(4):
        (group,) = rolled(nursery, wanted)
        nursery.clock.advance(600.0)
    assert phase(group) is RolloutPhase.COMPLETE
    assert set(nursery.values("level").values()) == {"bad"}
    assert len(nursery.names()) == 5


@pytest.mark.parametrize("method", list(Method))
def test_a_bad_revision_is_rolled_back_by_itself_and_not_tried_again(nursery, method):
    limits = RolloutLimits(
        max_surge=1,
        max_unavailable=1,
        retry_base=1.0,
        waves=Waves(canary=2),
        halt=HaltRules(after=1, action=OnHalt.ROLL_BACK),
    )
    rolled(nursery, template({"level": "info"}, 5, method=method, limits=limits))
    wanted = template({"level": "bad"}, 5, method=method, limits=limits)
    verb = "update" if method is Method.REWRITE else "create"
    nursery.live.faults.append(once(f"{verb} Thing/web-1*", WriteFailure(WriteError.TERMINAL, "no room")))
    group = rolled_often(nursery, wanted, 60.0)
    assert phase(group) is RolloutPhase.ROLLED_BACK
    assert set(nursery.values("level").values()) == {"info"}
    assert len(nursery.names()) == 5
    writes = len(nursery.live.writes)
    (group,) = rolled(nursery, wanted)
    assert len(nursery.live.writes) == writes
    (group,) = rolled(nursery, template({"level": "good"}, 5, method=method, limits=limits))
    for _ in range(5):
        nursery.clock.advance(60.0)
        (group,) = rolled(nursery, template({"level": "good"}, 5, method=method, limits=limits))
    assert set(nursery.values("level").values()) == {"good"}


def test_a_complete_rollout_is_undone_and_stays_so_until_somebody_edits_or_resumes(nursery):
    rolled(nursery, template({"level": "info"}))
    wanted = template({"level": "debug"})
    rolled(nursery, wanted)
    asyncio.run(nursery.turn(wanted, group_rollouts.undone))
    for _ in range(2):
        (group,) = rolled(nursery, wanted)
        assert phase(group) is RolloutPhase.ROLLED_BACK
        assert nursery.values("level") == {f"web-{i}-r2b": "info" for i in range(3)}
    (group,) = rolled(nursery, dataclasses.replace(wanted, replicas=4))
    assert nursery.values("level")["web-3"] == "info"
    asyncio.run(nursery.turn(wanted, group_rollouts.resumed))
    (group,) = rolled(nursery, wanted)
    assert set(nursery.values("level").values()) == {"debug"}


def test_a_new_edit_supersedes_and_children_are_not_replaced_twice(nursery):
    limits = RolloutLimits(max_surge=1, waves=Waves(canary=1, soak=60.0))
    rolled(nursery, template({"level": "info"}, 4, limits=limits))
    (group,) = rolled(nursery, template({"level": "debug"}, 4, limits=limits))
    assert sorted(nursery.values("level").values()) == ["debug", "info", "info", "info"]
    (group,) = rolled(nursery, template({"level": "info"}, 4, limits=limits))
    nursery.clock.advance(61.0)
    (group,) = rolled(nursery, template({"level": "info"}, 4, limits=limits))
    nursery.clock.advance(61.0)
    (group,) = rolled(nursery, template({"level": "info"}, 4, limits=limits))
    assert phase(group) is RolloutPhase.COMPLETE
    assert sorted(nursery.names()) == ["web-0-r2", "web-1", "web-2", "web-3"]
    files = asyncio.run(nursery.repository().rollouts("web"))
    assert [file.rollout.phase for file in files] == [RolloutPhase.SUPERSEDED, RolloutPhase.COMPLETE]


def test_children_that_were_never_made_are_made_from_the_mended_template(nursery):
    refuse(nursery, "create *")
    rolled(nursery, template({"level": "bad"}))
    nursery.live.faults.clear()
    (group,) = rolled(nursery, template({"level": "good"}))
    assert nursery.values("level") == {"web-0": "good", "web-1": "good", "web-2": "good"}
    assert states(group) == {"ready": 3}


# --- limits -----------------------------------------------------------------------------------------------------------


def test_windows_holds_gates_and_pauses_hold_it_back(nursery):
    metric = declare("errors", {"rate": 9})
    asyncio.run(nursery.apply([metric]))
    gate = HealthGate("errors", Predicate("errors", ("rate",), Asks.LT, (5,), Supply(metric.address, ())))
    limits = RolloutLimits(max_surge=1, waves=Waves(canary=1))
    rolled(nursery, template({"level": "info"}, limits=limits))
    wanted = template({"level": "debug"}, limits=limits, gates=(gate,), holds={"web-2": math.inf})
    (group,) = rolled(nursery, wanted)
    assert phase(group) is RolloutPhase.HALTED
    nursery.live_thing("errors")["rate"] = 1
    asyncio.run(nursery.check([metric]))
    asyncio.run(nursery.turn(wanted, group_rollouts.resumed))
    (group,) = rolled(nursery, wanted)
    assert "web-2" in nursery.names()
    assert phase(group) is RolloutPhase.PROGRESSING
    asyncio.run(
        nursery.store.commit(
            Transaction(governance=GovernanceChanges(pauses=[Pause("mem/Thing", "ada", "stop", nursery.clock.now())]))
        )
    )
    (group,) = rolled(nursery, dataclasses.replace(wanted, rollout=dataclasses.replace(wanted.rollout, holds={})))
    assert "web-2" in nursery.names()
    asyncio.run(nursery.store.commit(Transaction(governance=GovernanceChanges(resumed=["mem/Thing"]))))
    (group,) = rolled(nursery, dataclasses.replace(wanted, rollout=dataclasses.replace(wanted.rollout, holds={})))
    assert phase(group) is RolloutPhase.COMPLETE


def test_a_child_counts_as_ready_only_when_its_field_says_so(nursery):
    ready = (Predicate("Up", ("phase",), Asks.IN, ("up",)),)
    limits = RolloutLimits(max_surge=1, waves=Waves(canary=1))
    rolled(nursery, template({"level": "info"}, 1, limits=limits))
    wanted = template({"level": "debug"}, 1, limits=RolloutLimits(max_surge=1, waves=Waves(canary=1)), ready_when=ready)
    (group,) = rolled(nursery, wanted)
    assert nursery.names() == ["web-0", "web-0-r1"]
    assert states(group) == {"ready": 1, "creating": 1}
    nursery.live_thing("web-0-r1")["phase"] = "up"
    (group,) = rolled(nursery, wanted)
    assert nursery.names() == ["web-0-r1"]


# --- crashes and races ------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("method", list(Method))
def test_25_killed_at_any_commit_it_ends_in_the_same_state(method):
    """T25, for the whole engine: births, an edit, a rollout, with a crash before and after every single commit."""

    def story(crash_at: int | None, after: bool) -> tuple[dict[str, object], int]:
        nursery = Nursery()
        real, count = nursery.store.commit, 0

        async def commit(transaction):
            nonlocal count
            count += 1
            if count == crash_at and not after:
                raise Killed
            await real(transaction)
            if count == crash_at:
                raise Killed

        nursery.store.commit = commit  # type: ignore[method-assign]
        limits = RolloutLimits(max_surge=1, max_unavailable=1, waves=Waves(canary=1))
        for content in ({"level": "info"}, {"level": "debug"}):
            while True:
                try:
                    rolled(nursery, template(content, 3, method=method, limits=limits))
                    break
                except (Killed, BaseExceptionGroup):
                    nursery.clock.advance(400.0)  # claims of the dead run out
        return nursery.values("level"), count

    expected, commits = story(None, after=False)
    assert len(expected) == 3
    for crash_at in range(1, commits + 1):
        for after in (False, True):
            assert story(crash_at, after)[0] == expected, (crash_at, after)


def test_26_of_two_controllers_at_once_each_step_is_made_once(nursery):
    limits = RolloutLimits(max_surge=2, waves=Waves(canary=1))
    rolled(nursery, template({"level": "info"}, 6, limits=limits))
    other = dataclasses.replace(nursery, owner="two")

    async def both():
        wanted = template({"level": "debug"}, 6, limits=limits)
        for _ in range(20):
            await asyncio.gather(nursery.roll(wanted), other.roll(wanted))
            nursery.clock.advance(5.0)
        return (await nursery.look(wanted))[0]

    group = asyncio.run(both())
    assert phase(group) is RolloutPhase.COMPLETE
    assert nursery.values("level") == {f"web-{i}-r1": "debug" for i in range(6)}
    assert [verb for verb, _, _ in nursery.live.writes].count("create") == 12


def test_a_scheme_of_a_newer_release_gives_unknown_or_its_stored_verdict_and_never_a_roll(nursery):
    wanted = template({"level": "info"})
    rolled(nursery, wanted)

    async def newer() -> None:
        record = await nursery.store.record("template", "web")
        data = json.loads(json.dumps(dict(record.data)))
        data["regimes"].append([1, "template-of-the-future/2", 1])
        data["policies"]["template-of-the-future/2"] = {"anything": True}
        await nursery.store.commit(
            Transaction(records=RecordChanges(put=[dataclasses.replace(record, data=data, version=record.version + 1)]))
        )

    asyncio.run(newer())
    writes = len(nursery.live.writes)
    (group,) = rolled(nursery, wanted)
    assert len(nursery.live.writes) == writes
    assert group.lead.record.regimes[-1].index == 2
    assert kinds(group) == set()
    (group,) = rolled(nursery, template({"level": "debug"}))
    assert set(nursery.values("level").values()) == {"debug"}


SECRETS = "{profile: t/s, version: 1, applies: {provider: memory}, rules: [{path: /token, class: secret}]}"


def test_a_secret_in_clear_is_refused_before_anything_is_kept_and_a_reference_is_not():
    nursery = Nursery(profile=SECRETS, environ={"TOKEN": "plain-secret-1"})
    with pytest.raises(InputError, match="/token is a secret, and template web has it in clear"):
        rolled(nursery, template({"level": "info", "token": "plain-secret-1"}))
    assert asyncio.run(nursery.store.record("template", "web")) is None
    rolled(nursery, template({"level": "info", "token": {"secretRef": {"env": "TOKEN"}}}))
    assert set(nursery.values("token").values()) == {"plain-secret-1"}
    rolled(nursery, template({"level": "debug", "token": {"secretRef": {"env": "TOKEN"}}}))
    assert set(nursery.values("level").values()) == {"debug"}

    async def kept() -> str:
        repository = ("template", "template-child", "rollout")
        records = [repr(record) for collection in repository async for record in nursery.store.records(collection)]
        return repr(records) + repr([event async for event in nursery.store.events()])

    assert "plain-secret-1" not in asyncio.run(kept())


# --- the rest of what is promised -------------------------------------------------------------------------------------


def test_a_nonce_rolls_without_a_change(nursery):
    rolled(nursery, template({"level": "info"}))
    (group,) = rolled(nursery, template({"level": "info"}, nonce="monday"))
    assert phase(group) is RolloutPhase.COMPLETE
    assert nursery.names() == ["web-0-r1", "web-1-r1", "web-2-r1"]


def test_a_partition_stays_until_it_is_lowered_and_the_last_slots_are_meant(nursery):
    limits = RolloutLimits(max_surge=100, waves=Waves(canary=0, is_doubling=False, partition=2))
    rolled(nursery, template({"level": "info"}, 11, limits=limits))
    (group,) = rolled(nursery, template({"level": "debug"}, 11, limits=limits))
    assert {name for name, level in nursery.values("level").items() if level == "info"} == {"web-9", "web-10"}
    (group,) = rolled(
        nursery,
        template(
            {"level": "debug"},
            11,
            limits=dataclasses.replace(limits, waves=dataclasses.replace(limits.waves, partition=0)),
        ),
    )
    assert phase(group) is RolloutPhase.COMPLETE


def test_undo_goes_to_the_generation_that_is_named(nursery):
    for level in (1, 2, 3):
        rolled(nursery, template({"level": level}))
    wanted = template({"level": 3})
    asyncio.run(nursery.turn(wanted, lambda group, now, who: group_rollouts.undone(group, now, who, 1)))
    (group,) = rolled(nursery, wanted)
    assert set(nursery.values("level").values()) == {1}
    assert phase(group) is RolloutPhase.ROLLED_BACK


def test_without_progress_until_the_deadline_it_halts_and_says_so(nursery):
    ready = (Predicate("Up", ("phase",), Asks.IN, ("up",)),)
    limits = RolloutLimits(max_surge=1, waves=Waves(canary=1), halt=HaltRules(progress_deadline=600.0))
    rolled(nursery, template({"level": "info"}, 2, limits=limits))
    wanted = template({"level": "debug"}, 2, limits=limits, ready_when=ready)
    (group,) = rolled(nursery, wanted)
    assert group.rollout.due_at is not None
    assert group.rollout.due_at > nursery.clock.now()
    nursery.clock.advance(601.0)
    (group,) = rolled(nursery, wanted)
    assert phase(group) is RolloutPhase.HALTED
    assert "no progress for 601 s" in group.rollout.rollout.why
    assert {"web-0", "web-1"} <= set(nursery.names()), "the old child stays while the new one is not ready"


def test_revisions_of_a_part_are_forgotten_when_no_template_that_uses_it_needs_them(nursery):
    def both(image: int):
        one, part = pooled({"taint": 1}, {"image": image})
        kept = dataclasses.replace(part, rollout=dataclasses.replace(part.rollout, kept=2))
        return one, dataclasses.replace(one, name="other"), kept

    for image in range(8):
        groups = rolled(nursery, *both(image))
    groups = rolled(nursery, *both(7))
    (part,) = {id(group.owners[0].record): group.owners[0].record for group in groups[:1]}.values()
    assert [revision.content["resource"]["image"] for revision in part.revisions] == [6, 7]
    assert set(nursery.values("image").values()) == {7}


def test_an_owner_made_anew_under_the_same_name_has_orphans_that_nobody_touches(nursery):
    rolled(nursery, template({"level": "info"}, uid="first"))
    writes = len(nursery.live.writes)
    (group,) = rolled(nursery, template({"level": "debug"}, uid="second"))
    asyncio.run(nursery.apply_children(template({"level": "debug"}, uid="second")))
    assert kinds(group) == {("second", "unknown")}
    assert len(nursery.live.writes) == writes


def test_what_happens_is_in_the_audit_trail_and_the_chain_holds(nursery):
    rolled(nursery, template({"level": "info"}, 1))
    rolled(nursery, template({"level": "debug"}, 1))

    async def told() -> list[str]:
        await nursery.store.verify_chain()
        kinds_ = ("template.", "rollout.", "child.")
        return [event.event.type async for event in nursery.store.events() if event.event.type.startswith(kinds_)]

    assert asyncio.run(told()) == [
        "template.create",
        "child.born",
        "child.ready",
        "template.record",
        "child.findings",
        "rollout.started",
        "rollout.progressing",
        "child.creating",
        "child.ready",
        "child.removing",
        "child.removed",
        "rollout.complete",
    ]
