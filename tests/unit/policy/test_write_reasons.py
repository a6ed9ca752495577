"""Every write has one of four motives; in doubt it is a correction, and limited as one."""

from __future__ import annotations

import pytest

from holdfast.model.verdict import Status
from holdfast.policy import write_reasons
from holdfast.policy.write_reasons import WriteReason


@pytest.mark.parametrize(
    "code, write_reason",
    [
        ("drift", WriteReason.DRIFT),
        ("missing", WriteReason.MISSING),
        ("recreate", WriteReason.MISSING),
        ("conflict", WriteReason.CONFLICT),
        ("intent", WriteReason.INTENT),
        ("create", WriteReason.INTENT),
        ("removed", WriteReason.INTENT),
        ("immutable", WriteReason.DRIFT),
        ("anything", WriteReason.DRIFT),
    ],
)
def test_what_is_not_known_to_be_asked_for_is_a_correction(code, write_reason):
    assert write_reasons.of_code(code) is write_reason


@pytest.mark.parametrize(
    "status, write_reason",
    [
        (Status.DRIFTED, WriteReason.DRIFT),
        (Status.MISSING, WriteReason.MISSING),
        (Status.CONFLICTED, WriteReason.CONFLICT),
        (Status.PENDING, WriteReason.INTENT),
        (Status.UNKNOWN, WriteReason.DRIFT),
    ],
)
def test_a_verdict_has_the_write_reason_of_its_status(status, write_reason):
    assert write_reasons.of_status(status) is write_reason
