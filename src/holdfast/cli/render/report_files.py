"""Reports in other formats than the table: on standard output, and in files for the next step of a job."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from holdfast.cli import console
from holdfast.cli.render import reports
from holdfast.cli.render.result_sink import JsonSink, RowSink
from holdfast.reconcile.report import keep_all

if TYPE_CHECKING:
    from holdfast.app.project import Project
    from holdfast.cli.render.report_view import Around
    from holdfast.reconcile.report import RunReport, Sink

NAMES: Final = ("markdown", "sarif", "junit", "html")  # each a module of this package
_STRUCTURED: Final = ("json", "yaml")
_FILES: Final = (*_STRUCTURED, *NAMES)

Function = TypeVar("Function", bound=Callable[..., Any])
Files = Sequence[tuple[str, Path]]


def option(function: Function) -> Function:
    """Add `--output-file FORMAT=FILE`."""
    decorate = click.option(
        "--output-file",
        "output_files",
        multiple=True,
        metavar="FORMAT=FILE",
        callback=_parsed,
        help=f"Also write the report to a file, as one of {', '.join(_FILES)} (may be repeated).",
    )
    return decorate(function)


def _parsed(_context: click.Context, _parameter: click.Parameter, given: Sequence[str]) -> list[tuple[str, Path]]:
    out = []
    for text in given:
        name, equals, file = text.partition("=")
        if not equals or not file:
            message = f"{text!r} is not FORMAT=FILE; write for example sarif=holdfast.sarif"
            raise click.BadParameter(message)
        if name not in _FILES:
            message = f"{name!r} is not one of {', '.join(_FILES)}"
            raise click.BadParameter(message)
        out.append((name, Path(file)))
    return out


def sink_for(format_: str, files: Files, project: Project, rows: RowSink) -> Sink:
    """Return where the results of a run go: onto the screen, into a JSON list, or all into its report."""
    if files or project.config.notify or format_ not in {"table", "json"}:
        return keep_all
    return JsonSink() if format_ == "json" else rows


async def show(format_: str, report: RunReport, command: str, now: float, sink: Sink) -> bool:
    """Print a report unless its format is the table; return True if it was printed."""
    if isinstance(sink, JsonSink):
        await sink.print(report)
        return True
    if format_ in NAMES:
        console.document(_render(format_, report, command, now))
        return True
    return console.structured(format_, lambda: reports.as_json(report))


def write(files: Files, report: RunReport, command: str, now: float) -> None:
    """Write a report to the files that were asked for; raise InputError for the first that cannot be written."""
    if not files:
        return
    from holdfast.cli import atomic_write

    for format_, file in files:
        if format_ in NAMES:
            text = console.safe_document(_render(format_, report, command, now))
        elif format_ == "json":
            text = console.json_text(reports.as_json(report)) + "\n"
        else:
            text = console.yaml_text(reports.as_json(report))
        atomic_write.put(file, text.encode())


def _render(format_: str, report: RunReport, command: str, now: float) -> str:
    module = importlib.import_module(f"holdfast.cli.render.{format_}")
    text: str = module.render(report, context(command, now))
    return text


def context(command: str, now: float) -> Around:
    """Return everything that a rendering depends on beside the report."""
    import holdfast
    from holdfast.cli.render.report_view import Around
    from holdfast.notify.cloudevents import rfc3339

    cwd = Path.cwd()
    return Around(holdfast.__version__, repository(cwd), cwd, rfc3339(now), command)


def repository(folder: Path) -> Path:
    """Return the top of the git repository that a folder is in, or the folder itself."""
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), folder)
