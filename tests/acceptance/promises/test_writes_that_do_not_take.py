"""An edit that the service ignores, or that a read does not show yet, is never taken for the service's own value."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.model.decision import Action
from holdfast.model.resource import Import
from holdfast.model.verdict import Status
from holdfast.store.governance import CorrectionOutcome
from holdfast.testing.rest_server import Shape
from tests.acceptance.promises import serving
from tests.acceptance.test_commands import run
from tests.unit.reconcile.fixtures import Bench, declare


def ignoring(bench: Bench, **kept) -> None:
    """Let the service answer well and keep some fields as they are."""

    def restore(_verb: str) -> None:
        bench.live_thing("a").update(kept)

    bench.live.after_write = restore


class Lagging:
    """A world whose reads show what was there some seconds ago."""

    def __init__(self, bench: Bench, seconds: float) -> None:
        self.bench, self.seconds = bench, seconds
        self.now: dict | None = None
        self.until = 0.0
        bench.live.before_write = self.remember
        bench.live.after_write = self.hide
        bench.live.faults.append(self.show)

    def remember(self, _verb: str) -> None:
        self.old = json.loads(json.dumps(self.bench.live_thing("a")))

    def hide(self, _verb: str) -> None:
        ident = self.bench.id_of("a")
        self.now, self.until = self.bench.live.things["Thing", ident], self.bench.clock.now() + self.seconds
        self.bench.live.things["Thing", ident] = self.old

    def show(self, _call: str):
        if self.now is not None and self.bench.clock.now() >= self.until:
            self.bench.live.things["Thing", self.bench.id_of("a")] = self.now
            self.now = None


@pytest.mark.parametrize("patches", [True, False])
@pytest.mark.parametrize("conditional", [True, False])
def test_an_ignored_edit_is_told_and_never_a_baseline(patches, conditional):
    async def story():
        bench = Bench(patches=patches, conditional=conditional)
        blue = declare("a", {"color": "blue", "size": 1})
        await bench.apply([blue])
        ignoring(bench, color="blue")
        red = replace(blue, desired={"color": "red", "size": 1})
        (acted,) = (await bench.apply([red])).acted
        assert acted.unresolved == ("/color",)
        assert "did not take" in acted.message
        state = await bench.store.state(red.address)
        assert state is not None
        assert state.observed.status is Status.DRIFTED
        (correction, *_) = await bench.store.corrections([red.address])
        assert correction.outcome is CorrectionOutcome.INEFFECTIVE
        for _ in range(3):
            bench.clock.advance(3600)
            (checked,) = (await bench.apply([red])).checked
            assert (checked.verdict.status, checked.decision.action) == (Status.DRIFTED, Action.REPORT)
        assert sum(verb == "update" for verb, _, _ in bench.live.writes) == 1
        bench.live.after_write = lambda _verb: None
        green = replace(blue, desired={"color": "green", "size": 1})
        await bench.apply([green])
        assert bench.live_thing("a")["color"] == "green"

    asyncio.run(story())


def test_an_ignored_change_of_an_import_is_told():
    async def story():
        bench = Bench()
        bench.live.things["Thing", "id-x"] = {"color": "blue", "name": "a"}
        ignoring(bench, color="blue")
        thing = declare("a", {"color": "red"}, import_from=Import(id="id-x"))
        (acted,) = (await bench.apply([thing])).acted
        assert acted.unresolved == ("/color",)
        (checked,) = (await bench.check([thing])).checked
        assert checked.verdict.status is Status.DRIFTED

    asyncio.run(story())


def test_an_element_that_stays_though_it_is_declared_no_more_is_told():
    async def story():
        bench = Bench()
        both = declare("a", {"ports": [80, 22]})
        await bench.apply([both])
        ignoring(bench, ports=[80, 22])
        one = replace(both, desired={"ports": [80]})
        (acted,) = (await bench.apply([one])).acted
        assert acted.unresolved
        (checked,) = (await bench.check([one])).checked
        assert checked.verdict.status is Status.DRIFTED

    asyncio.run(story())


def test_a_default_that_an_edit_was_to_change_and_did_not_is_told():
    async def story():
        bench = Bench()
        bench.live.defaults = {"tier": "basic"}
        plain = declare("a", {"color": "red"})
        await bench.apply([plain])
        ignoring(bench, tier="basic")
        (acted,) = (await bench.apply([replace(plain, desired={"color": "red", "tier": "premium"})])).acted
        assert acted.unresolved == ("/tier",)

    asyncio.run(story())


def test_what_the_service_has_always_overridden_is_still_its_own():
    async def story():
        bench = Bench()
        bench.live.after_write = lambda _verb: bench.live_thing("a").update(size=10)  # rounded up
        seven = declare("a", {"size": 7})
        await bench.apply([seven])
        (acted,) = (await bench.apply([replace(seven, desired={"size": 8})])).acted
        assert acted.unresolved == ()
        (checked,) = (await bench.check([replace(seven, desired={"size": 8})])).checked
        assert checked.verdict.status is Status.IN_SYNC

    asyncio.run(story())


@pytest.mark.parametrize("seconds", [0.5, 3.0, 6.0])
def test_a_read_that_lags_teaches_nothing_and_who_restores_the_old_value_later_is_seen(seconds):
    async def story():
        bench = Bench()
        blue = declare("a", {"color": "blue"})
        await bench.apply([blue])
        Lagging(bench, seconds)
        red = replace(blue, desired={"color": "red"})
        (acted,) = (await bench.apply([red])).acted
        assert acted.unresolved == ()
        assert acted.message == "as declared"
        bench.clock.advance(600)
        assert bench.live_thing("a")["color"] == "red"
        bench.live_thing("a")["color"] = "blue"
        (checked,) = (await bench.check([red])).checked
        assert checked.verdict.status is Status.DRIFTED
        await bench.apply([red])
        bench.clock.advance(600)
        assert (await bench.check([red])).checked[0].verdict.status is Status.IN_SYNC

    asyncio.run(story())


def test_what_took_after_all_and_is_moved_again_later_is_put_back():
    async def story():
        bench = Bench()
        blue = declare("a", {"color": "blue"})
        await bench.apply([blue])
        Lagging(bench, 60.0)
        red = replace(blue, desired={"color": "red"})
        (acted,) = (await bench.apply([red])).acted
        assert acted.unresolved == ("/color",)
        bench.clock.advance(600)
        assert (await bench.check([red])).checked[0].verdict.status is Status.IN_SYNC
        bench.live.before_write = bench.live.after_write = lambda _verb: None
        bench.live_thing("a")["color"] = "blue"
        for _ in range(2):
            bench.clock.advance(10)
            assert (await bench.check([red])).checked[0].verdict.status is Status.DRIFTED
        await bench.apply([red])
        assert bench.live_thing("a")["color"] == "red"

    asyncio.run(story())


def test_a_failed_read_in_between_does_not_make_us_repeat_a_write_in_vain():
    from holdfast.testing.memory import UNREACHABLE

    async def story():
        bench = Bench()
        blue = declare("a", {"color": "blue"})
        await bench.apply([blue])
        ignoring(bench, color="blue")
        red = replace(blue, desired={"color": "red"})
        await bench.apply([red])
        bench.live.faults.append(lambda _call: UNREACHABLE)
        assert (await bench.check([red])).checked[0].verdict.status is Status.UNKNOWN
        bench.live.faults.clear()
        await bench.apply([red])
        assert sum(verb == "update" for verb, _, _ in bench.live.writes) == 1

    asyncio.run(story())


NETWORK = """\
apiVersion: http.holdfast.dev/v1
kind: Network
metadata: {name: net}
spec: {connection: api, resource: {name: net, color: %s}}
"""


def project(folder: Path, url: str, color: str) -> None:
    (folder / "holdfast.yaml").write_text("connections:\n" + serving.connection("api", url))
    (folder / "m.yaml").write_text(NETWORK % color)


def test_apply_fails_and_check_and_status_tell_where_an_api_accepts_an_edit_and_ignores_it(tmp_path: Path):
    with serving.served({"networks": Shape(stamps=("id",), deaf_to=("color",))}) as server:
        project(tmp_path, server.url, "blue")
        assert run("apply", "-y", "-f", "m.yaml", cwd=tmp_path).returncode == 0
        project(tmp_path, server.url, "red")
        applied = run("apply", "-y", "-f", "m.yaml", cwd=tmp_path)
        assert applied.returncode == 1, applied.stdout
        assert "written, but /color did not take" in applied.stdout
        checked = run("check", "-f", "m.yaml", "--detailed-exitcode", cwd=tmp_path)
        assert checked.returncode == 4, checked.stdout
        assert "drifted" in run("status", "-f", "m.yaml", cwd=tmp_path).stdout


def test_who_restores_the_old_value_after_an_edit_that_reads_showed_late_is_found(tmp_path: Path):
    with serving.served({"networks": Shape(stamps=("id",))}) as server:
        project(tmp_path, server.url, "blue")
        assert run("apply", "-y", "-f", "m.yaml", cwd=tmp_path).returncode == 0
        project(tmp_path, server.url, "red")
        networks = server.collections["networks"]
        networks.shape = replace(networks.shape, lag_reads=3)
        applied = run("apply", "-y", "-f", "m.yaml", cwd=tmp_path)
        assert (applied.returncode, "as declared" in applied.stdout) == (0, True), applied.stdout
        networks.edit(networks.ids()[0], lambda document: document.update(color="blue"))
        checked = run("check", "-f", "m.yaml", "--detailed-exitcode", cwd=tmp_path)
        assert (checked.returncode, "drifted" in checked.stdout) == (4, True), checked.stdout
