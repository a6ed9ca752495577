"""A kit that cannot fail is worth nothing: each broken provider must fail, at the scenario that is about its fault."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.testing import conformance
from holdfast.testing.conformance import Outcome, scenario_catalogue
from tests.unit.testing import broken
from tests.unit.testing.broken import on_files, on_memory, on_rest

# what is wrong -> (the subject, the scenarios that must fail, and no others; a word of what is said)
BROKEN = {
    "a failed read is called gone": (on_memory(broken.CallsFailuresGone), {"unreadable", "throttle"}, "missing"),
    "a field is not read": (
        on_memory(broken.ReadsPart),
        {"mutate-every-field", "watch", "import-by-id", "import-by-filter", "crash"},
        "/color",
    ),
    "hints are ignored": (on_memory(broken.IgnoresHints), {"second-check-clean"}, "digest had not changed"),
    "signals have another version": (on_memory(broken.SignalsAnotherVersion), {"watch"}, "but a read has digest"),
    "a list leaves out the last": (on_memory(broken.ForgetsTheLast), {"list"}, "leaves out"),
    "a failed list is an empty one": (on_memory(broken.ListsHalf), {"unreadable"}, "instead of ReadFailed"),
    "of two matches the first is found": (on_memory(broken.FindsTheFirst), {"import-by-filter"}, "matches two"),
    "whatever comes is believed": (on_rest(broken.BelievesAnything), {"not-the-thing"}, "drifted"),
    "a failed search finds nothing": (
        on_memory(broken.FindsNothingWhenItFails),
        {"unreadable"},
        "a search that failed",
    ),
    "keys are ignored": (on_memory(writer=broken.IgnoresKeys), {"repeat-create"}, "made 2 resources"),
    "keys are ignored, and nothing is found by its name": (
        on_memory(broken.FindsOnlyById, broken.IgnoresKeys),
        {"repeat-create", "crash"},
        "there are 2 resources, not one",
    ),
    "what is gone is still shown": (on_memory(broken.ShowsTheDead), {"external-delete", "import-by-id"}, "not missing"),
    "a repeated update is another update": (
        on_memory(writer=broken.CountsUpdates),
        {"repeat-update"},
        "not the same as a single one",
    ),
    "updates write over everything": (
        on_memory(writer=broken.WritesOverEverything),
        {"mutate-every-field"},
        "differs from before",
    ),
    "updates touch neighbours": (
        on_memory(writer=broken.TouchesNeighbours),
        {"mutate-every-field"},
        "another resource was changed",
    ),
    "the log repeats secrets": (on_memory(writer=broken.Talks), {"secret"}, "the secret is in a log"),
    "the second deletion is refused": (on_memory(writer=broken.RefusesToDeleteTwice), {"repeat-delete"}, "deletion"),
    "throttling is final": (on_memory(writer=broken.GivesUpWhenThrottled), {"throttle"}, "too many requests"),
    "etags are ignored": (on_files(broken.IgnoresEtags), {"precondition"}, "not refused as moved"),
    "deletions ignore etags": (on_files(broken.DeletesWhateverItIs), {"precondition"}, "a deletion with an old etag"),
}


@pytest.mark.parametrize("subject, wrong, says", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_provider_fails_at_the_scenario_about_its_fault_and_at_no_other(subject, wrong, says):
    card = asyncio.run(conformance.run(subject))
    failed = {result.scenario: result.detail for result in card.results if result.outcome is Outcome.FAILED}
    assert set(failed) == wrong, card.text()
    assert any(says in detail for detail in failed.values()), failed
    assert not card.is_clean


# Faults at the root of everything: much fails, and the first question says it best.
DEEPLY_BROKEN = {
    "a field is not written": (on_memory(writer=broken.WritesPart), "create", "/weight"),
    "another id is answered": (on_memory(writer=broken.NamesAnother), "create", "create"),
    "updates are not made": (on_memory(writer=broken.DoesNotWrite), "mutate-every-field", "had no effect"),
    "reading raises": (on_memory(broken.BlowsUp), "create", "RuntimeError"),
    "reading never ends": (on_memory(broken.Hangs, longest_seconds=0.2), "create", "did not end within 0.2 seconds"),
}


@pytest.mark.parametrize("subject, scenario, says", DEEPLY_BROKEN.values(), ids=DEEPLY_BROKEN.keys())
def test_what_a_provider_does_wrong_is_said_in_words_for_its_author(subject, scenario, says):
    (case,) = conformance.scenarios(subject, [scenario])
    (result,) = asyncio.run(case.run())
    assert result.outcome is Outcome.FAILED
    assert says in result.detail
    with pytest.raises(AssertionError, match=f"{scenario}: Patched: "):
        asyncio.run(case.assert_passes())


def test_for_every_scenario_there_is_a_provider_that_fails_it():
    failing = {scenario for _, wrong, _ in BROKEN.values() for scenario in wrong}
    assert failing | {scenario for _, scenario, _ in DEEPLY_BROKEN.values()} == set(scenario_catalogue.ALL)


def test_the_sound_provider_behind_the_broken_ones_passes():
    assert asyncio.run(conformance.run(on_memory())).is_clean


def test_a_secret_that_a_refusal_repeats_gets_nowhere():
    card = asyncio.run(conformance.run(on_memory(writer=broken.TalksInRefusals)))
    assert {result.scenario for result in card.results if result.outcome is Outcome.FAILED} == set(), card.text()
