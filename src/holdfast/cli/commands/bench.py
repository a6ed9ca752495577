"""`holdfast bench verdicts`: false positives and false negatives on recorded traffic."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import click

from holdfast.cli import console
from holdfast.model.json import Json
from holdfast.providers import builtin_profiles
from holdfast.testing import corpus, corpus_views

_NOT_IN_TOTALS = "recorded_child_write"
_HEADER = ("provider", "class", "expected", "baseline", "n", "wrong", "rate")
_NUMERIC = frozenset({4, 5, 6})


@click.group("bench")
def bench_command() -> None:
    """Measure Holdfast itself."""


@bench_command.command("verdicts")
@click.argument("files", nargs=-1, required=True, metavar="CORPUS...", type=click.Path(dir_okay=False))
@click.option("--no-schema", is_flag=True, help="Withhold the schema that comes with each case: what users have.")
@click.option("--bare", is_flag=True, help="Withhold also the facts about types that ship with a provider.")
@click.option("--raw", is_flag=True, help="Compare answers as recorded, not as their provider converts them.")
@click.option("--show", type=click.Choice(["fp", "fn"]), help="List the offenders with the rule that decided.")
@console.option("table", "json", "markdown")
def verdicts_command(
    files: tuple[str, ...], no_schema: bool, bare: bool, raw: bool, show: str | None, output_: str
) -> None:
    """Score the comparison on labelled recordings (JSON Lines, plain or gzipped).

    For in_sync rows `wrong` counts false positives; for drift rows it counts strict misses: drift counts as found only
    if the untouched read of the same case is silent. Cases of a provider that ships are seen as it would see them:
    through its conversion, with its rules and the facts about types that it ships.

    \b
    Examples:
      holdfast bench verdicts corpus/*.jsonl.gz
      holdfast bench verdicts corpus/azure.jsonl.gz --no-schema --show fp
    """
    seen = {} if raw else corpus_views.shipped(facts=not bare)
    scorer = corpus.Scorer(builtin_profiles.shipped(), use_schema=not (no_schema or bare), lenses=seen)
    for file in files:
        with click.progressbar(
            corpus.read(Path(file)),
            label=Path(file).name,
            file=sys.stderr,
            show_pos=True,
            hidden=not sys.stderr.isatty(),
        ) as cases:
            for case in cases:
                scorer.add(case)
    report = scorer.report()
    if output_ == "json":
        console.json_document(_as_json(report, show))
        return
    rows = [_cells(row) for row in report.rows]
    if output_ == "markdown":
        console.document(console.markdown_table(_HEADER, rows, numeric=_NUMERIC) + "\n")
    else:
        console.table(_HEADER, rows, numeric=_NUMERIC)
        _summary(report)
    if show:
        _show(report.false_positives if show == "fp" else report.false_negatives)


def _cells(row: corpus.Row) -> tuple[str, ...]:
    rate = f"{row.wrong / row.n:.2%}" if row.wrong else f"0 (<{min(1, 3 / row.n):.2%})"
    return (row.provider, row.cls, row.expect, row.baseline, str(row.n), str(row.wrong), rate)


def _as_json(report: corpus.Report, show: str | None) -> Json:
    body: dict[str, Json] = {
        "rows": [
            {
                "provider": row.provider,
                "class": row.cls,
                "expect": row.expect,
                "baseline": row.baseline,
                "n": row.n,
                "wrong": row.wrong,
                "misplaced": row.misplaced,
            }
            for row in report.rows
        ]
    }
    if show:
        offenders = report.false_positives if show == "fp" else report.false_negatives
        body["offenders"] = [dataclasses.asdict(offender) for offender in offenders]
    return body


def _summary(report: corpus.Report) -> None:
    counted = [row for row in report.rows if row.cls != _NOT_IN_TOTALS]
    found = sum(row.n - row.wrong for row in counted if row.expect == corpus.DRIFT)
    misplaced = sum(row.misplaced for row in counted)
    console.line()
    console.line(f"0 of n is shown with its 95 % bound (rule of three). {_NOT_IN_TOTALS} belongs to no total.")
    if found:
        console.line(f"Of {found:,} drifts found, {found - misplaced:,} were found at the labelled place.")


def _show(offenders: tuple[corpus.Offender, ...]) -> None:
    console.line()
    for offender in offenders:
        console.line(
            f"{offender.kind}  {offender.cls}  expected at {offender.label or '-'}  said {offender.status}", bold=True
        )
        for path, rule in zip(offender.paths, offender.rules, strict=True):
            console.line(f"    {path or '(document)'}  {rule}")
    console.line(f"{len(offenders)} in all")
