"""Rules name code only by entry points that the project allows; what a store says never runs anything."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.secrecy import commands

MANIFEST = """\
apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {name: app}
spec:
  resource: {path: live.yaml, content: {level: info}}
"""
PROFILE = """\
profile: mine
version: {version}
applies: {{provider: file, kinds: ["*"]}}
rules: [{{path: /content/level, compare: {compare}}}]
"""


class Case:
    """A project with a profile of its own, and a package that marks the folder when it is imported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "infra").mkdir()
        (folder / "infra/app.yaml").write_text(MANIFEST)
        package = folder / "packages"
        (package / "mine-1.dist-info").mkdir(parents=True)
        (package / "mine-1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
        (package / "mine-1.dist-info/entry_points.txt").write_text("[holdfast.comparators]\nlevels = mine_levels:key\n")
        (package / "mine_levels.py").write_text(
            f"open({str(folder / 'ran')!r}, 'w').close()\ndef key(value): return str(value)[:1]\n"
        )

    def project(self, text: str, version: int = 1, compare: str = "casefold") -> None:
        (self.folder / "holdfast.yaml").write_text(f"profiles: [rules]\n{text}")
        (self.folder / "rules").mkdir(exist_ok=True)
        (self.folder / "rules/mine.yaml").write_text(PROFILE.format(version=version, compare=compare))

    def __call__(self, *words: str) -> tuple[object, str]:
        code, out, err = commands.run([*words, "-f", "infra"])
        return code, (out + err).decode()

    @property
    def ran(self) -> bool:
        return (self.folder / "ran").exists()


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.chdir(tmp_path)
    made = Case(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    monkeypatch.delitem(sys.modules, "mine_levels", raising=False)
    return made


def poisoned(store: Path, function: str) -> int:
    """Put a rule that names a function into every kept list of rules, under the digest that it then has."""
    rule = json.dumps({"custom": {"function": function}}, separators=(",", ":")).encode()
    count = 0
    with closing(sqlite3.connect(store)) as opened:
        cells = list(_cells(opened))
        for table, column, rowid, cell in cells:
            text = _unpacked(cell)
            if b'"casefold"' not in text:
                continue
            count += 1
            changed = text.replace(b'"casefold"', rule)
            opened.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (changed, rowid))
            before, after = (hashlib.sha256(item).digest() for item in (text, changed))
            for other_table, other_column, other, element in cells:
                if element == before:
                    opened.execute(f"UPDATE {other_table} SET {other_column} = ? WHERE rowid = ?", (after, other))
        opened.commit()
    return count


def _unpacked(cell: bytes) -> bytes:
    """Return the text of a packed document, and any other cell (a digest may begin like one) as it is."""
    try:
        return zlib.decompress(cell)
    except zlib.error:
        return cell


def _cells(opened: sqlite3.Connection) -> Iterator[tuple[str, str, int, bytes]]:
    tables = [name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in tables:
        try:
            for column in [row[1] for row in opened.execute(f"PRAGMA table_info({table})")]:
                for rowid, cell in opened.execute(f"SELECT rowid, {column} FROM {table}").fetchall():
                    if isinstance(cell, bytes):
                        yield table, column, rowid, cell
        except sqlite3.OperationalError:  # a table without rowid
            continue


def test_a_rule_in_a_store_runs_nothing(case, monkeypatch):
    case.project("")
    assert case("apply", "-y")[0] == 0
    asked: list[str] = []
    monkeypatch.setattr("os.system", asked.append)
    assert poisoned(case.folder / ".holdfast/holdfast.db", "os:system")
    case.project("", version=2)  # other rules take over from those in the store
    code, said = case("check")
    assert not asked
    assert "unknown" in said
    assert code == 1


def test_a_rule_of_the_project_runs_nothing_that_is_not_allowed(case):
    case.project("", compare="{custom: {function: levels}}")
    code, said = case("check")
    assert code == 1
    assert "'levels' is not allowed; list it under allowedCode in holdfast.yaml" in said
    assert not case.ran


def test_a_function_is_not_named_by_its_module(case):
    case.project("allowedCode: [levels]\n", compare="{custom: {function: 'mine_levels:key'}}")
    assert "'mine_levels:key' is not allowed" in case("check")[1]
    assert not case.ran


def test_an_allowed_entry_point_compares(case):
    case.project("allowedCode: [levels]\n", compare="{custom: {function: levels}}")
    assert case("apply", "-y")[0] == 0
    live = case.folder / "infra/live.yaml"
    live.write_text(live.read_text().replace("info", "INFO"))
    assert "1 drifted" in case("check")[1]
    live.write_text(live.read_text().replace("INFO", "important"))  # begins alike, and that is all the function asks
    assert "1 in sync" in case("check")[1]
    assert case.ran


def test_what_is_not_a_list_of_names_is_told_with_its_line(case):
    case.project("allowedCode: levels\n")
    assert "holdfast.yaml:2" in case("check")[1]
