"""The scenarios of research/aso.md, section 5, one by one: each says how many PUTs were sent, and because of what.

A `widget` is a type that has only the habits a test gives it, so that each test is about one thing.
"""

from __future__ import annotations

import logging

import pytest

from holdfast.model.verdict import Status
from holdfast_emulators.azure.operation_shapes import CATALOGUE, alike
from holdfast_emulators.azure.type_behaviour import Element, Fill
from tests.integration.providers.azure.estate import WIDGET, declare, logged, run, widget


def test_01_created_once_and_left_alone_ever_after(estate, caplog):
    estate.arm.teach(WIDGET, Fill("/properties/colour", "red"), Fill("/properties/nested/size", 3))

    async def scenario():
        thing = widget(name="w", weight=1)
        await estate.apply([thing])
        await estate.sync(thing, times=5)
        assert estate.puts() == 1
        assert await estate.caused() == [("create", ())]
        assert await estate.status(thing) is Status.IN_SYNC

    run(scenario())
    assert [line for line in logged(caplog) if "create" in line] == [
        "azure/Resource/w: create, create: declared, not created yet"
    ]


@pytest.mark.parametrize("shape", CATALOGUE)
def test_02_every_shape_of_operation_comes_to_the_same(estate, shape):
    estate.arm.tune(WIDGET, operations=alike(CATALOGUE[shape]))
    estate.arm.teach(WIDGET, Fill("/properties/colour", "red"))

    async def scenario():
        thing = widget(weight=1)
        report = await estate.apply([thing])
        assert [item.message for item in report.acted] == ["as declared"]
        assert set(await estate.known(thing)) == {"/properties/colour"}
        await estate.sync(thing, times=2)
        heavier = widget(weight=2)
        await estate.apply([heavier])
        await estate.sync(heavier)
        assert estate.puts() == 2
        assert await estate.caused() == [("create", ()), ("intent", ("/properties/weight",))]
        assert estate.shown()["properties"]["weight"] == 2

    run(scenario())


def test_03_a_third_partys_edit_of_a_declared_field_is_put_back(estate, caplog):
    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        estate.edit({"/properties/weight": 7})
        await estate.sync(thing, times=3)
        assert estate.puts() == 2
        assert (await estate.caused())[1:] == [("drift", ("/properties/weight",))]
        assert estate.shown()["properties"]["weight"] == 1

    run(scenario())
    line = next(line for line in logged(caplog) if "drift" in line)
    assert line == (
        "azure/Resource/w: update, drift: changed outside Holdfast "
        "(/properties/weight changed, specified: declared 1, observed 7, was 1)"
    )


def test_04_a_third_partys_edit_of_a_default_is_seen_and_put_back(estate, caplog):
    estate.arm.teach(WIDGET, Fill("/properties/colour", "red"))

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        estate.edit({"/properties/colour": "blue"})
        await estate.sync(thing, times=3)
        assert estate.puts() == 2
        assert (await estate.caused())[1:] == [("drift", ("/properties/colour",))]
        assert estate.shown()["properties"]["colour"] == "red"

    run(scenario())
    assert any('defaulted: declared nothing, observed "blue", was "red"' in line for line in logged(caplog))


@pytest.mark.parametrize("pins", [False, True])
def test_05_a_revert_that_the_service_ignores_is_told_and_not_taken_for_a_default(estate, caplog, pins):
    estate.arm.tune(WIDGET, put="merge")
    estate.arm.teach(WIDGET, Fill("/properties/colour", "red"))

    async def scenario():
        thing = declare("w", {"location": "westus2", "properties": {"weight": 1}}, pinBaseline=pins)
        await estate.apply([thing])
        estate.edit({"/properties/colour": "blue"})
        await estate.sync(thing)
        assert estate.puts() == 2
        assert await estate.unresolved(thing) == ["/properties/colour"]
        assert await estate.status(thing) is Status.DRIFTED
        assert "/properties/colour" not in {
            path for path, item in (await estate.known(thing)).items() if item["observed"] == "blue"
        }
        await estate.sync(thing, times=5)
        colour, status = estate.shown()["properties"]["colour"], await estate.status(thing)
        reverting = ("drift", ("/properties/colour",))
        if pins:  # the second rung of the ladder, if one asks for it
            assert (estate.puts(), colour, status) == (3, "red", Status.IN_SYNC)
            assert (await estate.caused())[1:] == [reverting, reverting]
        else:
            assert (estate.puts(), colour, status) == (2, "blue", Status.DRIFTED)
            assert (await estate.caused())[1:] == [reverting]
        assert [event.data["unresolved"] for event in await estate.events("write.done")][1] == ["/properties/colour"]

    run(scenario())
    assert "azure/Resource/w: ineffective write, /properties/colour did not take" in logged(caplog, logging.WARNING)


def test_05_a_pin_that_the_service_ignores_too_is_not_repeated(estate):
    estate.arm.tune(WIDGET, put="merge")
    estate.arm.teach(WIDGET, Fill("/properties/colour", "red"))

    async def scenario():
        thing = declare("w", {"location": "westus2", "properties": {"weight": 1}}, pinBaseline=True)
        await estate.apply([thing])
        estate.arm.teach(WIDGET, Fill("/properties/colour", "blue", overrides=True))
        estate.edit({"/properties/colour": "blue"})
        await estate.sync(thing, times=6)
        assert estate.puts() == 3
        assert (await estate.caused())[1:] == [("drift", ("/properties/colour",))] * 2
        assert await estate.status(thing) is Status.DRIFTED

    run(scenario())


def test_06_declaring_a_default_as_it_is_writes_nothing(estate):
    estate.arm.teach(WIDGET, Fill("/properties/colour", "red"))

    async def scenario():
        await estate.apply([widget(weight=1)])
        told = widget(weight=1, colour="red")
        await estate.sync(told, times=3)
        assert estate.puts() == 1
        assert await estate.status(told) is Status.IN_SYNC
        estate.edit({"/properties/colour": "blue"})  # from now on it is a declared field like any other
        await estate.sync(told, times=2)
        assert estate.puts() == 2
        assert await estate.caused() == [("create", ()), ("drift", ("/properties/colour",))]
        assert estate.shown()["properties"]["colour"] == "red"

    run(scenario())


def test_07_a_known_difference_does_not_swallow_a_users_edit(estate):
    estate.arm.teach(WIDGET, Fill("/properties/colour", "red"))

    async def scenario():
        await estate.apply([widget(weight=1)])
        green = widget(weight=1, colour="green")
        await estate.sync(green, times=3)
        assert estate.puts() == 2
        assert (await estate.caused())[1:] == [("intent", ("/properties/colour",))]
        assert estate.shown()["properties"]["colour"] == "green"

    run(scenario())


def test_08_a_removal_that_the_service_does_not_honour_is_told_once(estate, caplog):
    estate.arm.tune(WIDGET, put="merge")

    async def scenario():
        await estate.apply([widget(weight=1, colour="green")])
        without = widget(weight=1)
        await estate.sync(without, times=4)
        assert estate.puts() == 2
        assert (await estate.caused())[1:] == [("intent", ("/properties/colour",))]
        assert (await estate.events("write.done"))[-1].data["not_removed"] == ["/properties/colour"]
        assert await estate.status(without) is Status.IN_SYNC

    run(scenario())
    assert "azure/Resource/w: no longer declared, and the service keeps /properties/colour" in logged(caplog)


def test_09_a_default_that_depends_on_another_field_moves_with_it_in_one_put(estate, caplog):
    estate.arm.teach(
        WIDGET,
        Fill("/properties/iops", 500, when={"/sku/name": "Standard"}),
        Fill("/properties/iops", 2300, when={"/sku/name": "Premium"}),
    )

    def of(sku):
        return declare("w", {"location": "westus2", "sku": {"name": sku}, "properties": {}})

    async def scenario():
        await estate.apply([of("Standard")])
        await estate.sync(of("Premium"), times=4)
        assert estate.puts() == 2
        assert (await estate.caused())[1:] == [("intent", ("/sku/name",))]
        assert (await estate.known(of("Premium")))["/properties/iops"]["observed"] == 2300
        assert (await estate.events("write.done"))[-1].data["side_effects"] == ["/properties/iops"]

    run(scenario())
    assert "azure/Resource/w: the write also moved /properties/iops" in logged(caplog)


def test_10_an_element_that_the_service_adds_is_a_default_like_others(estate):
    default = {"name": "default", "rank": 1}
    estate.arm.teach(WIDGET, Element("/properties/rules", default, key="name", first=True))

    async def scenario():
        thing = widget(rules=[{"name": "mine", "rank": 5}])
        await estate.apply([thing])
        await estate.sync(thing, times=2)
        assert estate.puts() == 1
        assert [item["op"] for item in (await estate.known(thing)).values()] == ["element_added"]

        estate.edit({"/properties/rules/name=default/rank": 9})
        await estate.sync(thing, times=2)
        assert estate.puts() == 2
        assert (await estate.caused())[-1] == ("drift", ("/properties/rules[name=default]/rank",))

        estate.edit({"/properties/rules/-": {"name": "theirs", "rank": 2}})
        await estate.sync(thing, times=2)
        assert estate.puts() == 3
        assert (await estate.caused())[-1] == ("drift", ("/properties/rules[name=theirs]",))
        assert {rule["name"] for rule in estate.shown()["properties"]["rules"]} == {"mine", "default"}

        estate.edit(lambda body: body["properties"]["rules"].remove(default))
        await estate.sync(thing, times=3)
        assert estate.puts() == 3  # nobody declares it, so no PUT can be meant to bring it back
        moved = (await estate.events("check.status_changed"))[-1]
        assert (moved.data["status"], moved.data["paths"]) == ("drifted", ["/properties/rules[name=default]"])

    run(scenario())


@pytest.mark.parametrize(
    "field, values, puts",
    [
        ("rules", [{"name": "a", "x": 1}, {"name": "b", "x": 2}], 1),  # elements that have names
        ("zones", ["1", "2", "3"], 1),  # a set, says the profile
        ("args", ["--a", "--b"], 2),  # order is the meaning
    ],
)
def test_11_another_order_counts_where_order_counts(estate, field, values, puts):
    async def scenario():
        thing = widget(**{field: values})
        await estate.apply([thing])
        estate.edit(lambda body: body["properties"][field].reverse())
        await estate.sync(thing, times=3)
        assert estate.puts() == puts
        reasons = [("create", ()), ("drift", (f"/properties/{field}",))]
        assert await estate.caused() == reasons[:puts]

    run(scenario())


def test_12_keys_that_are_missing_or_double_do_no_harm(estate):
    rules = [{"name": "a", "x": 1}, {"name": "a", "x": 2}, {"x": 3}]

    async def scenario():
        thing = widget(ipRules=rules)  # keyed by `value`, says the profile; these have none
        await estate.apply([thing])
        await estate.sync(thing, times=2)
        assert estate.puts() == 1
        estate.edit({"/properties/ipRules/1/x": 7})
        await estate.sync(thing, times=2)
        assert estate.puts() == 2
        reason, paths = (await estate.caused())[-1]
        assert reason == "drift"
        assert all(path.startswith("/properties/ipRules") for path in paths)
        assert paths
        assert estate.shown()["properties"]["ipRules"] == rules

    run(scenario())
