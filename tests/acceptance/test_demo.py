"""The demo: it plays to its end, and its findings point at the lines that declare them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from holdfast.cli import demo_fixtures
from holdfast.cli.commands.demo import Tour
from holdfast.testing.rest_server import RestServer
from tests.acceptance.test_commands import run


@pytest.mark.slow
def test_the_tour_ends_well_and_shows_a_contention_a_freeze_and_a_mass_drift(tmp_path):
    told = run("demo", "--keep", str(tmp_path / "demo"), cwd=tmp_path)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "NOT" not in told.stdout
    for part in (
        "for the third time",
        "autoscaler-bot sets",  # the other writer, by name
        "0 to change",  # the plan after accept
        "year-end freeze",
        "1 held back",
        "12 of 20 resources moved",
        "approved 6",
        "6 changed",
        "everything in sync",
    ):
        assert part in told.stdout, part


def test_what_accept_changed_in_the_demo_is_one_line_with_its_comment(tmp_path):
    run("demo", "--keep", str(tmp_path / "demo"), cwd=tmp_path)
    manifest = (tmp_path / "demo/infra/widgets.yaml").read_text()
    original = "---\n".join(demo_fixtures.widget(colour) for colour in demo_fixtures.COLOURS)
    golden = original.replace("color: black # as", "color: jet # as")
    golden = golden.replace(
        "color: green # as in the brand book\n", "color: green # as in the brand book\n    size: medium\n"
    )
    assert manifest == golden


def test_every_finding_of_the_demo_points_at_the_line_that_declares_it(tmp_path):
    async def story() -> dict:
        async with RestServer(demo_fixtures.SHAPES) as server:
            demo_fixtures.write(tmp_path / "demo", server.url)
            await _holdfast(tmp_path / "demo", "apply", "-y")
            with contextlib.chdir(tmp_path / "demo"):
                Tour(server).inject_drift()
            return json.loads(await _holdfast(tmp_path / "demo", "check", "-o", "sarif"))

    results = asyncio.run(story())["runs"][0]["results"]
    assert sorted(declaring_line(tmp_path / "demo", result) for result in results) == [
        "apiVersion: file.holdfast.dev/v1",  # cron is gone: its document
        "apiVersion: http.holdfast.dev/v1",  # violet is gone
        "color: red # as in the brand book",
        "log: {level: info}",
        "resource:",  # the size of green is declared nowhere
        "tags: [red, demo, shop]",
    ]


def declaring_line(folder: Path, result: dict) -> str:
    place = result["locations"][0]["physicalLocation"]
    lines = (folder / unquote(place["artifactLocation"]["uri"])).read_text().splitlines()
    return lines[place["region"]["startLine"] - 1].strip()


async def _holdfast(folder: Path, *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "holdfast", *arguments, "-f", "infra", cwd=folder, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return out.decode()
