"""Parts that are resources of their own: an edit of one is written to it, and rolls the children that belong to it."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from holdfast.errors import InputError, Location
from holdfast.model.address import Address
from holdfast.model.write_result import WriteError, WriteFailure
from holdfast.policy.dependency_graph import DEPENDS_ON
from holdfast.rollouts.core import group_rollouts
from holdfast.rollouts.core.records import RolloutPhase
from holdfast.rollouts.core.rendering import declarations
from holdfast.rollouts.core.rollout_limits import HaltRules, OnHalt, RolloutLimits, Waves
from holdfast.rollouts.core.templates import FieldClasses, Template
from tests.unit.reconcile.fixtures import declare
from tests.unit.rollouts.group_fixtures import Nursery, template

ADDRESS = Address("mem", "Thing", "class")


def part(content, **more) -> Template:
    return template(content, None, name="class", address=ADDRESS, **more)


def web(content=None, **more) -> Template:
    return template(content or {"taint": 1}, 2, uses=("class",), **more)


async def applied(nursery: Nursery, *templates: Template):
    """Do as the command `apply` does: settle, apply what is declared by hand, and roll."""
    (live,) = [template for template in templates if template.address is not None]
    nursery.declared = [declare("class", live.content)]
    async with nursery.world() as world:
        roller = nursery.roller(world, templates)
        await roller.settle()
        await nursery.apply(nursery.declared)
        (group,) = (await roller.run()).groups
        return group


def apply(nursery: Nursery, *templates: Template):
    return asyncio.run(applied(nursery, *templates))


def findings(group) -> set[tuple[str, str, str]]:
    return {
        (finding.owner, finding.kind.value, finding.reason)
        for child in group.children.values()
        for finding in child.findings
    }


@pytest.fixture
def nursery() -> Nursery:
    return Nursery()


def test_it_gives_children_nothing_and_an_edit_of_it_rolls_them(nursery):
    group = apply(nursery, web(), part({"ami": "one"}))
    assert nursery.values("ami") == {"class": "one", "web-0": None, "web-1": None}
    (looked,) = asyncio.run(nursery.look(web(), part({"ami": "two"})))
    assert findings(looked) == {("class", "spec", "edited")}
    (fields,) = {finding.fields for child in looked.children.values() for finding in child.findings}
    assert fields == (("resource", "ami"),)
    group = apply(nursery, web(), part({"ami": "two"}))
    assert group.rollout is not None
    assert group.rollout.rollout.phase is RolloutPhase.COMPLETE
    assert nursery.values("ami") == {"class": "two", "web-0-r1": None, "web-1-r1": None}
    assert [verb for verb, _, _ in nursery.live.writes].count("update") == 1, "the part itself"
    writes = len(nursery.live.writes)
    apply(nursery, web(), part({"ami": "two"}))
    assert len(nursery.live.writes) == writes


def test_children_need_it_and_come_after_it(nursery):
    (group,) = asyncio.run(nursery.look(web(), part({"ami": "one"})))
    assert {declaration.annotations[DEPENDS_ON] for declaration in declarations(group, {})} == {str(ADDRESS)}


@pytest.mark.parametrize(
    "fields", [FieldClasses(in_place=frozenset({("note",)})), FieldClasses(behavioural=frozenset({("note",)}))]
)
def test_fields_that_do_not_count_are_written_to_it_and_roll_nobody(nursery, fields):
    apply(nursery, web(), part({"ami": "one", "note": "x"}, fields=fields))
    group = apply(nursery, web(), part({"ami": "one", "note": "y"}, fields=fields))
    assert nursery.values("note") == {"class": "y", "web-0": None, "web-1": None}
    assert group.rollout is None
    assert findings(group) == set()


def test_nothing_is_rolled_while_it_is_not_what_is_declared_of_it(nursery):
    """A child made with the old one would be told to be of the new."""
    apply(nursery, web(), part({"ami": "one"}))
    nursery.live.faults = [lambda call: WriteFailure(WriteError.TERMINAL, "no") if call.startswith("update") else None]
    group = apply(nursery, web(), part({"ami": "two"}))
    assert nursery.names() == ["class", "web-0", "web-1"]
    assert group.rollout is not None
    assert group.rollout.rollout.phase is RolloutPhase.PENDING
    assert findings(group) == {("class", "spec", "edited")}
    nursery.live.faults = []
    group = apply(nursery, web(), part({"ami": "three"}))
    assert group.rollout is not None
    assert group.rollout.rollout.phase is RolloutPhase.COMPLETE
    assert "web-0" not in nursery.names()


def test_there_is_no_way_back_to_what_it_was_but_by_its_declaration(nursery):
    apply(nursery, web(), part({"ami": "one"}))
    group = apply(nursery, web(), part({"ami": "two"}))
    assert group_rollouts.undone(group, 0.0, "ada") == (
        None,
        "part class is a resource of its own that changed since; revert its declaration instead",
    )
    assert group_rollouts.undone(group, 0.0, "ada", to=1)[0] is None
    group = apply(nursery, web({"taint": 2}), part({"ami": "two"}))
    after, why_not = group_rollouts.undone(group, 0.0, "ada")
    assert after is not None, why_not


def test_a_rollout_for_its_edit_that_fails_stays_where_it_is(nursery):
    limits = RolloutLimits(max_surge=1, waves=Waves(canary=1), halt=HaltRules(after=1, action=OnHalt.ROLL_BACK))
    apply(nursery, web(limits=limits), part({"ami": "one"}))
    nursery.live.faults = [lambda call: WriteFailure(WriteError.TERMINAL, "no") if "create Thing/web" in call else None]
    group = apply(nursery, web(limits=limits), part({"ami": "two"}))
    assert group.rollout is not None
    assert group.rollout.rollout.phase is RolloutPhase.HALTED


def test_a_part_that_becomes_a_resource_rolls_children_out_of_its_content_and_writes_none_at_once(nursery):
    plain = template({"ami": "one"}, None, name="class")
    asyncio.run(nursery.roll(web(), plain))
    assert nursery.values("ami") == {"web-0": "one", "web-1": "one"}
    (looked,) = asyncio.run(nursery.look(web(), part({"ami": "one"})))
    (fields,) = {finding.fields for child in looked.children.values() for finding in child.findings}
    assert fields == (("live",),)
    apply(nursery, web(), part({"ami": "one"}))
    assert nursery.values("ami") == {"class": "one", "web-0-r1": None, "web-1-r1": None}


def test_fields_in_place_stay_what_they_were_when_the_part_becomes_a_resource(nursery):
    fields = FieldClasses(in_place=frozenset({("note",)}))
    limits = RolloutLimits(max_surge=1, waves=Waves(canary=1, soak=60.0))
    plain = template({"ami": "one", "note": "x"}, None, name="class", fields=fields)
    asyncio.run(nursery.roll(web(limits=limits), plain))
    asyncio.run(nursery.roll(web(limits=limits), dataclasses.replace(plain, content={"ami": "one", "note": "y"})))
    asyncio.run(nursery.apply_children(web(limits=limits), plain))
    live = part({"ami": "one", "note": "z"}, fields=fields)
    group = apply(nursery, web(limits=limits), live)
    asyncio.run(nursery.apply([*nursery.declared, *declarations(group, nursery.around())]))
    assert nursery.values("note")["class"] == "z"
    assert "z" not in {note for name, note in nursery.values("note").items() if name != "class"}


SECRETS = "{profile: t/s, version: 1, applies: {provider: memory}, rules: [{path: /token, class: secret}]}"


def test_a_secret_in_clear_is_refused_with_its_line_before_anything_is_kept():
    nursery = Nursery(profile=SECRETS, environ={"TOKEN": "plain-secret-1"})
    places = {"/spec/resource/token": 7}
    live = part({"token": "plain-secret-1"}, location=Location("class.yaml", 1), places=places)
    with pytest.raises(InputError, match="/token is a secret, and template class has it in clear") as caught:
        apply(nursery, web(), live)
    where = caught.value.location
    assert (where.file, where.line, where.field) == ("class.yaml", 7, "/spec/resource/token")
    assert asyncio.run(nursery.store.record("template", "class")) is None
    apply(nursery, web(), part({"token": {"secretRef": {"env": "TOKEN"}}}))
    assert nursery.values("token")["class"] == "plain-secret-1"


def test_a_secret_in_clear_is_refused_where_there_are_no_children_yet():
    nursery = Nursery(profile=SECRETS)
    with pytest.raises(InputError, match="/token is a secret, and template web has it in clear"):
        asyncio.run(nursery.roll(template({"token": "plain-secret-1"}, 0)))


def test_it_is_forgotten_with_the_last_child_and_kept_while_another_has_one(nursery):
    other = template({"taint": 1}, 1, name="api", uses=("class",))
    live = part({"ami": "one"})

    async def scenario():
        nursery.declared = [declare("class", live.content)]
        async with nursery.world() as world:
            await nursery.apply(nursery.declared)
            rolled = await nursery.roller(world, [web(), other, live]).run()
        leads = {group.template.name: group for group in rolled.groups}
        await nursery.repository().forget([leads["web"]], leads["web"].children)
        kept = await nursery.store.record("template", "class")
        await nursery.repository().forget([leads["api"]], {*leads["api"].children, ADDRESS}, [live])
        return kept, await nursery.store.record("template", "class")

    kept, after = asyncio.run(scenario())
    assert kept is not None
    assert after is None
