"""Scenario 38 of research/aso.md, section 5: on recorded traffic every PUT that would be sent is one we can explain."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.compare import profiles
from holdfast.model.verdict import Status
from holdfast.providers import packs
from holdfast.testing import corpus, lenses

CORPUS = Path(__file__).resolve().parents[5] / "shared" / "corpus" / "azure_public.jsonl.gz"

# Reviewed by hand: type and path -> why a PUT would be sent though nobody meant harm.
REVIEWED = {
    (
        "Microsoft.ContainerService/managedClusters",
        "/properties/addonProfiles",
    ): "an extension was installed as a child",
    ("Microsoft.Sql/servers", "/properties/keyId"): "the encryption protector is a child, and moves its parent's field",
}

if not CORPUS.is_file():
    pytest.skip(f"no corpus at {CORPUS}", allow_module_level=True)


@pytest.fixture(scope="module")
def cases():
    return list(corpus.read(CORPUS))


def test_38_no_recorded_read_would_lead_to_a_put_that_nobody_can_explain(cases):
    report = corpus.score(cases, packs.shipped(), lenses=lenses.shipped())
    unexplained = [
        each for each in report.false_positives if not any((each.kind, path) in REVIEWED for path in each.paths)
    ]
    assert unexplained == []
    assert {(each.kind, path) for each in report.false_positives for path in each.paths} == set(REVIEWED)


def test_38_through_the_provider_the_rates_are_no_worse_than_on_raw_answers(cases):
    raw = corpus.score(cases, packs.shipped())
    seen = corpus.score(cases, packs.shipped(), lenses=lenses.shipped())
    was = {(row.cls, row.expect, row.baseline): row for row in raw.rows}
    for row in seen.rows:
        assert row.wrong <= was[row.cls, row.expect, row.baseline].wrong, row
        assert row.misplaced <= was[row.cls, row.expect, row.baseline].misplaced, row


def test_38_a_second_sync_of_what_was_just_captured_is_silent(cases):
    """The acceptance test that users of What-If ask for: deploy, look again, expect nothing."""
    lens = lenses.shipped()["azure"]
    for case in map(lens.seen, cases):
        if case.settled is not None:
            rules = profiles.stack(lens.profiles(case.kind), corpus.rules_of_schema(case.schema))
            assert corpus.judge(case, case.settled, "settled", rules).status is Status.IN_SYNC, case.id
