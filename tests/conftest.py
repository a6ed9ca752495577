"""What holds for every test: Hypothesis profiles, and no silent skip."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

IN_CI = os.environ.get("CI") == "true"

# Two cores shared by two workers make wall-clock limits a coin toss; the timeout of pytest is the safety net.
hypothesis.settings.register_profile(
    "default",
    deadline=None,
    max_examples=60,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "ci",
    parent=hypothesis.settings.get_profile("default"),
    derandomize=True,
    max_examples=200,
    print_blob=True,
)
hypothesis.settings.register_profile(  # for make test-fast, which is about quickly finding what is plainly wrong
    "fast", parent=hypothesis.settings.get_profile("default"), max_examples=15
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if IN_CI else "default"))


SLOW = Path(__file__).with_name("slow.txt")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what was measured to be slow, before anything is left out for it."""
    listed = set() if os.environ.get("HOLDFAST_SLOW_LIST") == "off" else set(SLOW.read_text().splitlines())
    for item in items:
        if item.nodeid.partition("[")[0] in listed:
            item.add_marker("slow")


def _skipped(config: pytest.Config) -> list[str]:
    """Name every skipped test or file with its reason; a worker of xdist knows none, its controller all."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", []) if reporter and not hasattr(config, "workerinput") else []
    return sorted(f"{report.nodeid}: {_reason(report)}" for report in reports)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    match report.longrepr:
        case (_, _, reason):
            return str(reason).removeprefix("Skipped: ")
        case other:
            return str(other)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI what was not checked is not green."""
    if IN_CI and session.exitstatus == pytest.ExitCode.OK and _skipped(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    names = _skipped(terminalreporter.config)
    if not names:
        return
    terminalreporter.section("SKIPPED, SO NOT CHECKED", red=True, bold=True)
    for name in names:
        terminalreporter.line(name, red=True)
    if IN_CI:
        terminalreporter.line(f"CI=true: {len(names)} skipped, and a skip is a failure", red=True, bold=True)
