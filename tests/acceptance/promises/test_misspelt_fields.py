"""What nobody knows is a mistake, with its place; what a service did not take is said."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.promises import shop as shops
from tests.acceptance.test_commands import run

DOCUMENT = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: app}
spec:
  resource:
    path: a.yaml
    content: {level: info}
"""


@pytest.mark.parametrize(
    "line, says",
    [
        ('    mod: "0600"\n', "m.yaml:8 (/spec/resource/mod): unknown field `mod`; did you mean `mode`?"),
        ("    mode: 600\n", 'm.yaml:8 (/spec/resource/mode): `mode` is written in quotes, in octal: mode: "0644"'),
        ("    format: yml\n", "m.yaml:8 (/spec/resource/format): `format` is one of"),
        (
            "    nonsense: 1\n",
            "m.yaml:8 (/spec/resource/nonsense): unknown field `nonsense`; known here: path, content",
        ),
    ],
)
@pytest.mark.parametrize("command", [("plan",), ("apply", "-y"), ("check",)], ids=lambda given: given[0])
def test_a_field_that_the_file_provider_does_not_know_is_an_error_with_its_line(tmp_path, command, line, says):
    (tmp_path / "m.yaml").write_text(DOCUMENT + line)
    done = run(*command, "-f", "m.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert says in done.stderr
    assert not (tmp_path / "a.yaml").exists()


def test_a_misspelt_path_is_told_with_its_line(tmp_path):
    (tmp_path / "m.yaml").write_text(DOCUMENT.replace("path:", "paht:"))
    done = run("apply", "-y", "-f", "m.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert "m.yaml:6 (/spec/resource/paht): unknown field `paht`; did you mean `path`?" in done.stderr


SETTINGS = {
    "file": ("rot: ./etc", "root"),
    "http": ("base_ulr: https://api.example.org", "base_url"),
    "azure": ("subscripton: x", "subscription"),
    "openstack": ("clod: x", "cloud"),
    "runpod": ("base_ulr: https://api.example.org", "base_url"),
}


@pytest.mark.parametrize("provider", sorted(SETTINGS))
def test_a_setting_that_a_provider_does_not_know_is_an_error_with_its_line(tmp_path, provider):
    setting, meant = SETTINGS[provider]
    (tmp_path / "holdfast.yaml").write_text(f"connections:\n  way:\n    provider: {provider}\n    {setting}\n")
    text = DOCUMENT.replace("file.holdfast.dev", f"{provider}.holdfast.dev").replace(
        "spec:", "spec:\n  connection: way"
    )
    if provider == "azure":
        text = text.replace("Document", "ResourceGroup")
    (tmp_path / "m.yaml").write_text(text)
    done = run("check", "-f", "m.yaml", cwd=tmp_path)
    assert done.returncode == 1
    word = setting.split(":")[0]
    problem = f"unknown field `{word}`; did you mean `{meant}`?"
    assert f"holdfast.yaml:4:5 (/connections/way/{word}): {problem}" in done.stderr


def test_what_a_creation_did_not_take_is_in_the_output_of_apply(tmp_path):
    with shops.served() as shop:
        shop.ignored, shop.forced = {"vlan"}, {"mtu": 1400}
        shops.project(tmp_path, shop)
        (tmp_path / "m.yaml").write_text(shops.network("main", mtu=1500, vlan=7))
        done = run("apply", "-y", cwd=tmp_path, SHOP_TOKEN="right")
        assert "! shop/Network/main: /mtu is 1400 where 1500 was declared" in done.stdout
        assert "! shop/Network/main: /vlan is (absent) where 7 was declared" in done.stdout
        (tmp_path / "m.yaml").write_text(shops.network("second", mtu=1500, vlan=7))
        done = run("apply", "-y", "-o", "json", cwd=tmp_path, SHOP_TOKEN="right")
        (acted,) = json.loads(done.stdout)["acted"]
        assert acted["notTaken"] == [
            {"path": "/mtu", "declared": 1500, "live": 1400},
            {"path": "/vlan", "declared": 7},
        ]
