"""Block scalars: texts of several lines below a | or >."""

from __future__ import annotations

import re
import textwrap

_SHORTEST = 20  # characters: a paragraph is not folded narrower than this
_RUN = re.compile(r"\n+")


def literal(value: str, indent: int) -> tuple[str, list[str]] | None:
    """Return the header and the lines of a text below a |, indented by so much; None if it cannot be written so."""
    body = value.rstrip("\n")
    if not body.strip() or not _is_visible(value):
        return None
    needs_number = value[0].isspace()  # or else the blanks that the text begins with would count as indentation
    if needs_number and indent > 9:
        return None
    header = "|" + (str(indent) if needs_number else "") + _chomping(value)
    return header, _indented(body.split("\n"), value, indent)


def folded(value: str, indent: int, width: int) -> tuple[str, list[str]] | None:
    """Return the header and the lines of a text below a >, folded at so many columns; None if that cannot be."""
    body = value.rstrip("\n")
    if not body.strip() or not _is_visible(value):
        return None
    if any(line[:1].isspace() or line[-1:].isspace() for line in value.split("\n")):
        return None
    lines: list[str] = []
    position = 0
    for run in [*_RUN.finditer(body), None]:
        paragraph = body[position : run.start() if run is not None else len(body)]
        lines += _wrapped(paragraph, max(width - indent, _SHORTEST)) if paragraph else []
        if run is not None:
            lines += [""] * len(run[0])
            position = run.end()
    return ">" + _chomping(value), _indented(lines, value, indent)


def _is_visible(value: str) -> bool:
    return value.replace("\n", "").replace("\t", "").isprintable()


def _chomping(value: str) -> str:
    ends = len(value) - len(value.rstrip("\n"))
    return "-" if ends == 0 else "" if ends == 1 else "+"


def _indented(lines: list[str], value: str, indent: int) -> list[str]:
    ends = len(value) - len(value.rstrip("\n"))
    return [" " * indent + line if line else "" for line in lines] + [""] * (ends - 1)


def _wrapped(paragraph: str, width: int) -> list[str]:
    if "  " in paragraph or "\t" in paragraph:  # folding would lose them
        return [paragraph]
    return textwrap.wrap(paragraph, width, break_long_words=False, break_on_hyphens=False)
