"""Gathering change signals: doubled ones become one, and a burst becomes one batch. Pure: the time is an argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from holdfast.model.record import dataclass

QUIET_SECONDS: Final = 0.5  # for which a batch waits for more signals
LONGEST_DELAY_SECONDS: Final = 3.0  # after which a batch is complete, however many signals still arrive
MOST_PENDING: Final = 10_000  # resources of a batch; more are not kept one by one


@dataclass(frozen=True, slots=True)
class SignalBatch:
    """The resources that were signalled, each with its version; None: several versions, or none."""

    versions: Mapping[str, str | None]
    is_overfull: bool = False  # there were too many: the kind must be listed


@dataclass(slots=True)
class SignalGatherer:
    """Gathers the signals of one kind."""

    most_pending: int = MOST_PENDING
    _versions: dict[str, str | None] = field(default_factory=dict)
    _first_at: float = 0.0
    _last_at: float = 0.0
    _is_overfull: bool = False

    def add(self, ident: str, version: str | None, now: float) -> None:
        """Add a signal.

        Of two versions of one resource neither counts, because signals may arrive in another order.
        """
        if not self._versions and not self._is_overfull:
            self._first_at = now
        self._last_at = now
        if ident in self._versions:
            self._versions[ident] = version if version == self._versions[ident] else None
        elif len(self._versions) < self.most_pending:
            self._versions[ident] = version
        else:
            self._is_overfull = True

    def next_at(self) -> float | None:
        """Return when the batch is complete; None if there is no signal."""
        if not self._versions and not self._is_overfull:
            return None
        return min(self._last_at + QUIET_SECONDS, self._first_at + LONGEST_DELAY_SECONDS)

    def take(self) -> SignalBatch:
        """Return the signals so far and begin a new batch."""
        batch = SignalBatch(self._versions, self._is_overfull)
        self._versions, self._is_overfull = {}, False
        return batch
