"""Crashes between any two steps: the next process finishes the write and creates nothing twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from holdfast.model.resource import Declaration
from holdfast.testing.conformance.call_recorder import Killed, Lifetime
from holdfast.testing.conformance.engine_process import EngineProcess
from holdfast.testing.conformance.expectations import ExpectationFailed
from holdfast.testing.conformance.scenario_run import ScenarioRun

Beginning = Callable[[ScenarioRun], Awaitable[tuple[EngineProcess, Declaration]]]
MOST = 200  # boundaries; a write that crosses more does not end


async def crash(run: ScenarioRun) -> str:
    """Kill the process before and after every commit and every call of the writer, while creating and updating."""
    died = {what: await _everywhere(run, what, begin) for what, begin in _STORIES.items()}
    return "; ".join(f"{what}: died at {times} boundaries" for what, times in died.items())


async def _nothing_yet(run: ScenarioRun) -> tuple[EngineProcess, Declaration]:
    process, name = run.process(), run.name()
    return process, process.declare(run.sample.kind, name, run.sample.full(name))


async def _made_otherwise(run: ScenarioRun) -> tuple[EngineProcess, Declaration]:
    process, name = run.process(), run.name()
    await run.made(process, run.sample.minimal(name), name)
    return process, process.declare(run.sample.kind, name, run.sample.full(name))


_STORIES: dict[str, Beginning] = {"create": _nothing_yet, "update": _made_otherwise}


async def _everywhere(run: ScenarioRun, what: str, begin: Beginning) -> int:
    """Crash at the first boundary, then at the second, until a run completes."""
    for boundary in range(MOST):
        before = await run.new_ids()
        process, declaration = await begin(run)
        process = EngineProcess(run.subject, process.store, process.clock, Lifetime(boundary))
        if not await _dies(process, declaration):
            return boundary
        try:
            await _resumed(run, process.restarted(), declaration, before)
        except ExpectationFailed as error:
            raise ExpectationFailed(f"{what}, killed at boundary {boundary}: {error}") from None
    raise ExpectationFailed(f"{what} did not end within {MOST} steps")


async def _dies(process: EngineProcess, declaration: Declaration) -> bool:
    died = False
    try:
        await process.apply([declaration])
    except* Killed:
        died = True
    return died


async def _resumed(run: ScenarioRun, process: EngineProcess, declaration: Declaration, before: frozenset[str]) -> None:
    for _ in range(3):  # a write that was given up is retried by the next run, as in the next round of a watch
        await process.apply([declaration])
        process = process.restarted()
    await run.expect_only(declaration.desired, "afterwards", before)
    await run.expect_clean(process, declaration, "afterwards")
