"""What is too many in a map that is declared as a whole is taken out, by providers that write only what differs."""

from __future__ import annotations

import asyncio

from holdfast.model.decision import Action
from tests.unit.reconcile.fixtures import Bench, declare


def run(coroutine):
    return asyncio.run(coroutine)


def action_after_an_entry_came(rule: str) -> tuple[Action, Bench, list]:
    bench = Bench(patches=True, profile=f"{{profile: a/b, version: 1, rules: [{{path: /it, map: {rule}}}]}}")
    fleet = [declare("a", {"it": {"a": "1"}, "x": 1})]
    run(bench.apply(fleet))
    bench.clock.advance(10_000)
    bench.live_thing("a")["it"]["b"] = "2"
    (checked,) = run(bench.check(fleet)).checked
    return checked.decision.action, bench, fleet


def test_an_entry_too_many_is_taken_out():
    action, bench, fleet = action_after_an_entry_came("{whole: true}")
    assert action is Action.UPDATE
    run(bench.apply(fleet))
    assert bench.live_thing("a")["it"] == {"a": "1"}


def test_an_entry_of_somebody_elses_is_only_told():
    action, bench, fleet = action_after_an_entry_came("{whole: false}")
    assert action is Action.REPORT
    run(bench.apply(fleet))
    assert bench.live_thing("a")["it"] == {"a": "1", "b": "2"}
