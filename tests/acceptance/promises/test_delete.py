"""delete takes what was chosen and what needs it, never what it needs; and nothing under what stays."""

from __future__ import annotations

import pytest

from tests.acceptance.test_commands import run

MANIFEST = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: shared, labels: {env: prod}}
spec: {resource: {path: live/shared.yaml, content: {x: 1}}}
---
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: dev, labels: {env: dev}}
spec: {resource: {path: live/dev.yaml, content: {uses: "${Document/shared.path}"}}}
---
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: prod, labels: {env: prod}}
spec: {resource: {path: live/prod.yaml, content: {uses: "${Document/shared.path}"}}}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "m.yaml").write_text(MANIFEST)
    assert run("apply", "-f", "m.yaml", "-y", cwd=tmp_path).returncode == 0
    return tmp_path


def live(folder):
    return sorted(file.stem for file in (folder / "live").glob("*.yaml"))


@pytest.mark.parametrize("choice", [("-l", "env=dev"), ("--target", "local/Document/dev")], ids=["label", "target"])
def test_delete_leaves_what_the_chosen_resource_needs(folder, choice):
    done = run("delete", "-f", "m.yaml", *choice, "--yes", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "shared" not in done.stdout
    assert live(folder) == ["prod", "shared"]


def test_delete_refuses_to_take_a_dependency_from_under_live_dependents(folder):
    done = run("delete", "-f", "m.yaml", "--target", "local/Document/shared", "--yes", cwd=folder)
    assert done.returncode == 1
    assert "local/Document/dev" in done.stderr
    assert "local/Document/prod" in done.stderr
    assert "--with-dependents" in done.stderr
    assert live(folder) == ["dev", "prod", "shared"]


def test_delete_refuses_a_label_selection_that_leaves_dependents_behind(folder):
    done = run("delete", "-f", "m.yaml", "-l", "env=prod", "--yes", cwd=folder)
    assert done.returncode == 1
    assert "local/Document/dev" in done.stderr
    assert live(folder) == ["dev", "prod", "shared"]


def test_delete_takes_the_dependents_as_well_when_told_to(folder):
    arguments = ("delete", "-f", "m.yaml", "--target", "local/Document/shared", "--with-dependents", "--yes")
    done = run(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert live(folder) == []
    assert "Delete: 3 deleted or detached." in done.stdout


def test_a_dependent_that_never_came_to_be_holds_nothing_back(folder):
    run("delete", "-f", "m.yaml", "-l", "env=dev", "--yes", cwd=folder)
    run("delete", "-f", "m.yaml", "--target", "local/Document/prod", "--yes", cwd=folder)
    assert run("delete", "-f", "m.yaml", "--target", "local/Document/shared", "--yes", cwd=folder).returncode == 0
    assert live(folder) == []


def test_dependents_of_other_manifests_are_known_from_the_store(tmp_path):
    first, rest = MANIFEST.split("---\n", 1)
    (tmp_path / "holdfast.yaml").write_text("connections: {local: {provider: file, root: .}}\n")
    (tmp_path / "a.yaml").write_text(first)
    (tmp_path / "b.yaml").write_text(rest)
    assert run("apply", "-f", ".", "-y", cwd=tmp_path).returncode == 0
    done = run("delete", "-f", "a.yaml", "--yes", cwd=tmp_path)
    assert done.returncode == 1
    assert "local/Document/prod" in done.stderr
    assert live(tmp_path) == ["dev", "prod", "shared"]


def test_delete_without_a_terminal_insists_on_yes(folder):
    done = run("delete", "-f", "m.yaml", cwd=folder)
    assert done.returncode == 1
    assert "--yes" in done.stderr
    assert live(folder) == ["dev", "prod", "shared"]
