"""The command `status`."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any, Final

import click

from holdfast.app import selection, undeclared
from holdfast.app.project import Project
from holdfast.app.selection import StoreSelection
from holdfast.cli import console, json_stream, options
from holdfast.cli.render import reports, rollouts
from holdfast.cli.render.state import NOT_DECLARED, state_as_json
from holdfast.cli.render.text import ago, count, due, when
from holdfast.cli.run import in_store
from holdfast.errors import InputError
from holdfast.metrics import resources
from holdfast.model.address import Address
from holdfast.model.condition import ConditionType
from holdfast.model.json import Json
from holdfast.policy import lost_create_reasons
from holdfast.rollouts import render as rollout_text
from holdfast.store.records import OperationStep
from holdfast.store.state import UNCHECKED, ResourceState, StatusCounts

_TABLE: Final = 200  # resources that a table lists; beyond that it only counts them


@click.command("status")
@click.argument("addresses", nargs=-1)
@options.stored_partly
@console.option(*options.FORMATS)
def status_command(addresses: tuple[str, ...], output_: str, **rest: Any) -> int:
    """Show last known state; makes no API calls.

    \b
    Examples:
      holdfast status
      holdfast status api/Widget/blue -o yaml
    """

    async def body(project: Project, scope: StoreSelection) -> int:
        now = project.clock.now()
        scope.require_matches()
        is_whole = not addresses and scope.is_all
        tally, states = await _counted(project, scope, addresses, now)
        missed = await (undeclared.in_whole_store(project) if is_whole else undeclared.in_store(project, states))
        listed = await _states_of(project, missed) if is_whole else states
        tally = _without_missed(tally, listed, missed)
        if output_ == "json":
            every = project.store.all_states() if is_whole else _each(states)
            rows = (state_as_json(state, now, missed) async for state in every)
            await json_stream.print_object({**await _as_json(project, tally), "resources": rows})
            return 0
        if is_whole and (output_ != "table" or tally.total <= _TABLE):
            states = [state async for state in project.store.all_states()]
        if output_ != "table":
            shown = await _as_json(project, tally)
            shown["resources"] = [state_as_json(state, now, missed) for state in states]
            console.structured(output_, lambda: shown)
            return 0
        if states:
            console.table(
                ("resource", "status", "checked", "next check", "conditions"),
                [_state_row(state, now, missed) for state in states],
            )
            console.line()
        by_status = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in sorted(tally.by_status.items()))
        total = count(tally.total, "resource")
        console.line(f"{total}: {by_status or 'none'}; {tally.overdue} overdue for a check.", bold=True)
        reports.show_undeclared([state for state in listed if state.address in missed])
        await rollouts.show_templates(project.store)
        await _show_standing(project, states)
        return 0

    return in_store(rest, body)


async def _as_json(project: Project, tally: StatusCounts) -> dict[str, Json]:
    operations = await project.store.operations()
    return {
        "tally": dict(tally.by_status),
        "total": tally.total,
        "overdue": tally.overdue,
        "pauses": [
            {"scope": pause.scope, "who": pause.who, "why": pause.why, "at": pause.at, "until": pause.until}
            for pause in await project.store.pauses()
        ],
        "waitingForDecision": len(await project.store.quarantines()),
        "unknownWhetherCreated": [str(op.address) for op in operations if op.step is OperationStep.UNSURE],
        "templates": await rollout_text.templates(project.store),
    }


async def _counted(
    project: Project, scope: StoreSelection, addresses: Sequence[str], now: float
) -> tuple[StatusCounts, list[ResourceState]]:
    """Return the number of resources of each status, and the selected resources; none where all are selected."""
    if not addresses and scope.is_all:
        return await project.store.count_statuses(now), []
    states = scope.chosen()
    if addresses:
        found = await project.store.states(selection.parse_addresses(addresses))
        missing = [text for text in addresses if text not in {str(address) for address in found}]
        if missing:
            raise InputError(f"{missing[0]} is not in the store; `holdfast status` lists all resources")
        states = [state for state in found.values() if scope.covers(state.address)]
    by_status = Counter(state.observed.status.value if state.observed.status else UNCHECKED for state in states)
    overdue = sum(resources.is_overdue(state, now) for state in states)
    return StatusCounts(dict(by_status), len(states), overdue), states


async def _show_standing(project: Project, states: list[ResourceState]) -> None:
    """Print decisions of people that are in force: suppressions, pauses, unfinished creates, quarantined paths."""
    suppressed = Counter(because for state in states for because, _, _ in state.observed.suppressed)
    if suppressed:
        console.line(f"Suppressed: {', '.join(f'{n} {name}' for name, n in sorted(suppressed.items()))}.", fg="cyan")
    for pause in await project.store.pauses():
        if pause.until is None or project.clock.now() < pause.until:
            end = f" until {when(pause.until)}" if pause.until else ""
            console.line(f"Paused{end}: {pause.scope or 'everything'}, by {pause.who}: {pause.why}", fg="yellow")
    for operation in await project.store.operations():
        if operation.step is OperationStep.UNSURE:
            said = lost_create_reasons.message(operation.address, operation.token)
            console.line(f"{operation.address}: {said}", fg="red")
    quarantines = await project.store.quarantines()
    if quarantines:
        console.line(
            f"{count(len(quarantines), 'field')} waiting for a decision; see holdfast contention", fg="magenta"
        )


async def _states_of(project: Project, addresses: Collection[Address]) -> list[ResourceState]:
    """Return the records of some resources, in order of address."""
    return list((await project.store.states(sorted(addresses, key=str))).values()) if addresses else []


async def _each(states: Sequence[ResourceState]) -> AsyncIterator[ResourceState]:
    for state in states:
        yield state


def _without_missed(tally: StatusCounts, states: Sequence[ResourceState], missed: Collection[Address]) -> StatusCounts:
    """Return the counts with undeclared resources under a status of their own."""
    was = Counter(
        state.observed.status.value if state.observed.status else UNCHECKED
        for state in states
        if state.address in missed
    )
    if not was:
        return tally
    counts = Counter(dict(tally.by_status)) - was
    return StatusCounts({**counts, NOT_DECLARED: was.total()}, tally.total, tally.overdue)


def _state_row(state: ResourceState, now: float, missed: Collection[Address]) -> tuple[str, ...]:
    is_stale = state.address in missed or resources.is_stale(state, now)
    raised = [c.type.value for c in state.observed.conditions if c.status.value == "True"]
    if is_stale:
        raised = [*(name for name in raised if name != ConditionType.FRESH.value), "stale"]
    status = state.observed.status.value if state.observed.status else "never checked"
    status = (NOT_DECLARED if state.address in missed else status).replace("_", " ")
    return (
        str(state.address),
        status,
        ago(state.schedule.good_at, now),
        due(state.schedule.due_at, now) if state.schedule.due_at else "-",
        ", ".join(raised) or "-",
    )
