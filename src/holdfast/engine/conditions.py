"""What a check says to programs: Progressing, Available, Drifted, Fresh."""

from __future__ import annotations

from holdfast.model.condition import Condition, ConditionType, Truth
from holdfast.model.decision import Action, Decision
from holdfast.model.verdict import Status, Verdict


def conditions_after_check(generation: int, verdict: Verdict, decision: Decision, now: float) -> list[Condition]:
    """Return the four conditions as they stand after a check."""
    reason = decision.reasons[0]

    def condition(kind: ConditionType, status: Truth, code: str, message: str) -> Condition:
        return Condition(kind, status, code, message, generation, now)

    unknown = verdict.status is Status.UNKNOWN
    return [
        condition(ConditionType.PROGRESSING, *_progressing(verdict, decision)),
        condition(ConditionType.AVAILABLE, *_available(verdict)),
        condition(
            ConditionType.DRIFTED,
            Truth.UNKNOWN
            if unknown
            else Truth(str(verdict.status in (Status.DRIFTED, Status.CONFLICTED, Status.MISSING))),
            "Unknown" if unknown else _camel(verdict.status.value),
            verdict.reason,
        ),
        condition(
            ConditionType.FRESH,
            Truth.FALSE if unknown else Truth.TRUE,
            "ReadFailed" if unknown else "Checked",
            verdict.reason if unknown else f"checked; next: {reason.message}",
        ),
    ]


def _progressing(verdict: Verdict, decision: Decision) -> tuple[Truth, str, str]:
    message = decision.reasons[0].message
    if decision.action is Action.BLOCK:
        return Truth.FALSE, "Stalled", message
    if verdict.status is Status.UNKNOWN:
        return Truth.TRUE, "TransientError", verdict.reason
    if decision.action.is_write or decision.action in (Action.HOLD, Action.ADOPT):
        return Truth.TRUE, _camel(decision.action.value), message
    return Truth.FALSE, "Success" if verdict.status is Status.IN_SYNC else "Reported", message


def _available(verdict: Verdict) -> tuple[Truth, str, str]:
    match verdict.status:
        case Status.UNKNOWN:
            return Truth.UNKNOWN, "ReadFailed", verdict.reason
        case Status.MISSING:
            return Truth.FALSE, "Missing", verdict.reason
        case Status.PENDING if not verdict.findings:
            return Truth.FALSE, "NotCreated", verdict.reason
        case _:
            return Truth.TRUE, "Found", "there"


def _camel(text: str) -> str:
    return "".join(word.capitalize() for word in text.split("_"))
