"""Markdown for pull-request comments and job summaries: a headline, a table, and a diff a resource, folded away.

Everything is escaped for the dialect of GitHub and GitLab: no value can close a table cell, a code block or a
`<details>`, draw an image, or notify a person by `@name`. The page stays below the size limit of a comment. Resources
that do not fit are left out one by one, and counted.
"""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Final, NamedTuple

from holdfast.cli.render import report_view
from holdfast.cli.render.report_view import Around
from holdfast.cli.render.reports import plan_line
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.finding import Finding, Op
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status, Suppressed
from holdfast.reconcile import display_value
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import Blocked

LIMIT: Final = 65_536  # GitHub counts characters; we count bytes, which are never fewer
_RESERVED: Final = 1_024  # bytes for the lines about omitted parts
_MOST_FINDINGS: Final = 40  # a resource
_MOST_LINES: Final = 60  # of a diff between two texts
_VALUE_WIDTH: Final = 300  # characters
_REASON_WIDTH: Final = 160

_PUNCTUATION = re.compile(r"([\\`*_{}\[\]|~$])")  # what has a meaning in the middle of a line
_BREAKS = re.compile(r"[\r\n\t\v\f\x00-\x1f\x7f\x85\u2028\u2029]+")
_CALLS = re.compile(r"([@#])(?=\w)")
_TICKS = re.compile(r"`+")
_NO_SPAN = re.compile(r"[|`\\<&]")  # what a code span in a table cannot hold for certain
_TAG = re.compile(r"<(?=[A-Za-z/!?])")  # not every reader of Markdown leaves tags in code alone
_MARKUP = re.compile(r"[|`\\<>&*_\[\]~$@#!:]")


def render(report: RunReport, around: Around) -> str:
    """Return the report as Markdown of at most `LIMIT` bytes."""
    head = list(_head(report, around))
    page = _Page(sum(map(_bytes, head)), around.command)
    items = list(_items(report, around))
    for item in items:
        page.add(item)
    suppressions = page.rows(
        _suppressed_row(suppression, suppressed) for suppression, suppressed in report_view.suppressions(report)
    )
    return (
        "\n".join([*head, *page.lines(len(items)), *_suppressed_section(report, suppressions), *_foot(around)]) + "\n"
    )


# -- the parts


def _table_head(command: str) -> tuple[str, str]:
    names = ("Resource", "Status", "Why", "Declared in")
    columns = ("", *names) if command == "plan" else names
    return f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"


class _Item(NamedTuple):
    """One resource: its row of the table, and its folded details."""

    row: str
    details: str


@dataclass(slots=True)
class _Page:
    """The text written so far, within the limit."""

    used: int
    command: str
    _table: list[str] = field(default_factory=list)
    _details: list[str] = field(default_factory=list)
    _cut: int = 0  # resources whose row is there, without its details

    def add(self, item: _Item) -> None:
        """Add a resource if it fits: whole, or else its row alone."""
        if self._fits(item.row + item.details):
            self._details += [item.details] if item.details else []
        elif self._fits(item.row):
            self._cut += 1
        else:
            return
        self._table.append(item.row)

    def rows(self, given: Iterable[str]) -> list[str]:
        """Return as many rows as fit."""
        return [row for row in given if self._fits(row)]

    def _fits(self, text: str) -> bool:
        size = _bytes(text) + 1
        if self.used + size > LIMIT - _RESERVED:
            return False
        self.used += size
        return True

    def lines(self, items: int) -> Iterator[str]:
        """Yield the table, the details, and the counts of omitted parts."""
        if self._table:
            yield from (*_table_head(self.command), *self._table, "")
        yield from self._details
        left_out = items - len(self._table)
        if left_out or self._cut:
            parts = [f"{left_out} resources"] if left_out else []
            parts += [f"the details of {self._cut}"] if self._cut else []
            yield f"> {' and '.join(parts)} left out, to stay below the size of a comment; `-o json` has everything.\n"


def _head(report: RunReport, around: Around) -> Iterator[str]:
    yield f"## Holdfast {around.command}: {report_view.headline(report)}\n"
    if around.command == "plan":
        yield f"{plan_line(report)}\n"
    covered = report_view.coverage(report)
    yield f"{covered}" if covered.is_complete else f"**{covered}** What could not be read is not known to be in sync."
    yield ""
    suppressed = report_view.suppressed_line(report)
    if suppressed:
        yield f"{suppressed}\n"


def _foot(around: Around) -> Iterator[str]:
    yield f"<sub>holdfast {prose(around.version)}, {prose(around.at)}</sub>"


def _items(report: RunReport, around: Around) -> Iterator[_Item]:
    for result in report_view.by_weight(report):
        if result.verdict.status is not Status.IN_SYNC or result.decision.action is not Action.NONE:
            yield _item(result, around)
    for waiting in report.waiting:
        yield _Item(_waiting_row(waiting, around), "")
    for address in report.not_reached:
        yield _Item(_row(address, "not checked", "the run was stopped before", "", _blank(around)), "")


def _item(checked: CheckResult, around: Around) -> _Item:
    declaration, verdict, decision = checked.prepared.declaration, checked.verdict, checked.decision
    reason = verdict.reason
    symbol = None
    if around.command == "plan":
        reason = f"{decision.action.value}: {decision.reasons[0].message}"
        symbol = code(decision.action.symbol) if decision.action.symbol.strip() else ""
    row = _row(declaration.address, report_view.words(verdict.status), reason, _where(declaration, around), symbol)
    return _Item(row, _details(checked, around) if verdict.findings else "")


def _waiting_row(waiting: Blocked, around: Around) -> str:
    address, where = waiting.declaration.address, _where(waiting.declaration, around)
    return _row(address, "unknown" if waiting.is_error else "waits", waiting.reason, where, _blank(around))


def _blank(around: Around) -> str | None:
    return "" if around.command == "plan" else None


def _row(address: Address, status: str, reason: str, where: str, symbol: str | None) -> str:
    """Return a row of the table; a check has no column of symbols."""
    said = prose(display_value.shortened(reason, _REASON_WIDTH))
    first = "" if symbol is None else f"| {symbol} "
    return f"{first}| {code(str(address))} | **{status}** | {said} | {where} |"


def _where(declaration: Declaration, around: Around) -> str:
    place = report_view.place_of(declaration, around)
    return code(str(place)) if place is not None else ""


# -- folded away


def _details(checked: CheckResult, around: Around) -> str:
    findings = checked.verdict.findings
    number = f"{len(findings)} {'difference' if len(findings) == 1 else 'differences'}"
    status = report_view.words(checked.verdict.status)
    summary = f"<code>{html.escape(_flat(str(checked.address)))}</code> {status}, {number}"
    write = report_view.is_write(around)
    before, after = report_view.sides(write=write)
    body = [f"--- {before}", f"+++ {after}"]
    for finding in findings[:_MOST_FINDINGS]:
        body += _hunk(finding, write=write)
    more = len(findings) - _MOST_FINDINGS
    closing = f"\nand {more} more differences\n" if more > 0 else ""
    return f"<details><summary>{summary}</summary>\n\n{fenced('diff', body)}\n{closing}\n</details>\n"


def _hunk(finding: Finding, *, write: bool) -> Iterator[str]:
    where = report_view.path_text(finding.path)
    change = f"{report_view.HOW[finding.op]}; {report_view.WHO[finding.changed_by]}"
    yield f"@@ {_flat(where)} @@ {change}; {finding.cls.value}"
    if finding.op is Op.REORDERED:
        yield "  the same elements in another order"
    before, after = report_view.before_and_after(finding, write=write)
    lines = _text_diff(before, after) if _is_text(before) and _is_text(after) else []
    if lines:
        yield from lines
        return
    for mark, value in (("-", before), ("+", after)):
        if value is not ABSENT:
            yield f"{mark} {display_value.shortened(display_value.text(value), _VALUE_WIDTH)}"


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and "\n" in value


def _text_diff(before: str, after: str) -> list[str]:
    """Show two texts of several lines as a diff of their lines; empty if they differ in how lines end only."""
    compared = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2))[3:]
    # Further heads of hunks have no meaning in a diff that is itself one hunk among others.
    lines = [
        "  …" if line.startswith("@@") else display_value.shortened(_flat(line), _VALUE_WIDTH) for line in compared
    ]
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"  … {more} more lines"] if more > 0 else lines


def _suppressed_row(checked: CheckResult, suppressed: Suppressed) -> str:
    address, path = code(str(checked.address)), code(suppressed.path or "(document)")
    note = prose(display_value.shortened(suppressed.note, _REASON_WIDTH))
    return f"| {suppressed.because.value} | {address} | {path} | {note} |"


def _suppressed_section(report: RunReport, rows: list[str]) -> Iterator[str]:
    total = sum(1 for _ in report_view.suppressions(report))
    if not total:
        return
    yield f"<details><summary>Suppressed: {total}</summary>\n"
    yield from ("| | Resource | Path | Why |", "|---|---|---|---|", *rows, "")
    if len(rows) < total:
        yield f"{total - len(rows)} more are left out.\n"
    yield "</details>\n"


# -- escaping


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _flat(text: str) -> str:
    """Put a text on one line, and make it one that UTF-8 can carry."""
    return display_value.utf8(_BREAKS.sub(" ", text))


def prose(text: str) -> str:
    """Escape a text so that it is shown literally: no markup, no HTML, and no mention that notifies a user."""
    escaped = _PUNCTUATION.sub(r"\\\1", _flat(text))
    for character, entity in (("&", "&amp;"), ("<", "&lt;")):
        escaped = escaped.replace(character, entity)
    return _CALLS.sub("\\1\u200b", escaped)


def code(text: str) -> str:
    """Return the text as code that may stand in a table: a bar would be a border even between backticks."""
    flat = _flat(text) or " "
    if _NO_SPAN.search(flat):
        return f"<code>{_MARKUP.sub(lambda found: f'&#{ord(found[0])};', flat)}</code>"
    pad = " " if flat.startswith(" ") and flat.endswith(" ") else ""  # a reader takes one blank off both ends
    return f"`{pad}{flat}{pad}`"


def fenced(language: str, lines: Iterable[str]) -> str:
    """Return a code block that no line in it can close."""
    body = _TAG.sub(r"\\u003c", display_value.utf8("\n".join(lines)))  # as JSON writes it, which values are
    fence = "`" * max(3, max((len(run) for run in _TICKS.findall(body)), default=0) + 1)
    return f"{fence}{language}\n{body}\n{fence}"
