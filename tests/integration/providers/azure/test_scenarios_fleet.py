"""Scenarios 36 and 37 of research/aso.md, section 5: spread over time, and whatever chance can think of."""

from __future__ import annotations

import copy
import json
import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.model.verdict import Status
from holdfast_emulators.azure import CATALOGUE, Element, Fill, Order, Rewrite, alike
from tests.integration.providers.azure.estate import WIDGET, Estate, declare, run, widget


def test_36_a_thousand_resources_are_not_all_due_at_once(estate):
    async def scenario():
        things = [widget(f"w{number}", weight=1) for number in range(1_000)]
        await estate.check(things)
        states = await estate.store.states([thing.address for thing in things])
        due = sorted(state.schedule.due_at - estate.clock.now() for state in states.values())
        assert due[0] >= 0.89 * 900
        assert due[-1] <= 1.11 * 900
        busiest = max(sum(1 for item in due if start <= item < start + 10) for start in range(800, 1_000, 10))
        assert estate.puts() == 0  # a check writes nothing
        assert estate.told("create") == [("create", ())] * 1_000
        assert busiest <= 120  # of 1,000 over 180 s: about 55 in ten seconds if they are spread evenly

    run(scenario())


VALUES = st.one_of(st.integers(-5, 5), st.sampled_from(["a", "B", "westus2", "PT1H", ""]), st.booleans())
NAMES = st.sampled_from(["alpha", "beta", "gamma", "delta"])
TREES = st.recursive(VALUES, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=6)
RULES = st.lists(
    st.builds(lambda name, x: {"name": name, "x": x}, st.sampled_from("abc"), st.integers(0, 3)),
    max_size=3,
    unique_by=lambda each: each["name"],
)
SPECS = st.fixed_dictionaries(
    {"tree": st.dictionaries(NAMES, TREES, max_size=3), "rules": RULES, "weight": st.integers(0, 9)}
)
QUIRKS = st.lists(
    st.one_of(
        st.builds(lambda name, value: Fill(f"/properties/{name}", value), NAMES, VALUES),
        st.builds(lambda value: Fill("/properties/conditional", value, when={"/properties/weight": [1, 3, 5]}), VALUES),
        st.just(Fill("/properties/weight2", 7, overrides=True)),
        st.just(Rewrite("/properties/tree/alpha", "upper")),
        st.just(Rewrite("/properties/tree/beta", "empty_to_absent")),
        st.just(Rewrite("/location", "region_display")),
        st.just(Element("/properties/rules", {"name": "default", "x": 9}, key="name", first=True)),
        st.just(Order("/properties/rules", "reversed")),
        st.just(Order("/properties/rules", "shuffled", each_read=True)),
    ),
    max_size=5,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    specs=st.lists(SPECS, min_size=1, max_size=3),
    quirks=QUIRKS,
    shape=st.sampled_from(sorted(CATALOGUE)),
    seed=st.integers(0, 99),
)
def test_37_one_put_for_each_change_none_at_rest_and_every_edit_found(specs, quirks, shape, seed):
    estate = Estate()
    estate.arm.tune(WIDGET, operations=alike(CATALOGUE[shape]))
    estate.arm.teach(WIDGET, *quirks)
    chance = random.Random(seed)

    async def scenario():
        changes, before, thing = 0, None, widget()
        for spec in specs:
            text = json.dumps(spec, sort_keys=True)  # to Python, 0 and False are the same
            changes += text != before
            before = text
            thing = declare("w", {"location": "westus2", "properties": copy.deepcopy(spec)})
            await estate.apply([thing])
            await estate.sync(thing, times=2)
            assert estate.puts() <= changes
            assert await estate.status(thing) is Status.IN_SYNC
        at_rest = estate.puts()
        edited = f"/properties/{chance.choice(['weight', 'extra'])}"
        estate.edit({edited: 1_000})
        report = await estate.sync(thing)
        (checked,) = report.checked
        assert checked.verdict.status is Status.DRIFTED
        assert [f.pointer for f in checked.verdict.findings] == [tuple(edited.strip("/").split("/"))]
        await estate.sync(thing, times=2)
        assert estate.puts() == at_rest + 1
        assert (await estate.caused())[-1] == ("drift", (edited,))
        assert {reason for reason, _ in (await estate.caused())[:-1]} <= {"create", "intent"}
        assert await estate.status(thing) is Status.IN_SYNC

    run(scenario())
