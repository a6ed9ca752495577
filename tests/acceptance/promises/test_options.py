"""Every command takes only the options that it honours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from holdfast.cli import command_group
from tests.acceptance.test_commands import run as run_apart

RESOURCES = ("one", "two")
MANIFEST = "---\n".join(
    f"apiVersion: file.holdfast.dev/v1\nkind: Document\nmetadata: {{name: {name}, labels: {{which: {name}}}}}\n"
    f"spec: {{connection: here, resource: {{path: live/{name}.yaml, content: {{level: info}}}}}}\n"
    for name in RESOURCES
)
ONE, TWO = (f"here/Document/{name}" for name in RESOURCES)

# How each command is given, and whether it is about several resources, of which --target and -l leave some.
SEVERAL = {
    "plan": ("plan", "--all"),
    "check": ("check", "--all"),
    "apply": ("apply", "-y"),
    "delete": ("delete", "-y"),
    "approve": ("approve", "--all", "-y"),
    "upgrade-check": ("upgrade-check",),
    "watch": ("watch", "--rounds", "0"),
    "status": ("status",),
    "history": ("history",),
    "corrections": ("corrections",),
    "events": ("events",),
    "write-stats": ("write-stats", "-o", "json"),
    "contention": ("contention",),
}
# What does not name the resources that it is about; that it leaves the others alone is shown below.
SILENT = {"approve", "upgrade-check", "watch", "contention"}
SCOPING = {"--target", "--selector"}
RESYNC = {"plan", "check", "apply", "watch", "approve", "explain"}
PLACES = {"--file", "--project", "--store"}
PLACELESS = {
    *("hash", "diff", "bench", "bench verdicts", "bench hash", "demo", "rollout", "remediation", "audit"),
    *("store", "store copy"),
}


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(command_group.cli)
    for name in command_group.cli.list_commands(context):
        command = command_group.cli.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            for part in command.list_commands(context):
                below = command.get_command(context, part)
                assert below is not None
                yield f"{name} {part}", below


def options_of(command: click.Command) -> set[str]:
    return {
        name for param in command.params if isinstance(param, click.Option) for name in param.opts if name[:2] == "--"
    }


def project(folder: Path) -> Path:
    (folder / "infra").mkdir(parents=True)
    (folder / "holdfast.yaml").write_text("connections: {here: {provider: file, root: .}}\n")
    (folder / "infra/m.yaml").write_text(MANIFEST)
    return folder


@pytest.fixture
def told(capsys, monkeypatch):
    """Run a command in this process; return its exit code and all that it printed."""

    def run(folder: Path, *arguments: str) -> tuple[int, str]:
        monkeypatch.chdir(folder)
        capsys.readouterr()
        code = command_group._outcome(list(arguments))
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return run


@pytest.fixture
def drifted(tmp_path, told):
    folder = project(tmp_path / "p")
    assert told(folder, "apply", "-y")[0] == 0
    for name in RESOURCES:
        (folder / f"live/{name}.yaml").write_text("level: debug\n")
    assert told(folder, "apply", "-y")[0] == 0
    for name in RESOURCES:
        (folder / f"live/{name}.yaml").write_text("level: debug\n")
    return folder


def test_scoping_is_offered_by_the_commands_about_several_resources_and_by_no_other():
    assert {name for name, command in commands() if SCOPING & options_of(command)} == set(SEVERAL)
    assert all(options_of(command) >= SCOPING for name, command in commands() if name in SEVERAL)


def test_the_default_period_is_offered_where_it_decides_something():
    found = {name for name, command in commands() if "--default-resync-period" in options_of(command)}
    assert found == RESYNC


def test_every_command_about_a_project_says_which_one_in_the_same_words():
    found = {name for name, command in commands() if not options_of(command) >= PLACES}
    assert found == PLACELESS & {name for name, _ in commands()}


@pytest.mark.parametrize("scoping", [("--target", ONE), ("-l", "which=one")], ids=["target", "selector"])
@pytest.mark.parametrize("name", sorted(SEVERAL))
def test_a_scope_leaves_the_others_out(drifted, told, name, scoping):
    code, printed = told(drifted, *SEVERAL[name], *scoping)
    assert code == 0, printed
    assert TWO not in printed
    assert name in SILENT or ONE in printed or json.loads(printed)["types"][0]["writes"] == 2
    assert (drifted / "live/two.yaml").read_text() == "level: debug\n"


@pytest.mark.parametrize("name", sorted(set(SEVERAL) - {"events", "write-stats"}))
def test_a_target_that_matches_nothing_is_a_mistake(drifted, told, name):
    code, printed = told(drifted, *SEVERAL[name], "--target", "here/Document/oen")
    assert code == 1
    assert "matches no resource; did you mean" in printed
    assert (drifted / "live/one.yaml").read_text() == "level: debug\n"


def test_status_counts_what_was_asked_for(drifted, told):
    told(drifted, "check")
    body = json.loads(told(drifted, "status", "--target", ONE, "-o", "json")[1])
    assert body["total"] == 1
    assert [resource["address"] for resource in body["resources"]] == [ONE]
    assert "1 resource" in told(drifted, "status", ONE)[1]


@pytest.mark.parametrize("arguments", [("pause", "--why", "x"), ("resume",)], ids=["pause", "resume"])
@pytest.mark.parametrize("scoping", [("--target", ONE), ("-l", "which=one")], ids=["target", "selector"])
def test_a_pause_is_scoped_by_its_argument_and_refuses_what_would_be_ignored(drifted, told, arguments, scoping):
    code, printed = told(drifted, *arguments, *scoping)
    assert code == command_group.USAGE
    assert "No such option" in printed


def test_a_pause_of_one_resource_holds_this_one_and_ends_alone(drifted, told):
    assert told(drifted, "pause", "--why", "incident")[0] == 0
    assert told(drifted, "pause", ONE, "--why", "only one")[0] == 0
    assert told(drifted, "resume", ONE)[0] == 0
    assert "Paused: everything" in told(drifted, "status")[1]
    assert told(drifted, "resume")[0] == 0
    assert told(drifted, "pause", ONE, "--why", "only one")[0] == 0
    told(drifted, "apply", "-y")
    assert (drifted / "live/one.yaml").read_text() == "level: debug\n"
    assert (drifted / "live/two.yaml").read_text() == "level: info\n"


@pytest.mark.parametrize("name", ["plan", "check", "apply", "watch"])
def test_the_default_period_is_remembered(drifted, told, name):
    told(drifted, *SEVERAL[name], "--default-resync-period", "17m")
    body = json.loads(told(drifted, "status", "-o", "json")[1])
    assert {resource["resyncSeconds"] for resource in body["resources"]} == {1020.0}


def test_explain_says_that_a_period_came_from_the_flag(drifted, told):
    printed = told(drifted, "explain", ONE, "-f", "infra", "--settings", "--default-resync-period", "17m")[1]
    assert "resyncPeriod = 17m" in printed


def test_the_place_of_a_project_may_be_said_in_three_ways(drifted, told, tmp_path):
    """Every command of the store answers the same from another folder, whichever way it is told which project."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("status", "history", "corrections", "events", "write-stats", "contention", "audit"):
        given = ("audit", "verify") if name == "audit" else SEVERAL[name]
        here = told(drifted, *given, *(("-o", "json") if name == "status" else ()))
        for place in (
            ("-f", str(drifted / "infra")),
            ("--project", str(drifted / "holdfast.yaml")),
            ("--store", str(drifted / ".holdfast/holdfast.db")),
        ):
            there = told(elsewhere, *given, *(("-o", "json") if name == "status" else ()), *place)
            assert there == here, name
    assert list(elsewhere.iterdir()) == []


def test_the_commands_of_the_findings(tmp_path):
    folder = project(tmp_path / "p")
    assert run_apart("apply", "-f", "infra", "-y", cwd=folder).returncode == 0
    assert run_apart("pause", "-f", "infra", "--why", "incident", cwd=folder).returncode == 0
    assert run_apart("resume", "-f", "infra", "--target", ONE, cwd=folder).returncode == command_group.USAGE
    assert "Paused: everything" in run_apart("status", "-f", "infra", cwd=folder).stdout
    assert (
        run_apart("pause", "-f", "infra", "--target", ONE, "--why", "only", cwd=folder).returncode
        == command_group.USAGE
    )
