"""One log line for every decision and every write, through the standard `logging`, logger `holdfast.reconcile`.

Each line names the fields that caused the decision, with their class and both values, so that a reader can distinguish
a wrong comparison from a change of live state. The values in a finding are already redacted. This module only shortens
them. The store has the same facts as decisions and events. The log is for log collectors, and `extra` carries the facts
as data.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from holdfast.compare import paths
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action, Decision
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.reconcile import escape
from holdfast.reconcile.policy_evaluation import Wanting

LOG: Final = logging.getLogger("holdfast.reconcile")
LONGEST_VALUE: Final = 60  # characters
MOST_FIELDS: Final = 20

logging.getLogger("holdfast").addHandler(logging.NullHandler())  # silent unless the application configures logging


def decided(checked: Wanting) -> None:
    """Log a decision and the fields that caused it. A decision to do nothing is logged at a lower level."""
    decision = checked.decision
    level = logging.DEBUG if decision.action is Action.NONE else logging.INFO
    if not LOG.isEnabledFor(level):
        return
    fields = _caused(checked.verdict.findings, decision)
    facts = {
        "address": str(checked.address),
        "status": checked.verdict.status.value,
        "action": decision.action.value,
        "reason": decision.reasons[0].code,
        "paths": [paths.format_path(field.path) for field in fields],
    }
    about = f" ({'; '.join(map(_field, fields[:MOST_FIELDS]))})" if fields else ""
    text = "%s: %s, %s: %s%s"
    said = (checked.address, decision.action.value, decision.reasons[0].code, decision.reasons[0].message, about)
    _say(level, text, *said, facts=facts)


def ended(checked: Wanting, stuck: Sequence[str], side_effects: Sequence[str], kept: Sequence[str] = ()) -> None:
    """Log the result of a write: ineffective paths, side effects, and undeclared paths that the service keeps."""
    if not LOG.isEnabledFor(logging.INFO if not stuck and not kept else logging.WARNING):
        return
    facts = {"address": str(checked.address), "ineffective": list(stuck), "side_effects": list(side_effects)}
    if stuck:
        text = "%s: ineffective write, %s did not take"
        _say(logging.WARNING, text, checked.address, ", ".join(stuck), facts=facts)
    if side_effects:
        text = "%s: the write also moved %s"
        _say(logging.INFO, text, checked.address, ", ".join(side_effects), facts=facts)
    if kept:
        text = "%s: no longer declared, and the service keeps %s"
        _say(logging.WARNING, text, checked.address, ", ".join(kept), facts={**facts, "not_removed": list(kept)})
    if not stuck and not side_effects and not kept:
        _say(logging.INFO, "%s: written, as declared", checked.address, facts=facts)


def shortened(checked: Wanting, paths_: Sequence[str]) -> None:
    """Log the live values that are too large to store. They are compared by digest and cannot be shown."""
    if paths_:
        facts = {"address": str(checked.address), "digested": list(paths_)}
        text = "%s: too large to keep, watched by a digest: %s"
        _say(logging.INFO, text, checked.address, ", ".join(paths_[:MOST_FIELDS]), facts=facts)


def _say(level: int, text: str, *said: object, facts: Mapping[str, Json]) -> None:
    """Log one line, with the line breaks and control characters of live keys and values escaped."""
    LOG.log(level, "%s", escape.in_a_line(text % said), extra={"holdfast": facts})


def _caused(findings: Sequence[Finding], decision: Decision) -> list[Finding]:
    named = set(decision.reasons[0].paths)
    return [finding for finding in findings if paths.format_path(finding.path) in named] if named else list(findings)


def _field(finding: Finding) -> str:
    values = f"declared {_shown(finding.desired)}, observed {_shown(finding.observed)}"
    known = "" if finding.baseline is ABSENT else f", was {_shown(finding.baseline)}"
    return f"{paths.format_path(finding.path)} {finding.op.value}, {finding.cls.value}: {values}{known}"


def _shown(value: Json) -> str:
    if value is ABSENT:
        return "nothing"
    try:
        text = orjson.dumps(value).decode()
    except (TypeError, orjson.JSONEncodeError, RecursionError):
        text = str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
