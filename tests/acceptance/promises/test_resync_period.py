"""resyncPeriod 0 means leave it alone; without any a watch checks every ten minutes; what it does not check it says."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import yaml

from holdfast.model.decision import Action
from holdfast.model.resource import Import
from tests.acceptance.promises.watching import said, until, watch
from tests.acceptance.test_commands import run
from tests.unit.reconcile.fixtures import Bench, declare

ONE = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: NAME}
spec: {managedOptions: {OPTIONS}, resource: {path: live/NAME.yaml, content: {k: 1}}}
"""


def manifests(folder: Path, **options: str) -> None:
    for name, option in options.items():
        (folder / f"{name}.yaml").write_text(ONE.replace("NAME", name).replace("OPTIONS", option))


def live(folder: Path, name: str) -> int:
    return yaml.safe_load((folder / f"live/{name}.yaml").read_text())["k"]


def drift(folder: Path, name: str) -> None:
    (folder / f"live/{name}.yaml").write_text("k: 7\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m").mkdir()
    manifests(tmp_path / "m", left="resyncPeriod: 0", kept="resyncPeriod: 1h", plain="")
    (tmp_path / "holdfast.yaml").write_text("connections: {local: {provider: file, root: .}}\n")
    assert run("apply", "-y", "-f", "m", cwd=tmp_path).returncode == 0
    return tmp_path


def test_neither_a_restart_of_watch_nor_an_edit_elsewhere_touches_a_resource_with_period_0(folder):
    for name in ("left", "kept", "plain"):
        drift(folder, name)
    shown = run("watch", "-f", "m", "--rounds", "0", cwd=folder).stdout
    assert [live(folder, name) for name in ("left", "kept", "plain")] == [7, 1, 1]
    assert "1 of 3 not checked by watch, resyncPeriod is 0: local/Document/left" in shown
    assert "1 of 3 set no resyncPeriod: checked every 10m" in shown
    with watch(folder, "-f", "m"):
        until(lambda: "not checked by watch" in said(folder), folder, "the first pass")
        drift(folder, "kept")
        manifests(folder / "m", other="resyncPeriod: 1h")
        until(lambda: live(folder, "kept") == 1, folder, "the pass after the edit")
        assert live(folder, "left") == 7
        (folder / "m/left.yaml").write_text((folder / "m/left.yaml").read_text().replace("{k: 1}", "{k: 2}"))
        until(lambda: live(folder, "left") == 2, folder, "the edit of its own declaration")


def test_what_sets_no_period_is_scheduled_by_watch_and_stays_so_when_somebody_applies(folder):
    assert period(folder, "plain") == 0
    run("watch", "-f", "m", "--rounds", "0", cwd=folder)
    assert [period(folder, name) for name in ("left", "kept", "plain")] == [0, 3600, 600]
    run("apply", "-y", "-f", "m", cwd=folder)
    run("check", "-f", "m", cwd=folder)
    assert [period(folder, name) for name in ("left", "kept", "plain")] == [0, 3600, 600]


def period(folder: Path, name: str) -> float:
    shown = yaml.safe_load(run("status", f"local/Document/{name}", "-o", "yaml", cwd=folder).stdout)
    return shown["resources"][0]["resyncSeconds"]


def test_apply_recreates_what_was_deleted_after_plan_said_so_unless_told_otherwise(folder):
    manifests(folder / "m", never="recreate: never")
    run("apply", "-y", "-f", "m", cwd=folder)
    for file in (folder / "live").glob("*.yaml"):
        file.unlink()
    planned = run("plan", "-f", "m", cwd=folder).stdout
    assert "2 to add" in planned
    assert "2 added" in run("apply", "-y", "-f", "m", cwd=folder).stdout
    assert sorted(file.stem for file in (folder / "live").glob("*.yaml")) == ["kept", "plain"]


def test_what_was_imported_is_never_recreated():
    async def whole() -> None:
        bench = Bench()
        bench.live.things["Thing", "id-a"] = {"name": "a", "color": "red"}
        fleet = [declare("a", {"color": "red"}, import_from=Import(id="id-a"))]
        await bench.apply(fleet)
        bench.live.things.clear()
        report = await bench.apply(fleet)
        assert report.checked[0].decision.action is Action.BLOCK
        assert bench.live.things == {}

    asyncio.run(whole())
