"""The answers of people to a finding that change state: revert it, or baseline it.

The other two answers change files and no state: `accept` edits the manifest, `waive` the file of waivers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.compare import diff, known_differences, paths, verdict_rules
from holdfast.errors import InputError
from holdfast.model.absent import ABSENT
from holdfast.model.finding import Finding, FindingClass
from holdfast.model.json import Json
from holdfast.model.read_result import Found
from holdfast.model.record import dataclass
from holdfast.model.resource import OnDrift
from holdfast.policy.decide import DecisionInputs, HoldReason, PathHold, Recreate, decide
from holdfast.reconcile import serialize
from holdfast.reconcile.check import CheckResult
from holdfast.store.governance import AcceptedValue
from holdfast.store.protocol import ClaimStore
from holdfast.store.records import AuditEvent, Claim
from holdfast.store.transaction import Transaction, WriteChanges

CLAIM_SECONDS = 60.0
_NOT_ASKED = PathHold(HoldReason.REPORT, "this finding was not selected for a revert")


@dataclass(frozen=True, slots=True)
class Person:
    """The person who answers, and the reason."""

    who: str
    why: str = ""


def chosen(checked: CheckResult, pattern: str | None) -> tuple[Finding, ...]:
    """Return the findings that a person means; raise InputError if there are none."""
    found = checked.verdict.findings
    if pattern is not None:
        matcher = paths.parse_pattern(pattern)
        found = tuple(finding for finding in found if matcher.matches(finding.path, below=True))
    if not found:
        where = f" at {pattern}" if pattern is not None else ""
        has = ", ".join(paths.format_path(finding.path) for finding in checked.verdict.findings[:5])
        hint = f"; it has findings at {has}" if has else f": it is {checked.verdict.status.value.replace('_', ' ')}"
        raise InputError(f"{checked.address} has no finding{where}{hint}")
    return found


def recreated(checked: CheckResult) -> CheckResult:
    """Allow the recreation of a missing resource, because a person asked for it."""
    if checked.inputs is None:
        return checked
    inputs = replace(
        checked.inputs,
        handling=replace(checked.inputs.handling, recreate=Recreate.ALWAYS),
        record=replace(checked.inputs.record, terminal=None),
    )
    return replace(checked, decision=decide(checked.verdict, inputs), inputs=inputs)


def reverted(checked: CheckResult, pattern: str | None) -> CheckResult:
    """Revert the selected findings, whatever policy and history decide. A pause or a window still holds them."""
    if checked.inputs is None:
        return checked
    wanted = {paths.format_path(f.path) for f in (chosen(checked, pattern) if checked.verdict.findings else ())}
    others = {paths.format_path(f.path) for f in checked.verdict.findings} - wanted
    before = checked.inputs
    restrained = dict.fromkeys(sorted(others), _NOT_ASKED)
    inputs = DecisionInputs(
        replace(before.handling, on_drift=OnDrift.CORRECT, recreate=Recreate.ALWAYS),
        replace(before.record, terminal=None),
        replace(before.paths, restrained=restrained, free=frozenset(), unresolved=before.paths.unresolved - wanted),
        replace(before.limits, approved=True),
    )
    return replace(checked, decision=decide(checked.verdict, inputs), inputs=inputs, asked=True)


async def rebaseline(
    store: ClaimStore, checked: CheckResult, pattern: str | None, person: Person, owner: str
) -> tuple[Finding, ...]:
    """Take live values as the new baseline; return the findings that are findings no more."""
    taken = chosen(checked, pattern)
    if checked.evaluation.known.baseline is None or not isinstance(checked.reading, Found):
        message = f"{checked.address} has no baseline yet; apply or import it first"
        raise InputError(message)
    secret = [finding for finding in taken if finding.cls is FindingClass.SECRET]
    if secret:
        raise InputError(
            f"{paths.format_path(secret[0].path)} is a secret; a secret is changed in its source, not here"
        )
    baseline = known_differences.accept(checked.evaluation.known.baseline, taken)
    rest = _remaining(checked, baseline)
    if {(finding.path, finding.op) for finding in taken} & {(finding.path, finding.op) for finding in rest}:
        message = "its value cannot be taken by itself; accept the whole document or edit the manifest"
        raise InputError(f"{paths.format_path(taken[0].path)}: {message}")
    claim = await store.claim(checked.address, owner, checked.at, checked.at + CLAIM_SECONDS)
    if claim is None:
        raise InputError(f"another worker is at {checked.address}; try again when it is done")
    try:
        await store.commit(_rebaselined(checked, baseline, taken, rest, person, claim))
    finally:
        await store.release(claim)
    return taken


def _remaining(checked: CheckResult, baseline: diff.Baseline) -> tuple[Finding, ...]:
    assert checked.tree is not None
    return tuple(diff.findings(checked.prepared.desired, checked.observed, checked.tree, baseline))


def _rebaselined(
    checked: CheckResult,
    baseline: diff.Baseline,
    taken: Sequence[Finding],
    rest: Sequence[Finding],
    person: Person,
    claim: Claim,
) -> Transaction:
    verdict = verdict_rules.conclude(rest)
    transaction = Transaction(findings_at=checked.at, writes=WriteChanges(fences={claim.address: claim.fence}))
    after = replace(
        checked.state,
        applied=replace(
            checked.state.applied,
            document=serialize.keep(transaction, baseline.applied),
            baseline=serialize.keep(transaction, baseline.observed),
        ),
        observed=replace(
            checked.state.observed,
            document=serialize.keep(transaction, checked.observed),
            status=verdict.status,
            reason=verdict.reason,
            etag=None,
            raw_digest=None,
        ),
    )
    serialize.keep(transaction, checked.prepared.desired)
    transaction.states.append(after)
    transaction.findings[checked.address] = tuple(rest)
    transaction.governance.accepted += [
        AcceptedValue(checked.address, paths.format_path(f.path), f.observed, person.who, person.why, checked.at)
        for f in taken
    ]
    transaction.governance.unquarantined += [(checked.address, paths.format_path(finding.path)) for finding in taken]
    values = {paths.format_path(f.path): None if f.observed is ABSENT else f.observed for f in taken}
    data: dict[str, Json] = {"who": person.who, "why": person.why, "values": values}
    transaction.events.append(AuditEvent(checked.at, "baselined", str(checked.address), data))
    return transaction
