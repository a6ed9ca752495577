"""Rollouts on the schedule of the watch: those that are due advance, with the manifests read again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.app import template_groups
from holdfast.errors import HoldfastError
from holdfast.model.record import dataclass
from holdfast.reconcile.connections import WritableConnections
from holdfast.reconcile.report import RunReport
from holdfast.rollouts import serialization

if TYPE_CHECKING:
    from holdfast.app.project import Project
    from holdfast.app.watch import WatchOutput
    from holdfast.watch.manifest_source import DeclarationSource

_BATCH = 100


@dataclass(slots=True)
class Rollouts:
    """The rollouts of templates, beside the resync loop."""

    project: Project
    connections: WritableConnections
    stop: asyncio.Event
    complain: Callable[[HoldfastError], None]
    output: WatchOutput
    source: DeclarationSource | None = None  # None: the declarations are in the project

    async def run(self) -> bool:
        """Advance the rollouts that are due. Return True if one of them did something."""
        names = await self._due()
        if not names:
            return False
        try:
            project = self._with_templates()
            rolled = await template_groups.roller(project, self.connections, self.stop, self._show).run(names)
        except HoldfastError as error:
            self.complain(error)
            return False
        for group in rolled.groups:
            self.output.rolled(group)
        return bool(rolled.reports)

    async def next_at(self) -> float | None:
        """Return when the next rollout has something to do."""
        store = self.project.store
        times = [
            await store.next_due_record(collection) for collection in (serialization.ROLLOUTS, serialization.TEMPLATES)
        ]
        return min((at for at in times if at is not None), default=None)

    async def _due(self) -> set[str]:
        store, now = self.project.store, self.project.clock.now()
        rollouts = await store.due_records(serialization.ROLLOUTS, now, _BATCH)
        templates = await store.due_records(serialization.TEMPLATES, now, _BATCH)
        return {rollout.owner for rollout in rollouts} | {template.key for template in templates}

    def _with_templates(self) -> Project:
        """Return the project with its templates, read again unless they came from standard input."""
        if self.source is None:
            return self.project
        manifests = self.source.read()
        return replace(self.project, templates=manifests.templates, manual=manifests.declarations)

    def _show(self, report: RunReport) -> None:
        for acted in report.acted:
            self.output.acted(acted)
