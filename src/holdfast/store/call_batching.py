"""Gathering: what is asked of a store while its one thread is busy is done together, in the next visit to that thread.

Knows tasks, threads and their order; knows nothing of what is kept. Whoever waits is answered only when all
that was done for him is done for good; whoever gives up before his turn is passed over, and nobody else is harmed.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

MOST: Final = 128  # calls in one visit, so that whoever shares the file is not kept waiting long


@dataclass(slots=True)
class Outcome:
    """What a call came to: a value, or what was raised instead."""

    value: Any = None
    error: BaseException | None = None


@dataclass(slots=True, eq=False)
class Call:
    """Something to be done, and who waits for it."""

    work: Callable[[], Any]  # of a call that writes: what prepares it, and returns what is to be done under the lock
    writes: bool
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    outcome: Outcome | None = None


Together = Callable[[Sequence[Callable[[], Any]]], list[Outcome]]  # does several things, and says what came of each


class Gathering:
    """Calls in order, carried out by one thread, as many at a time as there are."""

    def __init__(self, worker: ThreadPoolExecutor, read: Together, write: Together) -> None:
        self._worker = worker
        self._read = read
        self._write = write
        self._waiting: deque[Call] = deque()
        self._lock = threading.Lock()
        self._is_busy = False

    async def call(self, work: Callable[[], object], *, writes: bool) -> object:
        """Have something done in the thread; return what comes of it, or raise what it raised."""
        loop = asyncio.get_running_loop()
        call = Call(work, writes, loop, loop.create_future())
        with self._lock:
            self._waiting.append(call)
            is_first, self._is_busy = not self._is_busy, True
        if is_first:
            self._worker.submit(self._work)
        return await call.future

    def _work(self) -> None:
        while calls := self._next():
            try:
                self._visit(calls)
            except BaseException as error:  # noqa: BLE001 - whoever waits must hear of it, whatever it is
                for call in calls:
                    call.outcome = call.outcome or Outcome(error=error)
                _answer(calls)

    def _next(self) -> list[Call]:
        """Return those whose turn it is; when there are none, the thread is free."""
        out: list[Call] = []
        with self._lock:
            while self._waiting and len(out) < MOST:
                call = self._waiting.popleft()
                if not call.future.cancelled():
                    out.append(call)
            self._is_busy = bool(out)
        return out

    def _visit(self, calls: Sequence[Call]) -> None:
        """Do what was gathered: first what writes, in order, so that whatever is read after it was asked is read so."""
        writing = [call for call in calls if call.writes]
        if writing:
            self._prepare(writing)
            _carry_out(self._write, [call for call in writing if call.outcome is None])
            _answer(writing)
        reading = [call for call in calls if not call.writes]
        if reading:
            _carry_out(self._read, reading)
            _answer(reading)

    def _prepare(self, calls: Sequence[Call]) -> None:
        """Do what needs no lock before it is taken; what cannot be prepared has failed."""
        for call, prepared in zip(calls, self._read([call.work for call in calls]), strict=True):
            if prepared.error is not None:
                call.outcome = prepared
            else:
                call.work = prepared.value


def _carry_out(together: Together, calls: Sequence[Call]) -> None:
    for call, outcome in zip(calls, together([call.work for call in calls]), strict=True):
        call.outcome = outcome


def _answer(calls: Iterable[Call]) -> None:
    """Tell those who wait what came of their calls; from the thread, once for all of a loop."""
    loops: dict[asyncio.AbstractEventLoop, list[Call]] = {}
    for call in calls:
        loops.setdefault(call.loop, []).append(call)
    for loop, its in loops.items():
        if not loop.is_closed():
            try:
                loop.call_soon_threadsafe(_tell, its)
            except RuntimeError:  # it was closed meanwhile: nobody waits any more
                continue


def _tell(calls: Iterable[Call]) -> None:
    for call in calls:
        if call.future.done() or call.outcome is None:
            continue
        if call.outcome.error is None:
            call.future.set_result(call.outcome.value)
        else:
            call.future.set_exception(call.outcome.error)
