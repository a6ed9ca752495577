"""What an edit does, by the class of its fields: lists without an order, and fields that are rewritten."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter

import pytest

from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.rollouts import render as rollout_text
from holdfast.rollouts import serialization
from holdfast.rollouts.core import group_rollouts
from holdfast.rollouts.core.records import RolloutPhase
from holdfast.rollouts.core.requirements import Asks, Predicate
from holdfast.rollouts.core.rollout_limits import HaltRules, RolloutLimits, Waves
from holdfast.rollouts.core.template_schemes import ListOrder
from holdfast.rollouts.core.templates import FieldClasses, Method
from holdfast.store.records import VersionedRecord
from holdfast.testing.memory import once
from tests.unit.rollouts.group_fixtures import Nursery, template

REWRITTEN = FieldClasses(rewritten=frozenset({("image",)}))
ONE_DOWN = RolloutLimits(max_surge=100, max_unavailable=1, waves=Waves(canary=0, is_doubling=False))


@pytest.fixture
def nursery() -> Nursery:
    return Nursery()


def rolled(nursery: Nursery, *templates):
    return asyncio.run(nursery.roll(*templates)).groups


def verbs(nursery: Nursery, since: int) -> Counter[str]:
    return Counter(verb for verb, _, _ in nursery.live.writes[since:])


# --- lists ------------------------------------------------------------------------------------------------------------


def test_another_order_of_a_set_is_no_edit_and_another_element_is(nursery):
    fields = FieldClasses(lists={("zones",): ListOrder.SET})
    rolled(nursery, template({"zones": ["a", "b"]}, fields=fields))
    writes = len(nursery.live.writes)
    (group,) = rolled(nursery, template({"zones": ["b", "a", "b"]}, fields=fields))
    assert (group.rollout, len(nursery.live.writes)) == (None, writes)
    assert group.lead.record.current == 2, "content is recorded, whatever counts of it"
    (group,) = rolled(nursery, template({"zones": ["b", "c"], "level": 1}, 4, fields=fields))
    assert set(map(tuple, nursery.values("zones").values())) == {("b", "c")}


def test_findings_do_not_name_a_list_that_is_only_in_another_order(nursery):
    fields = FieldClasses(lists={("zones",): ListOrder.MULTISET})
    limits = RolloutLimits(max_surge=100, waves=Waves(canary=1, soak=3600.0))
    rolled(nursery, template({"zones": ["a", "b"], "level": "info"}, fields=fields, limits=limits))
    edited = template({"zones": ["b", "a"], "level": "debug"}, fields=fields, limits=limits)
    (group,) = rolled(nursery, edited)
    found = {finding.fields for child in group.children.values() for finding in child.findings}
    assert found == {(("resource", "level"),)}


@pytest.mark.parametrize("rule", [ListOrder.SET, ("name",)])
def test_to_choose_a_rule_for_a_list_rolls_nobody_before_or_after_an_edit(nursery, rule):
    ports = [{"name": "a"}, {"name": "b"}]
    rolled(nursery, template({"ports": ports}))
    writes = len(nursery.live.writes)
    (group,) = rolled(nursery, template({"ports": ports}, fields=FieldClasses(lists={("ports",): rule})))
    assert [regime.index for regime in group.lead.record.regimes] == [0, 1]
    (group,) = rolled(nursery, template({"ports": ports[::-1]}, fields=FieldClasses(lists={("ports",): rule})))
    assert group.rollout is None
    (group,) = rolled(nursery, template({"ports": ports[::-1]}))
    assert group.rollout is None, "ordered again: the order of now is what this begins with"
    assert len(nursery.live.writes) == writes


# --- rewriting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [Method.REPLACE_BEFORE_REMOVE, Method.REMOVE_FIRST])
def test_an_edit_of_rewritten_fields_alone_rewrites_children_within_the_limits(nursery, method):
    down: set[int] = set()

    def watch(_verb: str) -> None:
        down.add(sum(body.get("image") == 2 for body in nursery.live.things.values()))

    rolled(nursery, template({"image": 1, "level": "info"}, fields=REWRITTEN, method=method, limits=ONE_DOWN))
    writes = len(nursery.live.writes)
    nursery.live.after_write = watch
    wanted = template({"image": 2, "level": "info"}, fields=REWRITTEN, method=method, limits=ONE_DOWN)
    (group,) = rolled(nursery, wanted)
    assert nursery.values("image") == {f"web-{index}": 2 for index in range(3)}
    assert verbs(nursery, writes) == {"update": 3}
    assert down == {1, 2, 3}, "one at a time"
    assert group.rollout is not None
    assert group.rollout.rollout.phase is RolloutPhase.COMPLETE
    assert not any(child.is_rewriting for child in group.children.values())
    rolled(nursery, wanted)
    assert verbs(nursery, writes) == {"update": 3}


def test_an_edit_that_touches_others_too_replaces(nursery):
    rolled(nursery, template({"image": 1, "level": "info"}, fields=REWRITTEN))
    (group,) = rolled(nursery, template({"image": 2, "level": "debug"}, fields=REWRITTEN))
    assert nursery.names() == ["web-0-r1", "web-1-r1", "web-2-r1"]
    (group,) = rolled(nursery, template({"image": 3, "level": "debug"}, fields=REWRITTEN))
    assert nursery.values("image") == {f"web-{index}-r1": 3 for index in range(3)}
    assert group.rollout is not None
    assert group.rollout.number == 2


def test_two_edits_one_after_the_other_replace_those_that_got_neither(nursery):
    slow = RolloutLimits(max_surge=100, max_unavailable=100, waves=Waves(canary=1, soak=3600.0))
    rolled(nursery, template({"image": 1, "level": "info"}, fields=REWRITTEN, limits=slow))
    rolled(nursery, template({"image": 2, "level": "info"}, fields=REWRITTEN, limits=slow))
    assert sorted(nursery.values("image").values()) == [1, 1, 2]
    rolled(nursery, template({"image": 2, "level": "debug"}, fields=REWRITTEN))
    assert nursery.names() == ["web-0-r2", "web-1-r2", "web-2-r2"]
    assert set(nursery.values("level").values()) == {"debug"}


def test_a_rewrite_that_fails_gives_back_what_was_there_and_is_tried_again(nursery):
    limits = RolloutLimits(max_unavailable=1, waves=Waves(canary=0, is_doubling=False), halt=HaltRules(after=None))
    rolled(nursery, template({"image": 1}, fields=REWRITTEN, limits=limits))
    nursery.live.faults.append(once("update *", WriteFailure(WriteError.TERMINAL, "no")))
    wanted = template({"image": 2}, fields=REWRITTEN, limits=limits)
    (group,) = rolled(nursery, wanted)
    assert sorted(nursery.values("image").values()) == [1, 2, 2]
    assert {child.state.value for child in group.children.values()} == {"ready"}
    nursery.clock.advance(3600)
    rolled(nursery, wanted)
    assert nursery.values("image") == {f"web-{index}": 2 for index in range(3)}


def test_what_was_rewritten_is_undone_by_rewriting(nursery):
    rolled(nursery, template({"image": 1}, fields=REWRITTEN))
    wanted = template({"image": 2}, fields=REWRITTEN)
    rolled(nursery, wanted)
    writes = len(nursery.live.writes)
    asyncio.run(nursery.turn(wanted, group_rollouts.undone))
    (group,) = rolled(nursery, wanted)
    assert nursery.values("image") == {f"web-{index}": 1 for index in range(3)}
    assert verbs(nursery, writes) == {"update": 3}
    assert group.rollout is not None
    assert group.rollout.rollout.phase is RolloutPhase.ROLLED_BACK


def test_a_child_that_breaks_a_requirement_is_replaced_whatever_else_was_edited(nursery):
    rules = (Predicate("ZoneGone", ("zone",), Asks.IN, ("a",)),)
    rolled(nursery, template({"zone": "a", "image": 1}, 1, fields=REWRITTEN, requirements=rules))
    nursery.live.things["Thing", nursery.id_of("web-0")]["zone"] = "b"
    asyncio.run(nursery.check_children(template({"zone": "a", "image": 1}, 1, fields=REWRITTEN)))
    rolled(nursery, template({"zone": "a", "image": 2}, 1, fields=REWRITTEN, requirements=rules))
    assert nursery.values("image") == {"web-0-r1": 2}


@pytest.mark.parametrize("writes_before", range(1, 8))
def test_killed_at_any_write_of_a_rewriting_the_end_is_the_same(nursery, writes_before):
    rolled(nursery, template({"image": 1}, fields=REWRITTEN, limits=ONE_DOWN))
    wanted = template({"image": 2}, fields=REWRITTEN, limits=ONE_DOWN)
    left = [writes_before]
    kept = nursery.store.commit

    async def commit(transaction):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return await kept(transaction)

    nursery.store.commit = commit
    with pytest.raises((KeyboardInterrupt, BaseExceptionGroup)):
        rolled(nursery, wanted)
    nursery.store.commit = kept
    again = Nursery(nursery.live, nursery.store, nursery.clock, owner="two")
    again.clock.advance(3600)
    (group,) = rolled(again, wanted)
    assert again.values("image") == {f"web-{index}": 2 for index in range(3)}
    assert {child.state.value for child in group.children.values()} == {"ready"}
    assert not any(child.is_rewriting for child in group.children.values())


def test_the_preview_and_what_it_waits_for_know_of_rewriting(nursery):
    rolled(nursery, template({"image": 1}, 4, fields=REWRITTEN))
    limits = RolloutLimits(max_surge=0, max_unavailable=2)
    (group,) = asyncio.run(nursery.look(template({"image": 2}, 4, fields=REWRITTEN, limits=limits)))
    preview = rollout_text.preview(group, 0.0)
    assert preview is not None
    assert (preview.waves, preview.left) == ((1, 1, 2), 0)
    assert rollout_text.waits(group, 0.0) == ()
    none = RolloutLimits(max_unavailable=0)
    (group,) = asyncio.run(nursery.look(template({"image": 2}, 4, fields=REWRITTEN, limits=none)))
    assert rollout_text.waits(group, 0.0) == ("max_unavailable 0 of 4 is none",)


def test_fields_that_a_stored_child_lacks_have_their_defaults():
    birth = {"revision": 1, "regime": 0}
    finding = {"owner": "web", "child": "web-0", "kind": "dynamic", "reason": "ZoneGone", "first_seen": 5.0}
    old = {"slot": "web-0", "births": {"web": birth}, "state": "ready", "findings": [finding]}
    child = serialization.child_of(VersionedRecord("template-child", "mem/Thing/web-0", old))
    assert (child.is_rewriting, child.findings[0].times, child.findings[0].last_seen) == (False, 1, 0.0)
    counted = dataclasses.replace(child.findings[0], times=2, last_seen=9.0)
    kept = serialization.child_record(dataclasses.replace(child, findings=(counted,), is_rewriting=True), "web")
    assert serialization.child_of(kept).findings == (counted,)
    assert serialization.child_of(kept).is_rewriting
