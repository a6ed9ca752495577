"""A watch checks every resource, whatever its neighbours in the file refer to; what it cannot check is not green."""

from __future__ import annotations

import asyncio
import functools
import json
from pathlib import Path

import yaml

from holdfast.errors import InputError
from holdfast.model.verdict import Status
from holdfast.reconcile.report import RunReport
from holdfast.watch.list_scan import ListScanner
from holdfast.watch.loop import ResyncLoop
from tests.acceptance.promises.watching import said, until, watch
from tests.acceptance.test_commands import run
from tests.unit.reconcile.fixtures import Bench, declare

ONE = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: NAME}
spec: {resource: {path: live/NAME.yaml, content: WHAT}}
"""


def document(name: str, content: str) -> str:
    return ONE.replace("NAME", name).replace("WHAT", content)


def project(folder: Path) -> None:
    (folder / "m").mkdir()
    (folder / "root").mkdir()
    (folder / "holdfast.yaml").write_text("connections: {local: {provider: file, root: ./root}}\n")
    (folder / "m/a.yaml").write_text(document("a", "{x: 1}"))
    (folder / "m/b.yaml").write_text(document("b", '{file: "${Document/a.path}"}') + "---\n" + document("c", "{k: 1}"))


def _is_live(folder: Path, name: str, content: object) -> bool:
    return live(folder, name) == content


def live(folder: Path, name: str) -> dict[str, object]:
    return yaml.safe_load((folder / f"root/live/{name}.yaml").read_text())


def test_a_neighbour_that_refers_to_another_file_does_not_stop_the_checks(tmp_path):
    project(tmp_path)
    assert run("apply", "-y", "-f", "m", cwd=tmp_path).returncode == 0
    with watch(tmp_path, "-f", "m", "--default-resync-period", "1s"):
        until(lambda: said(tmp_path).count("Checked") > 3, tmp_path, "the first checks")
        for name, was, now in (("c", "k: 1", "k: 2"), ("b", "live/a.yaml", "live/z.yaml")):
            file = tmp_path / f"root/live/{name}.yaml"
            before = live(tmp_path, name)
            file.write_text(file.read_text().replace(was, now))
            until(functools.partial(_is_live, tmp_path, name, before), tmp_path, f"the correction of {name}")
    assert "there is no resource" not in said(tmp_path)


def test_what_cannot_be_resolved_while_watching_is_unknown_and_told():
    async def whole() -> None:
        bench = Bench(lists=False)
        fleet = [declare(name, {"x": 1}, resyncPeriod="10m") for name in ("a", "b", "c")]
        await bench.apply(fleet)
        bench.clock.advance(3600)
        told: list[str] = []
        async with bench.world() as world:
            applier = bench.applier(world, fleet)

            async def correct(addresses) -> RunReport:
                if fleet[1].address in addresses:
                    raise InputError("${Thing/gone.id}: there is no resource Thing/gone")
                return await applier.apply(addresses)

            sweeper = ListScanner(bench.store, world, bench.clock, bench.random)
            watcher = ResyncLoop(bench.store, correct, bench.clock, bench.random, sweeper)
            watcher.complain = lambda error: told.append(str(error))
            await watcher.round()
        states = await bench.store.states([item.address for item in fleet])
        assert [states[item.address].observed.status for item in fleet] == [
            Status.IN_SYNC,
            Status.UNKNOWN,
            Status.IN_SYNC,
        ]
        broken = states[fleet[1].address]
        assert "there is no resource" in broken.observed.reason
        assert {str(c.type): str(c.status) for c in broken.observed.conditions}["Fresh"] == "False"
        assert broken.schedule.due_at is not None
        assert told

    asyncio.run(whole())


def test_a_resource_that_is_not_declared_any_more_is_shown_everywhere_and_never_fresh(tmp_path):
    project(tmp_path)
    assert run("apply", "-y", "-f", "m", cwd=tmp_path).returncode == 0
    (tmp_path / "m/b.yaml").write_text(document("b", '{file: "${Document/a.path}"}'))
    assert_not_declared(json.loads(run("status", "-o", "json", cwd=tmp_path).stdout))  # before any other command
    for command in ("plan", "check", "apply"):
        yes = ("-y",) if command == "apply" else ()
        assert "1 no longer declared: local/Document/c" in run(command, "-f", "m", *yes, cwd=tmp_path).stdout
        body = json.loads(run(command, "-f", "m", "-o", "json", *yes, cwd=tmp_path).stdout)
        assert [item["address"] for item in body["undeclared"]] == ["local/Document/c"]
    assert "no longer declared" in run("doctor", "-f", "m", cwd=tmp_path).stdout
    assert "1 no longer declared: local/Document/c" in run("watch", "-f", "m", "--rounds", "0", cwd=tmp_path).stdout
    shown = run("status", cwd=tmp_path).stdout
    (row,) = [line for line in shown.splitlines() if line.startswith("local/Document/c")]
    assert "not declared" in row
    assert "Fresh" not in row
    assert_not_declared(json.loads(run("status", "-o", "json", cwd=tmp_path).stdout))
    (tmp_path / "m/b.yaml").write_text(
        document("b", '{file: "${Document/a.path}"}') + "---\n" + document("c", "{k: 1}")
    )
    assert "no longer declared" not in run("check", "-f", "m", cwd=tmp_path).stdout
    assert json.loads(run("status", "-o", "json", cwd=tmp_path).stdout)["tally"] == {"in_sync": 3}


def assert_not_declared(body) -> None:
    (gone,) = [resource for resource in body["resources"] if resource["address"] == "local/Document/c"]
    assert (gone["status"], gone["stale"]) == ("not_declared", True)
    assert body["tally"] == {"in_sync": 2, "not_declared": 1}


def test_part_of_the_manifests_makes_nothing_undeclared_and_a_moved_declaration_neither(tmp_path):
    project(tmp_path)
    assert run("apply", "-y", "-f", "m", cwd=tmp_path).returncode == 0
    assert "no longer declared" not in run("check", "-f", "m/a.yaml", cwd=tmp_path).stdout
    (tmp_path / "m/c.yaml").write_text(document("c", "{k: 1}"))
    (tmp_path / "m/b.yaml").write_text(document("b", '{file: "${Document/a.path}"}'))
    assert json.loads(run("status", "-o", "json", cwd=tmp_path).stdout)["tally"] == {"in_sync": 3}
    assert "no longer declared" not in run("check", "-f", "m", cwd=tmp_path).stdout
    (tmp_path / "m/c.yaml").unlink()
    assert "1 no longer declared" in run("check", "-f", "m/a.yaml", cwd=tmp_path).stdout


def test_the_record_of_what_is_not_declared_can_be_dropped(tmp_path):
    project(tmp_path)
    assert run("apply", "-y", "-f", "m", cwd=tmp_path).returncode == 0
    refused = run("forget", "local/Document/c", cwd=tmp_path)
    assert (refused.returncode, "remove the declaration first" in refused.stderr) == (1, True)
    (tmp_path / "m/b.yaml").write_text(document("b", '{file: "${Document/a.path}"}'))
    assert run("forget", "local/Document/c", cwd=tmp_path).returncode == 0
    assert (tmp_path / "root/live/c.yaml").exists()
    assert "no longer declared" not in run("check", "-f", "m", cwd=tmp_path).stdout
