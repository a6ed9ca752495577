"""Virtual time and virtual processes: an event loop on which hours pass in no time and a process can be killed.

Everything that runs belongs to a process (or to nobody: the world and the people). What a dead process was about to do
is dropped at whichever await it was; what a stopped one was about to do waits until it is woken. Nothing runs beside
the loop: work for threads is done in place, so that one seed makes one history.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import heapq
import random
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

START = 1_800_000_000.0  # a Friday

CURRENT: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)


class Stuck(Exception):  # noqa: N818 - an outcome
    """Nothing can happen any more, and somebody still waits."""


@dataclass(eq=False)
class Process:
    """One run of the command line."""

    number: int
    machine: str  # of another machine nobody can tell whether it is dead
    arguments: list[str]
    started: float
    is_dead: bool = False
    is_stopped: bool = False
    code: int | None = None
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)
    parked: list[asyncio.Handle] = field(default_factory=list)
    task: asyncio.Task[Any] | None = None
    stop: asyncio.Event | None = None
    ended: float | None = None
    error: BaseException | None = None
    sent: int = 0  # writes that reached the API
    version: int = 0  # of the declarations, when it began
    was_stopped: bool = False

    @property
    def name(self) -> str:
        """Return the name that claims bear."""
        return f"sim:{self.number}@{self.machine}"

    @property
    def is_running(self) -> bool:
        """Tell whether it may still do something."""
        return self.code is None and not self.is_dead

    @property
    def text(self) -> str:
        """Return what it has printed."""
        return "".join(self.out)

    @property
    def error_text(self) -> str:
        """Return what it has printed on standard error."""
        return "".join(self.err)


class _NoSelector:
    """Stands where the loop expects a selector; there are no files to wait for."""

    def register(self, *_: Any) -> None: ...
    def unregister(self, *_: Any) -> None: ...
    def modify(self, *_: Any) -> None: ...
    def get_key(self, *_: Any) -> None:
        raise KeyError

    def get_map(self) -> dict[Any, Any]:
        return {}

    def select(self, _timeout: float | None = None) -> list[Any]:
        return []

    def close(self) -> None: ...


class Loop(asyncio.SelectorEventLoop):
    """Time moves to the next timer whenever nothing is left to do."""

    def __init__(self, limit_steps: int = 2_000_000) -> None:
        self.now = 0.0
        self.steps = 0
        self.limit_steps = limit_steps
        self.slowness = 0.0  # seconds that an answer of a store may take
        self.random = random.Random(0)
        self.after_work: Callable[[], None] = lambda: None  # told whenever work for a thread was done
        self._ready: deque[asyncio.Handle]
        self._scheduled: list[Any]
        super().__init__(selector=_NoSelector())  # type: ignore[arg-type]

    def _make_self_pipe(self) -> None:
        self._ssock = self._csock = None

    def _close_self_pipe(self) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def time(self) -> float:
        """Return the seconds since the beginning."""
        return self.now

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """Answer from a thread: at once, or after a while where the disk is slow."""
        if self.slowness > 0.0:
            return self.call_later(self.random.uniform(0.0, self.slowness), callback, *args, context=context)
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(self, _executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Do it now, and answer at the next turn."""
        future = self.create_future()
        try:
            value = func(*args)
            self.after_work()
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            self.call_soon(_settle, future, None, error)
        else:
            self.call_soon(_settle, future, value, None)
        return future

    def _run_once(self) -> None:
        scheduled, ready = self._scheduled, self._ready
        while scheduled and scheduled[0]._cancelled:
            handle = heapq.heappop(scheduled)
            handle._scheduled = False
        if not ready:
            if not scheduled:
                raise Stuck
            self.now = max(self.now, scheduled[0]._when)
        while scheduled and scheduled[0]._when <= self.now:
            handle = heapq.heappop(scheduled)
            handle._scheduled = False
            ready.append(handle)
        self.steps += len(ready)
        if self.steps > self.limit_steps:
            raise Stuck
        for _ in range(len(ready)):
            handle = ready.popleft()
            if handle._cancelled:
                continue
            process = handle._context.get(CURRENT)  # type: ignore[attr-defined]
            if process is not None:
                if process.is_dead:
                    continue
                if process.is_stopped:
                    process.parked.append(handle)
                    continue
            handle._run()


def _settle(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)


class InPlace(Executor):
    """An executor without threads."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do it now."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing is under way."""


class Kernel:
    """The machine room: processes, time, and clocks that may be wrong."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.processes: list[Process] = []
        self.wall = START  # what the clock on the wall said at the beginning
        self.jumped = 0.0  # by how much it is wrong since

    @property
    def elapsed(self) -> float:
        """Return the true seconds since the beginning."""
        return self.loop.now

    def wall_time(self) -> float:
        """Return what time.time() says."""
        return self.wall + self.loop.now + self.jumped

    def spawn(self, process: Process, work: Coroutine[Any, Any, int]) -> Process:
        """Start a process."""
        self.processes.append(process)
        context = contextvars.copy_context()
        context.run(CURRENT.set, process)
        process.task = self.loop.create_task(work, context=context)
        process.task._log_destroy_pending = False  # type: ignore[attr-defined]
        return process

    def kill(self, process: Process) -> None:
        """End a process at the await it is at; nothing of it runs any more, not even a `finally`."""
        if process.is_running:
            process.is_dead = True
            process.parked.clear()
            process.ended = self.elapsed

    def halt(self, process: Process) -> None:
        """Stop a process as SIGSTOP does."""
        process.is_stopped = process.was_stopped = True

    def wake(self, process: Process) -> None:
        """Let a stopped process go on."""
        process.is_stopped = False
        for handle in process.parked:
            self.loop._ready.append(handle)
        process.parked.clear()

    async def sleep(self, seconds: float) -> None:
        """Let time pass, in the life of people."""
        await asyncio.sleep(seconds)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run the people's coroutine to its end."""
        asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(work)

    def close(self) -> None:
        """Throw everything away, without letting the dead do anything."""
        for process in self.processes:
            process.is_dead = process.code is None
        for task in asyncio.all_tasks(self.loop):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            with contextlib.suppress(BaseException):  # whatever a `finally` of the dead tries to do, it is too late
                task.get_coro().close()
        asyncio.set_event_loop(None)
        self.loop._ready.clear()
        self.loop._scheduled.clear()
        self.loop.close()
