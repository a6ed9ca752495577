"""What a write of a whole document must leave as it is."""

from __future__ import annotations

from holdfast.compare import profiles, verdict_rules
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.reconcile import update_content

RULES = profiles.stack(
    [
        profiles.build(
            {
                "profile": "t",
                "version": 1,
                "rules": [
                    {"path": "/tags/policy", "class": "ignore"},
                    {"path": "/stamp", "class": "read_only"},
                    {"path": "/moves", "class": "runtime"},
                ],
            }
        )
    ]
)


def drifted(name, changed_by=ChangedBy.LIVE):
    return Finding((name,), Op.CHANGED, FindingClass.SPECIFIED, changed_by, 1, 1, 2)


def left(findings, caused=(), unresolved=(), *documents):
    return update_content.left_alone(verdict_rules.conclude(findings), caused, unresolved, documents, RULES.tree())


def test_drift_that_was_not_decided_on_is_left():
    assert left([drifted("a"), drifted("b")], {"/a"}) == ("/b",)


def test_an_edit_of_the_declaration_is_never_left():
    assert left([drifted("a", ChangedBy.DECLARED), drifted("b")], {"/b"}) == ()


def test_what_could_not_be_put_back_is_not_declared_by_sending_it():
    assert left([drifted("a")], (), {"/a"}) == ()


def test_what_is_not_compared_is_left_wherever_it_stands():
    declared, live = {"tags": {"policy": "1", "mine": "x"}}, {"stamp": 7, "moves": 1, "tags": {"policy": "2"}}
    assert left([], (), (), declared, live) == ("/tags/policy", "/stamp")
