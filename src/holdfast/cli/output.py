"""Printing: formats, colours, tables; nothing here knows what is being printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click
import orjson

from holdfast.model.json import Json

Style = Any  # what click.style takes
Function = TypeVar("Function", bound=Callable[..., Any])


def option(*formats: str) -> Callable[[Function], Function]:
    """Add `-o/--output`; the first format is the default."""
    return click.option(
        "-o",
        "--output",
        "output_",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="Output format.",
    )


def use_colour() -> bool:
    """Tell whether to colour: a terminal that did not ask us not to (NO_COLOR), or FORCE_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def line(text: str = "", **style: Style) -> None:
    """Print a line, styled if colours are in use."""
    coloured = use_colour()
    click.echo(click.style(text, **style) if coloured and style else text, color=coloured)


def warn(text: str) -> None:
    """Print a warning where it does not disturb what programs read."""
    click.echo(click.style("Warning: ", fg="yellow", bold=True) + text, err=True)


def styled(text: str, **style: Style) -> str:
    """Style a part of a line, if colours are in use."""
    return click.style(text, **style) if use_colour() else text


def json_text(value: Json) -> str:
    """Write a value for people and programs."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()


def json_document(value: Json) -> None:
    """Print one indented JSON document."""
    click.echo(json_text(value))


def structured(format_: str, value: Json) -> bool:
    """Print a value if the format is one for programs; tell whether it was."""
    if format_ == "json":
        json_document(value)
    elif format_ == "yaml":
        import yaml

        click.echo(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), nl=False)
    else:
        return False
    return True


def json_lines(values: Sequence[Json]) -> None:
    """Print one value as a document, several as a list."""
    json_document(values[0] if len(values) == 1 else list(values))


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: frozenset[int] = frozenset()) -> None:
    """Print aligned columns under a header; columns in `numeric` stand to the right."""
    listed = [list(row) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(header, *listed, strict=True)]
    line(_aligned(header, widths, numeric), bold=True)
    for row in listed:
        line(_aligned(row, widths, numeric))


def _aligned(row: Sequence[str], widths: Sequence[int], numeric: frozenset[int]) -> str:
    cells = (
        cell.rjust(width) if place in numeric else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join(cells).rstrip()


def markdown_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: frozenset[int] = frozenset()
) -> str:
    """Return a Markdown table."""
    ruler = ["---:" if place in numeric else "---" for place in range(len(header))]
    lines = [header, ruler, *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
