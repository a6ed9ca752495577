"""Every scenario of research/aso.md, section 5, has its test; conftest sees that each asserts PUTs and reasons."""

from __future__ import annotations

import re
from pathlib import Path

SCENARIOS = range(1, 39)


def test_every_scenario_has_a_test_that_bears_its_number():
    files = sorted(Path(__file__).parent.glob("test_scenarios*.py"))
    found = {int(number) for file in files for number in re.findall(r"def test_(\d\d)_", file.read_text("utf-8"))}
    assert sorted(found) == list(SCENARIOS)
