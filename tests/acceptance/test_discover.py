"""What is live and declared nowhere: counted, named, and written down such that declaring it changes nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.acceptance.test_commands import run

PROJECT = """\
connections:
  files: {{provider: file, root: live}}
  shop:
    provider: http
    base_url: {url}
    secrets: {{token: {{env: SHOP_TOKEN}}}}
    kinds:
      Widget:
        read: "/widgets/{{id}}"
        create: {{method: POST, path: /widgets, id: /id}}
        update: {{method: PATCH, path: "/widgets/{{id}}", body: merge}}
        delete: "/widgets/{{id}}"
        list: {{path: /widgets, items: /items, id: /id, next: {{pointer: /next}}}}
        etag: header
        conditional: true
        profile:
          rules:
            - {{path: /id, class: identity}}
            - {{path: /revision, class: read_only}}
            - {{path: /createdAt, class: read_only}}
            - {{path: /state, class: runtime}}
            - {{path: /size, default: medium}}
            - {{path: /apiSecret, class: secret}}
            - {{path: /tags, list: set}}
      Gadget:
        read: "/gadgets/{{id}}"
        create: {{method: POST, path: /gadgets, id: /id}}
        list: {{path: /gadgets, items: /items, id: /id, partial: true}}
      Gizmo:
        read: "/gizmos/{{id}}"
"""
SHAPE = {
    "stamps": ["id", "createdAt", "revision", "state"],
    "defaults": {"size": "medium"},
    "masked": ["pin"],
    "counted_ids": True,
    "page_size": 2,
}
WIDGETS = {
    f"w-{n}": {
        "name": name,
        "color": "red",
        "size": size,
        "tags": ["b", "a"],
        "apiSecret": "hunter22222",
        "pin": "1234",
        "note": "costs ${PRICE}, and $${more}",
        "on": "yes",
        "version": "1e3",
        "rules": [{"name": "ssh", "port": 22}],
        "echo": "Bearer tok-en-of-the-shop",
    }
    for n, name, size in ((1, "blue", "medium"), (2, "../green/..", "large"), (3, "blue", "medium"))
}
GADGETS = {"42": {"name": "one", "weight": 4}}
TOKEN = "tok-en-of-the-shop"


@pytest.fixture
def server() -> Iterator[str]:
    collections = {"widgets": SHAPE, "gadgets": {"stamps": ["id"]}}
    things = {"widgets": WIDGETS, "gadgets": GADGETS}
    arguments = ["--collections", json.dumps(collections), "--things", json.dumps(things)]
    command = [sys.executable, "-m", "holdfast.testing.rest_server", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
    process.terminate()
    process.wait(timeout=240)
    process.stdout.close()


@pytest.fixture
def folder(tmp_path: Path, server: str) -> Path:
    (tmp_path / "holdfast.yaml").write_text(PROJECT.format(url=server))
    live = tmp_path / "live"
    (live / "etc").mkdir(parents=True)
    (live / "etc/app.yaml").write_text("# kept\nlog: {level: info}\nhome: ${HOME}\nanswer: '42'\nnothing: null\n")
    (live / "etc/db.toml").write_text('host = "db"\npassword = "hunter33333"\n[pool]\nsize = 4\n')
    (live / "motd").write_text("PATH=${PATH}\nno newline at the end")
    (live / "key.pem").write_text("-----BEGIN PRIVATE KEY-----\nhunter44444\n-----END PRIVATE KEY-----\n")
    return tmp_path


def holdfast(folder: Path, *arguments: str, **environment: str):
    return run(*arguments, cwd=folder, **{"SHOP_TOKEN": TOKEN, **environment})


def declared(folder: Path) -> None:
    (folder / "infra").mkdir()
    (folder / "infra/all.yaml").write_text(
        "apiVersion: file.holdfast.dev/v1\nkind: Text\nmetadata: {name: app}\n"
        "spec: {connection: files, resource: {path: ./etc/app.yaml}}\n"
        "---\napiVersion: http.holdfast.dev/v1\nkind: Widget\nmetadata: {name: green}\n"
        "spec: {connection: shop, import: {filter: {color: red, size: large}}, resource: {color: red}}\n"
        "---\napiVersion: http.holdfast.dev/v1\nkind: Widget\nmetadata: {name: blue}\n"
        "spec: {connection: shop, import: {id: w-1}, resource: {color: red}}\n"
        "---\napiVersion: http.holdfast.dev/v1\nkind: Widget\nmetadata: {name: not-made-yet}\n"
        "spec: {connection: shop, resource: {color: red}}\n"
    )


def test_what_is_declared_in_any_way_is_told_from_what_is_declared_nowhere(folder):
    declared(folder)
    done = holdfast(folder, "discover", "-o", "json")
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    found = {(kind["connection"], kind["kind"]): kind for kind in body["kinds"]}
    assert found["files", "Document"]["undeclared"] == ["etc/db.toml"]  # the other one is declared, as a Text
    assert found["files", "Text"]["undeclared"] == ["key.pem", "motd"]
    assert found["shop", "Widget"]["undeclared"] == ["w-3"]
    assert body["coverage"] == {"live": 8, "declared": 3, "share": 0.375, "notCounted": 1}


def test_the_table_ends_with_the_coverage_and_names_what_was_not_counted(folder):
    declared(folder)
    done = holdfast(folder, "discover", NO_COLOR="1")
    assert "3 of 8 live things are declared: 37.5 %." in done.stdout
    assert "Not counted: shop/Gizmo, the provider cannot list this kind." in done.stdout
    assert "+ w-3" in done.stdout
    (gizmo,) = [line for line in done.stdout.splitlines() if line.split()[1:2] == ["Gizmo"]]
    assert gizmo.split() == ["shop", "Gizmo", "?", "?", "?", "not", "listed"]


def test_a_project_that_declares_nothing_yet_can_be_discovered(folder):
    done = holdfast(folder, "discover", "--connection", "files", "--kind", "Doc*", "-o", "yaml")
    assert done.returncode == 0, done.stderr
    body = yaml.safe_load(done.stdout)
    assert [kind["kind"] for kind in body["kinds"]] == ["Document"]
    assert body["coverage"]["declared"] == 0


@pytest.mark.parametrize("policy", ["observed", "managed"])
def test_what_is_written_is_in_sync_at_once_and_covers_everything(folder, policy):
    written = holdfast(folder, "discover", "--write", "found", "--policy", policy, "-o", "json")
    assert written.returncode == 0, written.stderr
    files = [item["file"] for item in json.loads(written.stdout)["written"]]
    assert len(files) == len(set(files)) == 8
    assert all((folder / file).is_file() for file in files)
    before = [(path, path.read_bytes()) for path in sorted((folder / "live").rglob("*")) if path.is_file()]
    planned = holdfast(folder, "plan", "-f", "found", "--detailed-exitcode", "-o", "json")
    assert planned.returncode == 0, planned.stdout + planned.stderr
    resources = json.loads(planned.stdout)["resources"]
    assert {(resource["status"], resource["action"]) for resource in resources} == {("in_sync", "adopt")}
    assert len(resources) == 8
    assert holdfast(folder, "apply", "-y", "-f", "found").returncode == 0
    assert holdfast(folder, "check", "-f", "found", "--detailed-exitcode").returncode == 0
    assert [(path, path.read_bytes()) for path, _ in before] == before
    body = json.loads(holdfast(folder, "discover", "-f", "found", "-o", "json").stdout)
    assert body["coverage"] == {"live": 8, "declared": 8, "share": 1.0, "notCounted": 1}


def test_secrets_defaults_and_what_only_the_service_sets_are_left_out(folder):
    done = holdfast(folder, "discover", "--write", "found")
    manifests = {path.name: path.read_text() for path in (folder / "found").rglob("*.yaml")}
    for secret in ("hunter22222", "hunter33333", "hunter44444", TOKEN, "1234"):
        assert not [name for name, text in manifests.items() if secret in text]
        assert secret not in done.stdout + done.stderr
    blue = yaml.safe_load(manifests["blue.yaml"])
    assert blue["spec"]["import"] == {"id": "w-1"}
    assert blue["spec"]["managementPolicy"] == "observed"
    assert set(blue["spec"]["resource"]) == {"name", "color", "tags", "note", "on", "version", "rules"}
    assert "# left out: /apiSecret (a secret)" in manifests["blue.yaml"]
    assert "# left out: /content/password (a secret, by its name)" in manifests["etc-db.toml.yaml"]
    assert yaml.safe_load(manifests["green.yaml"])["spec"]["resource"]["size"] == "large"


def test_names_are_safe_and_tell_things_of_the_same_name_apart(folder):
    holdfast(folder, "discover", "--write", "found", "--connection", "shop")
    names = sorted(path.relative_to(folder / "found").as_posix() for path in (folder / "found").rglob("*.yaml"))
    assert names == [
        "shop/Gadget/one.yaml",
        "shop/Widget/blue-2.yaml",
        "shop/Widget/blue.yaml",
        "shop/Widget/green.yaml",
    ]


def test_no_file_is_overwritten(folder):
    mine = folder / "found/shop/Widget/blue.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine\n")
    theirs = folder / "theirs.txt"
    theirs.write_text("theirs\n")
    (folder / "found/shop/Widget/green.yaml").symlink_to(theirs)
    done = holdfast(folder, "discover", "--write", "found", "--connection", "shop")
    assert mine.read_text() == "mine\n"
    assert theirs.read_text() == "theirs\n"
    assert done.stdout.count("is there already, and was left alone") == 2
    assert (folder / "found/shop/Widget/blue-2.yaml").exists()


def test_a_second_time_nothing_is_left_to_write(folder):
    holdfast(folder, "discover", "--write", "found")
    done = holdfast(folder, "discover", "-f", "found", "--write", "found")
    assert done.returncode == 0
    assert "8 of 8 live things are declared: 100.0 %." in done.stdout
    assert "Nothing was written." in done.stdout


def test_a_list_that_fails_is_reported_and_is_no_coverage(folder, server):
    project = folder / "holdfast.yaml"
    project.write_text(project.read_text().replace("path: /widgets, items", "path: /nowhere, items"))
    done = holdfast(folder, "discover", "--write", "found", "-o", "json")
    assert done.returncode == 1
    (widget,) = [kind for kind in json.loads(done.stdout)["kinds"] if kind["kind"] == "Widget"]
    assert (widget["listing"], widget["live"], widget["undeclared"]) == ("failed", None, None)
    assert "could not be listed" in widget["reason"]
    assert not (folder / "found/shop/Widget").exists()
    assert (folder / "found/files/Text/motd.yaml").exists()


def test_where_it_cannot_be_told_which_thing_is_declared_nothing_is_claimed(folder):
    declared(folder)
    manifest = folder / "infra/all.yaml"
    manifest.write_text(manifest.read_text().replace("path: ./etc/app.yaml", "path: motd/below"))
    done = holdfast(folder, "discover", "--connection", "files", "-o", "json")
    assert done.returncode == 1
    kinds = json.loads(done.stdout)["kinds"]
    assert {kind["listing"] for kind in kinds} == {"failed"}
    assert "files/Text/app is declared, and which live thing it is could not be told" in kinds[0]["reason"]


def test_files_that_are_holdfasts_own_or_elsewhere_are_not_discovered(tmp_path):
    (tmp_path / "holdfast.yaml").write_text("connections: {here: {provider: file, root: .}}\n")
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "outside").symlink_to("/etc/hostname")
    (tmp_path / "inside").symlink_to("a.txt")
    first = holdfast(tmp_path, "discover", "--write", "found", "-o", "json")
    assert first.returncode == 0, first.stderr
    assert [kind["undeclared"] for kind in json.loads(first.stdout)["kinds"]] == [[], ["a.txt", "inside"]]
    again = json.loads(holdfast(tmp_path, "discover", "-o", "json").stdout)
    assert again["coverage"]["share"] == 1.0


def test_a_file_that_is_no_text_is_counted_and_said_not_to_be_written(tmp_path):
    (tmp_path / "holdfast.yaml").write_text("connections: {here: {provider: file, root: live}}\n")
    (tmp_path / "live").mkdir()
    (tmp_path / "live/picture").write_bytes(b"\x89PNG\xff")
    done = holdfast(tmp_path, "discover", "--write", "found")
    assert done.returncode == 0
    assert "0 of 1 live things are declared: 0.0 %." in done.stdout
    assert "Not written: Text picture: 'picture': not UTF-8" in done.stdout


MISTAKES = {
    "no such connection": (("--connection", "shopp"), "there is no connection 'shopp'"),
    "no such kind": (("--kind", "Gnome"), "no kind of files, shop matches Gnome"),
}


@pytest.mark.parametrize("arguments, says", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_in_a_filter_is_said_and_not_taken_for_nothing_found(folder, arguments, says):
    done = holdfast(folder, "discover", *arguments)
    assert done.returncode == 1
    assert says in done.stderr


def test_without_a_project_nothing_is_guessed_and_nothing_written_for_an_implied_connection(tmp_path):
    assert "put the connections into a holdfast.yaml" in holdfast(tmp_path, "discover").stderr
    (tmp_path / "m.yaml").write_text(
        "apiVersion: file.holdfast.dev/v1\nkind: Text\nmetadata: {name: t}\nspec: {resource: {path: t}}\n"
    )
    (tmp_path / "other").write_text("x")
    looked = holdfast(tmp_path, "discover", "-f", "m.yaml")
    assert looked.returncode == 0
    assert "+ other" in looked.stdout
    refused = holdfast(tmp_path, "discover", "-f", "m.yaml", "--write", "found")
    assert refused.returncode == 1
    assert "name it in holdfast.yaml first" in refused.stderr
    assert not (tmp_path / "found").exists()


def test_a_secret_of_the_connection_that_is_missing_is_said_before_anything_is_asked(folder):
    done = run("discover", cwd=folder)
    assert done.returncode == 1
    assert "SHOP_TOKEN" in done.stderr
    assert "Traceback" not in done.stderr
