"""The command `plan`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from holdfast.app.project import Project
from holdfast.cli import console, exit_codes, options
from holdfast.cli.progress import ProgressMeter
from holdfast.cli.render import report_files, reports
from holdfast.cli.render.result_sink import RowSink
from holdfast.cli.run import in_project


@click.command("plan")
@options.common
@click.option("--out", metavar="FILE", help="Save the plan; `apply FILE` makes exactly these writes, or refuses.")
@click.option("--all", "everything", is_flag=True, help="Show resources that are in sync too.")
@options.detailed_exitcode
@console.option(*options.FORMATS, *report_files.NAMES)
@report_files.option
def plan_command(
    out: str | None,
    everything: bool,
    detailed_exitcode: bool,
    output_: str,
    output_files: report_files.Files,
    **rest: Any,
) -> int:
    """Show the differences and the writes that would follow (read-only).

    \b
    Examples:
      holdfast plan -f infra/
      holdfast plan -f infra/ --out plan.json && holdfast apply plan.json
    """

    async def body(project: Project) -> int:
        meter = ProgressMeter(len(project.selected), "checking")
        rows = RowSink(
            reports.show_checked,
            lambda checked: everything or reports.is_news(checked),
            meter,
            len(project.selected),
        )
        sink = report_files.sink_for(output_, output_files, project, rows)
        if out is not None:
            plan = await project.plan(meter, sink)
            report = plan.require_report()
            plan.save(Path(out))
        else:  # the decisions are not kept, because there is no file to save them to
            report = await replace(project, retries=True).run_check(meter, sink=sink)
        meter.close()
        if not await report_files.show(output_, report, "plan", project.clock.now(), sink):
            reports.show_plan(report, everything=everything)
            if out is not None:
                console.line(f"Saved to {out}; apply it with: holdfast apply {out}")
        report_files.write(output_files, report, "plan", project.clock.now())
        return exit_codes.exit_code(
            reports.statuses(report), detailed=detailed_exitcode, blocked=reports.is_blocked(report)
        )

    return in_project(rest, body)
