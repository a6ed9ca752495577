"""Rollouts on the schedule of the watch: what is due is taken further, with the manifests read again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from holdfast.app import template_groups
from holdfast.app.project import Options, Session, named_files
from holdfast.cli import console
from holdfast.cli.render import reports
from holdfast.cli.render import rollouts as groups
from holdfast.errors import HoldfastError
from holdfast.manifests import loader
from holdfast.reconcile.connections import WritableConnections
from holdfast.reconcile.report import RunReport
from holdfast.rollouts import serialization
from holdfast.rollouts.core.template_groups import TemplateGroup

_BATCH = 100


@dataclass(slots=True)
class Rollouts:
    """The rollouts of templates, beside the resync loop."""

    session: Session
    options: Options
    world: WritableConnections
    stop: asyncio.Event
    complain: Callable[[HoldfastError], None]
    _shown: dict[str, str] = field(default_factory=dict)

    async def run(self) -> bool:
        """Take further what is due; return whether there was anything."""
        names = await self._due()
        if not names:
            return False
        try:
            session = self._with_templates()
            rolled = await template_groups.roller(session, self.world, self.stop, _show).run(names)
        except HoldfastError as error:
            self.complain(error)
            return False
        for group in rolled.groups:
            self._told(group)
        return bool(rolled.reports)

    async def next_at(self) -> float | None:
        """Return when the next rollout has something to do."""
        store = self.session.store
        times = [
            await store.next_due_record(collection) for collection in (serialization.ROLLOUTS, serialization.TEMPLATES)
        ]
        return min((at for at in times if at is not None), default=None)

    async def _due(self) -> set[str]:
        store, now = self.session.store, self.session.clock.now()
        rollouts = await store.due_records(serialization.ROLLOUTS, now, _BATCH)
        templates = await store.due_records(serialization.TEMPLATES, now, _BATCH)
        return {each.owner for each in rollouts} | {each.key for each in templates}

    def _with_templates(self) -> Session:
        """Return the session with what the manifests say now; those from standard input are at hand."""
        if self.session.templates:
            return self.session
        project = self.session.project
        manifests = loader.read(named_files(self.options, project), project)
        return replace(self.session, templates=manifests.templates, by_hand=manifests.declarations)

    def _told(self, group: TemplateGroup) -> None:
        text = groups.line(group)
        if self._shown.get(group.template.name) != text:
            self._shown[group.template.name] = text
            console.line(text)


def _show(report: RunReport) -> None:
    for acted in report.acted:
        reports.show_acted(acted)


def show_all(found: Sequence[TemplateGroup]) -> None:
    """Print where every template is, in a line each."""
    for group in found:
        console.line(groups.line(group))
