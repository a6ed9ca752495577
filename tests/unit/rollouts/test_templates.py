"""What of a template counts, by schemes whose output never changes; predicates; previews; names and places."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.policy.budgets import Percent
from holdfast.rollouts.core import dry_run, rendering, rollout_steps, template_schemes, templates
from holdfast.rollouts.core.records import RolloutTarget
from holdfast.rollouts.core.requirements import Asks, Predicate, Supply
from holdfast.rollouts.core.rollout_limits import Order, RolloutLimits, Waves
from holdfast.rollouts.core.slots import Child
from holdfast.rollouts.core.template_schemes import ListOrder
from holdfast.rollouts.core.templates import FieldClasses, Template

VECTORS = Path(__file__).parents[2] / "vectors/templates"


def _table(data):
    return {schema: {tuple(keys): value for keys, value in rows} for schema, rows in data.items()}


def fields_of(data) -> FieldClasses:
    moved = {schema: {tuple(old): tuple(new) for old, new in rows} for schema, rows in data["moved"].items()}
    in_place, behavioural, removed, keeps_empty = (
        frozenset(map(tuple, data[key])) for key in ("inPlace", "behavioural", "removed", "keepsEmpty")
    )
    lists = {
        tuple(keys): ListOrder(rule) if isinstance(rule, str) else tuple(rule) for keys, rule in data.get("lists", ())
    }
    return FieldClasses(in_place, behavioural, removed, keeps_empty, _table(data["defaults"]), moved, lists)


def vectors(version: int) -> list[dict]:
    return list(map(json.loads, (VECTORS / f"{version}.jsonl").read_text().splitlines()))


@pytest.mark.parametrize("vector", [*vectors(1), *vectors(2)], ids=lambda vector: vector["name"])
def test_32_a_golden_vector_keeps_its_digests(vector):
    """A changed digest is a changed scheme: raise `templates.VERSION`, and give the new one vectors of its own."""
    fields = fields_of(vector["fields"])
    scheme = templates.scheme_of(templates.policy_document(fields))
    assert scheme is not None
    live = Template("web", vector["content"], schema=vector["schema"], fields=fields).live()
    assert (scheme.id, *scheme.digests(live.content, live.schema)) == (
        vector["scheme"],
        vector["declared"],
        vector["effective"],
    )


def test_32_every_version_has_at_least_30_vectors():
    for version in range(1, templates.LISTS_VERSION + 1):
        assert len(vectors(version)) >= 30


def test_a_scheme_of_a_newer_release_is_not_known():
    policy = templates.policy_document(FieldClasses())
    assert templates.scheme_of(policy, "template-000000000000/2") is None
    known = templates.scheme_id(policy)
    assert templates.scheme_of({**policy, "of the future": []}, known) is None
    assert templates.scheme_of(policy, known) is not None


A, B = {"name": "a", "port": 1}, {"name": "b", "port": 2}


@pytest.mark.parametrize(
    "rule, one, other, is_same",
    [
        (None, ["a", "b"], ["b", "a"], False),
        (ListOrder.SET, ["a", "b"], ["b", "a"], True),
        (ListOrder.SET, ["a", "a"], ["a"], True),
        (ListOrder.SET, ["a", "a"], [], False),
        (ListOrder.SET, [1], ["1"], False),
        (ListOrder.SET, [["a", "b"]], [["b", "a"]], False),
        (ListOrder.MULTISET, ["a", "b", "a"], ["b", "a", "a"], True),
        (ListOrder.MULTISET, ["a", "a"], ["a"], False),
        (ListOrder.MULTISET, ["a", "a"], [], False),
        (ListOrder.MULTISET, ["a"], [], False),
        (ListOrder.MULTISET, [], ABSENT, True),
        (("name",), [A, B], [B, A], True),
        (("name",), [A, B], [B, {**A, "port": 3}], False),
        (("name",), [A, A], [A], False),
        (("name",), [A, {**A, "port": 3}], [{**A, "port": 3}, A], False),
        (("name",), [A, {"port": 2}], [{"port": 2}, A], False),
        (("name",), ["a", "b"], ["b", "a"], False),
        (("name", "port"), [A, {**A, "port": 3}], [{**A, "port": 3}, A], True),
    ],
)
def test_lists_are_compared_as_the_fields_say_and_what_may_differ_does(rule, one, other, is_same):
    fields = FieldClasses(lists={} if rule is None else {("ports",): rule})
    scheme = templates.scheme_of(templates.policy_document(fields))
    assert scheme is not None
    contents = [{"resource": {} if item is ABSENT else {"ports": item}} for item in (one, other)]
    assert scheme.digests(contents[0], "").matches(scheme.digests(contents[1], "")) is is_same


def test_a_rule_for_a_list_is_another_scheme_and_one_for_rewriting_is_not():
    plain, arranged = FieldClasses(), FieldClasses(lists={("ports",): ListOrder.SET})
    rewritten = FieldClasses(rewritten=frozenset({("image",)}))
    ids = [templates.scheme_id(templates.policy_document(item)) for item in (plain, arranged, rewritten)]
    assert ids[0] == ids[2] != ids[1]
    assert ids[1].endswith("/2"), "a release that does not know such rules must not compute it"


@given(st.lists(st.sampled_from(["a", "b", 1, None, {"name": "a"}])), st.randoms())
def test_no_order_of_a_multiset_is_another(elements, random):
    moved = list(elements)
    random.shuffle(moved)
    arranged = [template_schemes.arranged(element, ListOrder.MULTISET) for element in (elements, moved)]
    assert arranged[0] == arranged[1]
    assert len(arranged[0]) == len(elements)


@pytest.mark.parametrize(
    "asks, values, value, expected",
    [
        (Asks.IN, ("a",), "a", True),
        (Asks.IN, ("a",), ABSENT, False),
        (Asks.NOT_IN, ("a",), "b", True),
        (Asks.NOT_IN, ("a",), ABSENT, True),
        (Asks.EXISTS, (), 1, True),
        (Asks.EXISTS, (), ABSENT, False),
        (Asks.DOES_NOT_EXIST, (), ABSENT, True),
        (Asks.DOES_NOT_EXIST, (), 1, False),
        (Asks.GT, (4,), 5, True),
        (Asks.GT, (4,), "4", False),
        (Asks.LT, ("8",), 5, True),
        (Asks.LT, (8,), "many", False),
    ],
)
def test_predicates_over_one_field(asks, values, value, expected):
    document = {} if value is ABSENT else {"x": value}
    assert Predicate("p", ("x",), asks, values).holds(document) is expected
    assert Predicate("p", ("x",), asks, values).holds(ABSENT) is None


@pytest.mark.parametrize(
    "offered, expected", [(["a"], True), (["b"], False), ([], None), (ABSENT, None), ({"a": 1}, True)]
)
def test_an_offer_that_nobody_has_seen_or_that_is_empty_says_nothing(offered, expected):
    predicate = Predicate("p", ("x",), Asks.OFFERED, offer=Supply(Address("a", "B", "c"), ()))
    assert predicate.holds({"x": "a"}, offered) is expected


@given(st.integers(0, 10**6))
def test_the_place_of_a_slot_is_in_its_name(index):
    template = Template("web-1", {})
    slot = rendering.slot_name(template, index)
    assert rendering.index_of(template, slot) == index
    assert rendering.index_of(template, f"{slot}-r1") is None
    assert rendering.index_of(template, "web-2-1") is None or slot.startswith("web-2")


def fleet(number: int) -> list[Child]:
    return [Child(f"web-{index}", f"mem/Thing/web-{index}", 1) for index in range(number)]


@pytest.mark.parametrize("order", list(Order))
def test_a_preview_counts_the_waves_that_would_be(order):
    rollout = rollout_steps.start("r1", RolloutTarget(2, frozenset({2})), RolloutTarget(1, frozenset({1})), 0.0)
    limits = RolloutLimits(max_surge=Percent(20), max_unavailable=Percent(20), order=order, waves=Waves(canary=1))
    found = dry_run.preview(rollout, fleet(10), limits, 0.0)
    assert (found.waves, found.left) == ((1, 1, 2, 4, 2), 0)
    held = dataclasses.replace(limits, waves=dataclasses.replace(limits.waves, partition=4))
    assert dry_run.preview(rollout, fleet(10), held, 0.0).left == 4
    with_soak = dataclasses.replace(limits, waves=dataclasses.replace(limits.waves, soak=60.0))
    assert dry_run.preview(rollout, fleet(10), with_soak, 0.0).seconds >= 240.0


def test_a_preview_of_nothing_to_do_ends():
    rollout = rollout_steps.start("r1", RolloutTarget(2, frozenset({2})), None, 0.0)
    assert dry_run.preview(rollout, [], RolloutLimits(), 0.0).rolled == 0
    assert dry_run.preview(rollout, fleet(4), RolloutLimits(max_surge=0), 0.0).rolled == 0
