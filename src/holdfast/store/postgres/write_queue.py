"""Group commit: writes that arrive while a transaction is running share the next one.

Knows tasks and their order, and nothing of what is stored. Each call succeeds or fails alone: if a transaction of
several calls fails, its halves are tried one after the other.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from holdfast.errors import StoreError

Work = TypeVar("Work")

MOST: Final = 128  # calls in one transaction, so that other processes need not wait long for its locks

Together = Callable[[Sequence[Work]], Awaitable[Sequence[Any]]]  # runs several calls in one transaction


@dataclass(slots=True, eq=False)
class _Call(Generic[Work]):
    work: Work
    result: asyncio.Future[Any]
    finished: asyncio.Event = field(default_factory=asyncio.Event)


class WriteQueue(Generic[Work]):
    """Runs calls in order, as many in one transaction as are waiting."""

    def __init__(self, together: Together[Work], fails_all: Callable[[Exception], bool]) -> None:
        self._together = together
        self._fails_all = fails_all  # True for an error that no smaller transaction avoids
        self._waiting: deque[_Call[Work]] = deque()
        self._last: _Call[Work] | None = None
        self._task: asyncio.Task[None] | None = None

    async def call(self, work: Work) -> Any:  # noqa: ANN401 - the result of the work
        """Run a call; return its result or raise its exception."""
        call = _Call(work, asyncio.get_running_loop().create_future())
        self._waiting.append(call)
        self._last = call
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="holdfast-store-writer")
        return await call.result

    async def settle(self) -> None:
        """Wait until every call that was made so far has ended."""
        if self._last is not None:
            await self._last.finished.wait()

    async def _run(self) -> None:
        while self._waiting:
            calls = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST))]
            try:
                await self._run_together([call for call in calls if not call.result.done()])
            finally:
                for call in calls:
                    _answer(call, error=StoreError("the store was closed before the change was made"))
                    call.finished.set()

    async def _run_together(self, calls: Sequence[_Call[Work]]) -> None:
        if not calls:
            return
        try:
            results = await self._together([call.work for call in calls])
        except Exception as error:  # noqa: BLE001 - raised for the caller
            if len(calls) == 1 or self._fails_all(error):
                for call in calls:
                    _answer(call, error=error)
                return
        else:
            for call, result in zip(calls, results, strict=True):
                _answer(call, result)
            return
        middle = len(calls) // 2
        await self._run_together(calls[:middle])
        await self._run_together(calls[middle:])


def _answer(call: _Call[Any], result: object = None, error: Exception | None = None) -> None:
    if call.result.done():  # cancelled, or answered
        return
    if error is None:
        call.result.set_result(result)
    else:
        call.result.set_exception(error)
