"""Printing: formats, colours, tables. Nothing here knows the content.

All output goes through here, and is escaped on its way out (`terminal_escape`): text is one line of ours unless it is a
document, and no value can pretend to be more than a value.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import click
import orjson

from holdfast.cli import terminal_escape
from holdfast.model.json import Json

Style = Any  # what click.style takes
# Stands for the escape character of our own styles until a line is printed. Input cannot contain it by chance.
_ESC: Final = f"\0{os.urandom(8).hex()}"
_STYLE: Final = re.compile(f"{_ESC}\\[[0-9;]*m")
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
    """Return True if output is coloured: on a terminal without NO_COLOR, or with FORCE_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def line(text: str = "", **style: Style) -> None:
    """Print a line, styled if colours are in use."""
    click.echo(_printable(styled(text, **style) if style else text), color=use_colour())


def warn(*lines: str) -> None:
    """Print a warning of one or more lines to standard error, so that it does not disturb programs."""
    _suppressed("Warning: ", "yellow", lines)


def problem(*lines: str) -> None:
    """Print an error of one or more lines."""
    _suppressed("Error: ", "red", lines)


def _suppressed(label: str, colour: str, lines: Sequence[str]) -> None:
    text = "\n".join(_printable(line) for line in lines)
    click.echo(click.style(label, fg=colour, bold=True) + text, err=True)


def styled(text: str, **style: Style) -> str:
    """Style a part of a line, if colours are in use."""
    return click.style(_cell(text), **style).replace("\x1b", _ESC) if use_colour() else text


def _printable(text: str) -> str:
    return "\x1b".join(map(terminal_escape.in_a_line, terminal_escape.hidden(text).split(_ESC)))


def document(text: str) -> None:
    """Print a rendered document of several lines, such as a report."""
    click.echo(safe_document(text), nl=False)


def safe_document(text: str) -> str:
    """Return a rendered document as it may leave: as text, Markdown, XML, HTML or JSON alike."""
    return terminal_escape.in_a_document(terminal_escape.hidden(text))


def json_text(value: Json) -> str:
    """Write a value for people and programs."""
    return safe_document(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode())


def yaml_text(value: Json) -> str:
    """Write a value as YAML; texts that must not reach a terminal as they are stand in quotes, on one line, escaped."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes texts that must be escaped, because only double quotes allow escapes."""

    def text(dumper: yaml.SafeDumper, given: str) -> yaml.ScalarNode:
        style = '"' if terminal_escape.in_a_line(given) != given else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", given, style)

    Dumper.add_representer(str, text)
    written: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=sys.maxsize)
    return safe_document(written)


def json_document(value: Json) -> None:
    """Print one indented JSON document."""
    click.echo(json_text(value))


def json_line(value: Json) -> None:
    """Print a value as JSON on one line."""
    click.echo(safe_document(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()))


def structured(format_: str, value: Callable[[], Json]) -> bool:
    """Compute and print a value if the format is one for programs; return True if it is."""
    if format_ == "json":
        json_document(value())
    elif format_ == "yaml":
        click.echo(yaml_text(value()), nl=False)
    else:
        return False
    return True


def json_lines(values: Sequence[Json]) -> None:
    """Print one value as a document, several as a list."""
    json_document(values[0] if len(values) == 1 else list(values))


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: frozenset[int] = frozenset()) -> None:
    """Print aligned columns under a header; columns in `numeric` stand to the right."""
    listed = [list(row) for row in rows]
    listed = [[_cell(cell) for cell in row] for row in listed]
    widths = [max(map(_width, column)) for column in zip(header, *listed, strict=True)]
    line(_aligned(header, widths, numeric), bold=True)
    for row in listed:
        line(_aligned(row, widths, numeric))


def _aligned(row: Sequence[str], widths: Sequence[int], numeric: frozenset[int]) -> str:
    cells: list[str] = []
    for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
        blanks = " " * (width - _width(cell))
        cells.append(blanks + cell if place in numeric else cell + blanks)
    return "  ".join(cells).rstrip()


def _cell(text: str) -> str:
    return _ESC.join(map(terminal_escape.in_a_line, terminal_escape.hidden(text).split(_ESC)))


def _width(cell: str) -> int:
    return len(_STYLE.sub("", cell))


def markdown_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: frozenset[int] = frozenset()
) -> str:
    """Return a Markdown table."""
    ruler = ["---:" if place in numeric else "---" for place in range(len(header))]
    lines = [header, ruler, *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
