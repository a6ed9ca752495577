"""The output of runs: plans with Terraform's symbols, checks with their coverage, applies with their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from holdfast.cli import console
from holdfast.cli.render import findings
from holdfast.cli.render.text import count as counted
from holdfast.compare import paths
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.verdict import Status, SuppressionReason
from holdfast.reconcile.action_result import LEFT_TO_OTHERS, ActionOutcome, ActionResult

if TYPE_CHECKING:
    from holdfast.model.address import Address
    from holdfast.reconcile.check import CheckResult
    from holdfast.reconcile.report import RunReport
    from holdfast.reconcile.resolve import Blocked
    from holdfast.store.state import ResourceState

ASKING = frozenset({"approval", "massDrift", "futile"})  # what a yes answers; budgets, windows and pauses it does not
_SHOWN = 5  # undeclared resources that are named
CAUSES = frozenset({"drift", "conflict", "intent", "recreate", "immutable", "create"})
_TOLD = frozenset(
    {ActionOutcome.DONE, ActionOutcome.HELD, ActionOutcome.UNSURE, *LEFT_TO_OTHERS}
)  # counted under a word of their own
_COLOUR = {
    Action.CREATE: "green",
    Action.UPDATE: "yellow",
    Action.REPLACE: "magenta",
    Action.RECREATE: "green",
    Action.DELETE: "red",
    Action.ADOPT: "cyan",
    Action.REPORT: "yellow",
    Action.HOLD: "cyan",
    Action.BLOCK: "red",
    Action.NONE: "bright_black",
}


def show_plan(report: RunReport, *, everything: bool = False) -> None:
    """Print the differences and the planned actions."""
    for checked in _by_address(report.checked):
        if everything or is_news(checked):
            show_checked(checked)
    show_waiting(report.waiting)
    show_groups(report, everything=everything)
    console.line()
    console.line(plan_line(report), bold=True)
    _show_coverage(report)


def show_groups(report: RunReport, *, everything: bool = False) -> None:
    """Print the templates that have something to show."""
    if not report.groups:
        return
    from holdfast.cli.render import rollouts
    from holdfast.rollouts import render as rollout_text

    for group in report.groups:
        if everything or rollout_text.is_news(group):
            rollouts.show(group, looked_at(report), everything=everything)


def is_news(checked: CheckResult) -> bool:
    """Return True if a resource has something to show."""
    return checked.decision.action is not Action.NONE or checked.verdict.status is not Status.IN_SYNC


def show_checked(checked: CheckResult) -> None:
    """Print one resource: its symbol, address, verdict, why, and its findings."""
    action = checked.decision.action
    address = str(checked.prepared.declaration.address)
    head = console.styled(f"{action.symbol:>3} {address}", fg=_COLOUR[action], bold=True)
    status = checked.verdict.status
    label = console.styled(status.value.replace("_", " "), fg=findings.STATUS_COLOUR[status])
    console.line(f"{head}  {label}: {checked.decision.reasons[0].message}")
    if status is Status.UNKNOWN:
        console.line(f"        {checked.verdict.reason}", fg="bright_black")
    findings.show_planned(checked.verdict.findings, _written(checked), indent="      ")
    findings.show_likely_actors(checked.likely_actors, indent="      ")
    _show_suppressed(checked, indent="      ")
    for reason in checked.decision.reasons[1:]:
        if reason.code in CAUSES:  # of what is held back: the findings say as much
            continue
        console.line(f"        also: {reason.message} [{', '.join(reason.paths[:3])}]", fg="bright_black")
    if asks(checked):
        held = checked.decision.held
        what = f"to {held.value} it" if held is not None else "to go on"
        console.line(f"        {what}: holdfast approve {checked.plan}", fg="cyan")


def _written(checked: CheckResult) -> frozenset[str]:
    """Return the paths that the write of a decision is about, also of one that is held back."""
    decision = checked.decision
    if decision.action is Action.HOLD:
        return frozenset(path for reason in decision.reasons for path in reason.paths)
    if not decision.action.is_write:
        return frozenset()
    about = decision.reasons[0].paths if decision.action is Action.UPDATE else ()
    return frozenset(about or (paths.format_path(finding.path) for finding in checked.verdict.findings))


def asks(checked: CheckResult) -> bool:
    """Return True if an approval would release a held decision."""
    held = checked.decision.action is Action.HOLD
    return held and not ASKING.isdisjoint(reason.code for reason in checked.decision.reasons)


def _show_suppressed(checked: CheckResult, indent: str) -> None:
    for suppressed in checked.verdict.suppressed:
        change = f"  {findings.change_text(suppressed.finding)}" if suppressed.finding is not None else ""
        console.line(f"{indent}○ {suppressed.path}{change}  {suppressed.because.value}: {suppressed.note}", fg="cyan")


def suppressed_line(report: RunReport) -> str | None:
    """Return a line with the number of suppressed findings, so that they never look absent."""
    count = report.tally.suppressed
    said = [
        f"{count[because]} {because.value}"
        for because in SuppressionReason
        if count[because] and because != SuppressionReason.LATE
    ]
    return f"Suppressed: {', '.join(said)}." if said else None


def joined_line(report: RunReport) -> str | None:
    """Return a line with the defaults of services that joined a baseline in this check. It is shown once."""
    joined = report.tally.joined
    if not joined:
        return None
    return f"{counted(len(joined), 'late default')} joined: {', '.join(joined)}."


def show_waiting(waiting: Iterable[Blocked]) -> None:
    """Print the resources that cannot be checked yet, with the reasons."""
    for blocked in waiting:
        symbol = console.styled(
            "  x" if blocked.is_error else "  …", fg="red" if blocked.is_error else "cyan", bold=True
        )
        console.line(f"{symbol} {blocked.declaration.address}  waits: {blocked.reason}")


def plan_line(report: RunReport) -> str:
    """Return the closing line, in the manner of Terraform."""
    count = report.tally.decisions
    parts = [
        f"{count[Action.CREATE] + count[Action.RECREATE]} to add",
        f"{count[Action.UPDATE]} to change",
        f"{count[Action.REPLACE]} to replace",
        f"{count[Action.DELETE]} to destroy",
    ]
    for action, word in (
        (Action.ADOPT, "to adopt"),
        (Action.REPORT, "to report"),
        (Action.HOLD, "held"),
        (Action.BLOCK, "blocked"),
    ):
        if count[action]:
            parts.append(f"{count[action]} {word}")
    later = sum(not blocked.is_error for blocked in report.waiting)
    for number, word in (
        (_rolled(report), "children of templates to roll"),
        (later, "to decide once what they refer to is there"),
        (_unknown(report), "unknown"),
    ):
        if number:
            parts.append(f"{number} {word}")
    return f"Plan: {', '.join(parts)}."


def _rolled(report: RunReport) -> int:
    """Return how many children the rollouts would roll."""
    if not report.groups:
        return 0
    from holdfast.rollouts.render import preview

    previews = (preview(group, looked_at(report)) for group in report.groups)
    return sum(item.rolled for item in previews if item is not None)


def _acting_rollouts(report: RunReport) -> int:
    """Return how many rollouts have something left to do."""
    if not report.groups:
        return 0
    from holdfast.rollouts import render as rollout_text

    return sum(rollout_text.is_acting(group) for group in report.groups)


def _stuck_rollouts(report: RunReport) -> int:
    """Return how many rollouts wait for a person."""
    if not report.groups:
        return 0
    from holdfast.rollouts import render as rollout_text

    return sum(rollout_text.is_stuck(group) for group in report.groups)


def has_stuck_rollout(report: RunReport) -> bool:
    """Return True if a rollout waits for a person."""
    return _stuck_rollouts(report) > 0


def _unknown(report: RunReport) -> int:
    """Return how many could not be judged, though they were to be."""
    return report.tally.statuses[Status.UNKNOWN] + sum(waiting.is_error for waiting in report.waiting)


def show_check(report: RunReport, *, everything: bool = False) -> None:
    """Print verdicts; those of a large run were printed as they came."""
    for checked in _by_address(report.checked):
        if everything or has_verdict_to_show(checked):
            show_verdict(checked, everything=everything)
    if report.waiting:
        show_waiting(report.waiting)
    if report.groups:
        show_groups(report, everything=everything)
    console.line(check_line(report), bold=True)
    _show_coverage(report)


def has_verdict_to_show(checked: CheckResult) -> bool:
    """Return True if a check is not in sync, or in sync only apart from suppressed differences."""
    is_apart = any(suppressed.because is not SuppressionReason.IGNORED for suppressed in checked.verdict.suppressed)
    return is_apart or checked.verdict.status is not Status.IN_SYNC


def show_verdict(checked: CheckResult, *, everything: bool = False) -> None:
    """Print the verdict of one resource with its findings."""
    if everything or checked.verdict.status is not Status.IN_SYNC:
        status = checked.verdict.status
        label = console.styled(f"{status.value.replace('_', ' '):>10}", fg=findings.STATUS_COLOUR[status], bold=True)
        console.line(f"{label}  {checked.prepared.declaration.address}  {checked.verdict.reason}")
        findings.show(checked.verdict.findings, indent="            ")
        findings.show_likely_actors(checked.likely_actors, indent="            ")
    if everything or any(
        suppressed.because is not SuppressionReason.IGNORED for suppressed in checked.verdict.suppressed
    ):
        if checked.verdict.status is Status.IN_SYNC and not everything:
            console.line(f"{'in sync':>10}  {checked.address}  apart from suppressed differences", fg="green")
        _show_suppressed(checked, indent="            ")


def check_line(report: RunReport) -> str:
    """Return the closing line of a check."""
    return counted_line(report.tally.statuses)


def counted_line(count: Counter[Status]) -> str:
    """Return the number of checked resources by status."""
    said = [f"{count[status]} {status.value.replace('_', ' ')}" for status in Status if count[status]]
    return f"Checked {count.total()}: {', '.join(said) or 'nothing declared'}."


def _show_coverage(report: RunReport) -> None:
    if report.undeclared:
        show_undeclared(report.undeclared)
    tally = report.tally
    if tally.suppressed or tally.joined:
        for said in (suppressed_line(report), joined_line(report)):
            if said is not None:
                console.line(said, fg="cyan")
    statuses = tally.statuses
    unread = statuses[Status.UNKNOWN]
    total = statuses.total() + len(report.waiting) + len(report.not_reached)
    missed = unread + sum(blocked.is_error for blocked in report.waiting) + len(report.not_reached)
    if missed:
        share = (total - missed) / total
        console.line(
            f"Coverage incomplete: {total - missed} of {total} could be judged ({share:.0%}).", fg="yellow", bold=True
        )


def show_undeclared(states: Sequence[ResourceState]) -> None:
    """Print resources of the store that are no longer declared, and the possible answers."""
    if not states:
        return
    shown = ", ".join(f"{state.address} ({_source(state)})" for state in states[:_SHOWN])
    more = f" and {len(states) - _SHOWN} more" if len(states) > _SHOWN else ""
    console.line(f"{len(states)} no longer declared: {shown}{more}.", fg="yellow", bold=True)
    console.line(
        "  Neither checked nor corrected. Declare them again to keep them or to `holdfast delete` them; "
        "`holdfast forget ADDRESS` drops only the record.",
        fg="yellow",
    )


def _source(state: ResourceState) -> str:
    return f"was in {state.declared.source}" if state.declared.source else "source unknown"


def show_all_acted(report: RunReport) -> None:
    """Print every action of a run."""
    for acted in report.acted:
        show_acted(acted)


def show_acted(acted: ActionResult) -> None:
    """Print one action as it ends."""
    action = acted.checked.decision.action
    good = (acted.result is ActionOutcome.DONE and not acted.unresolved) or acted.result in LEFT_TO_OTHERS
    held = acted.result is ActionOutcome.HELD
    sign, colour = ("✓", "green") if good else ("=", "cyan") if held else ("✗", "red")
    mark = console.styled(sign, fg=colour, bold=True)
    address = acted.checked.prepared.declaration.address
    console.line(f"  {mark} {action.value} {address}: {acted.message}")


def apply_line(report: RunReport) -> str:
    """Return the closing line of an apply."""
    tally = report.tally
    done, outcomes = tally.done, tally.outcomes
    others = sum(outcomes[result] for result in LEFT_TO_OTHERS)
    stopped = {item.checked.address for item in report.acted if item.result is ActionOutcome.HELD}
    unsure = outcomes[ActionOutcome.UNSURE]
    failed = sum(number for result, number in outcomes.items() if result not in _TOLD)
    made = done[Action.CREATE] + done[Action.RECREATE]
    parts = [
        f"{made} added",
        f"{done[Action.UPDATE]} changed",
        f"{done[Action.REPLACE]} replaced",
        f"{done[Action.DELETE]} destroyed",
    ]
    if done[Action.ADOPT]:
        parts.append(f"{done[Action.ADOPT]} adopted")
    if others:
        parts.append(f"{others} left to another worker")
    if failed:
        parts.append(f"{failed} not done")
    decided = tally.decisions
    held = stopped | {item.address for item in report.checked if item.decision.action is Action.HOLD}
    for number, word in (
        (tally.incomplete, "did not take everywhere"),
        (unsure, "unknown whether created"),
        (len(held), "held back"),
        (decided[Action.REPORT], "only reported"),
        (decided[Action.BLOCK], "blocked"),
        (_unknown(report), "unknown"),
        (sum(not blocked.is_error for blocked in report.waiting), "waiting for others"),
        (_stuck_rollouts(report), "rollouts stopped"),
        (len(report.not_reached), "not reached"),
    ):
        if number:
            parts.append(f"{number} {word}")
    return f"Apply: {', '.join(parts)}."


def show_not_taken(report: RunReport) -> None:
    """Print the fields that creates sent without effect, because a misspelt field looks just like that."""
    for address, entries in sorted(report.not_taken.items(), key=lambda item: str(item[0])):
        for entry in entries:
            text = f"{findings.value_text(entry.live)} where {findings.value_text(entry.declared)} was declared"
            console.line(f"  ! {address}: {entry.path} is {text}", fg="yellow")


def delete_line(report: RunReport) -> str:
    """Return the closing line of a delete."""
    outcomes = report.tally.outcomes
    done = outcomes[ActionOutcome.DONE]
    parts = [f"{done} deleted or detached"]
    if outcomes.total() > done:
        parts.append(f"{outcomes.total() - done} not done")
    if report.waiting or report.not_reached:
        parts.append(f"{len(report.waiting) + len(report.not_reached)} not reached")
    return f"Delete: {', '.join(parts)}."


def is_work(report: RunReport) -> bool:
    """Return True if applying would write something, take something over, or roll a template."""
    decided = report.tally.decisions
    acting = any((action.is_write or action is Action.ADOPT) and decided[action] for action in decided)
    return acting or bool(report.waiting) or bool(_acting_rollouts(report))


def as_json(report: RunReport) -> Json:
    """Return a run for programs."""
    return {
        "resources": [checked_as_json(result) for result in _by_address(report.checked)],
        "acted": [
            {**acted_as_json(result), **not_taken_as_json(report, result.checked.address)} for result in report.acted
        ],
        **rest_as_json(report),
    }


def rest_as_json(report: RunReport) -> dict[str, Json]:
    """Return a run for programs, without its results."""
    return {
        "waiting": [
            {"address": str(blocked.declaration.address), "reason": blocked.reason} for blocked in report.waiting
        ],
        "notReached": [str(address) for address in report.not_reached],
        "undeclared": [{"address": str(state.address), "source": state.declared.source} for state in report.undeclared],
        "summary": summary(report),
        **_templates_as_json(report),
    }


def acted_as_json(acted: ActionResult) -> dict[str, Json]:
    """Return one action for programs."""
    return {
        "address": str(acted.checked.prepared.declaration.address),
        "action": acted.checked.decision.action.value,
        "result": acted.result.value,
        "message": acted.message,
        "unresolved": list(acted.unresolved),
        "correction": acted.correction,
    }


def _templates_as_json(report: RunReport) -> dict[str, Json]:
    if not report.groups:
        return {}
    from holdfast.rollouts import render as rollout_text

    return {"templates": [rollout_text.as_json(group, looked_at(report)) for group in report.groups]}


def not_taken_as_json(report: RunReport, address: Address) -> dict[str, Json]:
    """Return the fields of a new resource that the service did not take, for programs."""
    entries = report.not_taken.get(address, ())
    values = [
        {
            "path": entry.path,
            **findings.value_entry("declared", entry.declared),
            **findings.value_entry("live", entry.live),
        }
        for entry in entries
    ]
    return {"notTaken": values} if values else {}


def looked_at(report: RunReport) -> float:
    """Return when the last look of a run was."""
    return report.tally.last_check


def checked_as_json(checked: CheckResult) -> dict[str, Json]:
    """Return one resource for programs."""
    return {
        "address": str(checked.prepared.declaration.address),
        **findings.verdict_as_json(checked.verdict),
        "attributedTo": [findings.likely_actor_as_json(actor) for actor in checked.likely_actors],
        "action": checked.decision.action.value,
        "held": checked.decision.held.value if checked.decision.held else None,
        "plan": checked.plan or None,
        "reasons": [
            {"code": reason.code, "message": reason.message, "paths": list(reason.paths)}
            for reason in checked.decision.reasons
        ],
    }


def summary(report: RunReport) -> dict[str, Json]:
    """Return the counts of a run."""
    tally = report.tally
    count = Counter({status.value: number for status, number in tally.statuses.items()})
    judged = count.total() - count[Status.UNKNOWN.value]
    total = count.total() + len(report.waiting) + len(report.not_reached)
    suppressed = {reason.value: number for reason, number in tally.suppressed.items()}
    return {
        "total": total,
        "judged": judged,
        "byStatus": dict(sorted(count.items())),
        "suppressed": dict(sorted(suppressed.items())),
    }


def statuses(report: RunReport) -> list[Status]:
    """Return the verdicts of a run. A resource that waits for an apply is pending, one that was not reached unknown."""
    waiting = [Status.UNKNOWN if blocked.is_error else Status.PENDING for blocked in report.waiting]
    if report.groups:
        waiting += [Status.PENDING] * _acting_rollouts(report)
    return [*report.tally.statuses, *waiting, *([Status.UNKNOWN] if report.not_reached else [])]


def is_blocked(report: RunReport) -> bool:
    """Return True if a decision is held or blocked, or a rollout has stopped."""
    decided = report.tally.decisions
    is_held = bool(decided[Action.BLOCK] or decided[Action.HOLD])
    return is_held or (bool(report.groups) and has_stuck_rollout(report))


def _by_address(checks: Sequence[CheckResult]) -> Sequence[CheckResult]:
    if len(checks) < 2:
        return checks
    return sorted(checks, key=lambda checked: str(checked.prepared.declaration.address))
