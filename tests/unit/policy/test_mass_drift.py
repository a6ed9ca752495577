"""Too much drift at once, or the same drift everywhere, is mass drift; a little drift is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.policy import mass_drift
from holdfast.policy.mass_drift import MassDrift, MassDriftGuard, MassDriftKind
from holdfast.store.governance import CorrectionRecord, PathCorrection

GUARD = MassDriftGuard(share=0.3, at_least=10, identical=10)


def address(number, kind="Widget"):
    return Address("api", kind, f"w{number:03}")


def finding(path="/size", observed=1, op=Op.CHANGED, changed_by=ChangedBy.LIVE):
    return Finding(paths.parse_path(path), op, FindingClass.SPECIFIED, changed_by, 0, 0, observed)


def different(count, kind="Widget"):
    return {address(i, kind): [finding(observed=i)] for i in range(count)}


def same(count, kind="Widget", **given):
    return {address(i, kind): [finding(**given)] for i in range(count)}


@pytest.mark.parametrize(
    "drifted, missing, total, count",
    [
        (0, 0, 100, None),
        (29, 0, 100, None),
        (30, 0, 100, 30),
        (20, 10, 100, 30),
        (0, 30, 100, 30),
        (9, 0, 9, None),  # all of them, but fewer than it takes
        (10, 0, 10, 10),
        (10, 0, 33, 10),
        (10, 0, 34, None),
    ],
)
def test_a_large_share_of_the_fleet_is_a_mass_drift(drifted, missing, total, count):
    gone = [address(i, "Gadget") for i in range(missing)]
    found = mass_drift.mass_drift(different(drifted), gone, {("api", "Widget"): total}, GUARD)
    assert (found.count if found else None) == count
    if found:
        assert (found.kind, found.total) == (MassDriftKind.SHARE, total)


def test_a_mass_drift_says_what_happened_to_whom():
    found = mass_drift.mass_drift(different(12), [], {("api", "Widget"): 20}, GUARD)
    assert str(found) == (
        "12 of 20 resources moved or vanished at once, such as api/Widget/w000; "
        "nothing is corrected until a person has looked"
    )
    found = mass_drift.mass_drift(same(12, path="/rules[name=ssh]/port"), [], {("api", "Widget"): 20}, GUARD)
    assert found == MassDrift(MassDriftKind.IDENTICAL, 12, 20, address(0), "Widget", "/rules[name=ssh]/port")
    assert str(found) == (
        "/rules[name=ssh]/port moved to the same value on 12 of 20 Widget resources, such as api/Widget/w000: "
        "more likely one cause than 12 edits; nothing is corrected until a person has looked"
    )


FLEET = {("api", "Widget"): 30, ("api", "Gadget"): 1000}


@pytest.mark.parametrize(
    "drifted, is_mass_drift",
    [
        (same(10), True),
        (same(9), False),
        (different(10), False),
        ({**same(9), address(9): [finding(observed=2)]}, False),
        ({**same(9), address(9): [finding(path="/other")]}, False),
        ({**same(9), address(9): [finding(op=Op.ADDED)]}, True),  # it has the same value there
        ({**same(9), address(9): [finding(observed=True)]}, False),  # true is not 1
        ({**same(9), address(9): [finding(observed=1.0)]}, True),  # but 1.0 is
        ({**same(9, observed=ABSENT), address(9): [finding(observed="absent")]}, False),
        ({**same(9), address(9): [finding(), finding("/x")]}, True),
        ({**same(9), address(0): [finding(), finding()]}, False),  # twice on one resource is one resource
        ({**same(9), address(9, "Gadget"): [finding()]}, False),
        (same(10, kind="Gadget"), False),  # enough, but only one in a hundred
        (same(300, kind="Gadget"), True),
        (same(10, changed_by=ChangedBy.DECLARED), False),
        (same(10, changed_by=ChangedBy.BOTH), True),
    ],
)
def test_one_finding_on_many_resources_of_a_kind_is_a_mass_drift(drifted, is_mass_drift):
    assert (mass_drift.mass_drift(drifted, [], FLEET, GUARD) is not None) is is_mass_drift


def test_a_kind_is_counted_over_all_connections():
    assert mass_drift.mass_drift(same(10), [], {("api", "Widget"): 20, ("dev", "Widget"): 13}, GUARD) is not None
    assert mass_drift.mass_drift(same(10), [], {("api", "Widget"): 20, ("dev", "Widget"): 14}, GUARD) is None


def test_the_largest_of_several_is_told():
    drifted = {**same(12), **{address(i, "Gizmo"): [finding("/b"), finding("/a")] for i in range(15)}}
    found = mass_drift.mass_drift(drifted, [], {("api", "Widget"): 20, ("api", "Gizmo"): 20}, GUARD)
    assert found is not None
    assert (found.of, found.path, found.count) == ("Gizmo", "/a", 15)


def test_without_a_guard_there_is_no_mass_drift():
    assert mass_drift.mass_drift(same(1000), [], {("api", "Widget"): 1000}, None) is None


def test_a_fleet_that_is_larger_than_its_count_does_no_harm():
    found = mass_drift.mass_drift(different(20), [], {}, GUARD)
    assert found is not None
    assert found.total == 20


def put_back(count, path="/size", before=1, first=0):
    changed = (PathCorrection(path, before, 0),) if path else ()
    return [
        CorrectionRecord(f"c{i}", address(i), 0.0, "update", "drift", paths=changed)
        for i in range(first, first + count)
    ]


@pytest.mark.parametrize(
    "drifted, past, kind",
    [
        (different(1), put_back(8, before=7), None),
        (different(1), put_back(10, before=7), MassDriftKind.IDENTICAL),
        (same(4), put_back(6, first=4), MassDriftKind.IDENTICAL),
        (different(4), put_back(6, path="", first=4), MassDriftKind.SHARE),
        (different(4), put_back(6, path=""), None),  # some of them were reverted, and moved again
        (different(0), [*put_back(6), *put_back(6)], None),
    ],
)
def test_what_was_put_back_within_a_period_counts_with_what_has_moved_now(drifted, past, kind):
    found = mass_drift.mass_drift(drifted, [], {("api", "Widget"): 30}, GUARD, past)
    assert (found.kind if found else None) == kind


def test_the_window_is_a_period_and_never_less_than_an_hour():
    assert mass_drift.window([]) == mass_drift.window([60.0]) == 3600.0
    assert mass_drift.window([600.0, 36_000.0]) == 36_000.0


guards = st.builds(MassDriftGuard, st.floats(0.01, 1), st.integers(1, 6), st.integers(1, 6))
fleets = st.dictionaries(
    st.builds(address, st.integers(0, 9), st.sampled_from(["Widget", "Gadget"])),
    st.lists(
        st.builds(finding, st.sampled_from(["/a", "/b"]), st.integers(0, 1), changed_by=st.sampled_from(ChangedBy)),
        max_size=2,
    ),
)


@given(fleets, st.sets(st.builds(address, st.integers(0, 9))), st.integers(20, 60), guards)
def test_a_mass_drift_is_never_smaller_than_the_guard_says(drifted, missing, total, guard):
    sizes = {("api", "Widget"): total, ("api", "Gadget"): 10}
    found = mass_drift.mass_drift(drifted, missing, sizes, guard)
    if found is not None:
        assert found.count >= (guard.at_least if found.kind is MassDriftKind.SHARE else guard.identical)
        assert found.count >= guard.share * found.total * (1 - 1e-12)
        assert found.example in (drifted.keys() | missing)


@given(fleets, st.sets(st.builds(address, st.integers(0, 9))), guards)
def test_more_drift_never_ends_a_mass_drift(drifted, missing, guard):
    sizes = {("api", "Widget"): 10, ("api", "Gadget"): 10}
    if mass_drift.mass_drift(drifted, missing, sizes, guard) is not None:
        more = {**drifted, address(77): [finding("/a", 0)]}
        assert mass_drift.mass_drift(more, missing, sizes, guard) is not None
