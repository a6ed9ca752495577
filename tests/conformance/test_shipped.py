"""Every scenario of the conformance kit on every shipped provider; what cannot be asked is listed here by name."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.testing import conformance
from holdfast.testing.conformance import Outcome, ScenarioCase
from holdfast_emulators import providers_under_test

NOT_APPLICABLE = {
    # A Resource has no list without a type; the Disks of the subject have neither etags nor secrets.
    "azure": {"import-by-filter", "list", "precondition", "secret", "watch"},
    "file": {
        "throttle",
        "not-the-thing",
        "watch",
    },  # a file system asks nobody to slow down; what is at a path is the file
    "http": {"precondition", "watch"},  # the Gadgets of the subject have no etag; its Widgets do
    "memory": {"precondition", "not-the-thing"},
}
CASES = [
    pytest.param(
        name,
        case,
        id=f"{name}-{case.name}",
        marks=[] if name == "memory" else [pytest.mark.slow],  # in memory they are quick
    )
    for name in NOT_APPLICABLE
    for case in conformance.scenarios(getattr(providers_under_test, name))
]


@pytest.mark.parametrize("name, case", CASES)
def test_a_shipped_provider_passes_everything_that_can_be_asked_of_it(name: str, case: ScenarioCase):
    results = asyncio.run(case.assert_passes())
    left_out = {result.scenario for result in results if result.outcome is Outcome.NOT_APPLICABLE}
    assert left_out <= NOT_APPLICABLE[name], results
    assert results


def test_each_kind_of_the_http_subject_shows_another_habit_of_an_api():
    """Etags on the one, idempotency keys and operations on the other: together they leave no scenario out."""
    card = asyncio.run(conformance.run(providers_under_test.http, ["precondition", "repeat-create"]))
    asked = {result.scenario for result in card.results if result.outcome is Outcome.PASSED}
    assert asked == {"precondition", "repeat-create"}
