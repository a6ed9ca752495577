"""The command `check`."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from holdfast.app import notifications
from holdfast.app.project import Project
from holdfast.cli import console, exit_codes, options
from holdfast.cli.progress import ProgressMeter
from holdfast.cli.render import report_files, reports
from holdfast.cli.render.result_sink import RowSink
from holdfast.cli.run import in_project


@click.command("check")
@options.common
@click.option("--all", "everything", is_flag=True, help="Show resources that are in sync too.")
@click.option("--now", "fresh", is_flag=True, help="Also ask a running watch to check the same resources.")
@options.detailed_exitcode
@console.option(*options.FORMATS, *report_files.NAMES)
@report_files.option
def check_command(
    everything: bool,
    fresh: bool,
    detailed_exitcode: bool,
    output_: str,
    output_files: report_files.Files,
    **rest: Any,
) -> int:
    """Compare declared and live state (read-only).

    The writing half of a provider cannot be reached from here.

    \b
    Examples:
      holdfast check -f infra/
      holdfast check -f infra/ --detailed-exitcode -o json     for CI
      holdfast check -f infra/ --output-file sarif=drift.sarif --output-file junit=drift.xml
    """

    async def body(project: Project) -> int:
        if fresh:
            await _request(project)
        meter = ProgressMeter(len(project.selected), "checking")
        rows = RowSink(
            partial(reports.show_verdict, everything=everything),
            lambda checked: everything or reports.has_verdict_to_show(checked),
            meter,
            len(project.selected),
        )
        sink = report_files.sink_for(output_, output_files, project, rows)
        report = await project.run_check(meter, sink=sink)
        meter.close()
        await notifications.send(project, report, console.warn)
        if not await report_files.show(output_, report, "check", project.clock.now(), sink):
            reports.show_check(report, everything=everything)
        report_files.write(output_files, report, "check", project.clock.now())
        return exit_codes.exit_code(
            reports.statuses(report), detailed=detailed_exitcode, blocked=reports.is_blocked(report)
        )

    return in_project(rest, body)


async def _request(project: Project) -> None:
    from holdfast.watch import loop

    now = project.clock.now()
    await loop.request(project.store, list(project.selected), f"cli-{int(now * 1000)}", now)
