"""Dying between any two steps: whoever comes next finishes what was begun, and makes nothing twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from holdfast.model.resource import Declaration
from holdfast.testing.conformance.call_recorder import Killed, Life
from holdfast.testing.conformance.engine_process import Process
from holdfast.testing.conformance.expectations import Disappointed
from holdfast.testing.conformance.scenario_run import Trial

Beginning = Callable[[Trial], Awaitable[tuple[Process, Declaration]]]
MOST = 200  # boundaries; a write that crosses more does not end


async def crash(trial: Trial) -> str:
    """Kill the process before and after every commit and every call of the writer, while creating and updating."""
    died = {what: await _everywhere(trial, what, begin) for what, begin in _STORIES.items()}
    return "; ".join(f"{what}: died at {times} boundaries" for what, times in died.items())


async def _nothing_yet(trial: Trial) -> tuple[Process, Declaration]:
    process, name = trial.process(), trial.name()
    return process, process.declare(trial.sample.kind, name, trial.sample.full(name))


async def _made_otherwise(trial: Trial) -> tuple[Process, Declaration]:
    process, name = trial.process(), trial.name()
    await trial.made(process, trial.sample.minimal(name), name)
    return process, process.declare(trial.sample.kind, name, trial.sample.full(name))


_STORIES: dict[str, Beginning] = {"create": _nothing_yet, "update": _made_otherwise}


async def _everywhere(trial: Trial, what: str, begin: Beginning) -> int:
    """Die at the first boundary, then at the second, until one life is long enough to see the end."""
    for boundary in range(MOST):
        before = await trial.new_ids()
        process, declaration = await begin(trial)
        process = Process(trial.subject, process.store, process.clock, Life(boundary))
        if not await _dies(process, declaration):
            return boundary
        try:
            await _resumed(trial, process.restarted(), declaration, before)
        except Disappointed as error:
            raise Disappointed(f"{what}, killed at boundary {boundary}: {error}") from None
    raise Disappointed(f"{what} did not come to an end within {MOST} steps")


async def _dies(process: Process, declaration: Declaration) -> bool:
    died = False
    try:
        await process.apply([declaration])
    except* Killed:
        died = True
    return died


async def _resumed(trial: Trial, process: Process, declaration: Declaration, before: frozenset[str]) -> None:
    for _ in range(3):  # a write that was given up is tried anew by the next run, as the next round of a watch would
        await process.apply([declaration])
        process = process.restarted()
    await trial.expect_only(declaration.desired, "afterwards", before)
    await trial.expect_clean(process, declaration, "afterwards")
