"""Where a report goes besides the screen: other formats on standard output, and files for the next step of a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

import holdfast
from holdfast.cli import atomic_write, console
from holdfast.cli.render import RENDERERS, Around, reports
from holdfast.notify.cloudevents import rfc3339
from holdfast.reconcile.report import RunReport

NAMES: Final = tuple(RENDERERS)
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


def around(command: str, now: float) -> Around:
    """Return what a rendering needs to know besides the report."""
    cwd = Path.cwd()
    return Around(holdfast.__version__, repository(cwd), cwd, rfc3339(now), command)


def repository(folder: Path) -> Path:
    """Return the top of the git repository that a folder is in, or the folder itself."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)


def shown(format_: str, report: RunReport, around_: Around) -> bool:
    """Print a report if the format is not the one for the screen; tell whether it was."""
    if format_ in RENDERERS:
        console.document(RENDERERS[format_](report, around_))
        return True
    return console.structured(format_, reports.as_json(report))


def write(wanted: Files, report: RunReport, around_: Around) -> None:
    """Write a report to every file that was asked for; raise InputError for the first that cannot be written."""
    for format_, file in wanted:
        atomic_write.put(file, _text(format_, report, around_).encode())


def _text(format_: str, report: RunReport, around_: Around) -> str:
    if format_ in RENDERERS:
        return console.safe_document(RENDERERS[format_](report, around_))
    if format_ == "json":
        return console.json_text(reports.as_json(report)) + "\n"
    return console.yaml_text(reports.as_json(report))
