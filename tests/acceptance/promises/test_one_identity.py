"""Two declarations of one live thing are refused, with both places."""

from __future__ import annotations

import pytest
import yaml

from tests.acceptance.promises import shop as shops
from tests.acceptance.test_commands import run


def document(name: str, path: str, kind: str = "Document", connection: str = "here") -> str:
    content = "x" if kind == "Text" else {"name": name}
    body = {
        "apiVersion": "file.holdfast.dev/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"connection": connection, "resource": {"path": path, "content": content}},
    }
    return str(yaml.safe_dump(body))


@pytest.mark.parametrize(
    "other",
    [
        document("two", "live/a.yaml"),
        document("two", "live/../live/./a.yaml"),
        document("two", "live/a.yaml", kind="Text"),
        document("two", "a.yaml", connection="below"),
    ],
    ids=["path", "spelling", "kind", "connection"],
)
def test_two_resources_with_one_path_are_refused(tmp_path, other):
    (tmp_path / "holdfast.yaml").write_text(
        "connections: {here: {provider: file, root: .}, below: {provider: file, root: ./live}}\n"
    )
    (tmp_path / "a.yaml").write_text(document("one", "live/a.yaml"))
    (tmp_path / "b.yaml").write_text(other)
    done = run("apply", "-y", cwd=tmp_path)
    assert done.returncode == 1
    assert "b.yaml:1: " in done.stderr
    assert "means the same live thing as here/Document/one in a.yaml:1" in done.stderr.replace(f"{tmp_path}/", "")
    assert not (tmp_path / "live").exists()


def test_two_imports_of_one_id_are_refused(tmp_path):
    with shops.served() as shop:
        shops.project(tmp_path, shop)
        shop.networks["net-7"] = {"id": "net-7", "name": "x"}
        texts = [shops.network(name, import_id="net-7") for name in ("one", "two")]
        (tmp_path / "m.yaml").write_text("---\n".join(texts))
        done = run("apply", "-y", cwd=tmp_path, SHOP_TOKEN="right")
    assert done.returncode == 1
    assert "shop/Network/two means the same live thing as shop/Network/one in" in done.stderr
    assert shop.calls == []


def test_two_resources_that_are_found_by_the_same_fields_are_refused(tmp_path):
    with shops.served() as shop:
        shops.project(tmp_path, shop)
        body = yaml.safe_load((tmp_path / "holdfast.yaml").read_text())
        body["connections"]["shop"]["kinds"]["Network"]["find"] = {"by": ["/name"]}
        (tmp_path / "holdfast.yaml").write_text(yaml.safe_dump(body))
        other = shops.network("one").replace("metadata:\n  name: one", "metadata:\n  name: two")
        (tmp_path / "m.yaml").write_text(f"{shops.network('one')}---\n{other}")
        done = run("apply", "-y", cwd=tmp_path, SHOP_TOKEN="right")
        assert done.returncode == 1
        assert "shop/Network/two means the same live thing as shop/Network/one in" in done.stderr
        (tmp_path / "m.yaml").write_text(f"{shops.network('one')}---\n{shops.network('two')}")
        assert run("apply", "-y", cwd=tmp_path, SHOP_TOKEN="right").returncode == 0
        assert len(shop.networks) == 2
