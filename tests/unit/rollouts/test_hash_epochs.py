"""The scenarios of the research note (section 2.7), by number, and beside them what Option 1 makes of the same."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import hash_schemes
from holdfast.compare.hash_schemes import StampedHash
from holdfast.compat.karpenter import hash_annotations
from holdfast.errors import SchemeError, UnhashableError
from holdfast.rollouts.core import hash_epochs, revisions, template_findings, template_schemes
from holdfast.rollouts.core.hash_epochs import RecordChange, SyncStanding
from holdfast.rollouts.core.revisions import (
    Adopted,
    ChildOrigin,
    LiveTemplate,
    NotAdopted,
    Obstacle,
    ParentRecord,
    Unstamped,
)
from holdfast.rollouts.core.template_findings import FindingKind, Look
from holdfast.rollouts.core.template_schemes import FieldPolicy, made
from tests.unit.rollouts import test_regimes_checker as checker

UID = "pool-1"
ONE = made("t/1", hash_schemes.ORDERED, FieldPolicy(ignored=frozenset({("f",)})))
TWO = made("t/2", hash_schemes.ORDERED, FieldPolicy(ignored=frozenset({("g",)})))
THREE = made("t/3", hash_schemes.ORDERED, FieldPolicy())
ALL = template_schemes.registry(ONE, TWO, THREE)


def settle(record, content, scheme="t/1", known=ALL, schema="", uid=UID):
    return hash_epochs.settled(record, LiveTemplate(uid, content, schema), scheme, known)


def one_step(record, content, scheme):
    step = hash_epochs.reconcile(record, LiveTemplate(UID, content), scheme, ALL)
    assert step is not None
    return step


def forgotten(record, children, keep):
    step = hash_epochs.forget(record, children, keep)
    assert step is not None
    return step.record


def standing(record, child, known=ALL):
    return hash_epochs.standing(record, child, known)


def found(record, child, previous=(), now=100.0, known=ALL, **look):
    return template_findings.findings(record, child, Look(known, now, **look), previous)


def kinds(record, child, **more):
    return [item.kind for item in found(record, child, **more)]


def fleet(record, size):
    return [revisions.born(f"child-{number}", record) for number in range(size)]


@dataclass
class OldWay:
    """Option 1 on the same events: an owner, children, a binary with a version."""

    content: dict
    size: int = 3
    seen: dict = field(default_factory=lambda: {"v1": {"x", "g"}, "v2": {"x", "f"}})
    writes: int = 0

    def __post_init__(self):
        stamp = hash_annotations.Stamp(self.digest("v1", self.content), "v1")
        self.owner = hash_annotations.Stamped("owner", stamp)
        self.children = [hash_annotations.Stamped(f"child-{number}", stamp) for number in range(self.size)]

    def digest(self, version, content):
        return version + json.dumps({key: content[key] for key in sorted(content) if key in self.seen[version]})

    def hash(self, version, upto=None):
        """Run the hash controller; it may crash after so many patches."""
        patches = list(
            hash_annotations.patches(
                self.owner, self.children, self.content, version, lambda c: self.digest(version, c)
            )
        )
        for patch in patches[:upto]:
            self.writes += patch.name != "owner"
            if patch.name == "owner":
                self.owner = replace(self.owner, stamp=patch.stamp)
            self.children = [replace(c, stamp=patch.stamp) if c.name == patch.name else c for c in self.children]

    def evaluate(self, upto=None):
        marked = [
            replace(c, is_marked=hash_annotations.is_drifted(self.owner.stamp, c.stamp)) for c in self.children[:upto]
        ]
        self.children = marked + self.children[len(marked) :]

    def drifted(self):
        self.evaluate()
        return sum(child.is_marked for child in self.children)


BEFORE, EDITED = {"x": 0}, {"x": 1}


def test_01_an_upgrade_without_edits_rolls_none_of_1000_and_writes_none():
    record = settle(None, BEFORE)
    children = fleet(record, 1000)
    after = settle(record, BEFORE, "t/2")
    assert {standing(after, child) for child in children} == {SyncStanding.MATCHING}
    assert [step.change for step in steps(record, BEFORE, "t/2")] == [RecordChange.ACTIVATE]
    old = OldWay(BEFORE, 1000)
    old.hash("v2")
    assert (old.drifted(), old.writes) == (0, 1000)


def steps(record, content, scheme, known=ALL, schema=""):
    out = []
    while (step := hash_epochs.reconcile(record, LiveTemplate(UID, content, schema), scheme, known)) is not None:
        out.append(step)
        record = step.record
    return out


def test_02_an_edit_that_was_seen_drifts_over_the_upgrade_and_clears_when_it_is_reverted():
    record = settle(None, BEFORE)
    child = revisions.born("c", record)
    record = settle(settle(record, EDITED), EDITED, "t/2")
    assert standing(record, child) is SyncStanding.DRIFTED
    assert standing(settle(record, BEFORE, "t/2"), child) is SyncStanding.MATCHING
    old = OldWay(BEFORE)
    old.content = EDITED
    old.hash("v1")
    old.evaluate()
    old.hash("v2")
    old.content = BEFORE
    old.hash("v2")
    assert old.drifted() == 3  # stuck


def test_03_an_edit_that_was_hashed_but_not_evaluated_is_not_lost():
    record = settle(None, BEFORE)
    children = fleet(record, 3)
    record = settle(settle(record, EDITED), EDITED, "t/2")
    assert {standing(record, child) for child in children} == {SyncStanding.DRIFTED}
    old = OldWay(BEFORE)
    old.content = EDITED
    old.hash("v1")
    old.hash("v2")
    assert old.drifted() == 0  # lost


def test_04_the_documented_race_of_option_1_is_there_in_the_compatibility_mode_and_not_in_the_default():
    """An edit while the controller is down during a change of version: the seed's own caveat."""
    old = OldWay(BEFORE, 1000)
    record = settle(None, BEFORE)
    children = fleet(record, 1000)
    old.content = EDITED  # nobody watches
    old.hash("v2")
    record = settle(record, EDITED, "t/2")
    assert old.drifted() == 0
    assert sum(standing(record, child) is SyncStanding.DRIFTED for child in children) == 1000


def test_05_an_edit_in_the_middle_of_a_migration_does_not_split_the_fleet():
    record = settle(None, BEFORE)
    children = fleet(record, 3)
    first = one_step(record, BEFORE, "t/2")
    record = settle(first.record, EDITED, "t/2")  # crashed after the first write
    assert {standing(record, child) for child in children} == {SyncStanding.DRIFTED}
    old = OldWay(BEFORE)
    old.hash("v2", upto=1)
    old.content = EDITED
    old.hash("v2")
    assert old.drifted() == 1  # split


def test_06_an_edit_while_down_that_is_reverted_leaves_nothing():
    record = settle(None, BEFORE)
    children = fleet(record, 3)
    record = settle(settle(record, EDITED, "t/2"), BEFORE, "t/2")
    assert {standing(record, child) for child in children} == {SyncStanding.MATCHING}
    old = OldWay(BEFORE)
    old.content = EDITED
    old.hash("v2")
    old.content = BEFORE
    old.hash("v2")
    assert old.drifted() == 3  # falsely


def test_07_and_08_a_newly_seen_field_that_was_edited_long_ago_is_newly_visible_until_it_is_edited_again():
    record = settle(None, {"x": 0, "f": 0})
    child = revisions.born("c", record)
    record = settle(settle(record, {"x": 0, "f": 1}), {"x": 0, "f": 1}, "t/2")
    (finding,) = found(record, child)
    assert (finding.kind, finding.fields) == (FindingKind.NEWLY_VISIBLE, (("f",),))
    assert template_findings.asks_for_action([finding]) == ()
    assert template_findings.asks_for_action([finding], frozenset({FindingKind.NEWLY_VISIBLE})) == (finding,)
    assert kinds(settle(record, {"x": 0, "f": 2}, "t/2"), child) == [FindingKind.SPEC]


def test_09_a_difference_only_in_a_dropped_field_goes_away_with_it():
    record = settle(None, {"x": 0, "g": 0})
    child = revisions.born("c", record)
    record = settle(record, {"x": 0, "g": 1})
    assert kinds(record, child) == [FindingKind.SPEC]
    assert found(settle(record, {"x": 0, "g": 1}, "t/2"), child) == ()


def policy(**more):
    return made("t/2", hash_schemes.ORDERED, FieldPolicy(**more))


def _moved(content, schema):
    if schema == "v2" or "kubelet" not in content.get("template", {}):
        return content
    kept = {key: item for key, item in content["template"].items() if key != "kubelet"}
    return {**content, "template": kept, "class": {"kubelet": content["template"]["kubelet"]}}


def _retyped(content, schema):
    return {**content, "pods": int(content["pods"])}


KIND = {("ref", "kind"): "EC2NodeClass"}
CHANGES = {
    "10 a default is added to an existing field, and the server writes it down": (
        {"ref": {"name": "n"}}, {"ref": {"name": "n", "kind": "EC2NodeClass"}}, policy(defaults={"v2": KIND})),
    "10 a default is added to an existing field that was set to it": (
        {"ref": {"kind": "EC2NodeClass"}}, {"ref": {"kind": "EC2NodeClass"}}, policy(defaults={"v2": KIND})),
    "10 a field is added with a default": ({"x": 0}, {"x": 0, "new": 5}, policy(defaults={"v2": {("new",): 5}})),
    "12 a field is removed": ({"x": 0, "g": 1}, {"x": 0}, policy(ignored=frozenset({("g",)}))),
    "13 a field is moved": (
        {"template": {"a": 1, "kubelet": {"p": 1}}},
        {"template": {"a": 1}, "class": {"kubelet": {"p": 1}}}, policy(convert=_moved)),
    "14 a field is retyped": ({"pods": 5}, {"pods": "5"}, policy(convert=_retyped)),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_10_to_14_a_change_of_the_schema_rolls_none_of_1000_children_and_writes_none(change):
    before, after, scheme = CHANGES[change]
    known = template_schemes.registry(ONE, scheme)
    record = settle(None, before, known=known, schema="v1")
    children = fleet(record, 1000)
    done = steps(record, after, "t/2", known, schema="v2")
    assert [item.change for item in done] == [
        RecordChange.ACTIVATE,
        RecordChange.RECORD,
    ]  # on the owner; children are not written
    look = [item for child in children for item in found(done[-1].record, child, known=known)]
    assert template_findings.asks_for_action(look) == ()
    assert {standing(done[-1].record, child, known) for child in children} == {SyncStanding.MATCHING}


def test_11_a_default_with_another_value_is_told_and_rolls_nobody():
    scheme = policy(defaults={"v1": {("size",): 10}, "v2": {("size",): 20}})
    known = template_schemes.registry(ONE, scheme)
    record = settle(None, {"x": 0}, "t/2", known, "v1")
    child = revisions.born("c", record)
    record = settle(record, {"x": 0}, "t/2", known, "v2")
    assert kinds(record, child, known=known) == [FindingKind.DEFAULTS_CHANGED]
    assert template_findings.asks_for_action(found(record, child, known=known)) == ()
    assert kinds(settle(record, {"x": 0, "size": 30}, "t/2", known, "v2"), child, known=known) == [FindingKind.SPEC]


def test_15_skipping_a_version_is_like_going_there_directly():
    record = settle(None, {"x": 0, "f": 0})
    child = revisions.born("c", record)
    record = settle(record, {"x": 0, "f": 1})
    direct = settle(record, {"x": 0, "f": 1}, "t/3")
    stepwise = settle(settle(record, {"x": 0, "f": 1}, "t/2"), {"x": 0, "f": 1}, "t/3")
    assert standing(direct, child) is standing(stepwise, child) is SyncStanding.GRANDFATHERED


@pytest.mark.parametrize(
    "binaries, edit_at, expected",
    [
        ("12", None, SyncStanding.MATCHING),
        ("121", None, SyncStanding.MATCHING),
        ("121", 1, SyncStanding.DRIFTED),
        ("121", 2, SyncStanding.DRIFTED),
        ("1212", None, SyncStanding.MATCHING),
        ("1212", 3, SyncStanding.DRIFTED),
    ],
)
def test_16_to_18_going_back_half_way_and_forth_keeps_edits_and_rolls_nobody(binaries, edit_at, expected):
    record = settle(None, BEFORE)
    child = revisions.born("c", record)
    content = BEFORE
    for place, binary in enumerate(binaries):
        content = EDITED if place == edit_at else content
        record = settle(record, content, f"t/{binary}")
    assert standing(record, child) is expected


def test_17_going_back_between_two_writes_is_going_back():
    record = settle(None, BEFORE)
    child = revisions.born("c", record)
    half = one_step(record, EDITED, "t/2").record
    back = settle(half, EDITED, "t/1", template_schemes.registry(ONE))
    assert standing(back, child, template_schemes.registry(ONE)) is SyncStanding.DRIFTED


def test_19_a_child_born_after_the_regime_began_is_not_excused_by_what_was_before():
    record = settle(None, {"x": 0, "f": 0})
    record = settle(record, {"x": 0, "f": 0}, "t/2")
    record = settle(record, {"x": 0, "f": 1}, "t/2")
    late = revisions.born("late", record)
    record = settle(record, {"x": 0, "f": 0}, "t/2")
    assert standing(record, late) is SyncStanding.DRIFTED


def test_20_a_crash_between_regime_and_revision_loses_no_edit():
    record = settle(None, BEFORE)
    child = revisions.born("c", record)
    step = one_step(record, EDITED, "t/2")
    assert step.change is RecordChange.ACTIVATE
    assert step.record.regimes[-1].base == 1
    assert standing(settle(step.record, EDITED, "t/2"), child) is SyncStanding.DRIFTED


def test_21_a_change_that_the_scheme_does_not_see_is_recorded_all_the_same():
    record = settle(None, {"x": 0, "f": 0})
    child = revisions.born("c", record)
    (step,) = steps(record, {"x": 0, "f": 1}, "t/1")
    assert step.change is RecordChange.RECORD
    assert standing(step.record, child) is SyncStanding.MATCHING
    assert standing(settle(step.record, {"x": 0, "f": 1}, "t/2"), child) is SyncStanding.GRANDFATHERED


def test_22_a_child_that_the_old_leader_made_late_is_judged_like_any():
    record = settle(None, BEFORE)
    late = revisions.born("late", record)  # read before, written after the new leader took over
    record = settle(record, BEFORE, "t/2")
    assert standing(record, late) is SyncStanding.MATCHING
    assert standing(settle(record, EDITED, "t/2"), late) is SyncStanding.DRIFTED


def stamped(scheme, content):
    return StampedHash(scheme.id, scheme.digests(content, "").declared)


OWNER = settle(settle(None, BEFORE), EDITED)


@pytest.mark.parametrize(
    "stamp, policy, expected",
    [
        (stamped(ONE, EDITED), Unstamped.HOLD, 2),
        (stamped(ONE, BEFORE), Unstamped.HOLD, 1),
        (stamped(ONE, {"x": 7}), Unstamped.HOLD, Obstacle.UNRECORDED),
        (stamped(ONE, {"x": 7}), Unstamped.ADOPT, Obstacle.UNRECORDED),
        (StampedHash("foreign/9", "1"), Unstamped.HOLD, Obstacle.UNKNOWN_SCHEME),
        (None, Unstamped.HOLD, Obstacle.NO_STAMP),
        (None, Unstamped.DRIFT, Obstacle.NO_STAMP),
        (None, Unstamped.ADOPT, 2),
    ],
)
def test_23_a_child_with_only_a_stamp_is_bound_to_what_it_names_or_is_unknown(stamp, policy, expected):
    child = ChildOrigin("c", UID, stamp=stamp)
    match revisions.adopt(OWNER, child, ALL, policy):
        case Adopted(bound):
            assert bound.birth == expected
        case NotAdopted(_, obstacle, is_drifted):
            assert obstacle is expected
            assert is_drifted is (policy is Unstamped.DRIFT)
    wanted = {1: [FindingKind.SPEC], 2: []}.get(expected, [FindingKind.UNKNOWN])
    wanted = [FindingKind.SPEC] if policy is Unstamped.DRIFT else wanted
    assert kinds(OWNER, child, unstamped=policy) == wanted


def test_23_a_stamp_of_a_scheme_that_this_build_does_not_know_is_read_by_stored_digests():
    child = ChildOrigin("c", UID, stamp=stamped(THREE, BEFORE))
    assert revisions.adopt(OWNER, child, template_schemes.registry(ONE), Unstamped.HOLD) == Adopted(
        replace(child, birth=1, born_regime=0)
    )


def test_24_two_owners_have_findings_of_their_own():
    """One drifts while the scheme of the other changes, and is reverted: nothing is left of either."""
    pool, node_class = settle(None, BEFORE), settle(None, BEFORE, uid="class-1")
    of_pool, of_class = revisions.born("c", pool), revisions.born("c", node_class)
    pool = settle(pool, EDITED)
    node_class = settle(node_class, BEFORE, "t/2", uid="class-1")
    both = [*found(pool, of_pool), *found(node_class, of_class)]
    assert [(item.owner, item.kind) for item in both] == [(UID, FindingKind.SPEC)]
    pool = settle(pool, BEFORE)
    assert [*found(pool, of_pool, both), *found(node_class, of_class, both)] == []


def test_25_a_crash_at_any_write_ends_in_the_same_record():
    record = settle(settle(None, BEFORE), {"x": 0, "f": 3})
    whole = settle(record, EDITED, "t/2")
    for crash_after in range(3):
        stored: ParentRecord | None = record
        for _ in range(crash_after):
            step = hash_epochs.reconcile(stored, LiveTemplate(UID, EDITED), "t/2", ALL)
            stored = stored if step is None else step.record
        assert settle(stored, EDITED, "t/2") == whole


def test_26_of_two_controllers_one_wins_and_the_other_finds_it_done():
    record = settle(None, BEFORE)
    mine, theirs = (one_step(record, EDITED, "t/2") for _ in range(2))
    stored = mine.record
    assert theirs.expected != stored.version  # the swap is refused
    stored = settle(stored, EDITED, "t/2")
    assert [regime.scheme for regime in stored.regimes] == ["t/1", "t/2"]


def test_27_first_seen_outlives_an_upgrade_and_an_unknown():
    record = settle(settle(None, BEFORE), EDITED)
    child = ChildOrigin("c", UID, 1, 0)
    before = found(record, child, now=5.0)
    after = found(settle(record, EDITED, "t/2"), child, before, now=9.0)
    assert [item.first_seen for item in after] == [5.0]
    blind = replace(child, birth=99)
    unsure = found(record, blind, after, now=10.0)
    assert {item.kind for item in unsure} == {FindingKind.UNKNOWN, FindingKind.SPEC}
    assert template_findings.asks_for_action(unsure) == ()
    assert [item.first_seen for item in found(record, child, unsure, now=11.0)] == [5.0]


COLLISIONS = {
    "duplicates cancel: [a,a] and []": (["a", "a"], []),
    "duplicates cancel: [a,a] and [b,b]": (["a", "a"], ["b", "b"]),
    "duplicates cancel: [a,b,b] and [a]": (["a", "b", "b"], ["a"]),
    "regrouped lists": ([["a", "b"], ["c"]], [["a"], ["b", "c"]]),
    "permuted bytes": (["1", "2", "12"], ["1", "2", "21"]),
    "permuted bytes of one string": ("12", "21"),
    "swapped siblings": ({"family": "a", "bundle": "b"}, {"family": "b", "bundle": "a"}),
    "quantities": ("2G", "10G"),
    "true and 1": (True, 1),
    "null and 0 in a map": ({"a": {"k": None}}, {"a": {"k": 0}}),
}


@pytest.mark.parametrize(
    "scheme", [hash_schemes.ORDERED, hash_schemes.SPEC, hash_schemes.SPEC_INT64], ids=lambda each: each.id
)
@pytest.mark.parametrize("name", COLLISIONS)
def test_28_what_collides_in_the_original_is_distinct_here(name, scheme):
    one, other = COLLISIONS[name]
    template = made("t/1", scheme, FieldPolicy())
    assert scheme.digest({"v": one}) != scheme.digest({"v": other})
    assert template.digests({"v": one}, "") != template.digests({"v": other}, "")


def test_29_a_value_that_has_no_form_is_an_error_and_not_a_constant():
    with pytest.raises(UnhashableError):
        settle(None, {"x": object()})
    with pytest.raises(UnhashableError):
        settle(settle(None, BEFORE), {"x": object()})


def test_30_the_order_of_keys_is_nothing():
    one, other = {"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}
    assert ONE.digests(one, "") == ONE.digests(other, "")
    assert steps(settle(None, one), other, "t/1") == []


def test_31_absent_null_and_empty_are_one_unless_the_field_says_otherwise():
    contents = [{"x": 0}, {"x": 0, "l": None}, {"x": 0, "l": []}, {"x": 0, "l": {}}, {"x": 0, "l": {"m": None}}]
    assert len({ONE.digests(content, "") for content in contents}) == 1
    strict = policy(keeps_empty=frozenset({("l",)}))
    assert len({strict.digests(content, "") for content in contents[:4]}) == 4
    assert len({ONE.digests({"x": value}, "") for value in (0, False, "", None)}) == 4


@st.composite
def _walks(draw):
    binaries = tuple(draw(st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=5)))
    return binaries, draw(st.lists(st.integers(0, 20), max_size=40))


@given(_walks())
def test_33_random_edits_crashes_and_binaries_agree_with_the_oracle(walk):
    binaries, choices = walk
    check = checker.Checker(binaries, knows_newer=False)
    world = check.first(edits=12)
    for choice in choices:
        moves = list(check.moves(world))
        world = moves[choice % len(moves)]
        assert check.faults(world) == []


# --- beyond the list --------------------------------------------------------------------------------------------------


def test_a_scheme_that_is_not_known_and_has_no_stored_digest_gives_unknown_and_no_action():
    record = settle(settle(None, {"x": 0, "f": 0}), {"x": 0, "f": 1}, "t/2")
    child = ChildOrigin("c", UID, 1, 0)
    bare = replace(record, revisions=tuple(replace(revision, digests={}) for revision in record.revisions))
    assert standing(bare, child, template_schemes.registry(ONE)) is SyncStanding.UNKNOWN
    assert kinds(bare, child, known=template_schemes.registry(ONE)) == [FindingKind.UNKNOWN]
    with pytest.raises(SchemeError):
        hash_epochs.reconcile(record, LiveTemplate(UID, BEFORE), "t/9", ALL)


def test_an_owner_that_was_made_again_under_its_name_has_orphans_and_no_drift():
    record = settle(None, BEFORE)
    child = revisions.born("c", record)
    again = settle(record, EDITED, uid="pool-2")
    assert again.current == 1
    (finding,) = found(again, child)
    assert (finding.kind, finding.reason) == (FindingKind.UNKNOWN, Obstacle.ORPHAN)


def test_a_predicate_that_fails_is_a_finding_of_its_own():
    record = settle(None, BEFORE)
    (finding,) = found(record, revisions.born("c", record), broken=("requirements",))
    assert (finding.kind, finding.reason) == (FindingKind.DYNAMIC, "requirements")
    assert template_findings.asks_for_action([finding]) == (finding,)


def test_old_revisions_and_regimes_are_forgotten_when_nobody_can_ask_for_them():
    record = settle(None, {"x": 0})
    old = revisions.born("old", record)
    for value in range(1, 30):
        record = settle(record, {"x": value}, "t/1" if value < 15 else "t/2")
    kept = forgotten(record, [old], keep=3)
    assert [revision.ordinal for revision in kept.revisions] == [
        1,
        15,
        28,
        29,
        30,
    ]  # birth, the base of regime 1, the newest
    assert len(kept.regimes) == 2
    new = revisions.born("new", kept)
    collapsed = forgotten(kept, [new], keep=0)
    assert [revision.ordinal for revision in collapsed.revisions] == [30]
    assert [regime.index for regime in collapsed.regimes] == [1]
    assert standing(collapsed, new) is SyncStanding.MATCHING
    assert hash_epochs.forget(collapsed, [new], keep=0) is None
    assert hash_epochs.forget(record, [ChildOrigin("legacy", UID)], keep=0) is None
    assert settle(collapsed, {"x": 99}, "t/2").current == 31


@given(_walks(), st.integers(0, 3))
def test_forgetting_changes_no_verdict(walk, keep):
    binaries, choices = walk
    check = checker.Checker(binaries, knows_newer=True)
    world = check.first(edits=12)
    for choice in choices:
        moves = list(check.moves(world))
        world = moves[choice % len(moves)]
        step = hash_epochs.forget(world.record, [child for child, _, _ in world.children], keep)
        if step is not None:
            world = replace(world, record=step.record, pending=None)
        assert check.faults(world) == []


def test_a_scheme_in_use_that_was_removed_is_told_from_one_that_is_not_there_yet():
    record = settle(settle(None, BEFORE), BEFORE, "t/3")
    used = {*(epoch.scheme for epoch in record.regimes), "foreign/9"}
    assert used == {"t/1", "t/3", "foreign/9"}
    assert hash_epochs.removed_schemes(used, template_schemes.registry(TWO)) == {"t/1"}


def test_option_1_reads_and_writes_the_annotations_of_the_seed():
    stamp = hash_annotations.Stamp("abcdef", "v1")
    written = {"karpenter.sh/nodepool-hash": "abcdef", "karpenter.sh/nodepool-hash-version": "v1"}
    assert stamp.annotations() == written
    assert hash_annotations.Stamp.read(written) == stamp
    assert hash_annotations.Stamp.read({"karpenter.sh/nodepool-hash": "abcdef"}) is None
    assert not hash_annotations.is_drifted(stamp, None)
    assert not hash_annotations.is_drifted(stamp, hash_annotations.Stamp("other", "v2"))
    assert hash_annotations.is_drifted(stamp, hash_annotations.Stamp("other", "v1"))
