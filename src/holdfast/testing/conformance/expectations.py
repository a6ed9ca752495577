"""The expectations of scenarios, and the two exceptions that end one."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.compare import paths
from holdfast.model.finding import Finding
from holdfast.model.verdict import Status
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport


class ExpectationFailed(Exception):  # noqa: N818 - an outcome, not a mistake
    """The provider did not meet an expectation."""


class NotApplicable(Exception):  # noqa: N818 - an outcome
    """The scenario cannot run on this provider; the text says why."""


def expect(holds: object, message: str) -> None:
    """Raise ExpectationFailed with the message unless it holds; the message is for the author of the provider."""
    if not holds:
        raise ExpectationFailed(message)


def the_only(report: RunReport) -> CheckResult:
    """Return the only check of a report; a blocked declaration was not checked."""
    waiting = "; ".join(blocked.reason for blocked in report.waiting)
    expect(len(report.checked) == 1, f"it could not be checked: {waiting or 'nothing was'}")
    return report.checked[0]


def expect_status(checked: CheckResult, status: Status, when: str) -> None:
    """Expect a verdict."""
    verdict = checked.verdict
    named = f" ({named_paths(verdict.findings)})" if verdict.findings else ""
    expect(
        verdict.status is status,
        f"{when} the verdict is {verdict.status.value}, not {status.value}: {verdict.reason}{named}",
    )


def named_paths(findings: Sequence[Finding]) -> str:
    """Return the paths of findings as text."""
    return ", ".join(paths.format_path(finding.path) or "(document)" for finding in findings) or "nothing"
