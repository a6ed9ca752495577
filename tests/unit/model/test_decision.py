"""A decision: one of a closed set of actions, always with reasons."""

from __future__ import annotations

import dataclasses

import pytest

from holdfast.model.decision import Action, Decision, Reason

BECAUSE = Reason("drift", "changed outside Holdfast", ("/sku",))


def test_a_decision_without_a_reason_cannot_be_made():
    with pytest.raises(ValueError, match="at least one reason"):
        Decision(Action.UPDATE, ())


def test_a_decision_cannot_be_changed_once_made():
    decision = Decision(Action.UPDATE, (BECAUSE,))
    with pytest.raises(dataclasses.FrozenInstanceError):
        decision.action = Action.NONE  # type: ignore[misc]
    assert decision == Decision(Action.UPDATE, (Reason("drift", "changed outside Holdfast", ("/sku",)),))


def test_every_action_has_a_symbol_of_its_own():
    symbols = [action.symbol for action in Action]
    assert all(symbols)
    assert len(set(symbols)) == len(symbols)


@pytest.mark.parametrize(
    "action, is_write",
    [
        ("none", False),
        ("create", True),
        ("update", True),
        ("replace", True),
        ("recreate", True),
        ("adopt", False),
        ("delete", True),
        ("report", False),
        ("hold", False),
        ("block", False),
    ],
)
def test_the_set_of_actions_is_closed_and_says_which_change_the_world(action: str, is_write: bool):
    assert Action(action).is_write is is_write


def test_the_table_above_is_complete():
    assert len(Action) == 10
