"""A second Python process that answers for the compiled comparison, so that a test can ask both builds the same.

Requests and answers are marshalled, because bad input (NaN, lone surrogates, tuples, integers as keys) has no JSON.
"""

from __future__ import annotations

import marshal
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from holdfast.compare import canonical, diff, profiles
from holdfast.compare.go_json import Numbers
from holdfast.errors import UnhashableError
from holdfast.model.json import Json

ROOT = Path(__file__).resolve().parents[1]

PROFILES = (
    "profile: a\nversion: 1\nrules: []\n",
    """
profile: b
version: 1
rules:
  - {path: /a, list: set}
  - {path: /b, list: {keyed: [name]}}
  - {path: /c/**, compare: number}
  - {path: /id, class: read_only}
  - {path: /name, list: ordered}
""",
)


def answer(request: tuple[str, Json]) -> Json:
    """Return the result of one request, or the error with its text."""
    name, value = request
    try:
        return WORK[name](*value)
    except UnhashableError as error:
        return ("refused", str(error))
    except Exception as error:  # noqa: BLE001 - both builds must fail alike, however they fail
        return ("failed", type(error).__name__)


def _write(value: Json, numbers: Numbers, lists: canonical.Lists) -> Json:
    return canonical.canonical_bytes(value, numbers, lists)


def _nest(levels: int, kind: str) -> Json:
    """Write a value of many levels, which marshal would refuse to carry."""
    value: Json = "x"
    for _ in range(levels):
        value = [value, "y"] if kind == "lists" else {"a": value, "b": 1.5}
    rules = profiles.stack(profiles.parse(PROFILES[0])).tree()
    found = diff.findings({"a": value}, {"a": 1}, rules, diff.Baseline({"a": value}, {"a": value}))
    try:
        written = canonical.canonical_spec_hash({"a": value})
    except UnhashableError as error:
        written = str(error)
    return (written, [(finding.path, str(finding.op)) for finding in found])


def _findings(desired: Json, settled: Json, observed: Json, profile: int) -> list[str]:
    rules = profiles.stack(profiles.parse(PROFILES[profile])).tree()
    three_way = diff.findings(desired, observed, rules, diff.Baseline(desired, settled))
    changed = diff.findings(desired, observed, rules, diff.Baseline(settled, settled))
    return [repr(part) for part in (three_way, changed, diff.differences(desired, observed, rules))]


def _location() -> str:
    return str(canonical.__file__)


WORK: dict[str, Callable[..., Json]] = {"write": _write, "nest": _nest, "findings": _findings, "location": _location}


class Compiled:
    """The other process."""

    def __init__(self, writer: IO[bytes], reader: IO[bytes]) -> None:
        self._writer, self._reader = writer, reader

    def answer(self, request: tuple[str, Json]) -> Json:
        """Return what the compiled build answers."""
        send(self._writer, request)
        return receive(self._reader)


@contextmanager
def started(package: Path) -> Iterator[Compiled]:
    """Run the other process on a copy of the package."""
    with process_on(package, "tests.compiled_core") as (writer, reader):
        yield Compiled(writer, reader)


@contextmanager
def process_on(package: Path, module: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Run a module of the tests in a process that imports a copy of the package; yield its input and output."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), str(ROOT)])}
    command = [sys.executable, "-m", module]
    process = subprocess.Popen(command, env=environment, cwd=package, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdin, process.stdout
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


def send(stream: IO[bytes], value: Json) -> None:
    """Write one message."""
    data = marshal.dumps(value)
    stream.write(struct.pack("!I", len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes]) -> Json:
    """Read one message; EOFError at the end, for example because the other process crashed."""
    head = stream.read(4)
    if len(head) < 4:
        raise EOFError
    return marshal.loads(stream.read(struct.unpack("!I", head)[0]))


def main() -> None:
    """Answer until the input ends."""
    while True:
        try:
            request = receive(sys.stdin.buffer)
        except EOFError:
            return
        send(sys.stdout.buffer, answer(request))


if __name__ == "__main__":
    main()
