"""How a scenario speaks: it expects, or says that it does not apply; anything else it raises is a failure, too."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.compare import paths
from holdfast.model.finding import Finding
from holdfast.model.verdict import Status
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport


class Disappointed(Exception):  # noqa: N818 - an outcome, not a mistake
    """The provider did not do what was expected of it."""


class NotApplicable(Exception):  # noqa: N818 - an outcome
    """The scenario cannot be asked of this subject; the text says why."""


def expect(holds: object, message: str) -> None:
    """Go on only if it holds; the message says what happened instead, in words for the author of the provider."""
    if not holds:
        raise Disappointed(message)


def the_only(report: RunReport) -> CheckResult:
    """Return the one check of a report; a declaration that had to wait was not checked."""
    waiting = "; ".join(one.reason for one in report.waiting)
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
    """Name the paths of findings."""
    return ", ".join(paths.format_path(finding.path) or "(document)" for finding in findings) or "nothing"
