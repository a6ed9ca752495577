"""Tasks that a watch runs beside the checks of resources, such as rollouts and assessments."""

from __future__ import annotations

from typing import Protocol


class PeriodicTask(Protocol):
    """A task with a schedule of its own."""

    async def run(self) -> bool:
        """Do the work that is due now. Return True if there was any."""

    async def next_at(self) -> float | None:
        """Return when the next run is due, or None."""
