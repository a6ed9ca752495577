"""Third parties at the emulated ARM: people, policies, platforms and releases, at the right moment, on the record."""

from __future__ import annotations

import pytest

from holdfast_emulators.azure import ABSENT, Etag, Fill, Policy, Principal, Script
from holdfast_emulators.azure.policies import PRINCIPAL
from tests.unit.testing.armdesk import WIDGETS, Desk, desk_of, widget


def who(desk):
    data = desk.get(desk.id())["systemData"]
    return data["lastModifiedBy"], data["lastModifiedByType"]


def test_an_edit_is_on_record_with_its_time():
    desk = Desk()
    desk.put(desk.id(), {**widget(a=1), "tags": {"x": "1"}})
    assert who(desk) == (desk.world.client_id, "Application")
    made = desk.get(desk.id())["systemData"]
    desk.clock.advance(60)
    desk.world.console("alice@example.com").edit(desk.id(), {"/properties/a": 2, "/tags/x": ABSENT})
    found = desk.get(desk.id())
    assert found["properties"]["a"] == 2
    assert found["tags"] == {}
    assert who(desk) == ("alice@example.com", "User")
    assert found["systemData"]["createdAt"] == made["createdAt"]
    assert found["systemData"]["lastModifiedAt"] > made["lastModifiedAt"]


def test_the_platform_leaves_no_trace():
    desk = desk_of(etag=Etag(header=True))
    tag = desk.put(desk.id(), widget(count=1)).headers["ETag"]
    desk.world.console("autoscaler", silent=True).edit(desk.id(), lambda body: body["properties"].update(count=9))
    assert desk.get(desk.id())["properties"]["count"] == 9
    assert who(desk) == (desk.world.client_id, "Application")
    assert desk.send("GET", desk.id()).headers["ETag"] != tag


def test_edits_find_elements_by_name_and_add_to_lists():
    desk = Desk()
    desk.put(desk.id(), widget(rules=[{"name": "a", "p": 1}]))
    alice = desk.world.console("alice")
    alice.edit(desk.id(), {"/properties/rules/name=a/p": 2, "/properties/rules/-": {"name": "b"}})
    assert desk.get(desk.id())["properties"]["rules"] == [{"name": "a", "p": 2}, {"name": "b"}]
    with pytest.raises(KeyError):
        alice.edit(desk.id(), {"/properties/rules/name=c/p": 2})
    with pytest.raises(KeyError):
        alice.edit(desk.id("nobody"), {})


def test_a_resource_made_again_by_somebody_else_is_another_one():
    desk = Desk()
    desk.put(desk.id(), widget(a=1))
    before = desk.get(desk.id())["systemData"]
    desk.clock.advance(10)
    desk.world.console("bob").recreate(desk.id())
    after = desk.get(desk.id())
    assert after["properties"]["a"] == 1
    assert after["systemData"]["createdBy"] == "bob"
    assert after["systemData"]["createdAt"] != before["createdAt"]


def test_others_put_delete_mark_and_keep_busy():
    desk = Desk()
    bob = desk.world.console("bob")
    bob.put(desk.id(), widget(a=1))
    bob.keep_busy(desk.id(), 60)
    assert desk.get(desk.id())["properties"]["provisioningState"] == "Updating"
    assert desk.refused("PUT", desk.id(), widget()) == (409, "AnotherOperationInProgress")
    desk.clock.advance(60)
    assert desk.get(desk.id())["properties"]["provisioningState"] == "Succeeded"
    bob.mark(desk.id(), "Failed")
    assert desk.get(desk.id())["properties"]["provisioningState"] == "Failed"
    bob.delete(desk.id())
    assert desk.refused("GET", desk.id()) == (404, "ResourceNotFound")


def test_something_may_happen_just_before_or_just_after_a_request():
    desk = desk_of(etag=Etag(header=True, honoured=True))
    tag = desk.put(desk.id(), widget(a=1)).headers["ETag"]
    alice = desk.world.console("alice")
    desk.world.scripts.append(Script(lambda: alice.edit(desk.id(), {"/properties/a": 9}), "PUT", "*/W1"))
    assert desk.refused("PUT", desk.id(), widget(a=2), If_Match=tag) == (412, "PreconditionFailed")
    desk.world.scripts.append(Script(lambda: alice.edit(desk.id(), {"/properties/a": 10}), "GET", nth=2, after=True))
    assert [desk.get(desk.id())["properties"]["a"] for _ in range(3)] == [9, 9, 10]


def test_something_may_happen_at_a_time():
    desk = Desk()
    desk.put(desk.id(), widget(a=1))
    alice = desk.world.console("alice")
    start = desk.clock.now()
    desk.world.later(20, lambda: alice.edit(desk.id(), {"/properties/a": 3}))
    desk.world.later(10, lambda: alice.edit(desk.id(), {"/properties/a": 2}))
    desk.clock.advance(15)
    assert desk.get(desk.id())["properties"]["a"] == 2
    desk.world.advance(100)
    assert desk.get(desk.id())["properties"]["a"] == 3
    assert desk.world.state.resources[desk.id().casefold()].modified.at == start + 20, "at its time, not when looked at"


def test_a_policy_adds_to_each_write_in_the_writers_name():
    desk = Desk()
    desk.world.policies.append(Policy("tags", add={"/tags/costCenter": "42"}, types="contoso.test/*"))
    desk.put(desk.id(), widget())
    assert desk.get(desk.id())["tags"] == {"costCenter": "42"}
    assert who(desk)[0] == desk.world.client_id
    desk.put(desk.id(), {**widget(), "tags": {"costCenter": "mine", "a": "b"}})
    assert desk.get(desk.id())["tags"] == {"costCenter": "mine", "a": "b"}


def test_a_policy_may_replace_and_remediate_what_is_there():
    desk = Desk()
    desk.put(desk.id(), {**widget(), "tags": {"costCenter": "mine"}})
    desk.put(desk.id("w2"), widget(sku="other"))
    policy = Policy("tags", {"/tags/costCenter": "42"}, replaces=True, when={"/properties/sku": None}, types=WIDGETS)
    assert desk.world.remediate(policy) == [desk.id()]
    assert desk.get(desk.id())["tags"] == {"costCenter": "42"}
    assert who(desk) == (PRINCIPAL, "Application")
    assert desk.world.remediate(policy) == []


def test_a_policy_may_deny_with_its_evidence():
    desk = Desk()
    desk.world.policies.append(Policy("no-widgets", deny=True, ids="*/widgets/w1"))
    response = desk.send("PUT", desk.id(), widget())
    assert (response.status, response.code) == (403, "RequestDisallowedByPolicy")
    assert response.json()["error"]["additionalInfo"][0]["info"]["policyAssignmentName"] == "no-widgets"
    desk.put(desk.id("w2"), widget())


def test_a_release_gives_all_resources_a_new_field_at_once():
    desk = Desk()
    for number in range(5):
        desk.put(desk.id(f"w{number}"), widget())
    assert desk.world.roll_out(WIDGETS, Fill("/properties/newFlag", "of ${name}")) == 5
    assert desk.get(desk.id("w3"))["properties"]["newFlag"] == "of w3"
    desk.put(desk.id("late"), widget())
    assert desk.get(desk.id("late"))["properties"]["newFlag"] == "of late"


def test_each_writer_has_a_name():
    desk = Desk()
    desk.put(desk.id(), widget(a=1))
    desk.token = desk.world.add_principal(Principal("other-controller", "ManagedIdentity"))
    desk.put(desk.id(), widget(a=2))
    assert who(desk) == ("other-controller", "ManagedIdentity")
    assert desk.world.journal.writes()[-1].principal == "other-controller"
