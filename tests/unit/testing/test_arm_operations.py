"""Long-running operations in every shape that was recorded: one learns of the end, and the end is right."""

from __future__ import annotations

import datetime as dt
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import pytest

from holdfast_emulators.azure import CATALOGUE, Failure, Operation, Operations, World, alike
from tests.unit.testing.armdesk import BASE, WIDGETS, Desk, desk_of, widget

TERMINAL = {"succeeded", "failed", "canceled"}


def follow(desk, path, response):
    """Follow an operation as a careful client does; return the words that were seen."""
    words = []
    url = response.headers.get("Azure-AsyncOperation")
    for _ in range(20):
        if url is not None:
            body = desk.get(url)
            words.append(body["status"])
            if body["status"].casefold() in TERMINAL:
                return words
        elif response.status == 202 and urlsplit(response.headers.get("Location", path)).path != path:
            response = desk.send("GET", response.headers["Location"])
            words.append(str(response.status))
            if response.status != 202:
                return words
        else:
            found = desk.send("GET", path)
            words.append(found.json()["properties"]["provisioningState"] if found.status == 200 else "missing")
            if words[-1] == "Succeeded":
                return words
        desk.clock.advance(10)
    raise AssertionError(words)


@pytest.mark.parametrize("name", CATALOGUE)
def test_whatever_the_shape_the_resource_is_there_in_the_end(name):
    desk = desk_of(operations=alike(CATALOGUE[name]))
    for value in (1, 2):
        response = desk.put(desk.id(), widget(a=value))
        follow(desk, desk.id(), response)
        found = desk.get(desk.id())
        assert found["properties"] == {"a": value, "provisioningState": "Succeeded"}
    gone = desk.send("DELETE", desk.id())
    assert gone.status in (200, 202)
    desk.clock.advance(60)
    assert desk.refused("GET", desk.id()) == (404, "ResourceNotFound")


@pytest.mark.parametrize(
    "name, status, headers",
    [
        ("at once", 201, set()),
        ("self location, relative", 201, {"Location"}),
        ("async 201", 201, {"Azure-AsyncOperation"}),
        ("async 201, retry after", 201, {"Azure-AsyncOperation", "Retry-After"}),
        ("async 200", 200, {"Azure-AsyncOperation"}),
        ("both 202", 202, {"Azure-AsyncOperation", "Location"}),
        ("both 202, retry after", 202, {"Azure-AsyncOperation", "Location", "Retry-After"}),
        ("location 202, retry after", 202, {"Location", "Retry-After"}),
        ("state 201", 201, set()),
    ],
)
def test_the_headers_are_those_of_the_recordings(name, status, headers):
    desk = desk_of(operations=alike(CATALOGUE[name]))
    response = desk.put(desk.id(), widget())
    assert response.status == status
    assert {"Azure-AsyncOperation", "Location", "Retry-After"} & set(response.headers) == headers


def test_a_self_location_is_the_resource_without_a_host():
    desk = desk_of(operations=alike(CATALOGUE["self location, relative"]))
    assert desk.put(desk.id(), widget()).headers["Location"] == desk.id()


def test_polling_addresses_may_be_relative_or_on_another_host_or_move():
    desk = desk_of(operations=alike(CATALOGUE["both, relative"]))
    assert desk.put(desk.id(), widget()).headers["Location"].startswith("/subscriptions/")
    desk = desk_of(operations=Operations(Operation("async", seconds=5, host="eastus.rp.example.com")))
    response = desk.put(desk.id(), widget())
    assert response.headers["Azure-AsyncOperation"].startswith("https://eastus.rp.example.com/")
    desk = desk_of(operations=alike(CATALOGUE["location, moving"]))
    first = desk.put(desk.id(), widget()).headers["Location"]
    second = desk.send("GET", first).headers["Location"]
    assert first != second
    desk.clock.advance(30)
    assert desk.send("GET", second).status == 200


def test_while_it_runs_the_state_says_so_and_other_writes_are_refused():
    desk = desk_of(operations=alike(CATALOGUE["async 201"]))
    made = desk.put(desk.id(), widget(a=1))
    assert made.json()["properties"]["provisioningState"] == "Creating"
    assert desk.get(desk.id())["properties"] == {"a": 1, "provisioningState": "Creating"}
    assert desk.refused("PUT", desk.id(), widget(a=2)) == (409, "AnotherOperationInProgress")
    assert desk.refused("DELETE", desk.id()) == (409, "AnotherOperationInProgress")
    desk.clock.advance(30)
    desk.put(desk.id(), widget(a=2))
    assert desk.get(desk.id())["properties"]["provisioningState"] == "Updating"
    desk.clock.advance(30)
    desk.send("DELETE", desk.id())
    assert desk.get(desk.id())["properties"]["provisioningState"] == "Deleting"


def test_a_type_may_accept_writes_while_one_is_under_way():
    desk = desk_of(operations=alike(CATALOGUE["async 201"]), busy=None)
    desk.put(desk.id(), widget(a=1))
    desk.put(desk.id(), widget(a=2))
    desk.clock.advance(30)
    assert desk.get(desk.id())["properties"] == {"a": 2, "provisioningState": "Succeeded"}


def test_words_follow_one_another_and_end_in_the_types_own():
    desk = desk_of(operations=alike(CATALOGUE["async, odd words"]))
    words = follow(desk, desk.id(), desk.put(desk.id(), widget()))
    assert words == ["Accepted", "Dequeued", "CreatingAgentPool: 0/1 nodes completed", "succeeded"]


def test_the_word_for_done_is_the_types_own_or_there_is_none():
    desk = desk_of(state_at="/properties/state", state_done="Ready", operations=alike(CATALOGUE["state 201"]))
    desk.put(desk.id(), widget())
    assert desk.get(desk.id())["properties"] == {"state": "Creating"}
    desk.clock.advance(30)
    assert desk.get(desk.id())["properties"] == {"state": "Ready"}
    plain = desk_of(state_at="")
    plain.put(plain.id(), widget(a=1))
    assert plain.get(plain.id())["properties"] == {"a": 1}


@pytest.mark.parametrize("word", ["Failed", "Canceled"])
def test_a_failed_operation_answers_200_with_the_error_inside(word):
    desk = desk_of(operations=alike(CATALOGUE["both 202"]))
    desk.world.failures.append(Failure("PUT", "*/w1", "QuotaExceeded", "no more", word, ({"code": "Inner"},)))
    response = desk.put(desk.id(), widget(a=1))
    desk.clock.advance(30)
    body = desk.get(response.headers["Azure-AsyncOperation"])
    assert (body["status"], body["error"]["code"], body["error"]["details"]) == (
        word,
        "QuotaExceeded",
        [{"code": "Inner"}],
    )
    assert desk.refused("GET", response.headers["Location"]) == (409, "QuotaExceeded")
    assert desk.get(desk.id())["properties"] == {"a": 1, "provisioningState": word}
    desk.put(desk.id(), widget(a=2))
    desk.clock.advance(30)
    assert desk.get(desk.id())["properties"]["provisioningState"] == "Succeeded"


def test_a_failed_operation_may_leave_things_as_they_were():
    desk = desk_of(operations=alike(CATALOGUE["state 201"]))
    desk.world.failures.append(Failure(applied=False))
    desk.put(desk.id(), widget(a=1))
    desk.clock.advance(30)
    assert desk.refused("GET", desk.id()) == (404, "ResourceNotFound")
    desk.settled(desk.id(), widget(a=1))
    desk.world.failures.append(Failure(applied=False))
    assert desk.settled(desk.id(), widget(a=2))["properties"] == {"a": 1, "provisioningState": "Succeeded"}


def test_a_deletion_may_fail():
    desk = desk_of(operations=Operations(delete=Operation("both", seconds=10)))
    desk.put(desk.id(), widget())
    desk.world.failures.append(Failure("DELETE"))
    desk.send("DELETE", desk.id())
    desk.clock.advance(10)
    assert desk.get(desk.id())["properties"]["provisioningState"] == "Failed"


def test_polling_addresses_are_forgotten_after_the_end():
    desk = desk_of(operations=alike(CATALOGUE["async, forgotten"]))
    url = desk.put(desk.id(), widget()).headers["Azure-AsyncOperation"]
    assert desk.get(url)["status"] == "InProgress"
    desk.clock.advance(31)
    assert desk.refused("GET", url) == (404, "NotFound")
    assert desk.get(desk.id())["properties"]["provisioningState"] == "Succeeded"
    assert desk.refused("GET", f"{BASE}/providers/A.B/locations/x/operations/never") == (404, "NotFound")


def test_a_new_resource_may_be_invisible_until_the_end():
    desk = desk_of(operations=alike(CATALOGUE["location, hidden"]))
    desk.put(desk.id(), widget())
    assert desk.refused("GET", desk.id()) == (404, "ResourceNotFound")
    desk.clock.advance(30)
    desk.get(desk.id())


def test_location_brings_the_resource_or_nothing_or_something_else():
    for name, status, body in [
        ("location 202", 200, "w1"),
        ("location, 204 in the end", 204, None),
        ("location, result is no resource", 200, None),
    ]:
        desk = desk_of(operations=alike(CATALOGUE[name]))
        url = desk.put(desk.id(), widget()).headers["Location"]
        desk.clock.advance(30)
        response = desk.send("GET", url)
        assert (response.status, (response.json() or {}).get("name")) == (status, body)


def test_an_operation_may_wait_for_looks_rather_than_time():
    desk = desk_of(operations=Operations(Operation("async", polls=3)))
    url = desk.put(desk.id(), widget()).headers["Azure-AsyncOperation"]
    assert [desk.get(url)["status"] for _ in range(4)] == ["InProgress", "InProgress", "Succeeded", "Succeeded"]
    desk = desk_of(operations=Operations(Operation("state", polls=2)))
    desk.put(desk.id(), widget())
    states = [desk.get(desk.id())["properties"]["provisioningState"] for _ in range(3)]
    assert states == ["Creating", "Succeeded", "Succeeded"]


def test_retry_after_is_seconds_or_a_date_and_goes_by_the_pace():
    desk = Desk()
    desk.world.tune(WIDGETS, operations=alike(CATALOGUE["async, dated retry after"]))
    date = parsedate_to_datetime(desk.put(desk.id(), widget()).headers["Retry-After"])
    assert date == dt.datetime.fromtimestamp(desk.clock.now() + 15, dt.UTC)
    slow = Desk(desk.clock, World(desk.clock, pace=0.1))
    slow.world.tune(WIDGETS, operations=alike(CATALOGUE["async 201, retry after"]))
    response = slow.put(slow.id(), widget())
    assert response.headers["Retry-After"] == "2"
    slow.clock.advance(3.1)
    assert slow.get(response.headers["Azure-AsyncOperation"])["status"] == "Succeeded"


def test_polls_are_polls_in_the_journal_and_count_as_reads():
    desk = desk_of(operations=alike(CATALOGUE["async 201"]))
    url = desk.put(desk.id(), widget()).headers["Azure-AsyncOperation"]
    desk.get(url)
    entry = desk.world.journal.entries[-1]
    assert (entry.kind, entry.type) == ("poll", WIDGETS)
    assert desk.world.journal.counts()["POLL", WIDGETS] == 1
    assert desk.world.journal.count("GET") == 0


def test_a_failure_of_a_synchronous_write_leaves_a_failed_resource():
    desk = Desk()
    desk.world.failures.append(Failure())
    assert desk.put(desk.id(), widget()).json()["properties"]["provisioningState"] == "Failed"
    desk.world.failures.append(Failure("DELETE", code="CannotDelete"))
    assert desk.refused("DELETE", desk.id()) == (409, "CannotDelete")
