"""A trail that was cut is noticed, a damaged store is told in one sentence, and what repeats takes no more room."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from tests.acceptance.inprocess import invoke

PROJECT = "connections:\n  fleet: {provider: file, root: fleet}\n"


def manifest(name: str, on_drift: str = "correct", color: str = "blue") -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "file.holdfast.dev/v1",
            "kind": "Document",
            "metadata": {"name": name},
            "spec": {
                "connection": "fleet",
                "managedOptions": {"onDrift": on_drift},
                "resource": {"path": f"{name}.yaml", "content": {"color": color, "size": 3}},
            },
        }
    )


class Folder:
    """A project of three files, applied."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = path / ".holdfast/holdfast.db"
        (path / "fleet").mkdir()
        (path / "holdfast.yaml").write_text(PROJECT)
        (path / "infra.yaml").write_text("---\n".join(map(manifest, "abc")))
        self("apply", "-y")

    def __call__(self, *args: str, code: int | None = 0) -> str:
        done = invoke(*args, "-f", "infra.yaml", cwd=self.path)
        said = done.stdout + done.stderr
        assert "Traceback" not in said, said
        assert code is None or done.returncode == code, said
        return said

    def sql(self, script: str) -> None:
        triggers = "DROP TRIGGER event_is_never_changed; DROP TRIGGER event_is_never_removed;"
        with closing(sqlite3.connect(self.store)) as connection:
            connection.executescript(triggers + script)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.fixture
def folder(tmp_path) -> Folder:
    return Folder(tmp_path)


CUT = """
DELETE FROM event WHERE sequence > (SELECT max(sequence) - 2 FROM event);
UPDATE chain SET length = (SELECT max(sequence) FROM event),
  hash = (SELECT hash FROM event ORDER BY sequence DESC LIMIT 1);
"""


def test_a_trail_that_was_cut_and_set_back_is_noticed(folder):
    assert "unbroken" in folder("audit", "verify")
    folder.sql(CUT)
    said = folder("audit", "verify", code=1)
    assert "cut" in said
    assert "audit trail" in folder("doctor", code=1)
    (folder.path / "fleet/a.yaml").write_text("color: red\nsize: 3\n")
    folder("apply", "-y")  # goes on over the hole, and does not hide it
    assert "broken" in folder("audit", "verify", code=1)


def test_a_head_that_was_kept_elsewhere_is_found_in_the_trail_or_missed(folder):
    (head,) = folder("audit", "head").split()
    (folder.path / "fleet/a.yaml").write_text("color: red\nsize: 3\n")
    folder("apply", "-y")
    assert folder("audit", "head").split() != [head]
    folder("audit", "verify", "--head", head)
    for item in folder.store.parent.glob("*.audit-head"):
        item.unlink()
    folder.sql(CUT.replace("- 2", f"- {int(head.partition(':')[0]) + 1}"))
    assert "no head to compare with" in folder("audit", "verify")
    assert "cut" in folder("audit", "verify", "--head", head, code=1)
    other = head[:-1] + ("0" if head[-1] != "0" else "1")
    folder("audit", "verify", "--head", other, code=1)
    assert "audit head" in folder("audit", "verify", "--head", "nonsense", code=1)


def test_the_kept_head_cannot_be_set_back_without_the_key(folder):
    (kept,) = folder.store.parent.glob("*.audit-head")
    folder.sql(CUT)
    (head,) = folder("audit", "head").split()
    signature = kept.read_text().split()[1]
    kept.write_text(f"{head} {signature}\n")
    assert "was edited" in folder("audit", "verify", code=1)


# --- damage -----------------------------------------------------------------------------------------------------------

COMMANDS = (
    ("check",),
    ("status",),
    ("plan",),
    ("history",),
    ("explain", "fleet/Document/a"),
    ("audit", "verify"),
    ("corrections",),
    ("doctor",),
    ("metrics",),
    ("apply", "-y"),
)


def tables(folder: Folder) -> dict[str, list[str]]:
    with closing(sqlite3.connect(folder.store)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})") if row[2] == "BLOB"]
            for name in names
            if not name.startswith("sqlite_")
        }


def test_a_damaged_cell_of_any_table_is_told_in_a_sentence(folder):
    (folder.path / "fleet/a.yaml").write_text("color: red\nsize: 3\n")
    folder("check")
    cells = [(table, column) for table, columns in tables(folder).items() for column in columns]
    assert {"event", "document", "finding", "decision"} <= {table for table, _ in cells}
    before = folder.store.parent.with_name("before")
    shutil.copytree(folder.store.parent, before)
    told = 0
    for table, column in cells:
        for damage in ("x'78ffff'", "x'7b22ff'"):
            shutil.rmtree(folder.store.parent)
            shutil.copytree(before, folder.store.parent)
            folder.sql(f"UPDATE OR IGNORE {table} SET {column} = {damage} WHERE {column} IS NOT NULL")
            for command in (("check",), ("history",)):
                said = folder(*command, code=None)
                told += "the store is damaged" in said or "has lost document" in said
    assert told


def flipped(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


@pytest.mark.slow
def test_a_flipped_bit_anywhere_is_told_in_a_sentence_or_does_no_harm(folder):
    chance = random.Random(37)
    (folder.path / "fleet/a.yaml").write_text("color: red\nsize: 3\n")
    folder("check")
    folder.sql("")
    whole = folder.store.read_bytes()
    for number in range(200):
        for item in folder.store.parent.glob("holdfast.db-*"):
            item.unlink()
        folder.store.write_bytes(flipped(whole, chance))
        folder(*COMMANDS[number % len(COMMANDS)], code=None)


@pytest.mark.parametrize("key", [b"", b"x", b"x" * 31])
def test_a_key_that_is_too_short_is_refused_with_a_sentence(folder, key):
    (folder.store.parent / "key").write_bytes(key)
    said = folder("check", code=1)
    assert f"has {len(key)} bytes instead of 32" in said


# --- growth -----------------------------------------------------------------------------------------------------------


def size(folder: Folder) -> dict[str, int]:
    with closing(sqlite3.connect(folder.store)) as connection:
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables(folder)}


HELD = {
    "reported": ("report", ()),
    "to be corrected, by check": ("correct", ()),
    "waiting for approval": ("approve", ()),
    "paused": ("correct", ("pause", "--why", "lunch")),
    "mass drift": ("correct", "corrections: {massDrift: {share: 1%, atLeast: 1, identical: 1}}\n"),
    "a budget that is spent": ("correct", "corrections: {budgets: [{max: 1, per: 30d}], massDrift: off}\n"),
}


@pytest.mark.parametrize("on_drift, first", HELD.values(), ids=list(HELD))
def test_a_drift_that_stays_takes_no_more_room_at_every_check(tmp_path, on_drift, first):
    folder = Folder(tmp_path)
    if isinstance(first, str):
        (folder.path / "holdfast.yaml").write_text(PROJECT + first)
        (folder.path / "fleet/b.yaml").write_text("color: red\nsize: 3\n")
    (folder.path / "infra.yaml").write_text("---\n".join(manifest(name, on_drift) for name in "abc"))
    if isinstance(first, tuple) and first:
        folder(*first)
    (folder.path / "fleet/a.yaml").write_text("color: red\nsize: 3\n")
    again = ("check",) if on_drift == "correct" and not first else ("apply", "-y")
    for _ in range(3):
        folder(*again, code=None)
    before = size(folder)
    for _ in range(4):
        folder(*again, code=None)
    assert size(folder) == before


def test_a_decision_that_is_taken_again_after_a_change_is_kept_again_and_all_replay(folder):
    (folder.path / "infra.yaml").write_text("---\n".join(manifest(name, "report") for name in "abc"))
    for _ in range(2):
        (folder.path / "fleet/a.yaml").write_text("color: red\nsize: 3\n")
        for _ in range(3):
            folder("check")
        (folder.path / "fleet/a.yaml").write_text("color: blue\nsize: 3\n")
        folder("check")
    said = folder("history", "fleet/Document/a")
    decisions = [line for line in said.splitlines() if "decision" in line]
    assert sum("report" in line for line in decisions) == 2
    for line in decisions:
        ident = line.partition("decision ")[2].split()[0]
        assert "agrees" in folder("replay", ident)
