"""Scenarios 18 to 23 and 29 to 33 of research/aso.md, section 5: lives of resources, modes, and what others own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdfast.compare import profiles
from holdfast.model.resource import ManagementPolicy
from holdfast.model.verdict import Status
from holdfast.policy import settings
from holdfast.policy.settings import Level
from holdfast.policy.strategies import Strategy
from holdfast.store import blobs
from holdfast_emulators.azure.type_behaviour import Embedded, Etag, Fill, Operation, Operations
from tests.integration.providers.azure.estate import WIDGET, Estate, declare, logged, run, widget


def strategy(glob, **options):
    return Strategy("test", kinds={glob: settings.layer(options, Level.STRATEGY_KIND, str)})


def test_18_what_was_deleted_is_made_again_and_what_was_known_of_it_is_forgotten(estate):
    estate.arm.teach(WIDGET, Fill("/properties/stamp", choice=("a", "b", "c", "d", "e")))

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        estate.arm.console("alice").delete(estate.id())
        await estate.sync(thing, times=3)
        assert estate.puts() == 2
        assert await estate.caused() == [("create", ()), ("recreate", ())]
        known = (await estate.known(thing))["/properties/stamp"]
        assert known["observed"] == estate.shown()["properties"]["stamp"]

    run(scenario())


@pytest.mark.parametrize("weight, puts", [(1, 1), (7, 2)])
def test_18_what_somebody_made_anew_under_the_same_id_is_not_what_was_known(estate, weight, puts):
    estate.arm.teach(WIDGET, Fill("/properties/colour", "red"))

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        estate.clock.advance(600)
        estate.edit({"/properties/colour": "blue", "/properties/weight": weight})
        estate.arm.console("alice").recreate(estate.id())
        await estate.sync(thing, times=3)
        assert estate.puts() == puts  # written only if something declared differs; its defaults are learnt anew
        invalid = await estate.events("baseline.invalid")
        assert [item.data["why"] for item in invalid] == ["the object was recreated: its identity changed"]
        caused = [("create", ()), ("conflict", ("/properties/weight",))]
        assert [path for _, path in await estate.caused()] == [path for _, path in caused[:puts]]
        assert await estate.status(thing) is Status.IN_SYNC
        assert (await estate.known(thing))["/properties/colour"]["kind"] == ("adopted" if puts == 1 else "default")

    run(scenario())


def test_19_a_put_only_type_is_put_at_every_sync_and_never_compared(estate, caplog):
    estate.arm.teach(WIDGET, Fill("/properties/colour", "red"))
    estate.strategies = [strategy("Contoso.*", reconcileMode="put_only")]

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        estate.edit({"/properties/colour": "blue"})
        await estate.sync(thing, times=3)
        assert estate.puts() == 4
        assert (await estate.caused())[1:] == [("put_only", ())] * 3
        migrated = estate.restarted()  # the strategy is gone: get_put from now on
        await migrated.sync(thing, times=3)
        assert estate.puts() == 4
        assert await estate.status(thing) is Status.IN_SYNC
        estate.edit({"/properties/colour": "blue"})
        await migrated.sync(thing, times=2)
        assert estate.puts() == 5
        assert (await estate.caused())[-1] == ("drift", ("/properties/colour",))

    run(scenario())
    assert "azure/Resource/w: update, put_only: sent at every turn; this kind is not compared" in logged(caplog)


@pytest.mark.parametrize("verbs", [("HEAD", "PUT", "DELETE"), ("PUT", "DELETE")])
def test_20_a_type_that_cannot_be_read_is_put_only_by_itself(estate, verbs):
    estate.arm.tune(WIDGET, verbs=verbs)

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        await estate.sync(thing, times=2)
        assert estate.puts() == 3
        assert await estate.status(thing) is Status.UNKNOWN  # nobody can say, so nobody says that it is fine
        assert (await estate.caused())[1:] == [("put_only", ())] * 2
        watched = replace(thing, policy=ManagementPolicy.OBSERVED)
        await estate.sync(watched, times=2)
        assert estate.puts() == 3
        await estate.delete([thing])
        assert estate.arm.ids(WIDGET) == []

    run(scenario())


def test_20_a_type_that_cannot_be_deleted_says_so(estate):
    estate.arm.tune(WIDGET, verbs=("GET", "PUT"))

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        report = await estate.delete([thing])
        assert "cannot be deleted in Azure" in report.acted[0].message
        assert estate.puts() == 1
        assert estate.told("create", "delete") == [("create", ())]
        await estate.delete([declare("w", dict(thing.desired), onDelete="detach")])
        assert estate.arm.journal.count("DELETE") == 0

    run(scenario())


def test_21_a_put_that_is_needed_tells_what_it_moved_besides(estate, caplog):
    """IoT Hub: any PUT switches the fallback route off."""
    estate.arm.teach(
        WIDGET,
        Fill("/properties/fallback/isEnabled", True, phase="create"),
        Fill("/properties/fallback/isEnabled", False, phase="update", overrides=True),
    )

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        await estate.sync(thing, times=3)
        assert estate.puts() == 1
        assert estate.shown()["properties"]["fallback"]["isEnabled"] is True
        heavier = widget(weight=2)
        await estate.sync(heavier, times=3)
        assert estate.puts() == 2
        assert (await estate.caused())[1:] == [("intent", ("/properties/weight",))]
        assert (await estate.events("write.done"))[-1].data["side_effects"] == ["/properties/fallback/isEnabled"]

    run(scenario())
    assert "azure/Resource/w: the write also moved /properties/fallback/isEnabled" in logged(caplog)


def test_22_what_somebody_else_adds_while_the_window_is_open_is_no_late_default(estate):
    """The name in systemData tells the two apart: hers is not ours."""

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        estate.edit({"/properties/hers": 1})
        await estate.sync(thing, minutes=1)
        assert estate.puts() == 2
        assert (await estate.caused())[1:] == [("drift", ("/properties/hers",))]
        assert "hers" not in estate.shown()["properties"]

    run(scenario())


def test_22_a_late_default_joins_while_the_window_is_open_and_is_drift_after_it(estate):
    estate.arm.teach(WIDGET, Fill("/properties/late", 1, late_seconds=60))

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        await estate.sync(thing, minutes=2)
        await estate.sync(thing, times=3)
        assert estate.puts() == 1
        assert await estate.status(thing) is Status.IN_SYNC
        estate.edit({"/properties/later": 1}, who="nobody knows")
        await estate.sync(thing, times=2)
        assert (await estate.caused())[1:] == [("drift", ("/properties/later",))]
        assert estate.puts() == 2

    run(scenario())


def test_23_what_somebody_is_at_work_on_is_neither_judged_nor_written(estate):
    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        estate.edit({"/properties/weight": 7})
        estate.arm.console("alice").keep_busy(estate.id(), 3600)
        report = await estate.sync(thing)
        assert estate.puts() == 1
        assert report.checked[0].verdict.status is Status.UNKNOWN
        assert "it is Updating" in report.checked[0].verdict.reason
        await estate.sync(thing, times=2, minutes=60)
        assert estate.puts() == 2
        assert (await estate.caused())[-1] == ("drift", ("/properties/weight",))

    run(scenario())


def test_a_last_word_that_is_not_known_says_how_to_make_it_known(estate):
    estate.arm.tune(WIDGET, state_done="Online")
    estate.arm.put(estate.id(), {"location": "westus2", "properties": {"weight": 1}})

    async def scenario():
        thing = widget(weight=1)
        report = await estate.check([thing])
        hint = (
            "it is Online; if that is how it rests, say so: habits: [{types: Contoso.Test/widgets, terminal: [Online]}]"
        )
        assert hint in report.checked[0].verdict.reason
        habits = [{"types": WIDGET, "terminal": ["Online"]}]
        told = replace(estate.connection, settings={**estate.connection.settings, "habits": habits})
        await estate.restarted(connection=told).sync(thing)
        assert await estate.status(thing) is Status.IN_SYNC

    run(scenario())


def test_shadow_mode_writes_at_every_sync_and_keeps_the_evidence(estate):
    estate.strategies = [strategy("azure/Contoso.Test/*", reconcileMode="shadow")]
    estate.arm.teach(WIDGET, Fill("/properties/touched", True, phase="update"))

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        await estate.sync(thing, times=2)
        estate.edit({"/properties/weight": 7})
        await estate.sync(thing)
        assert estate.puts() == 4
        evidence = [event.data["shadow"] for event in await estate.events("write.done") if "shadow" in event.data]
        assert evidence == [
            {"needed": False, "changed": ["/properties/touched"]},
            {"needed": False, "changed": []},
            {"needed": True, "changed": ["/properties/weight"]},
        ]
        assert [reason for reason, _ in await estate.caused()] == ["create", "shadow", "shadow", "drift"]

    run(scenario())


@pytest.mark.parametrize("how", ["policy", "mode"])
def test_31_what_is_observed_is_reported_and_never_written(estate, how):
    options: Any = {"reconcileMode": "observe"} if how == "mode" else {}

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        policy = ManagementPolicy.OBSERVED if how == "policy" else ManagementPolicy.MANAGED
        watched = declare("w", dict(thing.desired), policy=policy, **options)
        estate.edit({"/properties/weight": 7})
        report = await estate.sync(watched, times=3)
        assert estate.puts() == 1
        assert {paths for _, paths in estate.told("report")} == {("/properties/weight",)}
        assert report.checked[0].decision.action.value == "report"
        assert report.checked[0].decision.reasons[0].paths == ("/properties/weight",)

    run(scenario())


def test_31_what_is_detached_is_not_deleted(estate):
    async def scenario():
        thing = declare("w", {"location": "westus2", "properties": {}}, onDelete="detach")
        await estate.apply([thing])
        await estate.delete([thing])
        assert estate.puts() == 1
        assert await estate.caused() == [("create", ())]
        assert estate.arm.journal.count("DELETE") == 0
        assert estate.arm.ids(WIDGET) == [estate.id()]

    run(scenario())


NETWORK, SUBNET = "Microsoft.Network/virtualNetworks", "Microsoft.Network/virtualNetworks/subnets"


def test_32_children_of_others_are_no_drift_and_survive_a_put_of_the_parent(estate):
    estate.arm.tune(NETWORK, embedded=(Embedded("/properties/subnets", "subnets", "wipe", "wipe"),))

    def network(**tags):
        space = {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}
        return declare("net", {"location": "westus2", "tags": tags, "properties": space}, "VirtualNetwork")

    def subnet(name, prefix):
        owner = {"kind": "VirtualNetwork", "name": "net"}
        return declare(name, {"owner": owner, "properties": {"addressPrefix": prefix}}, "Subnet")

    async def scenario():
        children = [subnet("a", "10.0.1.0/24"), subnet("b", "10.0.2.0/24")]
        await estate.apply([network(), *children])
        estate.arm.console("alice").put(
            f"{estate.id('net', NETWORK)}/subnets/c", {"properties": {"addressPrefix": "10.0.3.0/24"}}
        )
        await estate.sync(network(), *children, times=3)
        assert estate.puts("*virtualnetworks/net") == 1
        await estate.sync(network(team="a"), *children, times=3)
        assert estate.puts("*virtualnetworks/net") == 2
        assert (await estate.caused())[-1] == ("intent", ("/tags/team",))
        assert len(estate.arm.ids(SUBNET)) == 3
        assert estate.puts("*subnets*") == 2

    run(scenario())


def test_32_children_that_the_parent_declares_are_its_own_and_the_others_still_are_not(estate):
    estate.arm.tune(NETWORK, embedded=(Embedded("/properties/subnets", "subnets", "wipe", "wipe"),))
    inline = {
        "addressSpace": {"addressPrefixes": ["10.0.0.0/16"]},
        "subnets": [{"name": "a", "properties": {"addressPrefix": "10.0.1.0/24"}}],
    }
    network = declare("net", {"location": "westus2", "properties": inline}, "VirtualNetwork")

    async def scenario():
        await estate.apply([network])
        estate.arm.console("alice").put(
            f"{estate.id('net', NETWORK)}/subnets/c", {"properties": {"addressPrefix": "10.0.3.0/24"}}
        )
        await estate.sync(network, times=2)
        assert estate.puts() == 1
        edited = "/properties/subnets/name=a/properties/addressPrefix"
        estate.arm.console("alice").edit(estate.id("net", NETWORK), {edited: "10.0.9.0/24"})
        await estate.sync(network, times=3)
        assert estate.puts() == 2
        assert (await estate.caused())[1:] == [("drift", ("/properties/subnets[name=a]/properties/addressPrefix",))]
        shown = {subnet["name"]: subnet for subnet in estate.shown("net", NETWORK)["properties"]["subnets"]}
        assert shown["a"]["properties"]["addressPrefix"] == "10.0.1.0/24"
        assert "c" in shown

    run(scenario())


def test_33_what_an_autoscaler_drives_is_left_to_it(estate):
    rule = {"path": "/properties/count", "class": "ignore",
            "when": {"path": "/properties/enableAutoScaling", "equals": True}}  # fmt: skip
    own = profiles.build({"profile": "team/pools", "version": 1, "applies": {"provider": "azure"}, "rules": [rule]})

    class Scaled(Estate):
        def fleet(self, declarations):
            return replace(super().fleet(declarations), profiles=[own])

    scaled = Scaled(arm=estate.arm, clock=estate.clock)

    async def scenario():
        thing = widget(enableAutoScaling=True, count=3, size="small")
        await scaled.apply([thing])
        scaled.edit({"/properties/count": 5}, who="aks-autoscaler")
        await scaled.sync(thing, times=3)
        assert scaled.puts() == 1
        bigger = widget(enableAutoScaling=True, count=3, size="large")
        await scaled.sync(bigger)
        assert scaled.puts() == 2
        assert (await scaled.caused())[1:] == [("intent", ("/properties/size",))]
        assert scaled.shown()["properties"]["count"] == 5  # what is not compared is not written either

    run(scenario())


def test_a_tag_that_policy_adds_stays_if_the_path_is_ignored(estate):
    async def scenario():
        options: Any = {"onDriftPaths": {"/tags/costCenter": "ignore"}}
        first = declare("w", {"location": "westus2", "tags": {"a": "1"}, "properties": {}}, **options)
        await estate.apply([first])
        estate.edit({"/tags/costCenter": "42"}, who="policy")
        second = declare("w", {"location": "westus2", "tags": {"a": "2"}, "properties": {}}, **options)
        await estate.sync(second, times=3)
        assert estate.puts() == 2
        assert estate.shown()["tags"] == {"a": "2", "costCenter": "42"}

    run(scenario())


def test_what_is_only_reported_is_not_put_back_by_a_write_for_something_else(estate):
    async def scenario():
        options: Any = {"onDriftPaths": {"/properties/weight": "report"}}

        def thing(size):
            return declare("w", {"location": "westus2", "properties": {"weight": 1, "size": size}}, **options)

        await estate.apply([thing("s")])
        estate.edit({"/properties/weight": 7})
        await estate.sync(thing("s"), times=2)
        assert estate.puts() == 1
        await estate.sync(thing("l"), times=2)
        assert estate.puts() == 2
        assert (estate.shown()["properties"]["weight"], estate.shown()["properties"]["size"]) == (7, "l")

    run(scenario())


class TestVersions:
    """Scenario 30."""

    def test_30_another_version_of_the_api_is_taken_up_without_a_write(self, estate):
        estate.arm.tune(WIDGET, since={"/properties/modern": "2025-01-01"})
        estate.arm.teach(WIDGET, Fill("/properties/modern", "yes"), Fill("/properties/colour", "red"))

        def thing(version, **properties):
            return declare("w", {"apiVersion": version, "location": "westus2", "properties": properties})

        async def scenario():
            await estate.apply([thing("2024-01-01", weight=1)])
            await estate.sync(thing("2025-01-01", weight=1), times=3)
            assert estate.puts() == 1
            invalid = (await estate.events("baseline.invalid"))[0]
            assert invalid.data == {
                "why": "the API version changed from 2024-01-01 to 2025-01-01", "carried_over": True,
            }  # fmt: skip
            assert set(await estate.known(thing("2025-01-01"))) == {"/properties/colour", "/properties/modern"}
            estate.edit({"/properties/modern": "no"})
            await estate.sync(thing("2025-01-01", weight=1), times=2)
            assert estate.puts() == 2
            assert (await estate.caused())[1:] == [("drift", ("/properties/modern",))]

        run(scenario())

    def test_30_drift_is_not_carried_over_with_the_version(self, estate):
        estate.arm.teach(WIDGET, Fill("/properties/colour", "red"))

        async def scenario():
            await estate.apply([declare("w", {"location": "westus2", "properties": {"weight": 1}})])
            estate.edit({"/properties/colour": "blue"})
            newer = declare("w", {"apiVersion": "2025-01-01", "location": "westus2", "properties": {"weight": 1}})
            await estate.sync(newer, times=3)
            assert estate.puts() == 2
            assert (await estate.caused())[-1] == ("drift", ("/properties/colour",))
            assert estate.arm.journal.find("PUT")[-1].api_version == "2025-01-01"
            assert await estate.status(newer) is Status.IN_SYNC

        run(scenario())

    def test_30_a_version_that_is_not_spoken_any_more_leaves_only_the_declaration_to_go_by(self, estate):
        estate.arm.teach(WIDGET, Fill("/properties/colour", "red"))

        async def scenario():
            await estate.apply([declare("w", {"location": "westus2", "properties": {"weight": 1}})])
            estate.arm.tune(WIDGET, api_versions=("2025-01-01",))
            newer = declare("w", {"apiVersion": "2025-01-01", "location": "westus2", "properties": {"weight": 1}})
            await estate.sync(newer, times=3)
            assert estate.puts() == 1
            assert await estate.caused() == [("create", ())]
            assert await estate.status(newer) is Status.IN_SYNC

        run(scenario())

    def test_30_new_rules_change_no_verdict_by_themselves(self, estate):
        """An upgrade: another profile, another process; nothing is written, and nothing drifts."""
        estate.arm.teach(WIDGET, Fill("/properties/colour", "red"), Fill("/properties/limit", 10))
        own = profiles.build(
            {"profile": "new", "version": 2, "rules": [{"path": "/properties/limit", "compare": "number"}]}
        )

        class Upgraded(Estate):
            def fleet(self, declarations):
                return replace(super().fleet(declarations), profiles=[own])

        async def scenario():
            things = [widget(f"w{number}", weight=number) for number in range(20)]
            await estate.apply(things)
            upgraded = Upgraded(arm=estate.arm, clock=estate.clock, store=estate.store)
            await upgraded.sync(*things, times=3)
            assert estate.puts() == 20
            assert set(await estate.caused()) == {("create", ())}

        run(scenario())


def test_29_what_is_too_large_to_keep_is_kept_as_a_digest_and_still_watched(estate, caplog):
    blob = {f"key{number}": "x" * 50 for number in range(1_000)}
    estate.arm.teach(WIDGET, Fill("/properties/models", blob))

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        await estate.sync(thing, times=2)
        assert estate.puts() == 1
        assert set((await estate.known(thing))["/properties/models"]["observed"]) == {"digest"}
        estate.edit({"/properties/models/key500": "y"})
        await estate.sync(thing, times=2)
        assert estate.puts() == 2
        assert (await estate.caused())[-1] == ("drift", ("/properties/models/key500",))

    run(scenario())
    assert "azure/Resource/w: too large to keep, watched by a digest: /properties/models" in logged(caplog)


@pytest.mark.parametrize("how", ["lost", "changed"])
def test_29_a_damaged_baseline_is_not_believed_and_learnt_anew_with_one_put(estate, how):
    estate.arm.teach(WIDGET, Fill("/properties/colour", "red"))

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        state = await estate.store.state(thing.address)
        connection, key = estate.store._connection, blobs.pack_digest(state.applied.baseline)
        if how == "lost":
            connection.execute("DELETE FROM document WHERE digest = ?", (key,))
        else:
            wrong = b'{"properties":{"colour":"blue"}}'
            connection.execute("UPDATE document SET body = ? WHERE digest = ?", (wrong, key))
        estate.edit({"/properties/colour": "blue"})
        await estate.sync(thing, times=3)
        assert estate.puts() == 2
        assert (await estate.caused())[-1] == ("recapture", ())
        assert estate.shown()["properties"]["colour"] == "red"
        invalid = await estate.events("baseline.invalid")
        assert [item.data["why"] for item in invalid] == ["the stored baseline is damaged: its checksum does not match"]

    run(scenario())


def test_a_write_is_refused_if_somebody_was_quicker_where_etags_count(estate):
    """Scenario 25, with etags; without them see test_scenarios_races."""
    estate.arm.tune(WIDGET, etag=Etag(header=True, honoured=True))
    estate.connection = replace(
        estate.connection, settings={**estate.connection.settings, "habits": [{"types": WIDGET, "conditional": True}]}
    )
    estate.arm.tune(WIDGET, operations=Operations(update=Operation("async", 202, seconds=5)))

    async def scenario():
        thing = widget(weight=1)
        await estate.apply([thing])
        assert estate.arm.journal.find("PUT")[-1].accepted
        await estate.sync(widget(weight=2), times=2)
        assert estate.puts() == 2

    run(scenario())
