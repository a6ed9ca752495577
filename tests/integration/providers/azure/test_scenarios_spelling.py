"""Scenarios 13 to 17 of research/aso.md, section 5: values that come back in other words, secrets, references."""

from __future__ import annotations

import pytest

from holdfast.compare import diff, profiles
from holdfast.model.json import Json
from holdfast.model.resource import ManagementPolicy
from holdfast.model.verdict import Status
from holdfast.providers.azure.kinds import Kinds
from holdfast_emulators.azure.type_behaviour import Fill, Rewrite, Secret
from tests.integration.providers.azure.estate import GROUP, WIDGET, declare, logged, run, widget

SUBNET = "/subscriptions/S/resourceGroups/Net/providers/Microsoft.Network/virtualNetworks/V/subnets/A"

# A field, what is declared, and what the service makes of it: rows of the quirk table in section 3.
SPELLINGS = [
    ("/location", "westus2", Rewrite("/location", "region_display")),
    ("/properties/endpointLocation", "westus2", Rewrite("/properties/endpointLocation", "region_display")),
    ("/properties/state", "enabled", Rewrite("/properties/state", "capital")),
    ("/properties/flag", "true", Rewrite("/properties/flag", "bool_title")),
    ("/properties/subnet/id", SUBNET, Rewrite("/properties/subnet/id", "lower_groups")),
    ("/properties/subnet/id", SUBNET, Rewrite("/properties/subnet/id", "upper_group")),
    ("/properties/subnet/id", SUBNET, Rewrite("/properties/subnet/id", "lower")),
    (
        "/identity/userAssignedIdentities",
        {SUBNET: {}},
        Rewrite("/identity/userAssignedIdentities", "lower_groups", keys=True),
    ),
    ("/properties/amount", 100, Rewrite("/properties/amount", "float")),
    ("/properties/version", "6", Rewrite("/properties/version", "suffix", ".0")),
    ("/properties/path", "/account-api", Rewrite("/properties/path", "strip_slash")),
    ("/properties/containerPath", "https://x/y", Rewrite("/properties/containerPath", "suffix", "/")),
    ("/properties/policy", "<a><b/></a>", Rewrite("/properties/policy", "xml")),
    ("/properties/window", "PT24H", Rewrite("/properties/window", "map", {"PT24H": "P1D"})),
    ("/properties/range", "1.2.3.4/32", Rewrite("/properties/range", "address")),
    ("/properties/memory", "1.0Gi", Rewrite("/properties/memory", "map", {"1.0Gi": "1Gi"})),
    ("/properties/bypass", "Metrics, Logging", Rewrite("/properties/bypass", "tokens")),
    ("/properties/sku", "Standalone", Rewrite("/properties/sku", "map", {"Standalone": "PerGB2018"})),
    ("/properties/list", [], Rewrite("/properties/list", "empty_to_absent")),
    ("/properties/emails", [], Rewrite("/properties/emails", "empty_to", [""])),
    ("/properties/nothing", None, Rewrite("/properties/nothing", "null_to", {})),
    ("/properties/createMode", "Default", Rewrite("/properties/createMode", "dropped")),
]
# What no rule can know: told apart from drift only once it was seen after our own write.
LEARNT = {"/properties/state", "/properties/bypass", "/properties/sku", "/properties/memory", "/properties/emails"}


def desired_with(path: str, value: Json) -> Json:
    desired: Json = {"location": "westus2", "properties": {"weight": 1}}
    here = desired
    *steps, last = path.strip("/").split("/")
    for step in steps:
        here = here.setdefault(step, {})
    here[last] = value
    return desired


@pytest.mark.parametrize("path, value, quirk", SPELLINGS, ids=[f"{p} {q.how}" for p, _, q in SPELLINGS])
def test_13_another_spelling_of_the_same_is_not_drift(estate, path, value, quirk):
    estate.arm.teach(WIDGET, quirk)

    async def scenario():
        thing = declare("w", desired_with(path, value))
        await estate.apply([thing])
        await estate.sync(thing, times=3)
        assert estate.puts() == 1
        assert await estate.status(thing) is Status.IN_SYNC
        estate.edit({"/properties/weight": 9})  # and drift elsewhere is still seen
        await estate.sync(thing, times=2)
        assert estate.puts() == 2
        assert (await estate.caused())[-1] == ("drift", ("/properties/weight",))

    run(scenario())


FORGIVEN = [item for item in SPELLINGS if item[0] not in LEARNT]


@pytest.mark.parametrize("path, value, quirk", FORGIVEN, ids=[f"{p} {q.how}" for p, _, q in FORGIVEN])
def test_13_what_is_taken_over_in_another_spelling_is_not_written(estate, path, value, quirk):
    estate.arm.teach(WIDGET, quirk)
    estate.arm.put(estate.id(), desired_with(path, value), by="somebody else")

    async def scenario():
        thing = declare("w", desired_with(path, value))
        await estate.sync(thing, times=3)
        assert estate.puts() == 0
        assert await estate.caused() == []
        assert [paths for _, paths in estate.told("adopt")] == [()]
        assert await estate.status(thing) is Status.IN_SYNC

    run(scenario())


@pytest.mark.parametrize("path, value, quirk", FORGIVEN, ids=[f"{p} {q.how}" for p, _, q in FORGIVEN])
def test_forgiving_a_spelling_is_reflexive_and_symmetric(estate, path, value, quirk):
    estate.arm.teach(WIDGET, quirk)
    one = desired_with(path, value)
    estate.arm.put(estate.id(), one)
    other = {key: item for key, item in estate.shown().items() if key in one}
    del other["properties"]["provisioningState"]  # nobody declares it
    rules = profiles.stack(Kinds()[WIDGET].profiles)
    for left, right in ((one, other), (one, one), (other, other)):
        assert not diff.findings(left, right, rules.tree(left, right))
    if quirk.how not in ("dropped", "empty_to_absent", "null_to"):  # what is not there cannot be declared
        assert not diff.findings(other, one, rules.tree(other, one))


def test_14_what_the_service_overrides_is_known_as_that_and_not_fought(estate):
    estate.arm.teach(WIDGET, Fill("/properties/softDelete", True, overrides=True))

    async def scenario():
        thing = widget(softDelete=False)
        await estate.apply([thing])
        await estate.sync(thing, times=4)
        assert estate.puts() == 1
        assert await estate.caused() == [("create", ())]
        entry = (await estate.known(thing))["/properties/softDelete"]
        assert (entry["kind"], entry["desired"], entry["observed"]) == ("overridden", False, True)

    run(scenario())


def test_15_an_override_that_changes_is_drift_again(estate):
    estate.arm.teach(WIDGET, Fill("/properties/delta", 642, overrides=True))

    async def scenario():
        thing = widget(delta=10)
        await estate.apply([thing])
        await estate.sync(thing, times=2)
        estate.edit({"/properties/delta": 777})
        await estate.sync(thing, times=3)
        assert estate.puts() == 2
        assert (await estate.caused())[-1] == ("drift", ("/properties/delta",))

    run(scenario())


@pytest.mark.parametrize("shown", ["absent", "null", "text"])
def test_16_a_secret_is_sent_when_it_changes_and_shown_to_nobody(estate, caplog, shown):
    estate.arm.teach(WIDGET, Secret("/properties/adminPassword", shown=shown))
    estate.environ = {"PASSWORD": "correct-horse-battery"}

    async def scenario():
        thing = widget(adminPassword={"secretRef": {"env": "PASSWORD"}}, weight=1)
        await estate.apply([thing])
        await estate.sync(thing, times=3)
        assert estate.puts() == 1
        assert estate.arm.stored(estate.id())["properties"]["adminPassword"] == "correct-horse-battery"
        estate.environ = {"PASSWORD": "staple-of-the-new-age"}
        await estate.sync(thing, times=3)
        assert estate.puts() == 2
        assert (await estate.caused())[-1] == ("intent", ("/properties/adminPassword",))
        assert estate.arm.stored(estate.id())["properties"]["adminPassword"] == "staple-of-the-new-age"
        kept = repr(vars(estate.store))
        for secret in ("correct-horse-battery", "staple-of-the-new-age"):
            assert secret not in kept
            assert secret not in "\n".join(logged(caplog, 0))

    run(scenario())


class TestReferences:
    """Scenario 17."""

    NETWORK = "Microsoft.Network/virtualNetworks"

    def network(self, name="net", **more):
        space = {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}
        return declare(name, {"location": "westus2", "properties": space, **more}, "VirtualNetwork")

    def user(self, reference):
        return widget(network={"id": reference})

    def test_17_a_reference_is_the_same_in_every_form_and_case(self, estate):
        ident = estate.id("net", self.NETWORK)
        forms = [
            {"group": "network.azure.com", "kind": "VirtualNetwork", "name": "net"},
            {"armId": ident},
            {"armId": ident.upper()},
            ident.lower(),
            "${VirtualNetwork/net.id}",
        ]

        async def scenario():
            for form in forms:
                await estate.sync(self.network(), self.user(form), times=2)
            assert estate.puts("*widgets*") == 1
            assert await estate.caused() == [("create", ()), ("create", ())]

        run(scenario())

    def test_17_a_well_known_role_is_the_role_in_the_subscription(self, estate):
        estate.arm.teach(
            WIDGET, Rewrite("/properties/roleDefinitionId", "prefix", f"/subscriptions/{estate.arm.subscription}")
        )

        async def scenario():
            thing = widget(roleDefinitionId={"wellKnownName": "Contributor"})
            await estate.apply([thing])
            await estate.sync(thing, times=2)
            assert estate.puts() == 1
            assert await estate.caused() == [("create", ())]

        run(scenario())

    def test_17_a_referent_that_moved_elsewhere_is_written(self, estate):
        async def scenario():
            reference = {"group": "network.azure.com", "kind": "VirtualNetwork", "name": "net"}
            await estate.apply([self.network(), self.user(reference)])
            moved = self.network(azureName="net2")
            elsewhere = type(moved)(**{**_fields(moved), "options": {**moved.options, "onImmutable": "replace"}})
            await estate.sync(elsewhere, self.user(reference), times=2)
            assert (await estate.caused())[-1] == ("intent", ("/properties/network/id",))
            assert estate.puts("*widgets*") == 2
            assert estate.shown()["properties"]["network"]["id"].endswith("net2")

        run(scenario())

    def test_17_a_missing_referent_blocks_and_nothing_is_sent_with_a_hole(self, estate):
        async def scenario():
            absent = declare("net", {"location": "westus2"}, "VirtualNetwork", policy=ManagementPolicy.OBSERVED)
            report = await estate.sync(absent, self.user("${VirtualNetwork/net.id}"))
            assert estate.puts() == 0
            assert await estate.caused() == []
            assert [str(item.declaration.address) for item in report.waiting] == ["azure/Resource/w"]
            assert "known after azure/VirtualNetwork/net is applied" in report.waiting[0].reason

        run(scenario())


def _fields(declaration):
    return {name: getattr(declaration, name) for name in type(declaration).__slots__}


def test_17_an_owner_is_a_reference_too_and_cannot_move(estate):
    async def scenario():
        group = declare("other", {"location": "westus2"}, "ResourceGroup")
        first = declare("w", {"location": "westus2", "owner": {"name": "other"}, "properties": {}})
        await estate.apply([group, first])
        await estate.sync(group, first, times=2)
        assert estate.puts("*widgets*") == 1
        assert estate.arm.ids(WIDGET) == [estate.id().replace(f"/{GROUP}/", "/other/")]
        group_id = f"/subscriptions/{estate.arm.subscription}/resourceGroups/{GROUP}"
        moved = declare("w", {"location": "westus2", "owner": {"armId": group_id}, "properties": {}})
        report = await estate.sync(group, moved)
        blocked = [item for item in report.checked if item.decision.action.value == "block"]
        assert blocked[0].decision.reasons[0].paths == ("/owner",)
        assert [paths for _, paths in estate.told("block")] == [("/owner",)]
        assert estate.puts("*widgets*") == 1

    run(scenario())
