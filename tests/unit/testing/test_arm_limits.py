"""How much the emulated ARM lets one ask, on a clock that tests move: a day passes in seconds."""

from __future__ import annotations

import pytest

from holdfast.testing.clock import FakeClock
from holdfast_emulators.azure import Bucket, Limits, Principal, World
from tests.unit.testing.armdesk import Desk, widget

HEADER = "x-ms-ratelimit-remaining-subscription-{}"


def desk_with(limits) -> Desk:
    clock = FakeClock(1_800_000_000.0)  # on the hour
    return Desk(clock, World(clock, limits=limits))


@pytest.mark.parametrize(
    "method, kind, first",
    [("GET", "reads", "2"), ("HEAD", "reads", "2"), ("PUT", "writes", "1"), ("DELETE", "deletes", "3")],
)
def test_reads_writes_and_deletes_are_counted_apart_and_told_before_they_are_used_up(method, kind, first):
    desk = desk_with(Limits.hourly(3, 2, 4))
    response = desk.send(method, desk.id(), widget() if method == "PUT" else None)
    assert response.headers[HEADER.format(kind)] == first
    while int(response.headers[HEADER.format(kind)]) > 0:
        response = desk.send(method, desk.id(), widget() if method == "PUT" else None)
        assert response.status != 429
    refused = desk.send(method, desk.id(), widget() if method == "PUT" else None)
    assert (refused.status, refused.code) == (429, "SubscriptionRequestsThrottled")
    assert refused.headers["Retry-After"] == "3600"
    desk.clock.advance(3_600)
    assert desk.send(method, desk.id(), widget() if method == "PUT" else None).status != 429


def test_each_principal_and_each_subscription_has_its_own():
    desk = desk_with(Limits.hourly(reads=1))
    desk.world.add_subscription("other")
    desk.get(desk.group)
    assert desk.send("GET", desk.group).status == 429
    assert desk.send("GET", "/subscriptions/other/resourceGroups").status == 200
    desk.token = desk.world.add_principal(Principal("somebody else"))
    desk.get(desk.group)


def test_buckets_refill_by_the_second():
    desk = desk_with(Limits.buckets(reads=(3, 0.5)))
    assert [desk.send("GET", desk.group).status for _ in range(4)] == [200, 200, 200, 429]
    assert desk.send("GET", desk.group).headers["Retry-After"] == "2"
    desk.clock.advance(2)
    assert [desk.send("GET", desk.group).status for _ in range(2)] == [200, 429]
    desk.clock.advance(1_000)
    assert desk.send("GET", desk.group).headers[HEADER.format("reads")] == "2", "a bucket does not overflow"


@pytest.mark.parametrize("habit, seen", [("always", [1, 1, 1]), ("never", [0, 0, 0]), ("alternate", [1, 0, 1])])
def test_a_refusal_says_when_to_come_back_or_does_not(habit, seen):
    limits = Limits.hourly(reads=0)
    limits.retry_after = habit
    desk = desk_with(limits)
    assert ["Retry-After" in desk.send("GET", desk.group).headers for _ in range(3)] == [bool(item) for item in seen]
    assert len(desk.world.journal.throttled()) == 3


def test_a_provider_may_have_limits_of_its_own():
    desk = desk_with(Limits(providers={"contoso.test": lambda: Bucket(1, 0.1)}))
    first = desk.put(desk.id(), widget())
    assert first.headers["x-ms-ratelimit-remaining-resource"] == "Contoso.Test/writes;0"
    refused = desk.send("GET", desk.id())
    assert (refused.status, refused.code, refused.headers["Retry-After"]) == (429, "TooManyRequests", "10")
    assert int(refused.headers[HEADER.format("reads")]) > 0
    assert desk.send("GET", desk.group).status == 200


def test_what_belongs_to_no_subscription_is_counted_for_the_tenant():
    desk = desk_with(Limits.hourly(reads=2))
    assert desk.send("GET", "/subscriptions").headers["x-ms-ratelimit-remaining-tenant-reads"] == "1"
    assert desk.send("GET", desk.group).headers[HEADER.format("reads")] == "1"


def test_without_limits_the_headers_are_there_all_the_same():
    desk = Desk()
    assert desk.send("GET", desk.group).headers[HEADER.format("reads")] == "11999"


def test_a_day_of_checks_on_three_hundred_resources_stays_within_the_quota():
    desk = desk_with(Limits.hourly())
    ids = [desk.id(f"w{number}") for number in range(300)]
    for id_ in ids:
        desk.world.put(id_, widget(a=1))
    for _ in range(96):
        for id_ in ids:
            desk.get(id_)
        desk.clock.advance(900)
    assert desk.world.journal.throttled() == []
    assert desk.world.journal.count("GET") == 28_800
