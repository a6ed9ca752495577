"""Measure the CPU that each fast test takes, children included, and rewrite tests/slow.txt from it.

usage: python tools/test_cpu.py [seconds]

Runs what `make test-fast` runs, and what tests/slow.txt lists, in one process; a function whose tests take more
than so many seconds on average (0.06) is listed.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests/slow.txt"


class Measuring:
    """Adds up the CPU of tests by function."""

    def __init__(self) -> None:
        self.taken: dict[str, list[float]] = defaultdict(list)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Measure one test."""
        before = sum(os.times()[:4])
        result = yield
        self.taken[item.nodeid.partition("[")[0]].append(sum(os.times()[:4]) - before)
        return result


def main() -> int:
    """Measure, print the sum, and write the list."""
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else 0.06
    os.environ |= {"HYPOTHESIS_PROFILE": "fast", "HOLDFAST_SLOW_LIST": "off"}
    measuring = Measuring()
    code = pytest.main(["-q", "-p", "no:cacheprovider", "-m", "not server and not slow", str(ROOT)], [measuring])
    slow = {name for name, taken in measuring.taken.items() if sum(taken) / len(taken) > limit}
    head = [line for line in LIST.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    LIST.write_text("\n".join([*head, *sorted(slow)]) + "\n", encoding="utf-8")
    left = sum(sum(taken) for name, taken in measuring.taken.items() if name not in slow)
    print(f"{sum(map(sum, measuring.taken.values())):.0f} s of CPU, {left:.0f} s without the {len(slow)} that are slow")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
