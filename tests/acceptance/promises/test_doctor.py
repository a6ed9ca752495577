"""doctor asks real questions: a dead or wrong API, a sink that cannot work and an empty project are problems."""

from __future__ import annotations

import pytest

from tests.acceptance.promises import shop as shops
from tests.acceptance.test_commands import run


@pytest.fixture
def shop():
    with shops.served() as served:
        yield served


def project(folder, shop, *, lists: bool = True, **more):
    shops.project(folder, shop, **more)
    if not lists:
        text = (folder / "holdfast.yaml").read_text()
        start = text.index("        list:")
        end = text.index("        profile:")
        (folder / "holdfast.yaml").write_text(text[:start] + text[end:])
    (folder / "infra").mkdir(exist_ok=True)
    (folder / "infra/m.yaml").write_text("---\n".join(shops.network(name) for name in ("one", "two")))


def doctor(folder, *arguments, token="right", **env):
    return run("doctor", *arguments, cwd=folder, SHOP_TOKEN=token, **env)


@pytest.mark.parametrize("lists", [True, False], ids=["with-a-list", "without"])
def test_a_wrong_token_is_a_problem(tmp_path, shop, lists):
    project(tmp_path, shop, lists=lists)
    good = doctor(tmp_path)
    assert good.returncode == 0, good.stdout
    assert "✓ connection shop" in good.stdout
    bad = doctor(tmp_path, token="wrong")
    assert bad.returncode == 1
    assert "✗ connection shop: " in bad.stdout
    assert "401" in bad.stdout
    assert "1 problem found" in bad.stdout


@pytest.mark.parametrize("lists", [True, False], ids=["with-a-list", "without"])
def test_a_server_that_is_gone_is_a_problem(tmp_path, lists):
    with shops.served() as shop:
        project(tmp_path, shop, lists=lists)
    bad = doctor(tmp_path)
    assert bad.returncode == 1
    assert "✗ connection shop: " in bad.stdout


def test_a_connection_that_nothing_uses_is_asked_too(tmp_path, shop):
    shops.project(tmp_path, shop)
    (tmp_path / "m.yaml").write_text(
        "apiVersion: file.holdfast.dev/v1\nkind: Document\nmetadata: {name: a}\n"
        "spec: {connection: local, resource: {path: a.yaml, content: {}}}\n"
    )
    assert "✗ connection shop: " in doctor(tmp_path, token="wrong").stdout


def test_a_root_that_is_not_there_is_a_problem(tmp_path):
    (tmp_path / "holdfast.yaml").write_text("connections: {here: {provider: file, root: mnt}}\n")
    (tmp_path / "m.yaml").write_text(
        "apiVersion: file.holdfast.dev/v1\nkind: Document\nmetadata: {name: a}\n"
        "spec: {connection: here, resource: {path: a.yaml, content: {}}}\n"
    )
    bad = run("doctor", cwd=tmp_path)
    assert bad.returncode == 1
    assert "✗ connection here: " in bad.stdout


def test_declarations_are_counted_with_their_place_also_without_naming_them(tmp_path, shop):
    project(tmp_path, shop)
    told = doctor(tmp_path).stdout
    assert f"2 declarations, 0 strategies in {tmp_path} (1 file)" in told
    assert "2 declarations, 0 strategies in infra (1 file)" in doctor(tmp_path, "-f", "infra").stdout
    (tmp_path / "infra/m.yaml").unlink()
    empty = doctor(tmp_path)
    assert empty.returncode == 1
    assert "nothing is declared" in empty.stdout


SINKS = {
    "a secret that is not set": ({"webhook": "URL", "secret": {"env": "HOOK_SECRET"}}, "HOOK_SECRET"),
    "a program that is not there": ({"command": ["./page"]}, "there is no program ./page"),
    "a folder that is not there": ({"file": "nowhere/events.jsonl"}, "there is no folder"),
    "a host that nobody answers at": ({"webhook": "http://127.0.0.1:1/hook"}, "its host cannot be reached"),
}


@pytest.mark.parametrize("sink, says", SINKS.values(), ids=SINKS)
def test_a_sink_that_cannot_work_is_a_problem(tmp_path, shop, sink, says):
    sink = {key: shop.url if value == "URL" else value for key, value in sink.items()}
    project(tmp_path, shop, notify=[sink])
    bad = doctor(tmp_path)
    assert bad.returncode == 1
    assert "✗ notify" in bad.stdout
    assert says in bad.stdout


def test_a_sink_is_tried_without_sending(tmp_path, shop):
    page = tmp_path / "page"
    page.write_text("#!/bin/sh\ntouch called\n")
    page.chmod(0o755)
    sinks = [{"webhook": f"{shop.url}/hook"}, {"command": ["./page"]}, {"file": "events.jsonl"}]
    project(tmp_path, shop, notify=sinks)
    good = doctor(tmp_path)
    assert good.returncode == 0, good.stdout
    assert good.stdout.count("✓ notify") == 3
    assert [call for call in shop.calls if "hook" in call] == []
    assert not (tmp_path / "called").exists()
    assert not (tmp_path / "events.jsonl").exists()
