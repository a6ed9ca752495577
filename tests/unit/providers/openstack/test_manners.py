"""What some kinds do otherwise than most, request by request; that the services want it so is shown elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from holdfast.model.json import Json
from holdfast.model.write_result import Done, InProgress, WriteError, WriteFailure
from holdfast.providers.openstack.calls import Calls
from holdfast.providers.openstack.kind_definition import Item, KindDefinition
from holdfast.providers.openstack.kinds import identity, routers, servers


class Recorder:
    """Calls that only remember."""

    def __init__(self, answer: Json = None) -> None:
        self.bodies: list[Json] = []
        self._answer = {} if answer is None else answer

    async def send(self, _place: object, _method: str, _path: str, body: Json = None, *_rest: object) -> Any:
        self.bodies.append(body)
        return self._answer


def put(thing: KindDefinition, live: Mapping[str, Json], body: Mapping[str, Json], answer: Json = None) -> list[Json]:
    calls = Recorder(answer)
    asyncio.run(thing.manner.put(cast("Calls", calls), thing, Item({"id": "x", **live}), body, {}))
    return [next(iter(item.values())) for item in calls.bodies]


# -- servers


def server(flavor: str, status: str = "ACTIVE", task: str | None = None) -> Item:
    return Item({"id": "s", "status": status, "flavor": {"id": flavor}, "OS-EXT-STS:task_state": task})


def step(item: Item, token: Mapping[str, Json], answer: Json = None) -> tuple[object, list[Json]]:
    calls = Recorder(answer)
    return asyncio.run(servers.SERVER.manner.stepped(cast("Calls", calls), item, token)), calls.bodies


def test_a_resize_goes_step_by_step_and_each_step_is_done_once():
    token = {"id": "s", "wanted": {}, "flavor": "large"}
    begun, sent = step(server("small"), token)
    assert (isinstance(begun, InProgress), sent) == (True, [{"resize": {"flavorRef": "large"}}])
    assert isinstance(begun, InProgress)
    token = dict(begun.token)
    assert step(server("small", "RESIZE", "resize_prep"), token) == (None, [])
    asked, sent = step(server("large", "VERIFY_RESIZE"), token)
    assert sent == [{"confirmResize": None}]
    assert isinstance(asked, InProgress)
    token = dict(asked.token)
    # The service takes its time over that, too.
    assert step(server("large", "VERIFY_RESIZE"), token) == (None, [])
    assert isinstance(servers.SERVER.manner.polled(server("large", "VERIFY_RESIZE"), token), InProgress)
    assert step(server("large"), token) == (None, [])
    assert servers.SERVER.manner.polled(server("large"), token) == Done("s")


def test_a_resize_that_did_not_take_is_not_asked_for_again_and_again():
    done, sent = step(server("small"), {"id": "s", "flavor": "large", "resizing": True})
    assert isinstance(done, WriteFailure)
    assert (done.refusal, sent) == (WriteError.RETRYABLE, [])


def test_a_resize_waits_for_what_is_being_plugged_in():
    token = {"id": "s", "wanted": {"volumes": [{"volumeId": "v"}]}, "flavor": "large"}
    assert step(server("small"), token) == (None, [])


def test_a_resize_of_somebody_else_is_theirs_to_confirm():
    assert step(server("large", "VERIFY_RESIZE"), {"id": "s", "wanted": {}}) == (None, [])
    assert step(server("large", "VERIFY_RESIZE"), {"id": "s", "wanted": {}, "flavor": "small"}) == (None, [])


def test_what_is_refused_on_the_way_is_refused():
    no = WriteFailure(WriteError.RETRYABLE, "409")
    assert step(server("small"), {"id": "s", "flavor": "large"}, no)[0] is no


# -- projects


def test_a_project_is_unlocked_before_and_locked_after_everything_else():
    change = {"description": "x"}
    unlock, lock = {"immutable": False}, {"immutable": True}
    assert put(identity.PROJECT, {}, {**change, "options": unlock}) == [{"options": unlock}, change]
    assert put(identity.PROJECT, {}, {**change, "options": lock}) == [change, {"options": lock}]
    assert put(identity.PROJECT, {}, {"options": lock}) == [{"options": lock}]
    assert put(identity.PROJECT, {}, change) == [change]
    no = WriteFailure(WriteError.TERMINAL, "403")
    assert put(identity.PROJECT, {}, {**change, "options": unlock}, no) == [{"options": unlock}]


# -- floating IPs


def test_a_floating_ip_says_again_where_it_leads():
    led = {"port_id": "p", "fixed_ip_address": "10.0.0.5"}
    assert put(routers.FLOATING_IP, led, {"description": "x"}) == [{**led, "description": "x"}]
    assert put(routers.FLOATING_IP, led, {"fixed_ip_address": "10.0.0.6"}) == [{**led, "fixed_ip_address": "10.0.0.6"}]
    assert put(routers.FLOATING_IP, led, {"port_id": None}) == [{"port_id": None}]
    assert put(routers.FLOATING_IP, {"port_id": None}, {"description": "x"}) == [{"description": "x"}]
