"""Upgrades that roll nobody, through the whole engine and the store; and the race of Option 1, beside its absence."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.compat.karpenter.hash_annotations import NODEPOOL
from holdfast.policy.selectors import LabelSelector, Operator, Requirement
from holdfast.rollouts import serialization
from holdfast.rollouts.core.records import RolloutPhase
from holdfast.rollouts.core.revisions import Unstamped
from holdfast.rollouts.core.templates import Compatibility, FieldClasses, Method, RolloutMode, Stamping, Template
from holdfast.store.transaction import RecordChanges, Transaction
from tests.unit.reconcile.fixtures import declare
from tests.unit.rollouts.group_fixtures import Nursery, template

MANY = 1000
PLAIN = {"kind": "Pool", "size": 3, "old": "x"}


def rolled(nursery: Nursery, *templates: Template):
    return asyncio.run(nursery.roll(*templates)).groups


def kinds(group) -> set[str]:
    return {finding.kind.value for child in group.children.values() for finding in child.findings}


# before -> after: what the content is once the substrate has filled in or dropped, and what the new release knows
INDUCED = {
    "1 a default for a field that was there, and nobody had set it": (
        {"size": 3},
        {"size": 3, "kind": "Pool"},
        FieldClasses(defaults={"v2": {("kind",): "Pool"}}),
    ),
    "2 a new field with a default": (
        {"size": 3},
        {"size": 3, "ref": {"api": "v1"}},
        FieldClasses(defaults={"v2": {("ref", "api"): "v1"}}),
    ),
    "3 a field removed": ({"size": 3, "old": "x"}, {"size": 3}, FieldClasses(removed=frozenset({("old",)}))),
}


@pytest.mark.parametrize("change", INDUCED)
def test_10_12_13_the_three_changes_that_must_not_induce_drift_roll_none_of_1000_and_write_none(change):
    """The seed's list, each with 1,000 children through engine and store: no child rolled, written, or restamped."""
    before, after, fields = INDUCED[change]
    nursery = Nursery()
    (group,) = rolled(nursery, template(before, MANY, schema="v1"))
    assert len(nursery.live.things) == MANY
    writes, births = len(nursery.live.writes), {child.address: child.births for child in group.children.values()}
    versions = {child.address: child.version for child in group.children.values()}
    upgraded = template(after, MANY, schema="v2", fields=fields)
    for _ in range(2):
        (group,) = rolled(nursery, upgraded)
    asyncio.run(nursery.apply_children(upgraded))
    assert len(nursery.live.writes) == writes
    assert group.rollout is None
    assert kinds(group) == set()
    assert {child.address: child.births for child in group.children.values()} == births
    assert {child.address: child.version for child in group.children.values()} == versions, (
        "no record was written either"
    )
    assert len(group.lead.record.regimes) == 2


def test_01_a_change_of_which_fields_count_is_a_regime_and_no_edit():
    nursery = Nursery()
    rolled(nursery, template(PLAIN))
    writes = len(nursery.live.writes)
    (group,) = rolled(nursery, template(PLAIN, fields=FieldClasses(behavioural=frozenset({("size",)}))))
    (group,) = rolled(nursery, template({**PLAIN, "size": 4}, fields=FieldClasses(behavioural=frozenset({("size",)}))))
    (group,) = rolled(nursery, template({**PLAIN, "size": 4}))
    assert len(nursery.live.writes) == writes
    assert kinds(group) == {"newly-visible"}
    (group,) = rolled(nursery, template({**PLAIN, "size": 5}))
    assert set(nursery.values("size").values()) == {5}


def test_11_a_default_with_another_value_is_told_apart_and_rolls_nobody():
    nursery = Nursery()
    old = FieldClasses(defaults={"v1": {("kind",): "Pool"}})
    rolled(nursery, template({"size": 3}, schema="v1", fields=old))
    writes = len(nursery.live.writes)
    new = FieldClasses(defaults={"v1": {("kind",): "Pool"}, "v2": {("kind",): "Set"}})
    (group,) = rolled(nursery, template({"size": 3}, schema="v2", fields=new))
    assert kinds(group) == {"defaults-changed"}
    assert group.rollout is None
    assert len(nursery.live.writes) == writes


def test_14_a_moved_field_is_converted_on_both_sides():
    nursery = Nursery()
    rolled(nursery, template({"size": 3}, schema="v1"))
    writes = len(nursery.live.writes)
    moved = FieldClasses(moved={"v1": {("size",): ("spec", "size")}})
    (group,) = rolled(nursery, template({"spec": {"size": 3}}, schema="v2", fields=moved))
    assert kinds(group) == set()
    assert len(nursery.live.writes) == writes


@pytest.mark.parametrize("compatibility, drifts", [(Compatibility.OPTION1, 0), (Compatibility.REGIMES, 5)])
def test_04_the_race_of_option_1_is_there_in_the_compatibility_mode_and_absent_in_the_default(compatibility, drifts):
    """The version of the hash changes and somebody edits the template while nobody watches: whose edit is lost?"""
    nursery = Nursery()
    rolled(nursery, template({"level": "info"}, 5, compatibility=compatibility))
    upgrade = FieldClasses(behavioural=frozenset({("unrelated",)}))
    edited = template({"level": "debug"}, 5, compatibility=compatibility, fields=upgrade)
    for _ in range(3):
        rolled(nursery, edited)
    assert sum(value == "debug" for value in nursery.values("level").values()) == drifts


def test_04_side_by_side_the_edit_is_lost_for_ever_by_option_1_alone():
    lost, kept = Nursery(), Nursery()
    upgrade = FieldClasses(behavioural=frozenset({("unrelated",)}))
    for nursery, mode in ((lost, Compatibility.OPTION1), (kept, Compatibility.REGIMES)):
        rolled(nursery, template({"level": "info"}, 4, compatibility=mode))
        (group,) = rolled(nursery, template({"level": "debug"}, 4, compatibility=mode, fields=upgrade))
        restamped = {birth.stamp.scheme for c in group.children.values() for birth in c.births.values() if birth.stamp}
        assert len(restamped) == 1
    assert set(lost.values("level").values()) == {"info"}, "the hazard, reproduced: nobody will ever tell"
    assert set(kept.values("level").values()) == {"debug"}
    (group,) = asyncio.run(
        lost.look(template({"level": "debug"}, 4, compatibility=Compatibility.OPTION1, fields=upgrade))
    )
    assert kinds(group) == set()


def test_option_1_without_a_change_of_version_rolls_as_the_original_does():
    nursery = Nursery()
    *_, (group,) = [
        rolled(nursery, template({"level": level}, compatibility=Compatibility.OPTION1)) for level in ("info", "debug")
    ]
    assert set(nursery.values("level").values()) == {"debug"}
    assert group.rollout is not None
    assert group.rollout.rollout.phase is RolloutPhase.COMPLETE


# --- stamps on the live children --------------------------------------------------------------------------------------

STAMPS = Stamping(("metadata", "annotations"))


def test_hash_and_version_are_written_in_the_seeds_format_and_never_change_on_a_living_child():
    nursery = Nursery()
    rolled(nursery, template({"level": "info"}, 2, stamping=STAMPS))
    before = nursery.values("metadata")
    (annotations,) = {tuple(sorted(item["annotations"].items())) for item in before.values()}
    assert [key for key, _ in annotations] == [NODEPOOL, f"{NODEPOOL}-version"]
    assert annotations[1][1].endswith("/1")
    upgrade = FieldClasses(behavioural=frozenset({("unrelated",)}))
    rolled(nursery, template({"level": "info"}, 2, stamping=STAMPS, fields=upgrade))
    asyncio.run(nursery.apply_children(template({"level": "info"}, 2, stamping=STAMPS, fields=upgrade)))
    assert nursery.values("metadata") == before


def selecting(content, **more):
    selector = LabelSelector((Requirement("pool", Operator.IN, frozenset({"web"})),))
    return template(content, None, selector=selector, method=Method.REWRITE, stamping=STAMPS, **more)


def test_23_the_stamps_of_children_without_a_record_are_read_and_bind_them_or_leave_them_unknown():
    """A lost store: what is on the children is all that is left."""
    nursery = Nursery()
    labelled = [dataclasses.replace(declare(name, {"own": name}), labels={"pool": "web"}) for name in "abc"]
    nursery.declared = labelled
    (first,) = rolled(nursery, selecting({"level": "info"}))
    nursery.live_thing("b")["metadata"]["annotations"][NODEPOOL] = "sha256:" + "0" * 64
    del nursery.live_thing("c")["metadata"]
    asyncio.run(nursery.check(labelled))

    async def lose() -> None:
        closed = [(serialization.CHILDREN, str(child)) for child in first.children]
        await nursery.store.commit(Transaction(records=RecordChanges(deleted=closed)))

    asyncio.run(lose())
    writes = len(nursery.live.writes)
    (group,) = asyncio.run(nursery.look(selecting({"level": "info"})))
    found = {child.name: {finding.reason for finding in child.findings} for child in group.children.values()}
    assert found == {"a": set(), "b": {"unrecorded-template"}, "c": {"no-stamp"}}
    (group,) = rolled(nursery, selecting({"level": "info"}))
    asyncio.run(nursery.apply_children(selecting({"level": "info"})))
    asyncio.run(nursery.apply_children(selecting({"level": "debug"})))
    assert len(nursery.live.writes) == writes, "what is not known is not acted on, and an edit waits for its rollout"
    (group,) = asyncio.run(nursery.look(selecting({"level": "info"}, unstamped=Unstamped.ADOPT)))
    assert {finding.reason for child in group.children.values() for finding in child.findings} == {
        "unrecorded-template"
    }


def test_27_first_seen_outlives_an_upgrade():
    nursery = Nursery()
    rolled(nursery, template({"level": "info"}, mode=RolloutMode.NOTIFY))
    (group,) = rolled(nursery, template({"level": "debug"}, mode=RolloutMode.NOTIFY))
    seen = {finding.first_seen for child in group.children.values() for finding in child.findings}
    nursery.clock.advance(1000.0)
    upgrade = FieldClasses(behavioural=frozenset({("unrelated",)}))
    (group,) = rolled(nursery, template({"level": "debug"}, mode=RolloutMode.NOTIFY, fields=upgrade))
    assert {finding.first_seen for child in group.children.values() for finding in child.findings} == seen
    (group,) = rolled(nursery, template({"level": "info"}, mode=RolloutMode.NOTIFY, fields=upgrade))
    assert kinds(group) == set()


def test_old_revisions_are_forgotten_and_what_children_need_is_kept():
    nursery = Nursery()
    for number in range(30):
        (group,) = rolled(nursery, template({"level": number}, 1, kept=3))
    (group,) = rolled(nursery, template({"level": 29}, 1, kept=3))
    assert [revision.content["resource"]["level"] for revision in group.lead.record.revisions] == [27, 28, 29]
    assert len(group.lead.generations) == 3


# --- against an oracle ------------------------------------------------------------------------------------------------

SEEN = {1: "xg", 2: "xf", 3: "xfg"}  # which fields count: f is new in 2, g is dropped in 2 and comes back in 3
LOOKS = st.lists(
    st.tuples(
        st.tuples(*[st.integers(0, 1)] * 3),  # x, f, g as declared by then
        st.sampled_from(sorted(SEEN)),  # the release that looks
        st.booleans(),  # whether there is to be one child more
        st.none() | st.integers(1, 6),  # at which commit it is killed first
    ),
    min_size=2,
    max_size=6,
)


class Crash(BaseException):
    """The process is gone."""


def expected(epochs, begun, live) -> bool:
    """Return the verdict by what happened, not by what was stored."""
    birth, born = begun

    def seen(version, bits):
        return [bits["xfg".index(name)] for name in SEEN[version]]

    def rule(epoch: int, bits) -> bool:
        version, base = epochs[epoch]
        if seen(version, birth) == seen(version, bits):
            return True
        return born < epoch and seen(version, base) == seen(version, bits) and rule(epoch - 1, base)

    return rule(len(epochs) - 1, live)


@settings(max_examples=60, deadline=None)
@given(LOOKS)
def test_33_random_edits_releases_births_and_crashes_agree_with_the_oracle_through_engine_and_store(looks):
    """T33 for the whole: every look settles, judges and makes children through the real engine, killed now and then."""
    nursery, recorded = Nursery(), None
    epochs: list[Any] = []
    children: dict[Any, Any] = {}
    real = nursery.store.commit
    for bits, version, more, crash_at in looks:
        ignored = frozenset((name,) for name in "xfg" if name not in SEEN[version])
        content = dict(zip("xfg", bits, strict=True))
        wanted = template(
            content, len(children) + more, mode=RolloutMode.NOTIFY, fields=FieldClasses(behavioural=ignored)
        )
        if not epochs or epochs[-1][0] != version:
            epochs.append((version, bits if recorded is None else recorded))
        recorded, left = bits, crash_at

        async def commit(transaction):
            nonlocal left
            await real(transaction)
            left = None if left is None else left - 1
            if left == 0:
                left = None
                raise Crash

        nursery.store.commit = commit  # type: ignore[method-assign]
        try:
            (group,) = rolled(nursery, wanted)
        except (Crash, BaseExceptionGroup):
            nursery.clock.advance(400.0)
            (group,) = rolled(nursery, wanted)
        for address in group.children:
            children.setdefault(address, (bits, len(epochs) - 1))
        for address, child in group.children.items():
            is_drifted = any(finding.kind.value == "spec" for finding in child.findings)
            assert is_drifted is not expected(epochs, children[address], bits), (looks, address)
