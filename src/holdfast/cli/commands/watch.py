"""The command `watch`: shows a watch on the terminal."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import field, replace
from typing import Any, Final

import click

from holdfast.app.watch import Watch
from holdfast.cli import console, options, terminal_escape
from holdfast.cli.render import remediations, reports
from holdfast.cli.run import run
from holdfast.model.record import dataclass
from holdfast.policy import durations, settings
from holdfast.reconcile.action_result import ActionResult
from holdfast.reconcile.known_secrets import KnownSecrets
from holdfast.reconcile.report import RunReport
from holdfast.remediation.core.records import RemediationRecord
from holdfast.rollouts import render as rollout_text
from holdfast.rollouts.core.template_groups import TemplateGroup

_SHOWN: Final = 5


@click.command("watch")
@options.common
@click.option("--rounds", type=int, help="Stop after this many rounds; 0: after the first pass over all resources.")
def watch_command(rounds: int | None, **rest: Any) -> int:
    """Check and correct continuously, in the foreground.

    Checks every resource when it is due, corrects drift within the limits, and follows edits of the manifests.

    \b
    Examples:
      holdfast watch -f infra/ --default-resync-period 10m
    """
    given = replace(options.options_of(rest), is_watch=True)
    known_secrets = KnownSecrets()
    terminal_escape.hide_with(known_secrets.hidden)

    async def main(stop: asyncio.Event) -> int:
        await Watch(given, Terminal(), stop, known_secrets).run(rounds)
        return 0

    return run(main)


@dataclass(slots=True)
class Terminal:
    """Shows a watch, line by line."""

    _rollouts: dict[str, str] = field(default_factory=dict)  # the last line of each

    def first_pass(self, report: RunReport, shown: Collection[int]) -> None:
        """Show the pass over all resources, and the resources that will not be checked again."""
        self._show(report, shown)
        for group in report.groups:
            console.line(rollout_text.line(group))
        reports.show_undeclared(report.undeclared)
        self._count(report)
        items = [*(checked.prepared for checked in report.checked), *report.left_alone]
        never = [str(item.declaration.address) for item in items if item.resync_seconds <= 0]
        if never:
            named = ", ".join(sorted(never)[:_SHOWN]) + (", ..." if len(never) > _SHOWN else "")
            console.line(f"{len(never)} of {len(items)} not checked by watch, resyncPeriod is 0: {named}", fg="yellow")
        assumed = sum(item.resync_seconds > 0 and not item.settings.is_resync_set for item in items)
        if assumed:
            period = durations.format_seconds(settings.WATCH_PERIOD_SECONDS)
            console.line(f"{assumed} of {len(items)} set no resyncPeriod: checked every {period}", fg="bright_black")

    def report(self, report: RunReport) -> None:
        """Show a round of checks."""
        self._show(report, ())
        self._count(report)

    def acted(self, acted: ActionResult) -> None:
        """Show an action that ended."""
        reports.show_acted(acted)

    def rolled(self, group: TemplateGroup) -> None:
        """Show a rollout, if its line changed."""
        text = rollout_text.line(group)
        if self._rollouts.get(group.template.name) != text:
            self._rollouts[group.template.name] = text
            console.line(text)

    def assessed(self, record: RemediationRecord, now: float) -> None:
        """Show an assessment that ended."""
        remediations.show_record(record, now)

    def warn(self, *lines: str) -> None:
        """Show a warning."""
        console.warn(*lines)

    def note(self, text: str) -> None:
        """Show a remark."""
        console.line(text, fg="bright_black")

    def _show(self, report: RunReport, shown: Collection[int]) -> None:
        for checked in report.checked:
            if reports.is_news(checked):
                reports.show_checked(checked)
        for acted in report.acted:
            if id(acted) not in shown:
                reports.show_acted(acted)

    def _count(self, report: RunReport) -> None:
        statuses = Counter(checked.verdict.status for checked in report.checked)
        console.line(f"{time.strftime('%H:%M:%S')}  {reports.counted_line(statuses)}", fg="bright_black")
