"""The compiled comparison in a process of its own, timed there, in turns with what is measured here."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from tools import compile_core

from holdfast.model.json import Json
from tests.compiled_core import process_on


class CompiledSide:
    """Asks the other process for measurements."""

    def __init__(self, writer: IO[bytes], reader: IO[bytes]) -> None:
        self._writer, self._reader = writer, reader

    def seconds(self, work: str, arguments: Sequence[str], count: int) -> float:
        """Return the CPU seconds that a number of calls took there."""
        self._writer.write(json.dumps([work, list(arguments), count]).encode() + b"\n")
        self._writer.flush()
        return float(self._reader.readline())


@contextmanager
def started() -> Iterator[CompiledSide]:
    """Compile, and run the other process on the result."""
    with tempfile.TemporaryDirectory() as folder:
        compile_core.copy_package(Path(folder))
        with process_on(Path(folder), "tests.benchmarks.compiled_side") as (writer, reader):
            yield CompiledSide(writer, reader)


def main() -> None:
    """Measure what is asked for until the input ends."""
    from holdfast.compare import build, canonical, hash_schemes
    from tests.benchmarks import bench_diff, harness, inputs

    if not build.is_compiled():
        raise SystemExit("this process does not run the compiled modules")
    documents, comparisons = inputs.documents(), bench_diff.variants()
    hashes: dict[str, Callable[[Json], str]] = {
        "sorted": canonical.canonical_spec_hash,
        "ordered": hash_schemes.ORDERED.digest,
    }
    for line in sys.stdin:
        work, arguments, count = json.loads(line)
        if work == "diff":
            seconds = harness.timed(comparisons[arguments[0]], count)
        else:
            document, digest = documents[arguments[0]], hashes[arguments[1]]
            seconds = harness.timed(partial(digest, document), count)
        print(seconds, flush=True)


if __name__ == "__main__":
    main()
