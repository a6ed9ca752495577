"""Where the results of a run go while it runs: onto the screen, into a JSON list, or into its report.

The rows of a run of up to one batch are shown at its end, in order of address. The rows of a larger run are shown as
they become final, batch by batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from holdfast.cli import json_stream
from holdfast.cli.json_stream import JsonList
from holdfast.cli.progress import ProgressMeter
from holdfast.cli.render import reports
from holdfast.reconcile.action_result import ActionResult
from holdfast.reconcile.check import BATCH, CheckResult
from holdfast.reconcile.report import RunReport


@dataclass(slots=True)
class RowSink:
    """Shows the checks of a large run as rows; a small run keeps them for its end."""

    show: Callable[[CheckResult], None]
    is_shown: Callable[[CheckResult], bool]
    meter: ProgressMeter
    total: int
    has_shown: bool = False

    def __call__(self, result: CheckResult | ActionResult) -> bool:
        """Show a check, or return True if the report keeps it."""
        if isinstance(result, ActionResult):
            return True
        if not self.is_shown(result):
            return False
        if self.total <= BATCH:
            return True
        self.meter.close()
        self.show(result)
        self.has_shown = True
        return False


@dataclass(slots=True)
class JsonSink:
    """Renders every result for a JSON document; the report only counts them."""

    checks: JsonList = field(default_factory=JsonList)
    actions: JsonList = field(default_factory=lambda: JsonList(is_sorted=False))

    def __call__(self, result: CheckResult | ActionResult) -> bool:
        """Render a result."""
        if isinstance(result, ActionResult):
            self.actions.add(str(result.checked.address), reports.acted_as_json(result))
        else:
            self.checks.add(str(result.address), reports.checked_as_json(result))
        return False

    async def print(self, report: RunReport) -> None:
        """Print the document of a run."""
        for address in report.not_taken:
            self.actions.added[str(address)] = reports.not_taken_as_json(report, address)
        rest = reports.rest_as_json(report)
        await json_stream.print_object({**rest, "resources": self.checks, "acted": self.actions})
