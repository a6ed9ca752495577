"""The project is that of the manifests, and nothing depends on the folder a command is given in."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.test_commands import run

MANIFEST = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: app}
spec: {connection: CONNECTION, resource: {path: app.yaml, content: {level: info}}}
"""


def manifest(connection: str = "local") -> str:
    return MANIFEST.replace("CONNECTION", connection)


def verdict(done) -> str:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["resources"][0]["status"]


def test_without_a_project_file_the_store_is_beside_the_manifests(tmp_path):
    home, elsewhere = tmp_path / "p1", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    (home / "m.yaml").write_text(manifest())
    assert run("apply", "-f", "m.yaml", "-y", cwd=home).returncode == 0
    (home / "app.yaml").write_text("level: debug\n")
    found = [
        verdict(run("check", "-f", name, "-o", "json", cwd=cwd))
        for name, cwd in (
            ("m.yaml", home),
            ("p1/m.yaml", tmp_path),
            (str(home), elsewhere),
            ("../p1/*.yaml", elsewhere),
        )
    ]
    assert found == ["drifted"] * 4
    assert not (tmp_path / ".holdfast").exists()
    assert not (elsewhere / ".holdfast").exists()


def test_the_project_file_above_the_manifests_is_found_from_anywhere(tmp_path):
    (tmp_path / "p/infra").mkdir(parents=True)
    (tmp_path / "p/root").mkdir()
    (tmp_path / "p/holdfast.yaml").write_text("connections: {shop: {provider: file, root: root}}\n")
    (tmp_path / "p/infra/m.yaml").write_text(manifest("shop"))
    assert run("apply", "-f", "p/infra", "-y", cwd=tmp_path).returncode == 0
    assert (tmp_path / "p/root/app.yaml").exists()
    assert (tmp_path / "p/.holdfast/holdfast.db").exists()
    (tmp_path / "p/root/app.yaml").write_text("level: debug\n")
    for name, cwd in (("p/infra", tmp_path), ("infra/m.yaml", tmp_path / "p"), (".", tmp_path / "p/infra")):
        assert verdict(run("check", "-f", name, "-o", "json", cwd=cwd)) == "drifted"
    for command in ("status", "history", "corrections"):
        assert "shop/Document/app" in run(command, "-f", "p/infra", cwd=tmp_path).stdout


def test_manifests_of_several_projects_are_refused(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "holdfast.yaml").write_text("connections: {shop: {provider: file, root: .}}\n")
        (tmp_path / name / "m.yaml").write_text(manifest("shop"))
    done = run("check", "-f", "a", "-f", "b", cwd=tmp_path)
    assert done.returncode == 1
    assert "several projects" in done.stderr
    assert "a/holdfast.yaml" in done.stderr
    assert "b/holdfast.yaml" in done.stderr


def test_the_project_of_the_working_folder_is_not_taken_for_manifests_outside_it(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "p/holdfast.yaml").write_text("connections: {shop: {provider: file, root: .}}\n")
    (tmp_path / "other/m.yaml").write_text(manifest("shop"))
    done = run("check", "-f", "../other/m.yaml", cwd=tmp_path / "p")
    assert done.returncode == 1
    assert "--project holdfast.yaml" in done.stderr
    named = run("check", "-f", "../other/m.yaml", "--project", "holdfast.yaml", cwd=tmp_path / "p")
    assert named.returncode == 0, named.stderr


@pytest.mark.parametrize("named", [True, False], ids=["with-a-project-file", "without"])
def test_an_unknown_connection_is_told_without_naming_a_file_that_is_not_there(tmp_path, named):
    if named:
        (tmp_path / "holdfast.yaml").write_text("connections: {api: {provider: file, root: .}}\n")
    (tmp_path / "m.yaml").write_text(manifest("shop"))
    done = run("check", "-f", "m.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert "there is no connection 'shop'" in done.stderr
    assert ("holdfast.yaml has" in done.stderr) is named
