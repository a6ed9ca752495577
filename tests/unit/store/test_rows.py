"""Rows hold all of a fact; numbers that stand for words never change."""

from __future__ import annotations

import enum

import pytest
from hypothesis import given

from holdfast.model.condition import ConditionType, Truth
from holdfast.model.resource import Origin
from holdfast.model.verdict import Status
from holdfast.store import rows
from holdfast.store.state import ResourceState
from tests.unit.store import examples


def there_and_back(state: ResourceState) -> ResourceState:
    address = state.address
    detail = rows.detail_row(7, state)
    checked = rows.resource_row(7, state, rows.hash_detail(state))
    row = (7, 1, address.connection, address.kind, address.name, *checked[1:-1], *detail[1:])
    return rows.states_of([row])[0]


@given(examples.states())
def test_a_state_comes_back_exactly(state):
    assert there_and_back(state) == state


@given(examples.states(), examples.states())
def test_two_details_have_the_same_mark_only_if_they_are_the_same(one, other):
    same = rows.detail_row(1, one) == rows.detail_row(1, other)
    marks = rows.hash_detail(one), rows.hash_detail(other)
    assert marks[0] is None or (marks[0] == marks[1]) == same


@pytest.mark.parametrize(
    "numbers, known",
    [
        (
            rows.STATUS_NUMBERS,
            {"in_sync": 1, "pending": 2, "drifted": 3, "conflicted": 4, "missing": 5, "unknown": 6},
        ),
        (rows.ORIGIN_NUMBERS, {"created": 0, "imported": 1}),
        (rows.CONDITION_NUMBERS, {"Progressing": 1, "Available": 2, "Drifted": 3, "Fresh": 4, "Conflict": 5}),
        (rows.TRUTH_NUMBERS, {"False": 0, "True": 1, "Unknown": 2}),
    ],
)
def test_numbers_of_the_file_format_are_fixed(numbers, known):
    assert {member.value: number for member, number in numbers.items()} == known


@pytest.mark.parametrize(
    "numbers, words",
    [
        (rows.STATUS_NUMBERS, Status),
        (rows.ORIGIN_NUMBERS, Origin),
        (rows.CONDITION_NUMBERS, ConditionType),
        (rows.TRUTH_NUMBERS, Truth),
    ],
)
def test_every_word_has_a_number_of_its_own(numbers, words: type[enum.Enum]):
    assert set(numbers) == set(words)
    assert len(set(numbers.values())) == len(words)


def test_an_idle_state_repeats_no_digest():
    idle = examples.full_state(
        applied_document=examples.digest("desired"), observed_document=examples.digest("baseline")
    )
    moved = examples.full_state()
    size, full = (sum(len(cell) for cell in rows.detail_row(1, s) if isinstance(cell, bytes)) for s in (idle, moved))
    assert size == full - 64
    assert there_and_back(idle) == idle


def test_long_labels_are_compressed():
    labels = {f"app.example.com/label-{n}": "value" for n in range(100)}
    state = examples.full_state(labels=labels)
    assert len(rows.detail_row(1, state)[-1]) < 1000
    assert there_and_back(state) == state
