"""Counting the children of templates: what they do, what they were made from, what their owners find. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.metrics import definitions
from holdfast.metrics.families import Samples
from holdfast.rollouts.core import template_groups
from holdfast.rollouts.core.slots import ChildState
from holdfast.rollouts.core.template_groups import ChildRecord, OwnerRecord, OwnerRevision, TemplateGroup


def count_owners(readings: Samples, owners: Mapping[str, OwnerRecord]) -> None:
    """Count what there is of every owner, with or without children."""
    for owned in owners.values():
        name = owned.template.name
        readings.put(definitions.REVISIONS, name, value=owned.record.current)
        readings.add(definitions.ACTIVATIONS, name, by=0)
        if owned.generations:
            readings.add(definitions.HALTS, name, by=0)
            readings.add(definitions.UP_TO_DATE, name, by=0)
            readings.add(definitions.RESTAMPED, name, by=0)
            for state in ChildState:
                readings.add(definitions.CHILDREN, name, state.value, by=0)


@dataclass(slots=True)
class Counting:
    """Counts the children of one template group, one by one; those that were made alike are judged once."""

    readings: Samples
    group: TemplateGroup  # its children are not asked for
    owners: Mapping[str, OwnerRecord]  # by uid, all there are
    _fits: dict[tuple[tuple[str, OwnerRevision], ...], bool] = field(default_factory=dict)

    def count(self, child: ChildRecord) -> None:
        """Count one child."""
        template = self.group.template.name
        self.readings.add(definitions.CHILDREN, template, child.state.value)
        if child.state is not ChildState.GONE:
            fine = child.state is ChildState.READY and self._is_current(child)
            self.readings.add(definitions.UP_TO_DATE, template, by=fine)
            self.readings.add(definitions.RESTAMPED, template, by=self._is_restamped(child))
            for uid, birth in child.births.items():
                revision = "unknown" if birth.revision is None else str(birth.revision)
                self.readings.add(definitions.MADE_FROM, template, self._name(uid), revision)
        for each in child.findings:
            labels = (template, self._name(each.owner), each.kind.value, each.reason)
            self.readings.add(definitions.TEMPLATE_FINDINGS, *labels)

    def _name(self, uid: str) -> str:
        owned = self.owners.get(uid)
        return uid if owned is None else owned.template.name

    def _is_current(self, child: ChildRecord) -> bool:
        key = tuple(child.births.items())
        if key not in self._fits:
            self._fits[key] = template_groups.fits(self.group, child, self.group.current) is True
        return self._fits[key]

    def _is_restamped(self, child: ChildRecord) -> bool:
        births = ((self.owners.get(uid), birth) for uid, birth in child.births.items())
        return any(owned is not None and is_restamped(owned, birth) for owned, birth in births)


def is_restamped(owned: OwnerRecord, birth: OwnerRevision) -> bool:
    """Tell whether a stamp is not the one that a child was born with.

    It was made by the scheme of the regime that the child was born in, from the revision that it was made from. Where
    these are not kept any more, nothing can be told.
    """
    if birth.stamp is None or birth.revision is None or birth.regime is None:
        return False
    revision = owned.record.revision(birth.revision)
    digests = None if revision is None else revision.digests.get(birth.stamp.scheme)
    if digests is not None and digests.declared != birth.stamp.digest:
        return True
    first = min((each.index for each in owned.record.regimes if each.scheme == birth.stamp.scheme), default=None)
    return first is not None and first > birth.regime
