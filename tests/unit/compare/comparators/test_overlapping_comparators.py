"""The comparators that accept a short form for a long one, and are therefore not transitive."""

from __future__ import annotations

import pytest

from holdfast.compare import comparators
from holdfast.model.json import Json

SUB = "/subscriptions/s1"
LAMBDA = "arn:aws:lambda:us-east-1:1:function:NAME"
KMS = "arn:aws:kms:us-east-1:123456789012:alias/aws/s3"
NET = "https://www.googleapis.com/compute/v1/projects/p/global/networks/n"
RELATIVE = {"scope_relative": True}
SHORT = {"short": True}
DASH = {"separators": ".-"}

SAME: list[tuple[str, dict[str, Json], Json, Json]] = [
    ("version_prefix", {}, "1", "1.2.3"),
    ("version_prefix", {}, "v1.33", "1.33.5"),
    ("version_prefix", {}, 6, "6.0"),
    ("version_prefix", {}, 1.33, "1.33.5"),
    ("version_prefix", {}, 6, 6.0),
    ("version_prefix", {}, 10**16, 1e16),
    ("version_prefix", {}, "1.2-RC1", "1.2-rc1"),
    ("version_prefix", DASH, "1.33.5", "1.33.5-gke.100"),
    ("version_prefix", {}, "latest", "latest"),
    ("arm_id", RELATIVE, "/providers/X/y", f"{SUB}/providers/X/Y/"),
    ("arm_id", RELATIVE, "/providers/X/y", f"{SUB}/resourceGroups/r/providers/x/y"),
    ("arm_id", RELATIVE, "/apis/a", f"{SUB}/providers/X/service/s/apis/A"),
    ("arm_id", RELATIVE, f"{SUB}/A", f"{SUB}/a"),
    ("resource_id", SHORT, "n", NET),
    ("resource_id", SHORT, "networks/n", NET),
    ("resource_id", SHORT, "/networks/n", NET),
    ("resource_id", SHORT, "global/networks/n", "projects/p/global/networks/n"),
    ("resource_id", SHORT, "us-central1-a", "zones/us-central1-a"),
    ("resource_id", SHORT, "NAME", LAMBDA),
    ("resource_id", SHORT, "function:NAME", LAMBDA),
    ("resource_id", SHORT, "alias/aws/s3", KMS),
    ("resource_id", SHORT, "bucket", "arn:aws:s3:::bucket"),
]

DIFFERENT: list[tuple[str, dict[str, Json], Json, Json]] = [
    ("version_prefix", {}, "1.3", "1.33"),
    ("version_prefix", {}, "1.33.5", "1.33.6"),
    ("version_prefix", {}, "1.0", "1.5"),
    ("version_prefix", {}, 1.0, "1.5"),
    ("version_prefix", {}, "1.33.5", "1.33.5-gke.100"),
    ("version_prefix", {}, "latest", "latest.1"),
    ("version_prefix", {}, "", "1"),
    ("version_prefix", {}, "1.", "1.2"),
    ("version_prefix", {}, True, "1"),
    ("version_prefix", {}, "22.4", "22.04"),
    ("version_prefix", {}, -1, "1"),
    ("version_prefix", {}, float("inf"), "1"),
    ("version_prefix", {}, 10**1500, "1"),
    ("arm_id", {}, "/providers/X/y", f"{SUB}/providers/X/y"),
    ("arm_id", RELATIVE, f"{SUB}/providers/X", "/subscriptions/s2/providers/X"),
    ("arm_id", RELATIVE, "/apis", f"{SUB}/providers/X/service/s/apis/a"),
    ("arm_id", RELATIVE, "apis", f"{SUB}/apis"),
    ("arm_id", RELATIVE, "/", f"{SUB}/apis"),
    ("arm_id", RELATIVE, SUB + "/a", f"/providers/Microsoft.Management/managementGroups/m{SUB}/a"),
    ("arm_id", RELATIVE, "/apis", "/other/apis"),
    ("resource_id", SHORT, "n", f"{NET}n"),
    ("resource_id", SHORT, "etworks/n", NET),
    ("resource_id", SHORT, "AME", LAMBDA),
    ("resource_id", SHORT, "name", LAMBDA),
    ("resource_id", SHORT, "80", "host:80"),
    ("resource_id", SHORT, "", NET),
    ("resource_id", SHORT, "/", "projects/p/x//"),
    ("resource_id", SHORT, LAMBDA, f"x/{LAMBDA}"),
    ("resource_id", SHORT, "projects/q/global/networks/n", NET),
    ("resource_id", SHORT, 5, "x/5"),
]


@pytest.mark.parametrize("name, options, one, other", SAME)
def test_a_short_form_means_its_long_form(name: str, options: dict[str, Json], one: Json, other: Json) -> None:
    comparator = comparators.build(name, **options)
    assert comparator.equal(one, other)
    assert comparator.equal(other, one)


@pytest.mark.parametrize("name, options, one, other", DIFFERENT)
def test_what_only_resembles_a_short_form_is_different(
    name: str, options: dict[str, Json], one: Json, other: Json
) -> None:
    comparator = comparators.build(name, **options)
    assert not comparator.equal(one, other)
    assert not comparator.equal(other, one)


def test_two_long_forms_of_one_short_form_stay_apart() -> None:
    comparator = comparators.build("version_prefix")
    assert comparator.equal("1.33", "1.33.5")
    assert comparator.equal("1.33", "1.33.6")
    assert not comparator.equal("1.33.5", "1.33.6")


def test_the_key_of_a_short_form_is_not_that_of_the_long_one() -> None:
    comparator = comparators.build("version_prefix")
    assert comparator.key("1.33") != comparator.key("1.33.5")
    assert comparator.key("V1.33") == comparator.key("1.33")
