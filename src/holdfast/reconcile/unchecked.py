"""Remembering what was not checked: a verdict from before must not look as if it were one of now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from holdfast.compare import verdict_rules
from holdfast.model.address import Address
from holdfast.model.decision import Action, Decision, Reason
from holdfast.model.json import Json
from holdfast.model.verdict import Status
from holdfast.reconcile import conditions
from holdfast.store.protocol import Store
from holdfast.store.records import AuditEvent
from holdfast.store.state import ResourceState
from holdfast.store.transaction import Transaction


async def unresolved(store: Store, reasons: Mapping[Address, str], now: float) -> None:
    """Record that resources could not be checked, and why; of what was never checked nothing is recorded."""

    def after(state: ResourceState) -> ResourceState:
        verdict = verdict_rules.unknown(f"not checked: {reasons[state.address]}")
        outcome = conditions.ConditionOutcome(
            state.declared.generation, verdict, _nothing("unknown", verdict.reason), now
        )
        told = conditions.after(state.observed.conditions, outcome)
        return replace(
            state,
            observed=replace(state.observed, status=verdict.status, reason=verdict.reason, conditions=told),
            schedule=replace(state.schedule, checked_at=now),
        )

    await _record(store, reasons, after, now)


async def no_longer_declared(store: Store, addresses: Sequence[Address], now: float) -> None:
    """Record that resources are declared nowhere any more: nobody checks them, so nothing is said about them."""

    def after(state: ResourceState) -> ResourceState:
        was = f" (it was in {state.declared.source})" if state.declared.source else ""
        reason = f"no longer declared{was}; it is neither checked nor corrected"
        told = conditions.undeclared(state.observed.conditions, state.declared.generation, now, reason)
        return replace(
            state,
            observed=replace(state.observed, status=Status.UNKNOWN, reason=reason, conditions=told),
            schedule=replace(state.schedule, due_at=None),
        )

    await _record(store, addresses, after, now)


async def set_back(store: Store, addresses: Sequence[Address], now: float) -> None:
    """Record that resources are due now, because the clock was set back since they were checked."""
    states = await store.states(addresses)
    after = [replace(state, schedule=replace(state.schedule, checked_at=None, due_at=now)) for state in states.values()]
    await store.commit(Transaction(states=after, checked=set(states)))


def _nothing(code: str, message: str) -> Decision:
    return Decision(Action.NONE, (Reason(code, message),))


async def _record(
    store: Store, addresses: Iterable[Address], after: Callable[[ResourceState], ResourceState], now: float
) -> None:
    transaction = Transaction()
    for state in (await store.states(list(addresses))).values():
        changed = after(state)
        if state.observed.status is None or (changed.observed.status, changed.observed.reason) == (
            state.observed.status,
            state.observed.reason,
        ):
            continue  # it was never checked, or this is known
        transaction.states.append(changed)
        transaction.checked.add(state.address)
        data: dict[str, Json] = {
            "status": Status.UNKNOWN.value,
            "was": state.observed.status.value,
            "reason": changed.observed.reason,
            "paths": [],
        }
        transaction.events.append(AuditEvent(now, "check.status_changed", str(state.address), data))
    if transaction.states:
        await store.commit(transaction)
