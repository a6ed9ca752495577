"""HTML: the whole report in one file that needs nothing else, for an artefact, a mail or a wall.

Every text goes through one function that escapes it. A content security policy names the hashes of our own style and
script, so that even a mistake there would run nothing and load nothing. Without scripts all of it is shown; with them
it can be filtered.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from holdfast.cli import terminal_escape
from holdfast.cli.render import report_view
from holdfast.cli.render.report_view import Around
from holdfast.cli.render.reports import plan_line
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.verdict import Status, Suppressed
from holdfast.reconcile import display_value
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import Blocked

_VALUE_WIDTH: Final = 2_000  # characters
_NOT_CHECKED: Final = "not_checked"

STYLE: Final = """
:root { color-scheme: light dark;
  --page: #fff; --text: #1f2328; --faint: #59636e; --line: #d1d9e0; --box: #f6f8fa;
  --in_sync: #1a7f37; --pending: #0969da; --drifted: #9a6700; --conflicted: #8250df; --missing: #cf222e;
  --unknown: #59636e; --not_checked: #59636e; --declared: #dafbe1; --live: #ffebe9; }
@media (prefers-color-scheme: dark) { :root {
  --page: #0d1117; --text: #e6edf3; --faint: #9198a1; --line: #3d444d; --box: #151b23;
  --in_sync: #3fb950; --pending: #4493f8; --drifted: #d29922; --conflicted: #ab7df8; --missing: #f85149;
  --unknown: #9198a1; --not_checked: #9198a1; --declared: #12261e; --live: #3c1618; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 75rem; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { margin: 0; font-size: 1.5rem; } h2 { margin: 2rem 0 .5rem; font-size: 1.15rem; }
code, pre, td.value { font: 13px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
code, td { overflow-wrap: anywhere; }
.faint { color: var(--faint); } .gap { font-weight: 600; color: var(--missing); }
.filters { display: flex; flex-wrap: wrap; gap: .5rem; margin: 1rem 0; padding: 0; list-style: none; }
.filters button, .filters span { display: inline-block; padding: .2rem .7rem; border: 1px solid var(--line);
  border-radius: 2rem; background: var(--box); color: inherit; font: inherit; }
.filters button { cursor: pointer; }
.filters button[aria-pressed=true] { border-color: currentColor; font-weight: 600; }
.filters b { font-variant-numeric: tabular-nums; }
article { border: 1px solid var(--line); border-left: 4px solid var(--mark, var(--line)); border-radius: 6px;
  margin: .5rem 0; } article[hidden] { display: none; }
summary, article > p { padding: .5rem .8rem; margin: 0; } summary { cursor: pointer; }
.status { display: inline-block; min-width: 6.5rem; font-weight: 600; color: var(--mark); }
.why { margin-left: .6rem; color: var(--faint); }
.inside { padding: 0 .8rem .8rem; } .inside p { margin: 0 0 .3rem; } .wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; } th { text-align: left; font-weight: 600; color: var(--faint); }
th, td { padding: .3rem .6rem; border-top: 1px solid var(--line); vertical-align: top; }
td.value { white-space: pre-wrap; min-width: 10rem; } td:first-child { min-width: 12rem; }
td.declared { background: var(--declared); } td.live { background: var(--live); }
.in_sync { --mark: var(--in_sync); } .pending { --mark: var(--pending); } .drifted { --mark: var(--drifted); }
.conflicted { --mark: var(--conflicted); } .missing { --mark: var(--missing); } .unknown { --mark: var(--unknown); }
.not_checked { --mark: var(--not_checked); }
@media print { .filters { display: none; } article { break-inside: avoid; } }
"""

SCRIPT: Final = """
const list = document.querySelector('.filters');
const articles = [...document.querySelectorAll('article')];
const chosen = new Set();
for (const item of list.querySelectorAll('span')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = item.className;
  button.append(...item.childNodes);
  button.setAttribute('aria-pressed', 'false');
  button.addEventListener('click', () => {
    const status = button.className;
    const on = chosen.has(status) ? !chosen.delete(status) : !!chosen.add(status);
    button.setAttribute('aria-pressed', String(on));
    for (const each of articles) each.hidden = chosen.size > 0 && !chosen.has(each.className);
  });
  item.replaceWith(button);
}
"""


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


POLICY: Final = (
    f"default-src 'none'; style-src {_digest(STYLE)}; script-src {_digest(SCRIPT)}; base-uri 'none'; form-action 'none'"
)


def render(report: RunReport, around: Around) -> str:
    """Return the report as one page."""
    title = f"Holdfast {around.command}: {report_view.headline(report)}"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{text(POLICY)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{text(title)}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            *_head(report, around),
            "<main>",
            *(_resource(result, around) for result in report_view.by_weight(report)),
            *(_waiting(blocked, around) for blocked in report.waiting),
            *(_bare(address, "the run was stopped before") for address in report.not_reached),
            "</main>",
            *_suppressions(report),
            f"<script>{SCRIPT}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def text(value: str) -> str:
    """Escape a text for HTML, attributes included. Characters that must not be shown are escaped as in JSON."""
    return display_value.utf8(escape(terminal_escape.in_a_line(value), quote=True))


# -- the head


def _head(report: RunReport, around: Around) -> Iterator[str]:
    covered = report_view.coverage(report)
    yield f"<header><h1>Holdfast {text(around.command)}</h1>"
    yield f'<p class="{"whole" if covered.is_complete else "gap"}">{text(str(covered))}</p>'
    for line in (plan_line(report) if around.command == "plan" else "", report_view.suppressed_line(report)):
        if line:
            yield f"<p>{text(line)}</p>"
    yield f'<p class="faint">{text(around.at)}, holdfast {text(around.version)}</p>'
    yield '<ul class="filters" aria-label="Show only">'
    for status, number in report_view.counts(report).items():
        yield _filter(status.value, report_view.words(status), number)
    unchecked = len(report.waiting) + len(report.not_reached)
    if unchecked:
        yield _filter(_NOT_CHECKED, "not checked", unchecked)
    yield "</ul></header>"


def _filter(status: str, words: str, number: int) -> str:
    return f'<li><span class="{status}"><b>{number}</b> {text(words)}</span></li>'


# -- resources


def _resource(checked: CheckResult, around: Around) -> str:
    declaration, verdict = checked.prepared.declaration, checked.verdict
    place = report_view.place_of(declaration, around)
    status = verdict.status
    line = _line(report_view.words(status), declaration.address, verdict.reason)
    if status is Status.IN_SYNC and not verdict.findings:
        return f'<article class="{status.value}"><p>{line}</p></article>'
    decision = f"{checked.decision.action.value}: {checked.decision.reasons[0].message}"
    where = f'<p class="faint">Declared in <code>{text(str(place))}</code></p>' if place is not None else ""
    return (
        f'<article class="{status.value}"><details open><summary>{line}</summary><div class="inside">'
        f"<p>{text(decision)}</p>{where}{_table(checked, around)}</div></details></article>"
    )


def _line(words: str, address: Address, reason: str) -> str:
    return (
        f'<span class="status">{text(words)}</span> <code>{text(str(address))}</code>'
        f'<span class="why">{text(reason)}</span>'
    )


def _waiting(waiting: Blocked, around: Around) -> str:
    place = report_view.place_of(waiting.declaration, around)
    where = f" ({place})" if place is not None else ""
    return _bare(waiting.declaration.address, f"{waiting.reason}{where}")


def _bare(address: Address, reason: str) -> str:
    return f'<article class="{_NOT_CHECKED}"><p>{_line("not checked", address, reason)}</p></article>'


def _table(checked: CheckResult, around: Around) -> str:
    findings = checked.verdict.findings
    if not findings:
        return ""
    rows = (_row(checked, finding, around) for finding in findings)
    sides = (side.capitalize() for side in report_view.sides(write=report_view.is_write(around)))
    return _as_table(("Path", *sides, "What", "Line"), rows)


def _as_table(header: Iterable[str], rows: Iterable[str]) -> str:
    heads = "".join(f'<th scope="col">{text(name)}</th>' for name in header)
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _row(checked: CheckResult, finding: Finding, around: Around) -> str:
    write = report_view.is_write(around)
    values = zip(report_view.before_and_after(finding, write=write), report_view.sides(write=write), strict=True)
    change = f"{report_view.HOW[finding.op]}; {report_view.WHO[finding.changed_by]}"
    what = f"{change}; {finding.cls.value}; rule {finding.rule or 'none'}"
    place = report_view.place_of(checked.prepared.declaration, around, finding.path)
    return (
        f"<tr><td><code>{text(report_view.path_text(finding.path))}</code></td>"
        f"{''.join(_value(value, side) for value, side in values)}"
        f"<td>{text(what)}</td><td>{place.line if place is not None else ''}</td></tr>"
    )


def _value(value: Json, side: str) -> str:
    if value is ABSENT:
        return '<td class="value faint">absent</td>'
    written = value if isinstance(value, str) and "\n" in value else display_value.text(value)
    return f'<td class="value {side}">{text(display_value.shortened(written, _VALUE_WIDTH))}</td>'


# -- suppressed


def _suppressions(report: RunReport) -> Iterator[str]:
    rows = [_suppressed(suppression, suppressed) for suppression, suppressed in report_view.suppressions(report)]
    if rows:
        yield f"<section><h2>Suppressed: {len(rows)}</h2>"
        yield '<p class="faint">Seen and counted, but not part of any status.</p>'
        yield _as_table(("Because", "Resource", "Path", "Note"), rows)
        yield "</section>"


def _suppressed(checked: CheckResult, suppressed: Suppressed) -> str:
    return (
        f"<tr><td>{text(suppressed.because.value)}</td><td><code>{text(str(checked.address))}</code></td>"
        f"<td><code>{text(suppressed.path or '(document)')}</code></td><td>{text(suppressed.note)}</td></tr>"
    )
