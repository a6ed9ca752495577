"""A server upgrade that brings other rules changes no verdict by itself."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from holdfast.model.verdict import Status
from holdfast.providers.kubernetes import schema_document
from holdfast.providers.kubernetes.group_version_kind import GroupVersionKind
from holdfast.providers.kubernetes.schema_rules import rules_for
from tests.unit.reconcile.fixtures import Bench, declare

KIND = GroupVersionKind("example.com", "v1", "Widget")


def profile_of(**tags: Any) -> str:
    fields = {"tags": {"type": "array", "items": {"type": "string"}, **tags}, "size": {"type": "string"}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    kinds = [{"group": KIND.group, "version": KIND.version, "kind": KIND.kind}]
    openapi = {"definitions": {"widget": {**schema, schema_document.KINDS: kinds}}}
    return "\n---\n".join(json.dumps(profile.raw) for profile in rules_for(KIND, openapi))


SET, ATOMIC = profile_of(**{"x-kubernetes-list-type": "set"}), profile_of(**{"x-kubernetes-list-type": "atomic"})


async def status(bench: Bench, fleet: list) -> Status:
    (checked,) = (await bench.check(fleet)).checked
    return checked.verdict.status


def test_a_list_that_becomes_ordered_is_no_drift_as_it_stands_and_is_when_it_moves_again():
    bench = Bench(profile=SET)
    fleet = [declare("a", {"spec": {"tags": ["x", "y", "z"], "size": "s"}})]

    async def story():
        await bench.apply(fleet)
        bench.live_thing("a")["spec"]["tags"] = ["z", "y", "x"]
        bench.clock.advance(3600)
        assert await status(bench, fleet) is Status.IN_SYNC
        bench.profile = ATOMIC
        for _ in range(3):
            bench.clock.advance(3600)
            assert await status(bench, fleet) is Status.IN_SYNC
        bench.live_thing("a")["spec"]["tags"] = ["y", "z", "x"]
        assert await status(bench, fleet) is Status.DRIFTED

    asyncio.run(story())


def test_drift_stays_drift_under_the_new_rules():
    bench = Bench(profile=SET)
    fleet = [declare("a", {"spec": {"tags": ["x", "y"], "size": "s"}})]

    async def story():
        await bench.apply(fleet)
        bench.clock.advance(3600)
        bench.live_thing("a")["spec"]["size"] = "l"
        assert await status(bench, fleet) is Status.DRIFTED
        bench.profile = ATOMIC
        assert await status(bench, fleet) is Status.DRIFTED

    asyncio.run(story())
