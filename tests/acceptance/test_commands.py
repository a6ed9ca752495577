"""The command, end to end, as a person or a script runs it."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.inprocess import invoke
from tests.vectors.load import vectors

ROOT = Path(__file__).resolve().parents[2]
EMPTY = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


# What starts processes of its own, or prints beside click, is run in one.
APART = ("bench", "demo", "watch")


def run(*args: str, stdin: str | bytes = b"", cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command, in this process if it may be: an interpreter for each is most of what a test costs."""
    if args and args[0] in APART:
        return run_apart(*args, stdin=stdin, cwd=cwd, **env)
    return invoke(*args, stdin=stdin, cwd=cwd, **env)


def run_apart(
    *args: str, stdin: str | bytes = b"", cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    data = stdin.encode("utf-8", "surrogatepass") if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", *args],
        input=data,
        capture_output=True,
        cwd=cwd,
        check=False,
        env={**os.environ, **env},
    )
    return subprocess.CompletedProcess(args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_hash_prints_the_hash_of_a_file_in_either_notation(tmp_path):
    (tmp_path / "a.yaml").write_text("b: [2, 1]\na: x\n")
    (tmp_path / "a.json").write_text('{"a": "x", "b": [1, 2]}')
    one, other = run("hash", "a.yaml", cwd=tmp_path), run("hash", "a.json", cwd=tmp_path)
    assert (one.returncode, other.returncode) == (0, 0)
    assert one.stdout == other.stdout
    assert re.fullmatch(r"sha256:[0-9a-f]{64}\n", one.stdout)


def test_hash_reads_standard_input_and_null_is_the_empty_object():
    assert run("hash", "-", stdin="{}").stdout.strip() == EMPTY
    assert run("hash", "-", stdin="null").stdout.strip() == EMPTY


def test_hash_explains_by_printing_the_canonical_text():
    assert run("hash", "--explain", "-", stdin='{"b":[2,1],"a":"<"}').stdout.splitlines()[0] == (
        '{"a":"\\u003c","b":[1,2]}'
    )


def test_hash_takes_the_number_mode_and_the_fingerprint():
    big = '{"a": 9007199254740993}'
    assert run("hash", "-", stdin=big).stdout != run("hash", "--numbers", "int64", "-", stdin=big).stdout
    whole = '{"kind": "X", "metadata": {"name": "n"}, "spec": {"a": 1}, "status": {}}'
    assert run("hash", "--fingerprint", "-", stdin=whole).stdout == run("hash", "-", stdin='{"spec":{"a":1}}').stdout


@pytest.mark.parametrize("vector", vectors("canonical_go_errors"), ids=lambda vector: vector["name"])
def test_hash_rejects_what_the_original_rejects(vector):
    done = run("hash", "-", stdin=vector["input"])
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Error: <stdin>")
    assert "Traceback" not in done.stderr


HOSTILE = {
    "nan in yaml": ("x.yaml", "a: .nan\n", "x.yaml:1:4"),
    "duplicate keys in yaml": ("x.yaml", "a: 1\na: 2\n", "x.yaml:2:1"),
    "cyclic alias": ("x.yaml", "a: &a [*a]\n", "x.yaml:1:8"),
    "alias bomb": (
        "x.yaml",
        "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)),
        "values once aliases are expanded",
    ),
    "yaml too deep": ("x.yaml", "[" * 100_000, "nested deeper"),
    "json too deep": ("x.json", "[" * 20_000 + "]" * 20_000, "x.json"),
    "trailing data": ("x.json", '{"a":1} x', "x.json:1:9"),
    "empty": ("x.yaml", "", "empty"),
    "a list": ("x.json", "[1]", "object"),
}


@pytest.mark.parametrize("name, text, says", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_documents_get_a_clear_error_and_no_traceback(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    done = run("hash", name, cwd=tmp_path)
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_invalid_utf8_is_read_as_the_original_reads_it():
    assert run("hash", "-", stdin=b'{"a":"\xff"}').stdout == run("hash", "-", stdin='{"a":"\ufffd"}').stdout


@pytest.mark.slow
def test_a_hundred_levels_and_ten_megabytes_are_answered(tmp_path):
    deep = '{"a":' * 100 + "1" + "}" * 100
    (tmp_path / "big.json").write_text('{"a":[' + ",".join(f'"{i:09d}"' for i in range(850_000)) + "]}")
    assert run("hash", "-", stdin=deep).returncode == 0
    assert run("hash", "big.json", cwd=tmp_path).returncode == 0


def test_diff_says_who_moved_and_the_exit_code_tells_a_script(tmp_path):
    for name, body in {
        "want.yaml": "a: 1\nb: 2\n",
        "base.json": '{"a":1,"b":2,"c":3}',
        "seen.json": '{"a":9,"b":2,"c":4}',
    }.items():
        (tmp_path / name).write_text(body)
    args = ("diff", "want.yaml", "seen.json", "--baseline", "base.json")
    done = run(*args, "-o", "json", cwd=tmp_path)
    body = json.loads(done.stdout)
    assert done.returncode == 0
    assert body["status"] == "drifted"
    assert {(f["path"], f["class"], f["changedBy"]) for f in body["findings"]} == {
        ("/a", "specified", "live"),
        ("/c", "defaulted", "live"),
    }
    assert run(*args, "--detailed-exitcode", cwd=tmp_path).returncode == 4
    assert run("diff", "want.yaml", "want.yaml", "--detailed-exitcode", cwd=tmp_path).returncode == 0


def test_diff_explains_every_place_with_its_rule(tmp_path):
    (tmp_path / "p.yaml").write_text("profile: p/q\nversion: 1\nrules:\n  - {path: /r, compare: region}\n")
    (tmp_path / "a.json").write_text('{"r": "westus", "s": 1}')
    (tmp_path / "b.json").write_text('{"r": "West US", "s": 1}')
    done = run("diff", "a.json", "b.json", "--profile", "p.yaml", "--explain", cwd=tmp_path)
    assert done.stdout.startswith("in sync")
    assert "/r  equal or known  p/q@1: /r region" in done.stdout


def test_a_broken_profile_is_an_error_with_file_line_and_field(tmp_path):
    (tmp_path / "p.yaml").write_text("profile: p/q\nversion: 1\nrules:\n  - {path: /r, compare: regoin}\n")
    (tmp_path / "a.json").write_text("{}")
    done = run("diff", "a.json", "a.json", "--profile", "p.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert "p.yaml:4" in done.stderr
    assert "/rules/0/compare" in done.stderr
    assert "region" in done.stderr


@pytest.mark.slow
def test_colours_come_only_when_asked_for_or_on_a_terminal():
    assert "\x1b[" not in run("demo").stdout
    assert "\x1b[" in run("demo", FORCE_COLOR="1", NO_COLOR="").stdout
    assert "\x1b[" not in run("demo", FORCE_COLOR="1", NO_COLOR="1").stdout


@pytest.mark.slow
def test_the_demo_shows_every_kind_of_verdict_it_announces():
    said = run("demo").stdout
    for word in ("20 in sync", "drifted", "missing", "unknown", "Coverage incomplete", "everything in sync"):
        assert word in said


def test_a_misspelt_command_is_usage_error_with_a_suggestion():
    done = run("hsah")
    assert done.returncode == 64
    assert "Did you mean 'hash'?" in done.stderr


def test_bench_verdicts_prints_the_promised_json_and_withholds_the_schema(tmp_path):
    case = {
        "id": "x",
        "provider": "acme",
        "kind": "Thing",
        "version": None,
        "schema": {"read_only": ["/clock"]},
        "desired": {"a": 1},
        "settled": {"a": 1, "clock": 1},
        "observations": [
            {
                "observed": {"a": 1, "clock": 2},
                "expect": "in_sync",
                "class": "recorded",
                "path": None,
                "baseline": "settled",
                "note": "",
            },
            {
                "observed": {"a": 2, "clock": 1},
                "expect": "drift",
                "class": "declared_change",
                "path": "/a",
                "baseline": "settled",
                "note": "",
            },
        ],
    }
    with gzip.open(tmp_path / "c.jsonl.gz", "wt") as file:
        file.write(json.dumps(case) + "\n")
    rows = json.loads(run("bench", "verdicts", "c.jsonl.gz", "-o", "json", cwd=tmp_path).stdout)["rows"]
    wanted = ("provider", "class", "expect", "baseline", "n", "wrong")
    assert [tuple(row[key] for key in wanted) for row in rows] == [
        ("acme", "declared_change", "drift", "settled", 1, 0),
        ("acme", "recorded", "in_sync", "settled", 1, 0),
    ]
    blind = json.loads(run("bench", "verdicts", "c.jsonl.gz", "-o", "json", "--no-schema", cwd=tmp_path).stdout)["rows"]
    assert {row["class"]: row["wrong"] for row in blind} == {"declared_change": 0, "recorded": 1}


def test_the_session_of_the_readme_runs_as_printed(tmp_path):
    block = re.search(r"```console\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    script, expected = [], []
    inside = False
    for text in block[1].splitlines():
        if text.startswith("$ "):
            script.append(text[2:])
            inside = "<<'END'" in text
        elif inside:
            script.append(text)
            inside = text != "END"
        else:
            expected.append(text)
    program = "\n".join(script).replace(".venv/bin/holdfast", f"{sys.executable} -m holdfast")
    done = subprocess.run(["bash", "-ec", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == expected


@pytest.mark.parametrize(
    "command",
    [
        "status",
        "history",
        "audit verify",
        "replay 1-2",
        "explain a/B/c",
        "events",
        "corrections",
        "contention",
        "metrics",
    ],
)
def test_of_a_store_that_is_not_there_nothing_is_said_least_of_all_that_it_is_in_order(tmp_path, command):
    result = run(*command.split(), cwd=tmp_path)
    assert result.returncode != 0
    assert "there is no store at" in result.stderr
    assert list(tmp_path.iterdir()) == []
