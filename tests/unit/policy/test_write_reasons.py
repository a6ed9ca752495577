"""Every write has one of four motives; in doubt it is a correction, and limited as one."""

from __future__ import annotations

import pytest

from holdfast.model.verdict import Status
from holdfast.policy import write_reasons
from holdfast.policy.write_reasons import Motive


@pytest.mark.parametrize(
    "code, motive",
    [
        ("drift", Motive.DRIFT),
        ("missing", Motive.MISSING),
        ("recreate", Motive.MISSING),
        ("conflict", Motive.CONFLICT),
        ("intent", Motive.INTENT),
        ("create", Motive.INTENT),
        ("removed", Motive.INTENT),
        ("immutable", Motive.DRIFT),
        ("anything", Motive.DRIFT),
    ],
)
def test_what_is_not_known_to_be_asked_for_is_a_correction(code, motive):
    assert write_reasons.of_code(code) is motive


@pytest.mark.parametrize(
    "status, motive",
    [
        (Status.DRIFTED, Motive.DRIFT),
        (Status.MISSING, Motive.MISSING),
        (Status.CONFLICTED, Motive.CONFLICT),
        (Status.PENDING, Motive.INTENT),
        (Status.UNKNOWN, Motive.DRIFT),
    ],
)
def test_a_verdict_has_the_motive_of_its_status(status, motive):
    assert write_reasons.of_status(status) is motive
