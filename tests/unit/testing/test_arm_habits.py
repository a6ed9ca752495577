"""What the emulated services do to what they are sent: each habit by itself."""

from __future__ import annotations

import pytest

from holdfast_emulators.azure import (
    ABSENT,
    Computed,
    Element,
    Embedded,
    Etag,
    Fill,
    Operation,
    Operations,
    Order,
    Reference,
    Refused,
    Rewrite,
    Secret,
)
from holdfast_emulators.azure.packs import load
from holdfast_emulators.azure.respelling import WAYS
from tests.unit.testing.armdesk import WIDGETS, desk_of, widget

PARTS = f"{WIDGETS}/parts"


def shown(desk, **properties):
    desk.put(desk.id(), widget(**properties))
    found = desk.get(desk.id())["properties"]
    del found["provisioningState"]
    return found


# -- defaults


def test_defaults_are_filled_in_and_explicit_values_stay():
    desk = desk_of(defaults=(Fill("/properties/a/b", 1), Fill("/tags", {})))
    assert shown(desk) == {"a": {"b": 1}}
    assert desk.get(desk.id())["tags"] == {}
    assert shown(desk, a={"b": 2}) == {"a": {"b": 2}}
    assert shown(desk, a={"b": None, "c": 3}) == {"a": {"b": 1, "c": 3}}


def test_a_default_may_hang_on_another_field():
    desk = desk_of(
        defaults=(
            Fill("/properties/iops", 500, {"/properties/sku": "standard"}),
            Fill("/properties/iops", 2300, {"/properties/sku": ["premium", "ultra"]}),
            Fill("/properties/note", "none", {"/properties/sku": None}),
            Fill("/properties/tier/name", "${/properties/sku}", {"/properties/sku": "*"}),
        )
    )
    assert shown(desk) == {"note": "none"}
    assert shown(desk, sku="Standard") == {"sku": "Standard", "iops": 500, "tier": {"name": "Standard"}}
    assert shown(desk, sku="premium") == {"sku": "premium", "iops": 2300, "tier": {"name": "premium"}}


def test_defaults_reach_into_lists_and_look_beside_themselves():
    desk = desk_of(
        defaults=(
            Fill("/properties/rules/*/priority", 100),
            Fill("/properties/rules/*/port", 443, {"kind": "https"}),
            Fill("/properties/rules/*/label", "${element}!"),
        )
    )
    found = shown(desk, rules=[{"name": "a", "kind": "https"}, {"name": "b", "priority": 1}])
    assert found["rules"] == [
        {"name": "a", "kind": "https", "priority": 100, "port": 443, "label": "a!"},
        {"name": "b", "priority": 1, "label": "b!"},
    ]


def test_a_default_may_come_late():
    desk = desk_of(
        defaults=(Fill("/properties/late", 7, late_seconds=30),),
        operations=Operations(create=Operation("async", seconds=10)),
    )
    desk.put(desk.id(), widget(a=1))
    desk.clock.advance(39)
    assert "late" not in desk.get(desk.id())["properties"]
    before = desk.get(desk.id())["systemData"]
    desk.clock.advance(1)
    assert desk.get(desk.id())["properties"]["late"] == 7
    assert desk.get(desk.id())["systemData"] == before
    assert shown(desk, a=2) == {"a": 2, "late": 7}, "once there, it is a default like any other"


def test_a_late_default_does_not_cover_what_was_sent():
    desk = desk_of(defaults=(Fill("/properties/late", 7, late_seconds=30),))
    desk.put(desk.id(), widget(late=1))
    desk.clock.advance(60)
    assert desk.get(desk.id())["properties"]["late"] == 1


def test_a_service_may_overrule_what_it_is_told():
    desk = desk_of(defaults=(Fill("/properties/soft", value=True, overrides=True),))
    assert shown(desk, soft=False) == {"soft": True}


def test_updates_may_have_other_defaults_than_creations():
    rules = (Fill("/properties/on", value=True, phase="create"), Fill("/properties/on", value=False, phase="update"))
    desk = desk_of(defaults=rules)
    assert shown(desk) == {"on": True}
    assert shown(desk) == {"on": False}, "a PUT that changes nothing had a side effect"


def test_a_default_may_be_chosen_once_for_life():
    desk = desk_of(defaults=(Fill("/properties/zone", choice=("1", "2", "3")),))
    zones = {shown(desk, a=number)["zone"] for number in range(5)}
    assert len(zones) == 1
    assert zones <= {"1", "2", "3"}


# -- values of the service's own


def test_computed_values_are_the_services_own_and_outlive_writes():
    desk = desk_of(computed=(Computed("/properties/guid", "${guid}"), Computed("/properties/url", "https://${name}/")))
    first = shown(desk, guid="mine", url="mine")
    assert first["url"] == "https://w1/"
    assert first["guid"] != "mine"
    assert shown(desk, a=1) == {**first, "a": 1}
    desk.send("DELETE", desk.id())
    assert shown(desk)["guid"] != first["guid"], "recreated, it is another one"


def test_computed_values_may_change_with_each_write_or_each_read():
    desk = desk_of(
        computed=(
            Computed("/properties/revision", "${revision}", renewed="write"),
            Computed("/properties/looks", "${reads}", renewed="read"),
        )
    )
    desk.put(desk.id(), widget())
    looks = [desk.get(desk.id())["properties"] for _ in range(2)]
    assert [look["looks"] for look in looks] == [1, 2]
    assert [look["revision"] for look in looks] == [1, 1]
    desk.put(desk.id(), widget())
    assert desk.get(desk.id())["properties"]["revision"] == 2
    assert desk.world.journal.needless(), "what the service computes does not make a write a needed one"


def test_provisioning_state_cannot_be_sent():
    desk = desk_of()
    desk.put(desk.id(), widget(provisioningState="Broken"))
    assert desk.get(desk.id())["properties"]["provisioningState"] == "Succeeded"


# -- other spellings


@pytest.mark.parametrize(
    "how, by, sent, back",
    [
        ("region_display", None, "westus2", "West US 2"),
        ("region_display", None, "moonbase", "moonbase"),
        ("region_code", None, "West US 2", "westus2"),
        ("lower", None, "ABC-1", "abc-1"),
        ("upper", None, "abc", "ABC"),
        ("capital", None, "enabled", "Enabled"),
        ("bool_title", None, "true", "True"),
        ("bool_title", None, "Classic", "Classic"),
        ("lower_groups", None, "/subscriptions/s/resourceGroups/RG/x", "/subscriptions/s/resourcegroups/RG/x"),
        ("upper_group", None, "/subscriptions/s/resourceGroups/rg/x", "/subscriptions/s/resourceGroups/RG/x"),
        ("strip_slash", None, "/account-api", "account-api"),
        ("suffix", "/", "https://a", "https://a/"),
        ("suffix", "/", "https://a/", "https://a/"),
        ("prefix", "/subscriptions/${subscription}", "/providers/X", "/subscriptions/{s}/providers/X"),
        ("float", None, 100, 100.0),
        ("text", None, 6, "6"),
        ("map", {"6": "6.0"}, "6", "6.0"),
        ("map", {"CustomRole": 1}, "CustomRole", 1),
        ("replace", {"Microsoft.KeyVault": "Microsoft.Keyvault"}, "/microsoft.keyvault/v", "/Microsoft.Keyvault/v"),
        ("address", None, "1.2.3.4/32", "1.2.3.4"),
        ("address", None, "10.1.2.3/8", "10.0.0.0/8"),
        ("address", None, "not one", "not one"),
        ("tokens", None, "Metrics,Logging", "Logging, Metrics"),
        ("xml", None, "<a><b>x</b></a>", "<a>\r\n\t<b>\r\n\t\tx\r\n\t</b>\r\n</a>"),
        ("constant", [], [{"name": "unknown"}], []),
        ("null_to", {}, None, {}),
        ("empty_to", [""], [], [""]),
        ("empty_to_absent", None, [], ABSENT),
        ("empty_to_absent", None, [1], [1]),
        ("dropped", None, "x", ABSENT),
    ],
)
def test_values_come_back_in_another_spelling(how, by, sent, back):
    desk = desk_of(rewrites=(Rewrite("/properties/x", how, by),))
    if isinstance(back, str):
        back = back.replace("{s}", desk.world.subscription)
    found = shown(desk, x=sent).get("x", ABSENT)
    assert found == back
    assert type(found) is type(back)


def test_every_way_of_spelling_leaves_alone_what_it_does_not_understand():
    for name, way in WAYS.items():
        for value in (12, True, {"a": 1}, ["b"]):
            changed = way(value, {} if name in ("map", "replace") else None)
            assert changed == value or name in ("constant", "dropped", "text"), name


def test_keys_of_maps_and_names_of_fields_may_be_respelled():
    desk = desk_of(
        rewrites=(
            Rewrite("/properties/ids", "lower_groups", keys=True),
            Rewrite("/properties/workspaceId", "renamed", "WorkspaceId"),
            Rewrite("/properties/items/*/kind", "lower", when={"name": "a"}),
        )
    )
    found = shown(desk, ids={"/resourceGroups/g": {}}, workspaceId=1, items=[{"name": "a", "kind": "X"}, {"kind": "X"}])
    assert found == {
        "ids": {"/resourcegroups/g": {}},
        "WorkspaceId": 1,
        "items": [{"name": "a", "kind": "x"}, {"kind": "X"}],
    }


@pytest.mark.parametrize(
    "style, ending",
    [
        ("lower", "/resourcegroups/rg/providers/contoso.test/widgets/w1"),
        ("lower_groups", "/resourcegroups/rg/providers/Contoso.Test/widgets/W1"),
        ("upper_group", "/resourceGroups/RG/providers/Contoso.Test/widgets/W1"),
        ("requested", "/resourceGroups/rg/providers/Contoso.Test/widgets/w1"),
    ],
)
def test_a_type_may_spell_its_own_id_differently(style, ending):
    desk = desk_of(id_style=style, type_shown="Contoso.Test/Widgets")
    desk.put(desk.id("W1"), widget())
    found = desk.get(desk.id("w1"))
    assert found["id"].endswith(ending)
    assert found["type"] == "Contoso.Test/Widgets"


# -- lists


@pytest.mark.parametrize("how, back", [("sorted", ["a", "b", "c"]), ("reversed", ["a", "c", "b"])])
def test_lists_come_back_in_another_order(how, back):
    desk = desk_of(orders=(Order("/properties/items", how),))
    assert shown(desk, items=["b", "c", "a"])["items"] == back


def test_lists_may_be_sorted_by_a_field_or_shuffled_at_each_read():
    desk = desk_of(orders=(Order("/properties/items", by="n"), Order("/properties/dice", "shuffled", each_read=True)))
    found = shown(desk, items=[{"n": 2}, {"n": 1}], dice=list(range(9)))
    assert found["items"] == [{"n": 1}, {"n": 2}]
    looks = [desk.get(desk.id())["properties"]["dice"] for _ in range(3)]
    assert len({tuple(look) for look in looks}) > 1
    assert all(sorted(look) == list(range(9)) for look in looks)


def test_default_elements_are_added_if_there_is_none_of_the_key():
    rule = Element("/properties/paths", {"path": "/_etag", "by": "service"}, "path")
    desk = desk_of(elements=(rule,))
    assert shown(desk)["paths"] == [{"path": "/_etag", "by": "service"}]
    assert shown(desk, paths=[{"path": "/x"}])["paths"] == [{"path": "/x"}, {"path": "/_etag", "by": "service"}]
    assert shown(desk, paths=[{"path": "/_ETAG", "by": "me"}])["paths"] == [{"path": "/_ETAG", "by": "me"}]
    desk.world.console("alice").edit(desk.id(), {"/properties/paths/path=~1_ETAG/by": "alice"})
    assert desk.get(desk.id())["properties"]["paths"][0]["by"] == "alice"


def test_default_elements_may_come_first_and_only_to_new_things():
    desk = desk_of(elements=(Element("/properties/items", "default", first=True, phase="create"),))
    assert shown(desk, items=["a"])["items"] == ["default", "a"]
    assert shown(desk, items=["a"])["items"] == ["a"]


# -- secrets


@pytest.mark.parametrize(
    "rule, back",
    [
        (Secret("/properties/s"), ABSENT),
        (Secret("/properties/s", "null"), None),
        (Secret("/properties/s", "text", "**"), "**"),
    ],
)
def test_secrets_are_kept_and_not_shown(rule, back):
    desk = desk_of(secrets=(rule,))
    made = desk.put(desk.id(), widget(s="hunter2"))
    assert b"hunter2" not in made.body
    assert desk.get(desk.id())["properties"].get("s", ABSENT) == back
    desk.put(desk.id(), widget(a=1))
    assert desk.world.stored(desk.id())["properties"]["s"] == "hunter2", "a PUT without it leaves it"
    assert desk.world.journal.entries[-1].changed
    desk.put(desk.id(), widget(a=1, s="hunter3"))
    assert desk.world.stored(desk.id())["properties"]["s"] == "hunter3"
    assert desk.world.journal.entries[-1].changed, "a new secret is a change though nobody sees it"


# -- what a PUT leaves as it was


def test_a_put_replaces_unless_the_type_says_otherwise():
    desk = desk_of()
    shown(desk, a=1, b=2)
    assert shown(desk, a=1) == {"a": 1}


def test_a_patch_like_put_keeps_what_is_omitted_and_empties_what_is_empty():
    desk = desk_of(put="merge", defaults=(Fill("/properties/d", 1),))
    desk.put(desk.id(), {**widget(a=[1], b={"x": 1}), "tags": {"k": "1", "l": "2"}})
    desk.world.console("alice").edit(desk.id(), {"/properties/d": 99})
    desk.put(desk.id(), {"location": "westus2", "properties": {"b": {"y": 2}}, "tags": {"k": "1"}})
    found = desk.get(desk.id())
    assert found["properties"]["a"] == [1]
    assert found["properties"]["b"] == {"x": 1, "y": 2}
    assert found["properties"]["d"] == 99, "drift at an omitted field is not reverted"
    assert found["tags"] == {"k": "1"}, "tags are replaced as a whole"
    assert shown(desk, a=[], b={}) == {"a": [], "b": {}, "d": 99}
    assert shown(desk, a=None) == {"b": {}, "d": 99}


def test_a_patch_takes_out_what_a_patch_like_put_would_keep():
    desk = desk_of(put="merge", null_keeps=True, secrets=(Secret("/properties/s"),))
    shown(desk, a=1, b=2, s="x")
    desk.send("PATCH", desk.id(), {"properties": {"b": None}})
    assert desk.world.stored(desk.id())["properties"] == {"a": 1, "s": "x"}


def test_null_may_be_the_same_as_nothing():
    desk = desk_of(put="merge", null_keeps=True)
    shown(desk, a=[1], n=None)
    assert shown(desk, a=None) == {"a": [1]}
    assert shown(desk, a=[]) == {"a": []}


def test_single_collections_may_be_kept():
    desk = desk_of(keeps=("/properties/rules",))
    shown(desk, rules=[1], other=1)
    assert shown(desk) == {"rules": [1]}
    assert shown(desk, rules=[]) == {"rules": []}


def test_some_fields_cannot_be_changed():
    desk = desk_of(immutable=("/properties/kind",))
    shown(desk, kind="a", x=1)
    response = desk.send("PUT", desk.id(), widget(kind="b"))
    assert (response.status, response.code) == (409, "PropertyChangeNotAllowed")
    assert response.json()["error"]["target"] == "kind"
    assert desk.get(desk.id())["properties"]["kind"] == "a"
    assert desk.world.shown(desk.id())["systemData"]["lastModifiedBy"] == desk.world.client_id


# -- children


def family(**changes):
    desk = desk_of(embedded=(Embedded("/properties/parts", "parts", **changes),), etag=Etag(body="etag"))
    desk.world.teach(PARTS, Fill("/properties/size", 1))
    return desk


def names(desk):
    return [part["name"] for part in desk.get(desk.id())["properties"]["parts"]]


def test_children_written_through_the_parent_are_resources_of_their_own():
    desk = family()
    desk.put(desk.id(), widget(parts=[{"name": "a"}, {"name": "b", "properties": {"size": 2}}]))
    assert desk.get(f"{desk.id()}/parts/a")["properties"]["size"] == 1
    part = desk.get(desk.id())["properties"]["parts"][1]
    assert (part["id"], part["properties"]["size"]) == (f"{desk.id()}/parts/b", 2)


def test_children_written_by_themselves_appear_in_the_parent_and_move_its_etag():
    desk = family()
    desk.put(desk.id(), widget())
    tag = desk.get(desk.id())["etag"]
    desk.put(f"{desk.id()}/parts/c", {"properties": {"size": 3}})
    assert names(desk) == ["c"]
    assert desk.get(desk.id())["etag"] != tag
    desk.send("DELETE", f"{desk.id()}/parts/c")
    assert names(desk) == []


@pytest.mark.parametrize(
    "changes, after_omission, after_list",
    [
        ({}, [], ["a"]),
        ({"omitted": "keep"}, ["a", "c"], ["a"]),
        ({"omitted": "keep", "unlisted": "keep"}, ["a", "c"], ["a", "c"]),
    ],
)
def test_a_put_of_the_parent_wipes_children_or_keeps_them(changes, after_omission, after_list):
    desk = family(**changes)
    desk.put(desk.id(), widget(parts=[{"name": "a"}]))
    desk.put(f"{desk.id()}/parts/c", {})
    desk.send("PATCH", desk.id(), {"tags": {"x": "1"}})
    assert names(desk) == ["a", "c"], "a PATCH names what it changes"
    desk.put(desk.id(), widget(parts=[{"name": "a"}]))
    assert names(desk) == after_list
    desk.put(desk.id(), widget())
    assert names(desk) == [name for name in after_omission if name in after_list]


def test_children_may_be_flat_in_their_parent():
    desk = family(flat=True)
    desk.put(desk.id(), widget(parts=[{"name": "a", "count": 3}]))
    assert desk.get(desk.id())["properties"]["parts"] == [
        {"name": "a", "count": 3, "size": 1, "provisioningState": "Succeeded"}
    ]
    assert desk.get(f"{desk.id()}/parts/a")["properties"]["count"] == 3
    desk.world.console("autoscaler").edit(desk.id(), {"/properties/parts/name=a/count": 5})
    assert desk.get(f"{desk.id()}/parts/a")["properties"]["count"] == 5


def test_a_family_that_is_made_again_is_whole():
    desk = family()
    desk.put(desk.id(), widget(parts=[{"name": "a", "properties": {"size": 7}}]))
    desk.world.console("bob").recreate(desk.id())
    assert desk.get(f"{desk.id()}/parts/a")["properties"]["size"] == 7
    assert desk.get(desk.id())["systemData"]["createdBy"] == "bob"


def test_some_children_come_with_their_parent():
    desk = desk_of()
    desk.world.tune(PARTS, implied=("default",))
    desk.put(desk.id(), widget())
    assert desk.get(f"{desk.id()}/parts/default")["name"] == "default"


# -- others in the way


def test_references_must_be_there_and_finished():
    desk = desk_of(
        references=(Reference("/properties/uses/*/id"),), operations=Operations(create=Operation("async", seconds=10))
    )
    needs = widget(uses=[{"id": desk.id("base").upper()}])
    assert desk.refused("PUT", desk.id(), needs) == (400, "InvalidResourceReference")
    desk.put(desk.id("base"), widget())
    response = desk.send("PUT", desk.id(), needs)
    assert (response.status, response.code) == (429, "RetryableError")
    assert response.json()["error"]["details"][0]["code"] == "ReferencedResourceNotProvisioned"
    desk.clock.advance(10)
    desk.put(desk.id(), needs)


def test_parents_must_be_finished_where_the_type_cares():
    desk = desk_of(operations=Operations(create=Operation("async", seconds=10)))
    desk.world.tune(PARTS, parent_busy=Refused(409, "ParentBusy", "${target} is busy"))
    desk.put(desk.id(), widget())
    assert desk.refused("PUT", f"{desk.id()}/parts/a", {}) == (409, "ParentBusy")
    desk.clock.advance(10)
    desk.put(f"{desk.id()}/parts/a", {})


def test_what_is_used_cannot_be_deleted():
    desk = desk_of(references=(Reference("/properties/uses"),), in_use=Refused(400, "InUse", "used by ${target}"))
    desk.put(desk.id("base"), widget())
    desk.put(desk.id(), widget(uses=desk.id("base")))
    assert desk.refused("DELETE", desk.id("base")) == (400, "InUse")
    desk.send("DELETE", desk.id())
    assert desk.send("DELETE", desk.id("base")).status == 200


# -- lag


def test_reads_may_lag_behind_writes_by_looks():
    desk = desk_of(lag_reads=2)
    desk.put(desk.id(), widget(a=1))
    assert desk.refused("GET", desk.id()) == (404, "ResourceNotFound")
    assert desk.refused("GET", desk.id()) == (404, "ResourceNotFound")
    assert desk.get(desk.id())["properties"]["a"] == 1
    desk.put(desk.id(), widget(a=2))
    assert [desk.get(desk.id())["properties"]["a"] for _ in range(3)] == [1, 1, 2]


def test_reads_may_lag_behind_writes_and_deletions_by_time():
    desk = desk_of(lag_seconds=5, operations=Operations(update=Operation("async", seconds=10)))
    desk.put(desk.id(), widget(a=1))
    desk.clock.advance(5)
    desk.put(desk.id(), widget(a=2))
    desk.clock.advance(14)
    assert desk.get(desk.id())["properties"]["a"] == 1
    assert desk.world.shown(desk.id())["properties"]["a"] == 2
    assert desk.world.seen(desk.id())["properties"]["a"] == 1
    assert desk.get(f"{desk.group}/providers/{WIDGETS}")["value"][0]["properties"]["a"] == 1
    desk.clock.advance(1)
    assert desk.get(desk.id())["properties"]["a"] == 2
    desk.send("DELETE", desk.id())
    assert desk.get(desk.id())["properties"]["provisioningState"] == "Deleting"
    desk.clock.advance(5)
    assert desk.refused("GET", desk.id()) == (404, "ResourceNotFound")


# -- side effects


@pytest.mark.parametrize("moves", ["write", "change"])
def test_a_put_that_changes_nothing_may_still_move_the_etag(moves):
    desk = desk_of(etag=Etag(body="eTag", bare=True, moves=moves))
    desk.put(desk.id(), widget(a=1))
    tag = desk.get(desk.id())["eTag"]
    desk.put(desk.id(), widget(a=1))
    assert (desk.get(desk.id())["eTag"] == tag) is (moves == "change")


# -- the data itself


def test_a_misspelt_habit_in_a_pack_is_an_error_that_names_its_place():
    with pytest.raises(Exception, match=r"unknown field `defualts`"):
        load("types: [{type: A.B/c, defualts: []}]")
    with pytest.raises(Exception, match=r"\$\[0\].defaults\[0\]"):
        load("types: [{type: A.B/c, defaults: [{at: 1}]}]")


def test_rules_can_be_added_to_what_a_type_has():
    desk = desk_of(defaults=(Fill("/properties/a", 1),))
    desk.world.teach(WIDGETS, Fill("/properties/b", 2), Secret("/properties/s"))
    assert shown(desk, s="x") == {"a": 1, "b": 2}
