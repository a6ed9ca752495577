"""How findings and verdicts look to a person and to a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson

from holdfast.cli import console
from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.model.attribution import LikelyActor
from holdfast.model.confidence import Confidence
from holdfast.model.finding import ChangedBy, Digest, Finding, Op
from holdfast.model.json import Json
from holdfast.model.verdict import Status, Verdict

WIDTH = 72
_SYMBOL = {
    Op.CHANGED: ("~", "yellow"),
    Op.ADDED: ("+", "green"),
    Op.ELEMENT_ADDED: ("+", "green"),
    Op.MISSING: ("-", "red"),
    Op.ELEMENT_MISSING: ("-", "red"),
    Op.REORDERED: ("↕", "yellow"),
}
_REVERSED = {  # what a write does about it
    Op.ADDED: Op.MISSING,
    Op.ELEMENT_ADDED: Op.ELEMENT_MISSING,
    Op.MISSING: Op.ADDED,
    Op.ELEMENT_MISSING: Op.ELEMENT_ADDED,
}
STATUS_COLOUR = {
    Status.IN_SYNC: "green",
    Status.PENDING: "cyan",
    Status.DRIFTED: "yellow",
    Status.CONFLICTED: "magenta",
    Status.MISSING: "red",
    Status.UNKNOWN: "bright_black",
}
SIDE_TEXT = {
    ChangedBy.DECLARED: "declaration changed",
    ChangedBy.LIVE: "changed outside Holdfast",
    ChangedBy.BOTH: "both changed",
    ChangedBy.UNKNOWN: "differs from the declaration",
}


def value_text(value: Json, width: int = WIDTH) -> str:
    """Write a value on one line, shortened to the width."""
    if value is ABSENT:
        return "(absent)"
    if isinstance(value, Digest):
        return f"(not kept, {value.text[:19]}…)"
    text = orjson.dumps(value, default=str).decode()
    return text if len(text) <= width else text[: width - 1] + "…"


def as_json(finding: Finding) -> dict[str, Json]:
    """Return a finding for programs; absent values are left out."""
    out: dict[str, Json] = {
        "path": paths.format_path(finding.path),
        "pointer": paths.format_path(finding.pointer),
        "op": finding.op.value,
        "class": finding.cls.value,
        "changedBy": finding.changed_by.value,
        "rule": finding.rule,
    }
    for name in ("desired", "baseline", "observed"):
        out |= value_entry(name, getattr(finding, name))
    return out


def value_entry(name: str, value: Json) -> dict[str, Json]:
    """Return a value under its name, or nothing where it is absent."""
    if value is ABSENT:
        return {}
    return {name: {"digest": value.text} if isinstance(value, Digest) else value}


def verdict_as_json(verdict: Verdict) -> dict[str, Json]:
    """Return a verdict for programs."""
    return {
        "status": verdict.status.value,
        "reason": verdict.reason,
        "stale": verdict.stale,
        "findings": [as_json(finding) for finding in verdict.findings],
        "suppressed": [
            {
                "because": suppressed.because.value,
                "path": suppressed.path,
                "note": suppressed.note,
                **({"finding": as_json(suppressed.finding)} if suppressed.finding is not None else {}),
            }
            for suppressed in verdict.suppressed
        ],
    }


def show_verdict(verdict: Verdict) -> None:
    """Print a verdict and its findings."""
    console.line(
        console.styled(verdict.status.value.replace("_", " "), fg=STATUS_COLOUR[verdict.status], bold=True)
        + f"  {verdict.reason}"
    )
    show(verdict.findings)


def show(findings: Iterable[Finding], indent: str = "  ") -> None:
    """Print findings, one block each: path, live and declared value, author, rule."""
    for finding in findings:
        _show_one(finding, _SYMBOL[finding.op], change_text(finding), indent)


def show_planned(findings: Iterable[Finding], written: frozenset[str], indent: str = "  ") -> None:
    """Print findings as a plan has them: `written` from the live to the declared value, the others as they stay."""
    for finding in findings:
        if paths.format_path(finding.path) in written:
            _show_one(finding, _SYMBOL[_REVERSED.get(finding.op, finding.op)], write_text(finding), indent)
        else:
            _show_one(finding, ("=", "bright_black"), f"{change_text(finding)}; stays", indent)


def _show_one(finding: Finding, symbol: tuple[str, str], text: str, indent: str) -> None:
    path = paths.format_path(finding.path) or "(document)"
    console.line(f"{indent}{console.styled(f'{symbol[0]} {path}', fg=symbol[1], bold=True)}  {text}")
    console.line(
        f"{indent}    {SIDE_TEXT[finding.changed_by]}; {finding.cls.value}; rule {finding.rule}", fg="bright_black"
    )


def show_likely_actors(likely_actors: Sequence[LikelyActor], indent: str = "  ") -> None:
    """Print the likely actors: those with more than low confidence, else the first of all."""
    likely = [actor for actor in likely_actors if actor.confidence is not Confidence.LOW]
    for item in likely or likely_actors[:1]:
        console.line(f"{indent}by {item.who}  {item.confidence.value} confidence: {item.why}", fg="bright_black")


def likely_actor_as_json(likely_actor: LikelyActor) -> dict[str, Json]:
    """Return a likely actor for programs."""
    return {
        "who": likely_actor.who,
        "confidence": likely_actor.confidence.value,
        "why": likely_actor.why,
        "at": likely_actor.at,
        "paths": list(likely_actor.paths),
    }


def change_text(finding: Finding) -> str:
    """Return the live value with the declared or the previous one as text."""
    if finding.op is Op.REORDERED:
        return "the same elements in another order"
    live = value_text(finding.observed)
    if finding.desired is not ABSENT:
        return f"{live}, declared {value_text(finding.desired)}"
    return f"{live}, not declared" if finding.baseline is ABSENT else f"{live}, was {value_text(finding.baseline)}"


def write_text(finding: Finding) -> str:
    """Return the change of a write as text: from the live value to the declared one."""
    if finding.op is Op.REORDERED:
        return "the same elements in another order"
    return f"{value_text(finding.observed)} → {value_text(_declared(finding))}"


def _declared(finding: Finding) -> Json:
    """Return the value that a write would send: the declared one, else that of the baseline."""
    return finding.desired if finding.desired is not ABSENT else finding.baseline
