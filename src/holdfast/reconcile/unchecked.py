"""Withdraw verdicts of resources that were not checked: an old verdict must not look like a current one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from holdfast.compare import verdict_rules
from holdfast.model.address import Address
from holdfast.model.decision import Action, Decision, Reason
from holdfast.model.json import Json
from holdfast.model.verdict import Status
from holdfast.reconcile import conditions
from holdfast.store.protocol import StateStore
from holdfast.store.records import AuditEvent
from holdfast.store.state import ResourceState, WithdrawnVerdict
from holdfast.store.transaction import PartialUpdates, Transaction


async def unresolved(store: StateStore, reasons: Mapping[Address, str], now: float) -> None:
    """Record that resources could not be checked, with the reasons. A resource without any check is left out."""

    def withdraw(state: ResourceState) -> WithdrawnVerdict:
        verdict = verdict_rules.unknown(f"not checked: {reasons[state.address]}")
        decision = Decision(Action.NONE, (Reason("unknown", verdict.reason),))
        outcome = conditions.ConditionOutcome(state.declared.generation, verdict, decision, now)
        told = conditions.after(state.observed.conditions, outcome)
        return WithdrawnVerdict(state.address, state.applied.revision, verdict.reason, told, now)

    await _record(store, reasons, withdraw, now)


async def no_longer_declared(store: StateStore, addresses: Sequence[Address], now: float) -> None:
    """Record that resources are no longer declared. They are not checked, so their status is unknown."""

    def withdraw(state: ResourceState) -> WithdrawnVerdict:
        was = f" (it was in {state.declared.source})" if state.declared.source else ""
        reason = f"no longer declared{was}; it is neither checked nor corrected"
        told = conditions.undeclared(state.observed.conditions, state.declared.generation, now, reason)
        return WithdrawnVerdict(state.address, state.applied.revision, reason, told, is_scheduled=False)

    await _record(store, addresses, withdraw, now)


async def set_back(store: StateStore, addresses: Sequence[Address], now: float) -> None:
    """Record that resources are due now, because the clock was set back since they were checked."""
    await store.commit(Transaction(updates=PartialUpdates(set_back=[(address, now) for address in addresses])))


async def _record(
    store: StateStore, addresses: Iterable[Address], withdraw: Callable[[ResourceState], WithdrawnVerdict], now: float
) -> None:
    transaction = Transaction()
    for state in (await store.states(list(addresses))).values():
        withdrawn = withdraw(state)
        if state.observed.status is None or (Status.UNKNOWN, withdrawn.reason) == (
            state.observed.status,
            state.observed.reason,
        ):
            continue  # it was never checked, or this is known
        transaction.updates.withdrawn.append(withdrawn)
        data: dict[str, Json] = {
            "status": Status.UNKNOWN.value,
            "was": state.observed.status.value,
            "reason": withdrawn.reason,
            "paths": [],
        }
        transaction.events.append(AuditEvent(now, "check.status_changed", str(state.address), data))
    if transaction.updates.withdrawn:
        await store.commit(transaction)
