"""The command `apply`."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

import click

from holdfast.app import notifications
from holdfast.app.plan import Plan
from holdfast.app.project import Project
from holdfast.cli import confirm, console, options
from holdfast.cli.progress import ProgressMeter
from holdfast.cli.render import reports
from holdfast.cli.render.result_sink import JsonSink, RowSink
from holdfast.cli.run import open_project, run
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.verdict import Status
from holdfast.reconcile import finding_actions, ineffective_creates
from holdfast.reconcile.action_result import LEFT_TO_OTHERS, ActionOutcome, ActionResult
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import Blocked
from holdfast.store.state import Digest


@click.command("apply")
@click.argument("plan_file", required=False)
@options.common
@click.option("-y", "--yes", is_flag=True, help="Do not ask before writing.")
@click.option("--recreate", is_flag=True, help="Also recreate resources without resync that were deleted elsewhere.")
@click.option("--create-again", is_flag=True, help="Repeat creates whose outcome is unknown.")
@console.option(*options.FORMATS)
def apply_command(
    plan_file: str | None, yes: bool, recreate: bool, create_again: bool, output_: str, **rest: Any
) -> int:
    """Apply manifests, within configured limits.

    With PLAN_FILE (from `plan --out`) exactly the writes of the plan are made, or none.

    \b
    Examples:
      holdfast apply -f infra/
      holdfast apply plan.json
    """
    given = options.options_of(rest)
    plan = Plan.load(Path(plan_file)) if plan_file else None
    if plan is not None:
        given = plan.options
    elif not yes:
        confirm.require_answer("apply")

    async def main(stop: asyncio.Event) -> int:
        async with open_project(given) as project:
            to = sys.stdout if output_ == "table" else sys.stderr
            if plan is None and not yes and not await _is_agreed(project, to):
                return 1
            results = _Results(plan, JsonSink() if output_ == "json" else None, bool(project.config.notify))
            results.keeps_all |= output_ == "yaml"
            again: dict[str, Any] = {"reconsider": _with_recreate} if recreate else {}
            again |= {"create_again": create_again, "sink": results}
            report = await _apply(project, stop, plan, again, quiet=output_ != "table")
            await ineffective_creates.note(project.store, report, results.made)
            await notifications.send(project, report, console.warn)
        if results.json is not None:
            await results.json.print(report)
        elif not console.structured(output_, lambda: reports.as_json(report)):
            _show(report, results)
        return _exit_code(report) or int(bool(results.outdated))

    return run(main)


@dataclass(slots=True)
class _Results:
    """Receives the results of an apply; its report keeps those that are shown at the end, and counts the others."""

    plan: Plan | None
    json: JsonSink | None
    keeps_all: bool
    outdated: list[Address] = field(default_factory=list)  # other decisions than those of the plan
    made: list[tuple[Address, Digest]] = field(default_factory=list)  # new resources with known differences
    begun: int = 0  # assessments

    def __call__(self, result: CheckResult | ActionResult) -> bool:
        """Take a result; return True if the report keeps it."""
        if self.json is not None:
            self.json(result)
        if isinstance(result, ActionResult):
            return self._take_acted(result)
        if self.plan is not None and self.plan.is_outdated_by(result):
            self.outdated.append(result.address)
        return self.keeps_all or _is_shown(result)

    def _take_acted(self, acted: ActionResult) -> bool:
        if acted.correction is not None:
            from holdfast.cli.render import remediations

            self.begun += remediations.is_begun(acted)
        is_kept = self.keeps_all or acted.result is ActionOutcome.HELD
        digest = None if is_kept else ineffective_creates.known_differences(acted)
        if digest is not None:
            self.made.append((acted.checked.address, digest))
        return is_kept


async def _is_agreed(project: Project, to: TextIO) -> bool:
    """Show the plan and ask. A plan without writes needs no answer."""
    meter = ProgressMeter(len(project.selected), "checking")
    rows = RowSink(reports.show_checked, reports.is_news, meter, len(project.selected))
    with contextlib.redirect_stdout(to):
        report = await replace(project, retries=True).run_check(meter, record=False, sink=rows)
        meter.close()
        reports.show_plan(report)
    return not reports.is_work(report) or confirm.is_agreed("Apply this?")


async def _apply(
    project: Project, stop: asyncio.Event, plan: Plan | None, again: dict[str, Any], *, quiet: bool
) -> RunReport:
    meter = ProgressMeter(len(project.selected), "applying")

    def progress(step: CheckResult | ActionResult | Blocked) -> None:
        meter(step)
        if isinstance(step, ActionResult) and not quiet:
            meter.close()
            reports.show_acted(step)

    when_rolled = None if quiet else reports.show_all_acted
    report = await project.run_apply(plan, stop=stop, progress=progress, when_rolled=when_rolled, **again)
    meter.close()
    return report


def _is_shown(checked: CheckResult) -> bool:
    is_stopped = checked.decision.action in (Action.BLOCK, Action.HOLD, Action.REPORT)
    return is_stopped or checked.verdict.status is Status.UNKNOWN


def _show(report: RunReport, results: _Results) -> None:
    for checked in report.checked:
        if _is_shown(checked):
            reports.show_checked(checked)
    for waiting in report.waiting:
        console.line(f"  … {waiting.declaration.address}  {waiting.reason}")
    for address in results.outdated:
        console.line(f"  ✗ {address}  changed since the plan was made; skipped", fg="red")
    reports.show_groups(report)
    reports.show_not_taken(report)
    console.line(reports.apply_line(report), bold=True)
    reports.show_undeclared(report.undeclared)
    if results.begun:
        from holdfast.cli.render import remediations

        remediations.show_begun(results.begun)


def _with_recreate(checked: CheckResult) -> CheckResult:
    """Return a blocked decision about a deleted resource as one that recreates it."""
    return finding_actions.recreated(checked) if checked.decision.action is Action.BLOCK else checked


def _exit_code(report: RunReport) -> int:
    tally = report.tally
    good = {ActionOutcome.DONE, *LEFT_TO_OTHERS}
    bad = any(number and result not in good for result, number in tally.outcomes.items()) or tally.incomplete > 0
    bad = bad or bool(report.waiting or report.not_reached)
    unknown, blocked = tally.statuses[Status.UNKNOWN], tally.decisions[Action.BLOCK]
    return 1 if bad or unknown or blocked or reports.has_stuck_rollout(report) else 0
