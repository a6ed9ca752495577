"""Concurrency budget: the number of active slots over all templates, in one versioned record shared by all processes.

A process that begins a step writes the record in the same transaction. The write is refused if another process changed
the record since it was read. The limit over all templates therefore holds for any number of processes on one store.
The recorded number is never lower than the number of active slots. Only a process that has read every earlier write of
a template may lower it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Final, NamedTuple

from holdfast.model.record import dataclass
from holdfast.rollouts import serialization
from holdfast.rollouts.core import group_findings, rollout_limits
from holdfast.rollouts.core.rollout_limits import Amount
from holdfast.rollouts.core.template_groups import TemplateGroup
from holdfast.store.protocol import RecordStore
from holdfast.store.records import VersionedRecord

COLLECTION: Final = "rollout-turns"
KEY: Final = "all"


class ConcurrencyShare(NamedTuple):
    """Share of one template in the concurrency budget."""

    working: int = 0  # active slots
    slots: int = 0  # all slots of the template
    moves: int = 0  # number of writes


@dataclass(frozen=True, slots=True)
class ConcurrencyBudget:
    """Shares of all templates, as read."""

    version: int = 0
    held: Mapping[str, ConcurrencyShare] = field(default_factory=dict)

    def left_for(self, name: str, at_once: Amount, sizes: Mapping[str, int]) -> int:
        """Return how many slots a template may have active: the limit minus the active slots of other templates."""
        return max(0, self.allowed(at_once, sizes) - sum(turn.working for other, turn in self._others(name)))

    def allowed(self, at_once: Amount, sizes: Mapping[str, int]) -> int:
        """Return how many slots may be active. A percentage counts all slots declared here or ever rolled out."""
        known = {**{name: turn.slots for name, turn in self.held.items()}, **sizes}
        return rollout_limits.resolve_part(at_once, sum(known.values()))

    @property
    def working(self) -> int:
        """Number of active slots."""
        return sum(turn.working for turn in self.held.values())

    def _others(self, name: str) -> Iterable[tuple[str, ConcurrencyShare]]:
        return ((text, turn) for text, turn in self.held.items() if text != name)

    def of(self, name: str) -> ConcurrencyShare:
        """Return the share of one template."""
        return self.held.get(name, ConcurrencyShare())

    def with_working(self, name: str, working: int, slots: int, *, is_begun: bool = False) -> VersionedRecord | None:
        """Return the record to write, or None if nothing changes.

        A step that begins work is written even if the number stays the same, because other processes that roll the
        same template must notice it.
        """
        mine = self.of(name)
        if (mine.working, mine.slots) == (working, slots) and not is_begun:
            return None
        after = {**self.held, name: ConcurrencyShare(working, slots, mine.moves + 1)}
        return VersionedRecord(COLLECTION, KEY, {text: list(turn) for text, turn in after.items()}, self.version + 1)

    def text(self, allowed: int) -> str:
        """Return a sentence that lists the active slots by template."""
        working = {name: turn.working for name, turn in sorted(self.held.items()) if turn.working}
        told = ", ".join(f"{name} {number}" for name, number in working.items()) or "none"
        return f"{self.working} of {allowed} slots over all templates are at work: {told}"


async def read(store: RecordStore) -> ConcurrencyBudget:
    """Return the active slots by template. A template without a record has none."""
    record = await store.record(COLLECTION, KEY)
    if record is None:
        return ConcurrencyBudget()
    held = {name: ConcurrencyShare(*item) for name, item in record.data.items()}
    gone = {name for name in held if await store.record(serialization.TEMPLATES, name) is None}
    return ConcurrencyBudget(record.version, {name: turn for name, turn in held.items() if name not in gone})


def slots(group: TemplateGroup) -> int:
    """Return how many slots a template has."""
    replicas = group.template.replicas
    return len({child.slot for child in group.children.values()}) if replicas is None else replicas


def in_turn(found: Iterable[TemplateGroup]) -> list[TemplateGroup]:
    """Return template groups in starting order: oldest finding first, failed groups last."""
    return sorted(found, key=_rank)


def _rank(group: TemplateGroup) -> tuple[bool, float]:
    asked = (finding for child in group.children.values() for finding in group_findings.asking(group, child))
    has_failed = group.rollout is not None and group.is_rolling and group.rollout.rollout.failed > 0
    return has_failed, min((finding.first_seen for finding in asked), default=0.0)
