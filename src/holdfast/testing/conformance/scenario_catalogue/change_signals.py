"""Watching: every change is signalled, and signals change when drift is found, never what is found."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from holdfast.compare import paths
from holdfast.model.read_result import Found
from holdfast.model.resource import Declaration
from holdfast.model.verdict import Status
from holdfast.providers.protocol import (
    ChangeSignal,
    Interrupted,
    PositionReached,
    Reader,
    SupportsWatch,
    Target,
    WatchEvent,
)
from holdfast.testing.conformance import leaf_values
from holdfast.testing.conformance.engine_process import EngineProcess
from holdfast.testing.conformance.expectations import NotApplicable, expect
from holdfast.testing.conformance.scenario_run import ScenarioRun, path_text
from holdfast.watch import signal_requests
from holdfast.watch.signal_gathering import SignalGatherer

SIGNAL_SECONDS: Final = 20.0  # within which a signal must arrive

Signals = Sequence[ChangeSignal]
Drift = tuple[str, Status, str]  # address, status, path
DISTORTIONS: Final[Mapping[str, Callable[[Signals], Signals]]] = {
    "as they came": lambda signals: signals,
    "doubled": lambda signals: [signal for signal in signals for _ in range(2)],
    "reordered": lambda signals: list(reversed(signals)),
    "late": lambda signals: [*signals[1:], *signals[:1]],
    "lost": lambda _signals: [],
}


async def watch(run: ScenarioRun) -> str:
    """Expect a signal for an edit and for a deletion, and the same findings however signals are distorted."""
    async with run.halves() as (reader, _writer):
        if not run.kind.watches:
            raise NotApplicable("the kind cannot be watched")
        expect(isinstance(reader, SupportsWatch), "the kind has watches=True, but the reader has no `watch`")
        assert isinstance(reader, SupportsWatch)
        return await _watched(run, reader, reader)


async def _watched(run: ScenarioRun, reader: Reader, watcher: SupportsWatch) -> str:
    process, kind = run.process(), run.sample.kind
    names = [run.name(), run.name()]
    made = [await run.made(process, run.sample.full(name), name) for name in names]
    declarations, idents = [declaration for declaration, _ in made], [ident for _, ident in made]
    await process.check(declarations)
    position = await _position(watcher, kind)
    for ident in idents:
        await _edit(run, ident)
    signals = await _signals(watcher, kind, position, idents)
    again = await _signals(watcher, kind, position, idents)
    expect({signal.id for signal in again} >= set(idents), "a later watch from the same position lacks a signal")
    await _expect_versions(reader, declarations, idents, signals)
    found = {name: await _findings(process, declarations, distort(signals)) for name, distort in DISTORTIONS.items()}
    polled = found["lost"]
    expect({address for address, _, _ in polled} == {str(item.address) for item in declarations}, "drift was not found")
    for name, drift in found.items():
        expect(drift == polled, f"with signals {name} the findings are {drift}, and without signals {polled}")
    before = await _position(watcher, kind)
    await run.subject.drift_injector.delete(kind, idents[0])
    await _signals(watcher, kind, before, idents[:1])
    return f"edits and a deletion signalled; the same findings with signals {', '.join(list(DISTORTIONS)[1:])}"


async def _edit(run: ScenarioRun, ident: str) -> None:
    """Change one declared field of a live resource."""
    live = await run.live(ident)
    fixed = {path_text(path) for path in run.sample.fixed} | {path_text(run.sample.sensitive_path or "")}
    given = {path_text(path): value for path, value in run.sample.drift_values.items()}
    for path, value in leaf_values.leaves(run.sample.full(run.name())):
        text = paths.format_path(path)
        if text not in fixed and leaf_values.place(path) == path and paths.resolve(live, path) == value:
            drifted = given.get(text, leaf_values.other(value))
            await run.subject.drift_injector.put(run.sample.kind, ident, path, drifted)
            return
    raise NotApplicable("no field can change outside Holdfast")


async def _position(watcher: SupportsWatch, kind: str) -> str:
    """Return the position of a watch that begins now."""
    events = watcher.watch(kind, None)
    first = await _next(events, "the first position")
    await _close(events)
    expect(isinstance(first, PositionReached), f"a watch without a position began with {first!r}")
    assert isinstance(first, PositionReached)
    return first.position


async def _signals(watcher: SupportsWatch, kind: str, position: str, idents: Sequence[str]) -> list[ChangeSignal]:
    """Return the signals since a position, once there is one for every id."""
    events = watcher.watch(kind, position)
    signals: list[ChangeSignal] = []
    while not {signal.id for signal in signals} >= set(idents):
        event = await _next(events, "the signal of a change")
        expect(not isinstance(event, Interrupted), f"the watch was interrupted: {event!r}")
        if isinstance(event, ChangeSignal) and event.id in idents:
            signals.append(event)
    await _close(events)
    return signals


async def _next(events: AsyncIterator[WatchEvent], what: str) -> WatchEvent:
    event = None
    with suppress(TimeoutError):
        async with asyncio.timeout(SIGNAL_SECONDS):
            event = await anext(events, None)
    expect(event is not None, f"{what} did not arrive within {SIGNAL_SECONDS:g} seconds")
    assert event is not None
    return event


async def _close(events: AsyncIterator[WatchEvent]) -> None:
    close = getattr(events, "aclose", None)
    if close is not None:
        await close()


async def _expect_versions(
    reader: Reader, declarations: Sequence[Declaration], idents: Sequence[str], signals: Signals
) -> None:
    """Expect that the version of the last signal, if it has one, is the digest of a read."""
    for declaration, ident in zip(declarations, idents, strict=True):
        version = [signal.version for signal in signals if signal.id == ident][-1]
        address = declaration.address
        reading = await reader.read(Target(address.kind, address.name, ident, declaration.desired))
        digest = reading.raw_digest if isinstance(reading, Found) else None
        expect(version in (None, digest), f"the signal has version {version!r}, but a read has digest {digest!r}")


async def _findings(process: EngineProcess, declarations: Sequence[Declaration], signals: Signals) -> set[Drift]:
    """Return the findings after the checks that signals request, and after the periodic ones."""
    gatherer, now = SignalGatherer(), process.clock.now()
    for signal in signals:
        gatherer.add(signal.id, signal.version, now)
    batch, address = gatherer.take(), declarations[0].address
    states = await process.store.states_with_ids(address.connection, address.kind, list(batch.versions))
    requests = signal_requests.check_requests(batch, states, "signals", now)
    if requests:
        await process.check(declarations, [request.address for request in requests])
    report = await process.check(declarations)
    return {
        (str(checked.address), checked.verdict.status, paths.format_path(finding.path))
        for checked in report.checked
        for finding in checked.verdict.findings
    }
