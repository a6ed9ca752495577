"""The emulated ARM speaks as ARM does: paths, lists, versions, errors, headers, etags, who may and who may not."""

from __future__ import annotations

import re

import pytest

from holdfast_emulators.azure import Action, Etag, Fault, Principal, Refused, SoftDelete, Wrong
from holdfast_emulators.azure import __all__ as exported
from holdfast_emulators.azure.ids import parse
from tests.unit.testing.armdesk import BASE, WIDGETS, Desk, desk_of, widget

SUB = "/subscriptions/22222222-2222-4222-8222-222222222222"


@pytest.mark.parametrize(
    "path, type_, names, is_collection, scope",
    [
        ("/subscriptions", "Microsoft.Resources/subscriptions", (), True, ""),
        ("/subscriptions/s", "Microsoft.Resources/subscriptions", ("s",), False, ""),
        ("/subscriptions/s/resourcegroups", "Microsoft.Resources/resourceGroups", (), True, "/subscriptions/s"),
        ("/subscriptions/s/resourceGroups/g", "Microsoft.Resources/resourceGroups", ("g",), False, "/subscriptions/s"),
        ("/subscriptions/s/providers/A.B/t", "A.B/t", (), True, "/subscriptions/s"),
        (
            "/subscriptions/s/resourceGroups/g/providers/A.B/t/n/u/m/",
            "A.B/t/u",
            ("n", "m"),
            False,
            "/subscriptions/s/resourceGroups/g",
        ),
        (
            "/subscriptions/s/resourceGroups/g/providers/A.B/t/n/providers/C.D/e/x",
            "C.D/e",
            ("x",),
            False,
            "/subscriptions/s/resourceGroups/g/providers/A.B/t/n",
        ),
        ("/providers/A.B/t/a%20b", "A.B/t", ("a b",), False, ""),
    ],
)
def test_a_path_is_split_at_its_last_providers(path, type_, names, is_collection, scope):
    found = parse(path)
    assert found is not None
    assert (found.type, found.names, found.is_collection, found.scope) == (type_, names, is_collection, scope)


@pytest.mark.parametrize("path", ["/", "/nothing/here", "/subscriptions/s/providers/A.B", "/subscriptions/s/x/y"])
def test_a_path_that_is_nothing_of_arms_is_not_understood(path):
    assert parse(path) is None


def test_a_resource_is_put_read_patched_and_deleted():
    desk = Desk()
    made = desk.put(desk.id(), {**widget(a=1, b=2), "tags": {"x": "1"}})
    assert made.status == 201
    assert desk.put(desk.id(), widget(a=1, b=3)).status == 200
    desk.send("PATCH", desk.id(), {"properties": {"b": None, "c": 4}, "tags": {"y": "2"}})
    found = desk.get(desk.id())
    assert found["id"] == desk.id()
    assert (found["name"], found["type"]) == ("w1", WIDGETS)
    assert found["properties"] == {"a": 1, "c": 4, "provisioningState": "Succeeded"}
    assert found["tags"] == {"y": "2"}
    assert desk.send("DELETE", desk.id()).status == 200
    assert desk.send("DELETE", desk.id()).status == 204
    assert desk.refused("GET", desk.id()) == (404, "ResourceNotFound")
    assert desk.refused("PATCH", desk.id(), {}) == (404, "ResourceNotFound")


def test_ids_are_found_in_any_case_and_shown_as_they_were_made():
    desk = Desk()
    desk.put(desk.id("Widget"), widget())
    assert desk.get(desk.id("wIDGET").replace("resourceGroups", "RESOURCEGROUPS"))["id"] == desk.id("Widget")


def test_head_tells_whether_a_resource_is_there():
    desk = Desk()
    assert desk.send("HEAD", desk.id()).status == 404
    desk.put(desk.id(), widget())
    response = desk.send("HEAD", desk.id())
    assert (response.status, response.body) == (204, b"")
    assert desk.send("HEAD", desk.group).status == 204


def test_what_is_above_must_be_there():
    desk = Desk()
    elsewhere = desk.id().replace("/rg/", "/nowhere/")
    assert desk.refused("PUT", elsewhere, widget()) == (404, "ResourceGroupNotFound")
    assert desk.refused("GET", elsewhere) == (404, "ResourceGroupNotFound")
    assert desk.refused("PUT", f"{desk.id()}/parts/p", {}) == (404, "ParentResourceNotFound")
    assert desk.refused("GET", f"{desk.id()}/parts/p") == (404, "ParentResourceNotFound")
    assert desk.refused("GET", "/subscriptions/other/resourceGroups/rg") == (404, "SubscriptionNotFound")
    desk.world.add_subscription("other")
    assert desk.refused("GET", "/subscriptions/other/resourceGroups/rg") == (404, "ResourceGroupNotFound")


def test_an_extension_lies_on_any_resource_and_goes_with_it():
    desk = Desk()
    lock = f"{desk.id()}/providers/Contoso.Notes/notes/n"
    assert desk.refused("PUT", lock, {}) == (404, "ParentResourceNotFound")
    desk.put(desk.id(), widget())
    desk.put(lock, {"properties": {"text": "hello"}})
    assert desk.get(f"{desk.id()}/providers/Contoso.Notes/notes")["value"][0]["id"] == lock
    desk.send("DELETE", desk.id())
    assert desk.refused("GET", lock) == (404, "ParentResourceNotFound")


def test_a_group_takes_all_with_it_and_says_where_to_wait():
    desk = Desk()
    desk.put(desk.id(), widget())
    response = desk.send("DELETE", desk.group)
    assert response.status == 202
    assert desk.send("GET", response.headers["Location"]).status == 202
    desk.clock.advance(60)
    assert desk.send("GET", response.headers["Location"]).status == 204
    assert desk.refused("GET", desk.group) == (404, "ResourceGroupNotFound")
    assert desk.world.ids() == []


def test_lists_go_by_group_and_by_subscription_in_pages():
    desk = desk_of(page_size=2)
    desk.world.add_group("other")
    for name in "abc":
        desk.put(desk.id(name), widget())
    desk.put(desk.id("d").replace("/rg/", "/other/"), widget())
    page = desk.get(f"{desk.group}/providers/{WIDGETS}")
    assert [item["name"] for item in page["value"]] == ["a", "b"]
    assert page["nextLink"].startswith(f"{BASE}/subscriptions/")
    rest = desk.get(page["nextLink"])
    assert [item["name"] for item in rest["value"]] == ["c"]
    assert "nextLink" not in rest
    everywhere = desk.get(f"{SUB}/providers/{WIDGETS}?$top=10")
    assert [item["name"] for item in everywhere["value"]] == ["a", "b", "c", "d"]
    assert len(desk.get(f"{SUB}/resourceGroups")["value"]) == 2
    assert desk.get("/subscriptions")["value"][0]["subscriptionId"] == desk.world.subscription


def test_the_list_of_everything_shows_resources_without_their_properties():
    desk = Desk()
    desk.put(desk.id(), widget(a=1))
    desk.put(desk.id("g", "Contoso.Test/gadgets"), widget())
    found = desk.get(f"{SUB}/resources?$filter=resourceType eq '{WIDGETS}'")["value"]
    assert [item["name"] for item in found] == ["w1"]
    assert "properties" not in found[0]
    assert len(desk.get(f"{desk.group}/resources")["value"]) == 2


def test_lists_may_hide_fields_or_be_refused():
    desk = desk_of(list_hides=("/properties/big",))
    desk.put(desk.id(), widget(big="x", small=1))
    assert desk.get(f"{desk.group}/providers/{WIDGETS}")["value"][0]["properties"]["small"] == 1
    assert "big" not in desk.get(f"{desk.group}/providers/{WIDGETS}")["value"][0]["properties"]
    desk.world.tune(WIDGETS, listed="group")
    assert desk.refused("GET", f"{SUB}/providers/{WIDGETS}") == (405, "MethodNotAllowed")
    desk.world.tune(WIDGETS, listed="none")
    assert desk.refused("GET", f"{desk.group}/providers/{WIDGETS}") == (405, "MethodNotAllowed")


def test_the_api_version_is_required_and_checked():
    desk = desk_of(api_versions=("2024-01-01", "2025-01-01-preview"))
    assert desk.refused("GET", desk.id(), version="") == (400, "MissingApiVersionParameter")
    assert desk.refused("GET", desk.id(), version="v1") == (400, "InvalidApiVersionParameter")
    response = desk.send("PUT", desk.id(), widget(), version="2020-01-01")
    assert (response.status, response.code) == (400, "NoRegisteredProviderFound")
    assert "2024-01-01, 2025-01-01-preview" in response.json()["error"]["message"]


def test_a_newer_version_shows_fields_that_an_older_one_does_not():
    desk = desk_of(since={"/properties/modern": "2024-06-01"})
    desk.put(desk.id(), widget(modern=1, old=2))
    assert "modern" not in desk.get(desk.id(), "2024-01-01")["properties"]
    assert desk.get(desk.id(), "2024-06-01")["properties"]["modern"] == 1


@pytest.mark.parametrize(
    "shape, body",
    [
        ("arm", {"error": {"code": "C", "message": "m"}}),
        ("bare", {"code": "C", "message": "m"}),
        ("capital", {"Code": "C", "Message": "m", "Target": None, "Details": [], "Innererror": None}),
        ("message", {"Message": "m"}),
        ("problem", {"type": "about:blank", "title": "C", "status": 409, "detail": "m"}),
        ("numeric", {"code": 409001, "message": "m"}),
    ],
)
def test_errors_have_the_shape_of_their_provider(shape, body):
    desk = desk_of(error_shape=shape, busy=Refused(409, "C", "m"))
    desk.put(desk.id(), widget())
    desk.world.console("somebody").keep_busy(desk.id(), 60)
    response = desk.send("PUT", desk.id(), widget())
    assert response.json() == body
    assert "x-ms-failure-cause" not in response.headers


def test_what_arm_itself_refuses_is_marked_and_has_arms_shape():
    desk = desk_of(error_shape="message")
    response = desk.send("GET", desk.id())
    assert response.headers["x-ms-failure-cause"] == "gateway"
    assert response.json()["error"]["code"] == "ResourceNotFound"


def test_inner_errors_are_in_the_details():
    desk = desk_of(busy=Refused(429, "RetryableError", "later", "ReferencedResourceNotProvisioned", retry_after=10))
    desk.put(desk.id(), widget())
    desk.world.console("somebody").keep_busy(desk.id(), 60)
    response = desk.send("PUT", desk.id(), widget())
    assert response.json()["error"]["details"][0]["code"] == "ReferencedResourceNotProvisioned"
    assert response.headers["Retry-After"] == "10"


def test_every_answer_can_be_correlated():
    desk = Desk()
    guid = re.compile(r"[0-9a-f-]{36}")
    response = desk.send("GET", desk.group, x_ms_correlation_request_id="abc")
    assert guid.fullmatch(response.headers["X-MS-Request-Id"])
    assert response.headers["x-ms-correlation-request-id"] == "abc"
    assert desk.world.journal.entries[-1].correlation == "abc"
    echoed = desk.send("GET", desk.group, x_ms_client_request_id="c1", x_ms_return_client_request_id="true")
    assert echoed.headers["x-ms-client-request-id"] == "c1"
    assert guid.fullmatch(echoed.headers["x-ms-correlation-request-id"])


@pytest.mark.parametrize("weak", [False, True])
def test_etags_guard_writes_where_the_type_honours_them(weak):
    desk = desk_of(etag=Etag(header=True, body="etag", weak=weak, honoured=True, not_modified=True))
    assert desk.refused("PUT", desk.id(), widget(), If_Match="*") == (412, "PreconditionFailed")
    made = desk.put(desk.id(), widget(a=1), If_None_Match="*")
    tag = made.headers["ETag"]
    assert tag.startswith('W/"' if weak else '"')
    assert desk.get(desk.id())["etag"] == tag
    assert desk.send("GET", desk.id(), If_None_Match=tag).status == 304
    assert desk.refused("PUT", desk.id(), widget(), If_None_Match="*") == (412, "PreconditionFailed")
    desk.put(desk.id(), widget(a=2), If_Match=tag)
    assert desk.refused("PUT", desk.id(), widget(a=3), If_Match=tag) == (412, "PreconditionFailed")
    assert desk.refused("DELETE", desk.id(), If_Match=tag) == (412, "PreconditionFailed")
    assert desk.send("DELETE", desk.id(), If_Match=desk.get(desk.id())["etag"]).status == 200


def test_etags_are_ignored_where_the_type_does_not_honour_them():
    desk = desk_of(etag=Etag(header=True))
    desk.put(desk.id(), widget(a=1))
    desk.put(desk.id(), widget(a=2), If_Match='"something else"')
    assert desk.get(desk.id())["properties"]["a"] == 2


def test_verbs_that_a_type_lacks_are_refused_with_those_it_has():
    desk = desk_of(verbs=("HEAD", "PUT", "DELETE"))
    desk.put(desk.id(), widget())
    response = desk.send("GET", desk.id())
    assert (response.status, response.headers["Allow"]) == (405, "HEAD,PUT,DELETE")
    assert desk.send("HEAD", desk.id()).status == 204
    desk.world.tune(WIDGETS, verbs=("GET", "PUT"))
    assert desk.refused("DELETE", desk.id()) == (405, "MethodNotAllowed")


def test_actions_answer_what_is_hidden_from_reads():
    keys = Action("listKeys", {"keys": ["key-of-${name}"]})
    desk = desk_of(actions=(keys, Action("listSecret", shows="/properties/password")))
    desk.put(desk.id(), widget(password={"value": "x"}))
    assert desk.send("POST", f"{desk.id()}/listKeys").json() == {"keys": ["key-of-w1"]}
    assert desk.send("POST", f"{desk.id()}/LISTSECRET").json() == {"value": "x"}
    assert desk.refused("POST", f"{desk.id()}/restart") == (405, "MethodNotAllowed")
    assert desk.refused("POST", f"{desk.id('nobody')}/listKeys") == (404, "ResourceNotFound")


def test_namespaces_must_be_registered():
    desk = Desk()
    desk.world.state.unregistered.add("Contoso.Test")
    assert desk.refused("PUT", desk.id(), widget()) == (409, "MissingSubscriptionRegistration")
    assert desk.get(f"{SUB}/providers/contoso.test")["registrationState"] == "NotRegistered"
    assert desk.send("POST", f"{SUB}/providers/Contoso.Test/register").json()["registrationState"] == "Registered"
    desk.put(desk.id(), widget())


def test_locks_hold_what_is_below_them():
    desk = Desk()
    lock = f"{desk.group}/providers/Microsoft.Authorization/locks/l"
    desk.put(desk.id(), widget())
    desk.put(lock, {"properties": {"level": "CanNotDelete"}})
    assert desk.refused("DELETE", desk.id()) == (409, "ScopeLocked")
    desk.put(desk.id(), widget(a=1))
    desk.put(lock, {"properties": {"level": "ReadOnly"}})
    assert desk.refused("PUT", desk.id(), widget(a=2)) == (409, "ScopeLocked")
    assert desk.send("DELETE", lock).status == 200
    assert desk.send("DELETE", desk.id()).status == 200


def test_locations_are_needed_and_do_not_move():
    desk = desk_of(location="required")
    assert desk.refused("PUT", desk.id(), {"properties": {}}) == (400, "LocationRequired")
    desk.put(desk.id(), widget())
    desk.put(desk.id(), {"location": "West US 2", "properties": {}})
    assert desk.refused("PUT", desk.id(), {"location": "eastus"}) == (409, "InvalidResourceLocation")
    assert desk.refused("PUT", desk.group, {"location": "eastus"}) == (409, "InvalidResourceGroupLocation")


def test_bodies_must_be_objects_and_have_what_is_required():
    desk = desk_of(required=("/properties/size",))
    assert desk.refused("PUT", desk.id(), [1]) == (400, "InvalidRequestContent")
    assert desk.refused("PUT", desk.id()) == (400, "InvalidRequestContent")
    response = desk.send("PUT", desk.id(), widget())
    assert (response.code, response.json()["error"]["target"]) == ("MissingRequiredParameter", "size")


def test_tokens_are_checked_and_can_be_revoked():
    desk = Desk()
    token = desk.world.add_principal(Principal("ops"))
    desk.token = token
    desk.get(desk.group)
    desk.world.revoke(token)
    response = desk.send("GET", desk.group)
    assert (response.status, response.code) == (401, "InvalidAuthenticationToken")
    assert "Bearer" in response.headers["WWW-Authenticate"]
    assert desk.send("GET", desk.group, Authorization="").code == "AuthenticationFailed"


def test_a_principal_may_be_forbidden_something():
    desk = Desk()
    desk.token = desk.world.add_principal(Principal("reader", forbidden=("PUT *", "DELETE */widgets/*")))
    desk.get(desk.group)
    assert desk.refused("PUT", desk.id(), widget()) == (403, "AuthorizationFailed")
    assert desk.refused("DELETE", desk.id()) == (403, "AuthorizationFailed")


def test_soft_deleted_names_conflict_until_they_are_recovered_or_purged():
    rule = SoftDelete(100, Refused(409, "ConflictError"), {"/properties/createMode": "recover"}, "deletedWidgets")
    desk = desk_of(soft_delete=rule)
    desk.put(desk.id(), widget(a=1))
    desk.send("DELETE", desk.id())
    assert desk.refused("PUT", desk.id(), widget(a=2)) == (409, "ConflictError")
    assert desk.get(f"{SUB}/providers/Contoso.Test/deletedWidgets")["value"][0]["name"] == "w1"
    desk.put(desk.id(), widget(createMode="recover"))
    assert desk.get(desk.id())["properties"]["a"] == 1
    desk.send("DELETE", desk.id())
    purge = f"{SUB}/providers/Contoso.Test/locations/westus2/deletedWidgets/w1"
    assert desk.get(purge)["properties"]["vaultId"] == desk.id()
    assert desk.send("POST", f"{purge}/purge").status == 200
    assert desk.refused("GET", purge) == (404, "ResourceNotFound")
    desk.put(desk.id(), widget(a=3))
    desk.send("DELETE", desk.id())
    desk.clock.advance(101)
    desk.put(desk.id(), widget(a=4))


def test_global_names_are_taken_for_everybody():
    desk = desk_of(global_name=Refused(409, "NameTaken", "${name} is taken"))
    desk.world.add_group("other")
    desk.put(desk.id(), widget())
    desk.put(desk.id(), widget(a=1))
    response = desk.send("PUT", desk.id().replace("/rg/", "/other/"), widget())
    assert (response.code, response.json()["error"]["message"]) == ("NameTaken", "w1 is taken")


@pytest.mark.parametrize(
    "fault, status, kind",
    [
        (Fault(status=429, code="TooManyRequests", retry_after=7), 429, "application/json; charset=utf-8"),
        (Fault(Wrong.HTML, status=503), 503, "text/html"),
        (Fault(Wrong.EMPTY, status=502), 502, None),
        (Fault(Wrong.GARBAGE, status=200), 200, "application/json; charset=utf-8"),
        (Fault(Wrong.EMPTY_LIST), 200, "application/json; charset=utf-8"),
    ],
)
def test_answers_are_spoilt_once(fault, status, kind):
    desk = Desk()
    desk.world.faults.append(fault)
    response = desk.send("GET", desk.group)
    assert (response.status, response.headers.get("Content-Type")) == (status, kind)
    assert response.headers.get("Retry-After") == ("7" if status == 429 else None)
    assert desk.send("GET", desk.group).json()["name"] == "rg"


def test_the_journal_counts_what_was_accepted_and_tells_what_was_needless():
    desk = Desk()
    desk.put(desk.id(), widget(a=1))
    desk.put(desk.id(), widget(a=1))
    desk.refused("PUT", desk.id().replace("/rg/", "/x/"), widget())
    desk.get(desk.id())
    journal = desk.world.journal
    assert journal.count("PUT") == 2
    assert journal.count("PUT", type="*/WIDGETS") == 2
    assert journal.count("*", path="*/w1") == 3
    assert len(journal.find("PUT")) == 3
    assert journal.counts() == {("PUT", WIDGETS): 2, ("GET", WIDGETS): 1}
    assert [entry.changed for entry in journal.writes()] == [True, False]
    assert len(journal.needless()) == 1
    assert journal.writes()[0].body == widget(a=1)
    journal.clear()
    assert len(journal) == 0


def test_the_public_names_are_sorted_and_there():
    import holdfast_emulators.azure as package

    assert all(hasattr(package, name) for name in exported)
