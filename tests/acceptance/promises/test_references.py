"""A reference never spreads a change made outside Holdfast, and two checks of one live state agree."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from holdfast.model.decision import Action
from holdfast.model.verdict import Status
from holdfast.testing.rest_server import Shape
from tests.acceptance.promises import serving
from tests.acceptance.test_commands import run
from tests.unit.reconcile.fixtures import Bench, declare

FREEZE = "corrections:\n  windows:\n  - {freeze: {from: 2020-01-01, until: 2099-01-01}, reason: total freeze}\n"
DOCUMENTS = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: a}
spec: {resource: {path: live/a.yaml, content: {x: 1}}}
---
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: b}
spec: {resource: {path: live/b.yaml, content: {y: "${Document/a.content.x}"}}}
---
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: c}
spec: {resource: {path: live/c.yaml, content: {z: "x is ${Document/b.content.y}"}}}
"""


def checked(folder: Path) -> tuple[int, dict[str, str]]:
    done = run("check", "-f", "m.yaml", "--detailed-exitcode", "-o", "json", cwd=folder)
    found = json.loads(done.stdout)["resources"]
    return done.returncode, {item["address"].rpartition("/")[2]: item["status"] for item in found}


@pytest.mark.parametrize("policy", ["freeze", "report"])
def test_drift_of_a_declared_field_is_not_copied_into_what_refers_to_it(tmp_path, policy):
    if policy == "freeze":
        (tmp_path / "holdfast.yaml").write_text(FREEZE)
    reporting = "spec: {managedOptions: {onDrift: report}, " if policy == "report" else "spec: {"
    (tmp_path / "m.yaml").write_text(DOCUMENTS.replace("spec: {", reporting, 1))
    assert run("apply", "-y", "-f", "m.yaml", cwd=tmp_path).returncode == 0
    live = tmp_path / "live/a.yaml"
    live.write_text(live.read_text().replace("x: 1", "x: 777"))
    first = checked(tmp_path)
    assert first == (20 if policy == "freeze" else 4, {"a": "drifted", "b": "in_sync", "c": "in_sync"})
    assert checked(tmp_path) == first
    planned = run("plan", "-f", "m.yaml", cwd=tmp_path)
    assert "0 to add, 0 to change" in planned.stdout
    applied = run("apply", "-y", "-f", "m.yaml", cwd=tmp_path)
    assert "0 added, 0 changed" in applied.stdout
    assert yaml.safe_load((tmp_path / "live/b.yaml").read_text()) == {"y": 1}
    assert yaml.safe_load((tmp_path / "live/c.yaml").read_text()) == {"z": "x is 1"}
    assert checked(tmp_path) == first


NETWORK = """\
apiVersion: http.holdfast.dev/v1
kind: Network
metadata: {name: main}
spec: {connection: shop, managedOptions: {onDrift: report}, resource: {name: main, mtu: 1500}}
---
apiVersion: http.holdfast.dev/v1
kind: Server
metadata: {name: web}
spec:
  connection: shop
  managedOptions: {onDrift: correct}
  resource: {name: web, mtu: "${shop/Network/main.mtu}", zone: "${shop/Network/main.zone}", size: 2}
"""


def test_over_http_a_declared_field_is_taken_as_declared_and_a_drifted_default_holds_its_dependents(tmp_path):
    shapes = {"networks": Shape(defaults={"zone": "north"}, stamps=("id",)), "servers": Shape(stamps=("id",))}
    with serving.served(shapes) as server:
        (tmp_path / "holdfast.yaml").write_text("connections:\n" + serving.connection("shop", server.url))
        (tmp_path / "m.yaml").write_text(NETWORK)
        applied = run("apply", "-y", "-f", "m.yaml", cwd=tmp_path)
        assert applied.returncode == 0, applied.stdout + applied.stderr
        assert (server.collections["servers"]["web"]["mtu"], server.collections["servers"]["web"]["zone"]) == (
            1500,
            "north",
        )
        server.collections["networks"].edit("main", lambda network: network.update(mtu=9000, zone="south"))
        first = checked(tmp_path)
        assert first == (4, {"main": "drifted", "web": "in_sync"})
        assert checked(tmp_path) == first
        run("apply", "-y", "-f", "m.yaml", cwd=tmp_path)
        assert (server.collections["servers"]["web"]["mtu"], server.collections["servers"]["web"]["zone"]) == (
            1500,
            "north",
        )
        server.collections["servers"].edit("web", lambda web: web.update(size=3))
        for command in ("check", "plan"):
            body = json.loads(run(command, "-f", "m.yaml", "-o", "json", cwd=tmp_path).stdout)
            (web,) = [resource for resource in body["resources"] if resource["address"] == "shop/Server/web"]
            assert web["action"] == "hold"
            assert "shop/Network/main was changed outside Holdfast at /zone" in web["reasons"][0]["message"]
        run("apply", "-y", "-f", "m.yaml", cwd=tmp_path)
        assert server.collections["servers"]["web"]["size"] == 3
        server.collections["networks"].edit("main", lambda network: network.update(zone="north"))
        assert "1 changed" in run("apply", "-y", "-f", "m.yaml", cwd=tmp_path).stdout
        assert server.collections["servers"]["web"]["size"] == 2


def fleet(**options: Any):
    return [
        declare("net", {"mtu": 1500}, resyncPeriod="1h", **options),
        declare("web", {"net": "${Thing/net.id}", "zone": "${Thing/net.zone}", "size": 2}, resyncPeriod="1h"),
    ]


def test_a_dependent_is_held_while_its_source_is_missing_or_unknown_and_linked_again_afterwards():
    async def whole() -> None:
        bench = Bench(lists=False)
        bench.live.defaults["zone"] = "north"
        await bench.apply(fleet(recreate="never"))
        del bench.live.things["Thing", bench.id_of("net")]
        bench.live.things["Thing", bench.id_of("web")]["size"] = 9
        for record in (False, True):
            report = await bench.check(fleet(recreate="never"), record=record)
            assert [item.verdict.status for item in report.checked] == [Status.MISSING, Status.DRIFTED]
            assert report.checked[1].decision.action is Action.HOLD
            assert "mem/Thing/net is missing" in report.checked[1].decision.reasons[0].message
        report = await bench.apply(fleet(recreate="never"))
        assert report.acted == []
        report = await bench.apply(fleet())
        assert [item.checked.decision.action for item in report.acted] == [Action.RECREATE, Action.UPDATE]
        assert bench.live_thing("web")["net"] == bench.id_of("net")
        assert bench.live_thing("web")["size"] == 2

    asyncio.run(whole())


def test_a_runtime_value_is_followed_because_it_is_no_drift():
    async def whole() -> None:
        bench = Bench(lists=False, profile="profile: t\nversion: 1\nrules:\n- {path: /ip, class: runtime}\n")
        bench.live.defaults["ip"] = "10.0.0.1"
        declared = [declare("net", {"mtu": 1500}), declare("web", {"ip": "${Thing/net.ip}"})]
        await bench.apply(declared)
        bench.live.things["Thing", bench.id_of("net")]["ip"] = "10.0.0.2"
        first = await bench.check(declared)
        again = await bench.check(declared)
        statuses = [[item.verdict.status for item in report.checked] for report in (first, again)]
        assert statuses == [[Status.IN_SYNC, Status.PENDING]] * 2
        await bench.apply(declared)
        assert bench.live_thing("web")["ip"] == "10.0.0.2"

    asyncio.run(whole())


def test_a_secret_that_is_referred_to_stays_one():
    async def whole() -> None:
        bench = Bench(environ={"TOKEN": "t0ps3cret-value"})
        declared = [
            declare("db", {"password": {"secretRef": {"env": "TOKEN"}}}),
            declare("web", {"dsn": "user:${Thing/db.password}@db"}),
        ]
        await bench.apply(declared)
        assert bench.live_thing("web")["dsn"] == "user:t0ps3cret-value@db"
        report = await bench.check(declared)
        assert [item.verdict.status for item in report.checked] == [Status.IN_SYNC] * 2
        assert "t0ps3cret-value" not in repr([item.prepared for item in report.checked])
        digests = [
            digest
            for item in report.checked
            for digest in (item.state.declared.document, item.state.observed.document)
            if digest
        ]
        assert "t0ps3cret-value" not in repr(await bench.store.documents(digests))

    asyncio.run(whole())
