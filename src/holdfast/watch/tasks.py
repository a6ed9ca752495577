"""Tasks that a watch runs beside the checks of resources, such as rollouts and assessments."""

from __future__ import annotations

from typing import Protocol


class PeriodicTask(Protocol):
    """A task with a schedule of its own."""

    async def run(self) -> bool:
        """Do what is due now; return True if something was."""

    async def next_at(self) -> float | None:
        """Return when the next run is due, or None."""
