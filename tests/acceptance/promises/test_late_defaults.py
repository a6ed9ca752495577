"""What appears after our write: on a file somebody put it there; elsewhere a late default is told once, and joins."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holdfast.model.verdict import Status, SuppressionReason
from holdfast.policy.correction_limits import CorrectionRules
from holdfast.policy.waivers import Waiver
from holdfast.reconcile.policy_evaluation import PolicyRules
from tests.acceptance.folders import Folder
from tests.unit.reconcile.fixtures import Bench, declare

APP = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: app}
spec:
  connection: fleet
  resource:
    path: app.yaml
    content: {log: {level: info}, workers: 4}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.write(APP)
    made("apply", "-y")
    return made


def append(folder: Folder, text: str) -> None:
    with (folder.path / "fleet/app.yaml").open("a") as live:
        live.write(text)


def test_a_key_that_somebody_adds_to_a_file_right_after_our_write_is_drift(folder: Folder):
    folder("check")
    append(folder, "backdoor: true\n")
    said = folder("check", code=None)
    assert "drifted" in said
    assert "/content/backdoor" in said
    said = folder("check", code=None)
    assert "/content/backdoor" in said, "and it stays so"
    live = folder.path / "fleet/app.yaml"
    live.write_text(live.read_text().replace("backdoor: true\n", ""))
    assert "1 in sync" in folder("check")


def test_keys_added_together_with_the_drift_that_is_corrected_are_not_absorbed(folder: Folder):
    live = folder.path / "fleet/app.yaml"
    live.write_text(live.read_text().replace("info", "debug").replace("workers", "shell: /bin/sh\nworkers"))
    append(folder, "evil2: 1\n")
    folder("apply", "-y", code=None)
    assert folder.files()["app"]["log"]["level"] == "info"
    said = folder("check", code=None)
    assert "/content/shell" in said
    assert "/content/evil2" in said


def late(bench: Bench, name: str = "a") -> None:
    bench.live_thing(name)["etc"] = "filled in"


def started(**options) -> tuple[Bench, list]:
    bench = Bench(**options)
    fleet = [declare("a", {"color": "red"})]
    asyncio.run(bench.apply(fleet))
    bench.clock.advance(30)
    return bench, fleet


async def told(bench: Bench, kind: str) -> list:
    return [event.event async for event in bench.store.events(type_prefix=kind)]


def test_a_late_default_joins_once_and_is_told_when_it_does():
    bench, fleet = started()
    late(bench)

    async def story():
        (checked,) = (await bench.check(fleet)).checked
        assert checked.verdict.status is Status.IN_SYNC
        assert [(item.because, item.path) for item in checked.verdict.suppressed] == [(SuppressionReason.LATE, "/etc")]
        (event,) = await told(bench, "baseline.joined")
        assert event.data["defaults"] == [{"path": "/etc", "value": "filled in"}]
        bench.clock.advance(3600)
        (checked,) = (await bench.check(fleet)).checked
        assert (checked.verdict.status, checked.verdict.suppressed) == (Status.IN_SYNC, ())
        bench.live_thing("a")["etc"] = "moved"
        (checked,) = (await bench.check(fleet)).checked
        assert checked.verdict.status is Status.DRIFTED

    asyncio.run(story())


def test_what_somebody_else_wrote_is_no_default():
    bench, fleet = started()
    late(bench)
    bench.live.actors["Thing", bench.id_of("a")] = "mallory"
    (checked,) = asyncio.run(bench.check(fleet)).checked
    assert checked.verdict.status is Status.DRIFTED
    assert asyncio.run(told(bench, "baseline.joined")) == []


def test_nothing_joins_beside_drift_nor_after_its_correction():
    bench, fleet = started(patches=True)
    late(bench)
    bench.live_thing("a")["color"] = "black"

    async def story():
        (checked,) = (await bench.apply(fleet)).checked
        assert {finding.path for finding in checked.verdict.findings} == {("color",), ("etc",)}
        assert bench.live_thing("a")["color"] == "red"
        for _ in range(3):
            bench.clock.advance(20)
            (checked,) = (await bench.apply(fleet)).checked
            assert [finding.path for finding in checked.verdict.findings] == [("etc",)]
        assert await told(bench, "baseline.joined") == []

    asyncio.run(story())


def test_what_is_waived_is_not_learnt_by_a_write_and_counts_again_afterwards():
    bench, fleet = started(patches=True)
    bench.clock.advance(3600)
    waiver = Waiver("mem/Thing/a", "/etc", "ada", "for now", bench.clock.now() + 1000)
    bench.rules = PolicyRules(CorrectionRules(mass_drift=None), waivers=(waiver,))
    late(bench)
    bench.live_thing("a")["color"] = "black"

    async def story():
        await bench.apply(fleet)
        state = await bench.store.state(fleet[0].address)
        assert state is not None
        assert state.observed.status is Status.IN_SYNC
        (checked,) = (await bench.check(fleet)).checked
        assert checked.verdict.status is Status.IN_SYNC
        bench.clock.advance(2000)
        (checked,) = (await bench.check(fleet)).checked
        assert [finding.path for finding in checked.verdict.findings] == [("etc",)]

    asyncio.run(story())
