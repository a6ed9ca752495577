"""Templates in a whole engine in memory: a bench that rolls."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, fields

from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.policy import dependency_graph
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolve import ResourceSet
from holdfast.rollouts.controller import RolloutController, RolloutResult
from holdfast.rollouts.core.rendering import declarations
from holdfast.rollouts.core.rollout_limits import RolloutLimits, Waves
from holdfast.rollouts.core.template_groups import TemplateGroup
from holdfast.rollouts.core.templates import (
    ChildChecks,
    ChildKind,
    RolloutPolicy,
    StampPolicy,
    Template,
    TemplateSource,
)
from holdfast.rollouts.repository import GroupChanges, RolloutRepository
from tests.unit.reconcile.fixtures import Bench

THINGS = ChildKind("memory", "memory.holdfast.dev/v1", "mem", "Thing")


def template(content: Json, replicas: int | None = 3, name: str = "web", **more) -> Template:
    more.setdefault(
        "limits", RolloutLimits(max_surge=100, max_unavailable=100, waves=Waves(canary=0, is_doubling=False))
    )
    child = more.pop("child", THINGS if replicas is not None else None)
    for group, kind in (
        ("checks", ChildChecks),
        ("stamps", StampPolicy),
        ("rollout", RolloutPolicy),
        ("source", TemplateSource),
    ):
        names = [field.name for field in fields(kind)]
        more[group] = kind(**{key: more.pop(key) for key in names if key in more})
    return Template(name, content, child, replicas, **more)


@dataclass
class Nursery(Bench):
    """A bench with templates; another on the same store and world is a restart."""

    declared: list[Declaration] = field(default_factory=list)

    def repository(self) -> RolloutRepository:
        return RolloutRepository(self.store, self.clock)

    def around(self):
        return {item.address: item for item in self.declared}

    async def look(self, *templates: Template) -> list[TemplateGroup]:
        return await self.repository().look(templates, self.around())

    async def roll(self, *templates: Template) -> RolloutResult:
        """Do as the command `apply` does: settle, apply what is declared, and roll as far as it goes."""
        async with self.world() as world:
            return await self.roller(world, templates).run()

    def roller(self, world, templates) -> RolloutController:
        graph, _ = dependency_graph.build(self.declared)
        base = ResourceSet({}, graph)

        def applier(fleet: ResourceSet):
            made = self.applier(world, [])
            return dataclasses.replace(made, preparer=dataclasses.replace(made.preparer, fleet=fleet))

        return RolloutController(self.repository(), templates, self.around(), base, applier)

    async def check_children(self, *templates: Template) -> RunReport:
        """Look at every child as declared."""
        groups = await self.look(*templates)
        return await self.check([declaration for group in groups for declaration in declarations(group, self.around())])

    async def apply_children(self, *templates: Template) -> RunReport:
        """Do as the command `apply` does for what is declared, children included."""
        groups = await self.look(*templates)
        return await self.apply([declaration for group in groups for declaration in declarations(group, self.around())])

    async def turn(self, wanted: Template, how) -> None:
        """Do as the commands `rollout resume` and `rollout undo` do."""
        group = await self.repository().kept(wanted.name, [wanted])
        assert group is not None
        after, why_not = how(group, self.clock.now(), "ada")
        assert after is not None, why_not
        if group.rollout is not None and group.rollout.number == after.number:
            after = dataclasses.replace(
                after, rollout=dataclasses.replace(after.rollout, version=group.rollout.rollout.version + 1)
            )
        await self.repository().commit(group, GroupChanges(rollouts=[after]))

    def names(self) -> list[str]:
        return sorted(str(body["name"]) for body in self.live.things.values())

    def values(self, key: str) -> dict[str, Json]:
        return {str(body["name"]): body.get(key) for body in self.live.things.values()}
