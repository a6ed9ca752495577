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
from holdfast.store.protocol import Event, ResourceState, Store, Transaction


async def unresolved(store: Store, reasons: Mapping[Address, str], now: float) -> None:
    """Record that resources could not be checked, and why; of what was never checked nothing is recorded."""

    def after(state: ResourceState) -> ResourceState:
        verdict = verdict_rules.unknown(f"not checked: {reasons[state.address]}")
        outcome = conditions.Outcome(state.generation, verdict, _nothing("unknown", verdict.reason), now)
        told = conditions.after(state.conditions, outcome)
        return replace(state, status=verdict.status, reason=verdict.reason, checked_at=now, conditions=told)

    await _record(store, reasons, after, now)


async def no_longer_declared(store: Store, addresses: Sequence[Address], now: float) -> None:
    """Record that resources are declared nowhere any more: nobody checks them, so nothing is said about them."""

    def after(state: ResourceState) -> ResourceState:
        was = f" (it was in {state.source})" if state.source else ""
        reason = f"no longer declared{was}; it is neither checked nor corrected"
        told = conditions.undeclared(state.conditions, state.generation, now, reason)
        return replace(state, status=Status.UNKNOWN, reason=reason, due_at=None, conditions=told)

    await _record(store, addresses, after, now)


async def set_back(store: Store, addresses: Sequence[Address], now: float) -> None:
    """Record that resources are due now, because the clock was set back since they were checked."""
    states = await store.states(addresses)
    after = [replace(state, checked_at=None, due_at=now) for state in states.values()]
    await store.commit(Transaction(states=after, looked_at=set(states)))


def _nothing(code: str, message: str) -> Decision:
    return Decision(Action.NONE, (Reason(code, message),))


async def _record(
    store: Store, addresses: Iterable[Address], after: Callable[[ResourceState], ResourceState], now: float
) -> None:
    transaction = Transaction()
    for state in (await store.states(list(addresses))).values():
        changed = after(state)
        if state.status is None or (changed.status, changed.reason) == (state.status, state.reason):
            continue  # it was never checked, or this is known
        transaction.states.append(changed)
        transaction.looked_at.add(state.address)
        data: dict[str, Json] = {
            "status": Status.UNKNOWN.value,
            "was": state.status.value,
            "reason": changed.reason,
            "paths": [],
        }
        transaction.events.append(Event(now, "check.status_changed", str(state.address), data))
    if transaction.states:
        await store.commit(transaction)
