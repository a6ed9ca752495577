"""The commands about what is remembered: status, history, replay, doctor, import."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from typing import Any, Final

import click

from holdfast.app import undeclared
from holdfast.app.project import Session, addresses_of, opened, options_of, remembered, remembered_partly, run, singly
from holdfast.app.stored_selection import Scope, scope_of
from holdfast.cli import console
from holdfast.cli.render import findings, stored_groups
from holdfast.cli.render.times import ago, when
from holdfast.compare import canonical
from holdfast.errors import InputError
from holdfast.metrics import resources
from holdfast.model.address import Address
from holdfast.model.condition import ConditionType
from holdfast.model.json import Json
from holdfast.model.verdict import Status
from holdfast.policy import lost_create_reasons
from holdfast.reconcile import serialize
from holdfast.store.records import ChainedEvent, OperationStep
from holdfast.store.state import UNCHECKED, ResourceState, StatusCounts

_FORMATS = ("table", "json", "yaml")
_TABLE: Final = 200  # resources that a table of all lists; beyond that it only counts them
_NOT_DECLARED: Final = "not_declared"
_EVERY: Final = 1_000_000_000


def in_session(
    rest: dict[str, Any],
    body: Callable[[Session], Coroutine[Any, Any, int]],
    *,
    needs_files: bool = False,
    is_told_by_files: bool = False,
) -> int:
    """Run a command's body in a session of its own; the store must be there unless manifests tell something."""
    options = options_of(rest)
    needs_store = not needs_files and not (is_told_by_files and options.files)

    async def main(_stop: asyncio.Event) -> int:
        async with opened(options, needs_files=needs_files, needs_store=needs_store) as session:
            return await body(session)

    return run(main)


def in_store(rest: dict[str, Any], body: Callable[[Session, Scope], Coroutine[Any, Any, int]]) -> int:
    """Run the body of a command that asks the store only, about everything or what the options choose."""
    options = options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with opened(options, needs_files=False, needs_store=True, reads_files=False) as session:
            return await body(session, await scope_of(session.store, options))

    return run(main)


@click.command("status")
@click.argument("addresses", nargs=-1)
@remembered_partly
@console.option(*_FORMATS)
def status_command(addresses: tuple[str, ...], output_: str, **rest: Any) -> int:
    """Say how everything in the store stands, without asking the world.

    \b
    Examples:
      holdfast status
      holdfast status api/Widget/blue -o yaml
    """

    async def body(session: Session, scope: Scope) -> int:
        now = session.clock.now()
        scope.insist()
        tally, states = await _counted(session, scope, addresses, now, as_table=output_ == "table")
        likely_actors = states or await _unknown(session)  # a table of too many lists none of them
        missed = await undeclared.in_store(session, likely_actors)
        tally = _without_missed(tally, likely_actors, missed)
        if console.structured(
            output_,
            {
                "tally": dict(tally.by_status),
                "total": tally.total,
                "overdue": tally.overdue,
                "pauses": [
                    {"scope": p.scope, "who": p.who, "why": p.why, "at": p.at, "until": p.until}
                    for p in await session.store.pauses()
                ],
                "waitingForDecision": len(await session.store.quarantines()),
                "unknownWhetherCreated": [
                    str(each.address) for each in await session.store.operations() if each.step is OperationStep.UNSURE
                ],
                "templates": await stored_groups.templates(session.store),
                "resources": [state_as_json(state, now, missed) for state in states],
            },
        ):
            return 0
        if states:
            console.table(
                ("resource", "status", "checked", "next check", "conditions"),
                [_state_row(state, now, missed) for state in states],
            )
            console.line()
        said = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(tally.by_status.items()))
        console.line(f"{tally.total} resources: {said or 'none'}; {tally.overdue} overdue for a check.", bold=True)
        undeclared.show([state for state in likely_actors if state.address in missed])
        await stored_groups.show_templates(session.store)
        await _show_standing(session, states)
        return 0

    return in_store(rest, body)


async def _counted(
    session: Session, scope: Scope, addresses: Sequence[str], now: float, *, as_table: bool
) -> tuple[StatusCounts, list[ResourceState]]:
    """Return the resources that are asked for, and how many of them have which status."""
    if not addresses and scope.is_all:
        tally = await session.store.count_statuses(now)
        is_short = not as_table or tally.total <= _TABLE
        return tally, [state async for state in session.store.all_states()] if is_short else []
    states = scope.chosen()
    if addresses:
        found = await session.store.states(addresses_of(addresses))
        missing = [text for text in addresses if text not in {str(address) for address in found}]
        if missing:
            message = f"nothing is known of {missing[0]}; `holdfast status` lists what is"
            raise InputError(message)
        states = [state for state in found.values() if scope.covers(state.address)]
    by_status = Counter(state.observed.status.value if state.observed.status else UNCHECKED for state in states)
    overdue = sum(resources.is_overdue(state, now) for state in states)
    return StatusCounts(dict(by_status), len(states), overdue), states


async def _show_standing(session: Session, states: list[ResourceState]) -> None:
    """Say what people decided and is still in force: none of it may be forgotten."""
    suppressed = Counter(because for state in states for because, _, _ in state.observed.suppressed)
    if suppressed:
        console.line(f"Suppressed: {', '.join(f'{n} {name}' for name, n in sorted(suppressed.items()))}.", fg="cyan")
    for pause in await session.store.pauses():
        if pause.until is None or session.clock.now() < pause.until:
            end = f" until {when(pause.until)}" if pause.until else ""
            console.line(f"Paused{end}: {pause.scope or 'everything'}, by {pause.who}: {pause.why}", fg="yellow")
    for operation in await session.store.operations():
        if operation.step is OperationStep.UNSURE:
            said = lost_create_reasons.message(operation.address, operation.token)
            console.line(f"{operation.address}: {said}", fg="red")
    quarantines = await session.store.quarantines()
    if quarantines:
        console.line(f"waiting for a person's decision: {len(quarantines)}; see holdfast contention", fg="magenta")


async def _unknown(session: Session) -> list[ResourceState]:
    """Return what the last check could say nothing about; what is known to be no longer declared is among it."""
    return list((await session.store.states(await session.store.addresses_with_status(Status.UNKNOWN))).values())


def _without_missed(tally: StatusCounts, states: Sequence[ResourceState], missed: Collection[Address]) -> StatusCounts:
    """Return the counts with what is no longer declared by itself: its last verdict is none of now."""
    was = Counter(
        state.observed.status.value if state.observed.status else UNCHECKED
        for state in states
        if state.address in missed
    )
    if not was:
        return tally
    counts = Counter(dict(tally.by_status)) - was
    return StatusCounts({**counts, _NOT_DECLARED: was.total()}, tally.total, tally.overdue)


def _state_row(state: ResourceState, now: float, missed: Collection[Address]) -> tuple[str, ...]:
    is_stale = state.address in missed or resources.is_stale(state, now)
    raised = [c.type.value for c in state.observed.conditions if c.status.value == "True"]
    if is_stale:
        raised = [*(name for name in raised if name != ConditionType.FRESH.value), "stale"]
    status = state.observed.status.value if state.observed.status else "never checked"
    status = (_NOT_DECLARED if state.address in missed else status).replace("_", " ")
    return (
        str(state.address),
        status,
        ago(state.schedule.good_at, now),
        ago(state.schedule.due_at, now) if state.schedule.due_at else "-",
        ", ".join(raised) or "-",
    )


def state_as_json(state: ResourceState, now: float | None = None, missed: Collection[Address] = ()) -> dict[str, Json]:
    """Return what is remembered of a resource for programs."""
    return {
        "address": str(state.address),
        "status": _NOT_DECLARED
        if state.address in missed
        else state.observed.status.value
        if state.observed.status
        else None,
        **({} if now is None else {"stale": state.address in missed or resources.is_stale(state, now)}),
        "reason": state.observed.reason,
        "generation": state.declared.generation,
        "revision": state.applied.revision,
        "id": state.observed.provider_id,
        "origin": state.applied.origin.value,
        "checkedAt": state.schedule.checked_at,
        "goodAt": state.schedule.good_at,
        "dueAt": state.schedule.due_at,
        "resyncSeconds": state.schedule.resync_seconds,
        "terminal": state.schedule.terminal,
        "requested": state.schedule.requested,
        "handled": state.schedule.handled,
        "source": state.declared.source,
        "suppressed": [
            {"because": because, "path": path, "note": note} for because, path, note in state.observed.suppressed
        ],
        "conditions": [
            {
                "type": c.type.value,
                "status": c.status.value,
                "reason": c.reason,
                "message": c.message,
                "observedGeneration": c.observed_generation,
                "lastTransitionTime": when(c.last_transition),
            }
            for c in state.observed.conditions
        ],
    }


@click.command("history")
@click.argument("address", required=False)
@remembered_partly
@click.option("--limit", default=50, show_default=True)
@console.option(*_FORMATS)
def history_command(address: str | None, limit: int, output_: str, **rest: Any) -> int:
    """Show decisions and audit events, newest last; of one resource or of all.

    \b
    Examples:
      holdfast history api/Widget/blue
    """

    async def body(session: Session, scope: Scope) -> int:
        wanted = addresses_of([address])[0] if address else None
        events = [event async for event in session.store.events(subject=str(wanted) if wanted else None)]
        scope.insist(_subjects(events))
        events = [each for each in events if scope.covers_text(each.event.subject)][-limit:]
        decisions = await session.store.decisions(wanted, limit if scope.is_all else _EVERY)
        decisions = [each for each in decisions if scope.covers(each.address)][:limit]
        rows: list[dict[str, Json]] = [
            {"at": e.event.at, "what": e.event.type, "address": e.event.subject, "data": dict(e.event.data)}
            for e in events
        ] + [
            {"at": d.at, "what": f"decision {d.id}", "address": str(d.address), "data": {"summary": d.summary}}
            for d in decisions
        ]
        rows.sort(key=lambda row: row["at"])
        if console.structured(output_, rows[-limit:]):
            return 0
        for row in rows[-limit:]:
            detail = row["data"].get("summary") or ", ".join(f"{k}={_short(v)}" for k, v in row["data"].items() if v)
            console.line(f"{when(row['at'])}  {console.styled(row['what'], bold=True)}  {row['address']}  {detail}")
        return 0

    return in_store(rest, body)


def _subjects(events: Iterable[ChainedEvent]) -> Iterator[Address]:
    """Yield the resources that events are about, also those that the store has no record of any more."""
    for text in {each.event.subject for each in events}:
        with contextlib.suppress(ValueError):
            yield Address.parse(text)


def _short(value: Json) -> str:
    return findings.value_text(value, 60)


@click.command("replay")
@click.argument("decision")
@remembered
@console.option(*_FORMATS)
def replay_command(decision: str, output_: str, **rest: Any) -> int:
    """Recompute a stored decision from its stored inputs; it must agree byte for byte.

    \b
    Examples:
      holdfast history api/Widget/blue        lists decisions
      holdfast replay 18f2a-0c9d1e2f3a4b
    """

    async def body(session: Session, _scope: Scope) -> int:
        record = await session.store.decision(decision)
        if record is None:
            message = f"there is no decision {decision}; `holdfast history` lists them"
            raise InputError(message)
        stored, recomputed = await serialize.replay(session.store, record)
        one = canonical.canonical_bytes(stored, lists="ordered")
        other = canonical.canonical_bytes(recomputed, lists="ordered")
        agrees = one == other
        if not console.structured(
            output_, {"decision": record.id, "agrees": agrees, "stored": stored, "recomputed": recomputed}
        ):
            console.line(f"{record.summary}")
            verdict = "agrees, byte for byte" if agrees else "DISAGREES with what was stored"
            console.line(verdict, fg="green" if agrees else "red", bold=True)
        return 0 if agrees else 1

    return in_store(rest, body)


@click.command("import")
@click.argument("address")
@click.argument("provider_id")
@singly
def import_command(address: str, provider_id: str, **rest: Any) -> int:
    """Take over a live thing by its id: the declaration must exist; nothing is written to the world.

    \b
    Examples:
      holdfast import api/Widget/blue 42 -f infra/
    """

    async def body(session: Session) -> int:
        from dataclasses import replace

        from holdfast.model.decision import Action
        from holdfast.model.resource import Import

        wanted = addresses_of([address])[0]
        declaration = session.fleet.declarations.get(wanted)
        if declaration is None:
            message = f"{address} is not declared in the manifests given with -f"
            raise InputError(message)
        session.retries = True
        session.fleet = replace(
            session.fleet,
            declarations={
                **session.fleet.declarations,
                wanted: replace(declaration, import_from=Import(id=provider_id)),
            },
        )
        async with session.writable_world() as world:
            report = await session.applier(world, only=lambda checked: checked.decision.action is Action.ADOPT).apply(
                [wanted]
            )
        if not report.acted:
            reason = report.checked[0].decision.reasons[0].message if report.checked else report.waiting[0].reason
            console.line(f"not imported: {reason}", fg="red")
            return 1
        console.line(f"imported {address} as {provider_id}; nothing was written", fg="green")
        return 0

    return in_session(rest, body, needs_files=True)
