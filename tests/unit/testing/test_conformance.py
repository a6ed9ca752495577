"""The conformance kit itself: its card, its leaves, its manners, and its command."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.path import Selector
from holdfast.testing import conformance
from holdfast.testing.conformance import Outcome, Result, ScoreCard, leaf_values, scenario_catalogue
from holdfast.testing.conformance.engine_process import RealClock
from holdfast_emulators import providers_under_test

ROOT = Path(__file__).resolve().parents[3]
PASSED = Result("create", "Thing", Outcome.PASSED, "minimal and full")
FAILED = Result("list", "Thing", Outcome.FAILED, "the list leaves out <a> | b")
APART = Result("throttle", "Thing", Outcome.NOT_APPLICABLE, "nothing throttles")


# --- the card ---------------------------------------------------------------------------------------------------------


def test_what_was_not_asked_is_in_neither_number_of_the_score():
    card = ScoreCard("memory", (PASSED, APART))
    assert card.summary == "memory: 1 of 1 passed, 1 not applicable"
    assert card.is_clean


@pytest.mark.parametrize("results", [(), (APART,), (PASSED, FAILED)])
def test_a_card_is_clean_only_if_something_passed_and_nothing_failed(results):
    assert not ScoreCard("memory", results).is_clean


def test_the_text_says_of_each_scenario_what_was_done_what_failed_or_why_it_was_not_asked():
    text = ScoreCard("memory", (PASSED, FAILED, APART)).text()
    assert "✓ create               minimal and full" in text
    assert "✗ list                 failed: the list leaves out <a> | b" in text
    assert "- throttle             not applicable: nothing throttles" in text
    assert text.endswith("memory: 1 of 2 passed, 1 not applicable")


def test_the_markdown_has_a_column_a_kind_and_reasons_below_that_break_no_table():
    page = ScoreCard("memory", (PASSED, FAILED, APART, replace(PASSED, kind="Other"))).markdown()
    assert "| scenario | Thing | Other |" in page
    assert "| create | passed | passed |" in page
    assert "| list | **FAILED** |  |" in page
    assert "| throttle | n/a |  |" in page
    assert "- list, Thing: failed; the list leaves out &lt;a> \\| b" in page


def test_the_json_has_everything():
    body = ScoreCard("memory", (PASSED, FAILED, APART)).as_json()
    assert (body["passed"], body["failed"], body["notApplicable"], body["isClean"]) == (1, 1, 1, False)
    assert [result["outcome"] for result in body["results"]] == ["passed", "failed", "not applicable"]


# --- leaves -----------------------------------------------------------------------------------------------------------


def test_the_leaves_are_the_values_that_hold_no_other():
    document = {"a": 1, "b": {"c": [True, {"d": None}], "e": {}}, "f": []}
    assert list(leaf_values.leaves(document)) == [
        (("a",), 1),
        (("b", "c", 0), True),
        (("b", "c", 1, "d"), None),
        (("b", "e"), {}),
        (("f",), []),
    ]


@pytest.mark.parametrize("value", [True, 1, 1.5, "x", "", None, [], {}])
def test_another_value_differs_and_keeps_its_kind_where_it_has_one(value):
    other = leaf_values.other(value)
    assert other != value
    assert value is None or type(other) is type(value)


def finding(*path: str | int | Selector) -> Finding:
    return Finding(path, Op.CHANGED, FindingClass.SPECIFIED, ChangedBy.LIVE)


SSH = Selector((("name", "ssh"),))
NAMING = {
    "the very path": ([finding("a", "b")], ("a", "b"), True),
    "nothing": ([], ("a",), False),
    "the path and another": ([finding("a"), finding("b")], ("a",), False),
    "something above it": ([finding("a")], ("a", "b"), False),
    "something below it": ([finding("a", "b")], ("a",), False),
    "the element by its content": ([finding("rules", SSH, "port")], ("rules", 0, "port"), True),
    "two elements of the same list": ([finding("rules", 0), finding("rules", 1)], ("rules", 0), True),
    "an element of another list": ([finding("others", 0)], ("rules", 0), False),
}


@pytest.mark.parametrize("findings, pointer, exactly", NAMING.values(), ids=NAMING.keys())
def test_a_change_is_named_exactly_by_its_path_and_in_a_list_by_the_list(findings, pointer, exactly):
    assert leaf_values.is_exactly(findings, pointer, "x") is exactly


# --- manners ----------------------------------------------------------------------------------------------------------


def altered(**fields):
    @asynccontextmanager
    async def opening():
        async with providers_under_test.memory() as subject:
            yield replace(subject, **fields)

    return opening


def test_the_world_is_left_as_it_was_found():
    async def story():
        async with providers_under_test.memory() as subject:
            world = subject.drift_injector._world  # type: ignore[attr-defined]
            world.things["Thing", "mine"] = {"name": "mine", "color": "blue"}
            card = await conformance.run(subject)
            return card, world

    card, world = asyncio.run(story())
    assert card.is_clean
    assert world.things == {("Thing", "mine"): {"name": "mine", "color": "blue"}}
    assert world.faults == []


def test_without_faults_the_scenarios_that_need_them_are_not_applicable_and_say_so():
    card = asyncio.run(conformance.run(altered(faults=None), ["unreadable", "throttle", "create"]))
    assert {result.outcome for result in card.results if result.scenario != "create"} == {Outcome.NOT_APPLICABLE}
    assert "brings nothing that makes calls fail" in card.text()


def test_what_the_author_says_cannot_be_asked_is_shown_with_his_reason():
    async def story():
        async with providers_under_test.memory() as subject:
            samples = tuple(replace(sample, cannot={"list": "no such call"}) for sample in subject.samples)
            return await conformance.run(replace(subject, samples=samples), ["list"])

    card = asyncio.run(story())
    assert {(result.outcome, result.detail) for result in card.results} == {(Outcome.NOT_APPLICABLE, "no such call")}
    assert not card.is_clean


def test_a_kind_that_the_provider_does_not_have_fails():
    async def story():
        async with providers_under_test.memory() as subject:
            return await conformance.run(
                replace(subject, samples=(replace(subject.samples[0], kind="Nothing"),)), ["create"]
            )

    (result,) = asyncio.run(story()).results
    assert result.outcome is Outcome.FAILED
    assert "has no kind 'Nothing'" in result.detail


def test_a_scenario_that_is_misspelt_is_refused():
    with pytest.raises(ValueError, match="there is no scenario 'creat'"):
        conformance.scenarios(providers_under_test.memory, ["creat"])


def test_every_scenario_is_a_case_by_its_name():
    assert [str(case) for case in conformance.scenarios(providers_under_test.memory)] == list(scenario_catalogue.ALL)


def test_with_real_time_the_provider_is_waited_for():
    async def story():
        clock = RealClock()
        before = clock.now()
        await clock.sleep(0.01)
        clock.advance(1000)
        return clock.slept, clock.now() - before

    slept, passed = asyncio.run(story())
    assert slept == pytest.approx(0.01)
    assert passed >= 1000.01
    card = asyncio.run(conformance.run(altered(real_time=True, longest_seconds=60), ["repeat-create"]))
    assert card.is_clean


# --- the command ------------------------------------------------------------------------------------------------------


def kit(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "holdfast.testing.conformance", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_the_command_prints_a_card_and_succeeds_if_nothing_failed():
    done = kit("holdfast_emulators.providers_under_test:memory", "--scenario", "create", "-o", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["passed"] == 2


def test_the_command_fails_if_something_failed(tmp_path):
    (tmp_path / "wrong.py").write_text(
        "from tests.unit.testing import broken\nsubject = broken.on_memory(broken.ForgetsTheLast)\n"
    )
    command = [sys.executable, "-m", "holdfast.testing.conformance", "wrong:subject", "--scenario", "list"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == 1, done.stderr
    assert "✗ list" in done.stdout


MISTAKES = {
    "no colon": ("holdfast_emulators.providers_under_test", "module:name"),
    "no module": ("nowhere.at_all:subject", "nowhere"),
    "no such name": ("holdfast_emulators.providers_under_test:nothing", "nothing"),
    "not a subject": ("holdfast_emulators.providers_under_test:__doc__", "neither a Subject"),
}


@pytest.mark.parametrize("given, says", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_subject_that_cannot_be_had_is_a_mistake_in_one_line(given, says):
    done = kit(given)
    assert done.returncode == 64
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_help_names_the_scenarios():
    done = kit("--help")
    assert done.returncode == 0
    assert "mutate-every-field" in done.stdout
