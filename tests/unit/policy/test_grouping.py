"""A grouping that is kept from pass to pass says what a fresh one says."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from holdfast.rollouts.core.slots import Child, ChildState, Grouping, fleet_of

CHILDREN = st.builds(
    Child,
    slot=st.sampled_from(["web-1", "web-2", "web-10", "db-0"]),
    name=st.sampled_from(["a", "b", "c"]),
    revision=st.integers(1, 2),
    state=st.sampled_from(list(ChildState)),
    made_by=st.sampled_from(["", "r1", "r2"]),
    attempt=st.integers(0, 2),
)


@given(st.lists(CHILDREN, max_size=8), st.lists(st.lists(st.integers(0, 7), max_size=8), max_size=6))
def test_a_kept_grouping_sees_what_a_fresh_one_sees(pool, passes):
    """Children stay, change their order, go and come back, as the very objects of before."""
    kept = Grouping()
    for places in passes:
        children = [pool[place] for place in dict.fromkeys(places) if place < len(pool)]
        assert kept.fleet_of(children) == fleet_of(children)


def test_a_child_that_has_changed_is_seen_so_and_slots_come_in_the_order_people_count_in():
    kept, children = Grouping(), [Child(f"web-{number}", f"web-{number}", 1) for number in (10, 2, 1)]
    first = kept.fleet_of(children)
    assert [slot.name for slot in first.slots] == ["web-1", "web-2", "web-10"]
    assert first.busy == ()
    second = kept.fleet_of([replace(children[0], state=ChildState.CREATING), *children[1:]])
    assert [slot.name for slot in second.busy] == ["web-10"]
    assert second.unavailable == 1
    assert second.slots[0] is first.slots[0]
