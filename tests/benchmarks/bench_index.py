"""What manifests cost a command: one target among many declarations, and every declaration in a second run.

CPU time of the real command, user and system, beside the same command in a project of one file, in turns. The figures
per declaration are of one process that reads the same files with the manifest index and without it.
Run by `make bench`, or python tests/benchmarks/bench_index.py.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from holdfast.app.sources import catalog
from holdfast.manifests import loader
from holdfast.manifests import project as project_files
from tests.benchmarks import harness

FILES, PER_FILE = 2_000, 10
ROUNDS = 5
COMMAND = (sys.executable, "-m", "holdfast", "check", "-f", "infra", "--target", "r0")
_DOCUMENT = """apiVersion: file.holdfast.dev/v1
kind: Document
metadata: {{name: r{0}, labels: {{tier: front, team: t{0}}}}}
spec:
  resource:
    path: out/r{0}.json
    content:
      replicas: 3
      image: registry.example/app:{0}
      ports:
        - {{name: http, port: 80}}
        - {{name: https, port: 443}}
      limits: {{cpu: 500m, memory: 1Gi}}
      env: {{LOG: info, MODE: fast}}
"""


def write(folder: Path, files: int, per_file: int) -> None:
    """Write a project whose files seem to be a day old."""
    infra = folder / "infra"
    infra.mkdir(parents=True)
    for number in range(files):
        first = number * per_file
        text = "---\n".join(_DOCUMENT.format(item) for item in range(first, first + per_file))
        (infra / f"f{number}.yaml").write_text(text)


def cpu_of(folder: Path, switch: str = "on") -> float:
    """Return the CPU seconds of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, catalog.SWITCH: switch}
    subprocess.run(COMMAND, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def each(call: Callable[[], int]) -> float:
    """Return the CPU microseconds per declaration."""
    began = time.process_time()
    count = call()
    return (time.process_time() - began) / count * 1e6


def per_declaration(folder: Path) -> dict[str, float]:
    """Return the cost of a declaration, read in different ways."""
    os.chdir(folder)
    config = project_files.load(None, Path.cwd(), None, ("infra",))

    def heads() -> int:
        found = catalog.open_catalog(("infra",), config, config.store, time.time)
        assert found is not None
        count = sum(1 for _ in found.declarations.heads())
        found.close()
        return count

    return {
        "parsed and validated": each(lambda: len(loader.read(("infra",), config).declarations)),
        "index opened, every entry without its document": each(heads),
    }


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as root:
        one, many = Path(root) / "one", Path(root) / "many"
        write(one, 1, 1)
        write(many, FILES, PER_FILE)
        first = cpu_of(many)
        time.sleep(3)  # files that were just written are read once more
        for folder in (one, many):
            cpu_of(folder)
        runs = [(cpu_of(one), cpu_of(many), cpu_of(many, "off")) for _ in range(ROUNDS)]
        alone, indexed, plain = (statistics.median(column) for column in zip(*runs, strict=True))
        ways = per_declaration(many)
    rows: list[dict[str, object]] = [
        {"`check --target ONE`": "in a project of one file", "CPU s": alone},
        {"`check --target ONE`": f"among {FILES * PER_FILE:,} in {FILES:,} files, first run", "CPU s": first},
        {"`check --target ONE`": "the same, second run", "CPU s": indexed},
        {"`check --target ONE`": "the same without the index", "CPU s": plain},
    ]
    print(harness.table(rows))
    print()
    print(harness.table([{"a declaration": name, "CPU us": cost} for name, cost in ways.items()]))
    print()
    promise = "one target among 20,000: at most 2 times the CPU of a project of one file"
    print(
        harness.table(
            [
                harness.bar(promise, indexed / alone, most=2),
                harness.bar(
                    "an unchanged declaration: at most 15 us of CPU",
                    ways["index opened, every entry without its document"],
                    most=15,
                ),
            ]
        )
    )


if __name__ == "__main__":
    main()
