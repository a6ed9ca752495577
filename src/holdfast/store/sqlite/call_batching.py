"""Batches of calls: calls that arrive while the store's thread is busy run together in its next round.

Knows tasks, threads and their order, and nothing of what is stored. A caller gets its result only after the transaction
commits. Cancelled callers are skipped without affecting others.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from typing import Any, Final, ParamSpec, TypeVar, cast

from holdfast.errors import StoreError
from holdfast.model.record import dataclass

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

MOST: Final = 128  # calls in one round, so that other processes need not wait long for the file


@dataclass(slots=True)
class CallResult:
    """The value of a call, or the exception that it raised."""

    value: Any = None
    error: BaseException | None = None


@dataclass(slots=True, eq=False)
class QueuedCall:
    """A call and the future of its caller."""

    work: Callable[[], Any]  # of a call that writes: prepares the write, and returns a function to run under the lock
    writes: bool
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: CallResult | None = None


Together = Callable[[Sequence[Callable[[], Any]]], list[CallResult]]  # runs several functions in one transaction


class InlineExecutor(Executor):
    """Runs every call at once in the caller's thread; for a database in memory, which never waits for a disk."""

    def submit(
        self, fn: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        """Run a function and return its finished future."""
        future: Future[Result] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - the caller finds it in the future
            future.set_exception(error)
        return future


class CallBatcher:
    """Runs calls in order in one thread, as many in one round as are waiting."""

    def __init__(self, worker: Executor, read: Together, write: Together) -> None:
        self._worker = worker
        self._read = read
        self._write = write
        self._waiting: deque[QueuedCall] = deque()
        self._lock = threading.Lock()
        self._is_busy = False
        self._refusal = ""  # the message for calls after the end

    def close(self, refusal: str) -> bool:
        """Refuse all further calls with a message; return False if they are already refused."""
        was_open, self._refusal = not self._refusal, refusal
        return was_open

    async def read(self, work: Callable[[], Result]) -> Result:
        """Run a function in the thread; return its result or raise its exception."""
        return cast("Result", await self._call(work, writes=False))

    async def write(self, prepare: Callable[[], Callable[[], Result]]) -> Result:
        """Run a write in the thread: first `prepare`, then its result under the write lock."""
        return cast("Result", await self._call(prepare, writes=True))

    def _call(self, work: Callable[[], object], *, writes: bool) -> asyncio.Future[Any]:
        if self._refusal:
            raise StoreError(self._refusal)
        loop = asyncio.get_running_loop()
        call = QueuedCall(work, writes, loop, loop.create_future())
        with self._lock:
            self._waiting.append(call)
            is_first, self._is_busy = not self._is_busy, True
        if is_first:
            self._worker.submit(self._work)
        return call.future

    def _work(self) -> None:
        while calls := self._next():
            try:
                self._run(calls)
            except BaseException as error:  # noqa: BLE001 - every caller must get an answer
                for call in calls:
                    call.result = call.result or CallResult(error=error)
                _answer(calls)

    def _next(self) -> list[QueuedCall]:
        """Return the calls of the next round; if there are none, the thread is free."""
        calls: list[QueuedCall] = []
        with self._lock:
            while self._waiting and len(calls) < MOST:
                call = self._waiting.popleft()
                if not call.future.cancelled():
                    calls.append(call)
            self._is_busy = bool(calls)
        return calls

    def _run(self, calls: Sequence[QueuedCall]) -> None:
        """Run writes first, in order, so that a read sees every write that was asked for before it."""
        writing = [call for call in calls if call.writes]
        if writing:
            self._prepare(writing)
            _carry_out(self._write, [call for call in writing if call.result is None])
            _answer(writing)
        reading = [call for call in calls if not call.writes]
        if reading:
            _carry_out(self._read, reading)
            _answer(reading)

    def _prepare(self, calls: Sequence[QueuedCall]) -> None:
        """Run the parts of writes that need no lock; a write whose preparation fails has failed."""
        for call, prepared in zip(calls, self._read([call.work for call in calls]), strict=True):
            if prepared.error is not None:
                call.result = prepared
            else:
                call.work = prepared.value


def _carry_out(together: Together, calls: Sequence[QueuedCall]) -> None:
    for call, result in zip(calls, together([call.work for call in calls]), strict=True):
        call.result = result


def _answer(calls: Iterable[QueuedCall]) -> None:
    """Give callers their results, from the thread, with one wakeup for each event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[QueuedCall]] = {}
    for call in calls:
        loops.setdefault(call.loop, []).append(call)
    for loop, calls_of_loop in loops.items():
        if not loop.is_closed():
            try:
                loop.call_soon_threadsafe(_set_results, calls_of_loop)
            except RuntimeError:  # the loop was closed in between: no caller waits
                continue


def _set_results(calls: Iterable[QueuedCall]) -> None:
    for call in calls:
        if call.future.done() or call.result is None:
            continue
        if call.result.error is None:
            call.future.set_result(call.result.value)
        else:
            call.future.set_exception(call.result.error)
