"""The results of a run of a project, for Python programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from holdfast.model.record import dataclass
from holdfast.model.verdict import Status

if TYPE_CHECKING:
    from holdfast.model.address import Address
    from holdfast.model.finding import Finding
    from holdfast.reconcile.action_result import ActionResult
    from holdfast.reconcile.check import CheckResult
    from holdfast.reconcile.report import RunReport


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The verdicts of a check. A resource that could not be checked is never among those in sync."""

    run: RunReport

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """The checked resources in order of address, each with `address`, `verdict` and `decision`."""
        return tuple(sorted(self.run.checked, key=lambda checked: str(checked.address)))

    @property
    def counts(self) -> Mapping[Status, int]:
        """The number of checked resources of each status."""
        return Counter(checked.verdict.status for checked in self.run.checked)

    @property
    def unchecked(self) -> tuple[Address, ...]:
        """Resources without a verdict: blocked by another resource, or not reached."""
        return (*(waiting.declaration.address for waiting in self.run.waiting), *self.run.not_reached)

    @property
    def is_in_sync(self) -> bool:
        """True if every resource was checked and is in sync."""
        return not self.unchecked and all(result.verdict.status is Status.IN_SYNC for result in self.run.checked)

    def findings(self) -> Iterator[tuple[Address, Finding]]:
        """Yield every difference with the address of its resource."""
        for result in self.results:
            for finding in result.verdict.findings:
                yield result.address, finding


@dataclass(frozen=True, slots=True)
class ApplyReport(CheckReport):
    """The verdicts and the writes of an apply."""

    @property
    def actions(self) -> tuple[ActionResult, ...]:
        """The writes, each with its `result` and `message`."""
        return tuple(self.run.acted)
