"""Children that somebody else made: looked at before anything is decided, and adopted by the stamps they bear."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from holdfast.compat.karpenter.hash_annotations import NODEPOOL
from holdfast.compat.karpenter.stamps import EC2_NODE_CLASS, Hashed
from holdfast.model.address import Address
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.policy.selectors import LabelSelector, Operator, Requirement
from holdfast.rollouts.core.rendering import declarations
from holdfast.rollouts.core.revisions import Unstamped
from holdfast.rollouts.core.rollout_limits import RolloutLimits, Waves
from holdfast.rollouts.core.templates import Method, RolloutMode, Stamping, Template
from tests.unit.compat.test_karpenter_stamps import CLASS
from tests.unit.reconcile.fixtures import declare
from tests.unit.rollouts.group_fixtures import Nursery, template

POOL = {
    "expireAfter": "336h",
    "nodeClassRef": {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"},
    "terminationGracePeriod": "24h0m0s",
}
HASH = "4012513481623584108"  # of that, as published
STAMPS = Stamping(("annotations",), hashed=Hashed(("template",)))
CAREFUL = RolloutLimits(max_unavailable=1, waves=Waves(canary=1, soak=60.0))


def content(**more):
    return {"template": {"spec": {**POOL, **more}}}


def selecting(wanted, **more) -> Template:
    selector = LabelSelector((Requirement("pool", Operator.IN, frozenset({"web"})),))
    return template(wanted, None, **{"selector": selector, "method": Method.REWRITE, "stamping": STAMPS, **more})


def made_by_others(nursery: Nursery, name: str, digest: str, version: str = "v3", **more) -> None:
    annotations = {NODEPOOL: digest, f"{NODEPOOL}-version": version} if digest else {}
    nursery.live.ids += 1
    nursery.live.things["Thing", f"id-{nursery.live.ids}"] = {
        "name": name,
        "own": name,
        **content(**more),
        **({"annotations": annotations} if annotations else {}),
    }


@pytest.fixture
def nursery() -> Nursery:
    return Nursery()


def chosen(*names: str):
    return [dataclasses.replace(declare(name, {"own": name}), labels={"pool": "web"}) for name in names]


def apply(nursery: Nursery, *templates: Template):
    """Do as the command does on the very first day: settle, apply what is declared, roll."""

    async def applied():
        async with nursery.world() as world:
            roller = nursery.roller(world, templates)
            await roller.settle()
            by_hand = [item for item in nursery.declared if not any(template.selects(item) for template in templates)]
            await nursery.apply(by_hand)
            (group,) = (await roller.run()).groups
            return group

    group = asyncio.run(applied())
    by_hand = [item for item in nursery.declared if item.address not in group.children]
    asyncio.run(nursery.apply([*by_hand, *declarations(group, nursery.around())]))
    return group


def found(group) -> dict[str, set[tuple[str, str]]]:
    return {
        child.name: {(finding.kind.value, finding.reason) for finding in child.findings}
        for child in group.children.values()
    }


def test_23_on_the_first_day_stamps_of_another_controller_bind_children_and_none_is_written(nursery):
    """(1) and (2): the hash is that of what the template says now. (3): it is that of nothing anybody has."""
    nursery.declared = chosen("bound", "strange", "newer", "bare")
    made_by_others(nursery, "bound", HASH)
    made_by_others(nursery, "strange", "99", expireAfter="1h")
    made_by_others(nursery, "newer", HASH, "v9", expireAfter="2h")
    made_by_others(nursery, "bare", "", expireAfter="3h")
    group = apply(nursery, selecting(content()))
    assert found(group) == {
        "bound": set(),
        "strange": {("unknown", "unrecorded-template")},
        "newer": {("unknown", "unknown-scheme")},
        "bare": {("unknown", "no-stamp")},
    }
    assert nursery.live.writes == []
    assert nursery.live_thing("bound")["annotations"][NODEPOOL] == HASH, "what it was born with stays on it"


def test_23_a_child_bound_by_its_stamp_is_rolled_by_the_next_edit_and_not_by_the_first_look(nursery):
    nursery.declared = chosen("a", "b", "strange")
    for name in "ab":
        made_by_others(nursery, name, HASH)
    made_by_others(nursery, "strange", "99")
    apply(nursery, selecting(content(), limits=CAREFUL))
    group = apply(nursery, selecting(content(expireAfter="1h"), limits=CAREFUL))
    assert found(group)["b"] | found(group)["a"] == {("spec", "edited")}
    assert len(nursery.live.writes) == 1, "the canary"
    for _ in range(3):
        nursery.clock.advance(61.0)
        group = apply(nursery, selecting(content(expireAfter="1h"), limits=CAREFUL))
    after = {name: value["spec"]["expireAfter"] for name, value in nursery.values("template").items()}
    assert after == {"a": "1h", "b": "1h", "strange": "336h"}


def test_23_a_stamp_of_a_revision_that_was_before_binds_to_it(nursery):
    nursery.declared = []
    held = selecting(content())
    apply(nursery, held)
    apply(nursery, selecting(content(expireAfter="1h")))
    nursery.declared = chosen("old")
    made_by_others(nursery, "old", HASH)
    (group,) = asyncio.run(nursery.look(selecting(content(expireAfter="1h"))))
    assert group.children == {}, "nobody has looked at it yet"
    group = apply(nursery, selecting(content(expireAfter="1h"), mode=RolloutMode.NOTIFY))
    assert [child.births["web"].revision for child in group.children.values()] == [1]
    assert found(group) == {"old": {("spec", "edited")}}
    assert nursery.live.writes == []
    apply(nursery, selecting(content(expireAfter="1h")))
    assert nursery.live_thing("old")["template"]["spec"]["expireAfter"] == "1h"


def test_without_a_place_of_what_was_hashed_foreign_stamps_are_unknown(nursery):
    nursery.declared = chosen("a")
    made_by_others(nursery, "a", HASH)
    group = apply(nursery, selecting(content(), stamping=Stamping(("annotations",))))
    assert found(group) == {"a": {("unknown", "unknown-scheme")}}
    assert nursery.live.writes == []


@pytest.mark.parametrize(
    "unstamped, reasons, writes",
    [
        (Unstamped.HOLD, {("unknown", "no-stamp")}, 0),
        (Unstamped.ADOPT, set(), 1),  # of what is declared, so what differs is drift
        (Unstamped.DRIFT, {("spec", "no-stamp")}, 0),
    ],
)
def test_what_is_thought_of_a_child_without_a_stamp_is_said(nursery, unstamped, reasons, writes):
    nursery.declared = chosen("a")
    made_by_others(nursery, "a", "", expireAfter="1h")
    group = apply(nursery, selecting(content(), unstamped=unstamped, stamping=None, mode=RolloutMode.NOTIFY))
    assert found(group) == {"a": reasons}
    assert len(nursery.live.writes) == writes


def test_a_child_that_is_not_there_is_made_and_one_that_nobody_can_read_is_neither(nursery):
    nursery.declared = chosen("absent", "hidden")
    nursery.lists = False
    made_by_others(nursery, "hidden", HASH, expireAfter="1h")
    nursery.live.faults = [lambda call: ReadFailure(ReadError.UNREACHABLE) if call == "read Thing/hidden" else None]
    group = apply(nursery, selecting(content()))
    assert [child.name for child in group.children] == ["absent"]
    assert [verb for verb, _, _ in nursery.live.writes] == ["create"]
    nursery.live.faults = []
    group = apply(nursery, selecting(content()))
    assert found(group) == {"absent": set(), "hidden": set()}
    assert group.children[Address("mem", "Thing", "hidden")].births["web"].revision == 1


# --- a part that is a resource of its own ----------------------------------------------------------------------------

CLASS_HASH = "4950366118253097694"  # v4, as its own tests pin it


def test_23_what_a_part_was_in_the_world_is_recorded_where_a_stamp_names_it_and_the_edit_rolls(nursery):
    """(2) for a NodeClass: its declaration was edited before we ever saw it; the children are of what is live."""
    address = Address("mem", "Thing", "class")
    stamps = Stamping(("annotations",), EC2_NODE_CLASS, Hashed(("spec",)))
    edited = {"spec": {**CLASS, "role": "role-2"}}
    part = template(edited, None, name="class", address=address, stamping=stamps)
    web = selecting({"level": "info"}, uses=("class",), stamping=None, unstamped=Unstamped.ADOPT, limits=CAREFUL)
    nursery.declared = [declare("class", edited), *chosen("a", "b")]
    nursery.live.things["Thing", "id-class"] = {"name": "class", "spec": CLASS}
    for name in "ab":
        nursery.live.things["Thing", f"id-{name}"] = {
            "name": name,
            "own": name,
            "level": "info",
            "annotations": {EC2_NODE_CLASS: CLASS_HASH, f"{EC2_NODE_CLASS}-version": "v4"},
        }
    group = apply(nursery, web, part)
    assert found(group)["b"] | found(group)["a"] == {("spec", "edited")}
    written = [ident for _, _, ident in nursery.live.writes]
    assert written[0] == "id-class", "the part comes first"
    assert len(written) == 2, "and then the canary alone"
    record = next(owner.record for owner in group.owners if owner.uid == "class")
    assert record.latest.content["resource"] == edited
    assert [revision.content["resource"]["spec"]["role"] for revision in record.revisions] == ["role-2", "role-1"]
