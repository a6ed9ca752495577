"""Whole commands at two sizes of fleet: CPU and peak memory of real processes, beside a bare loop of the same work.

The API is in a process of its own and does not count. CPU is user + system of one process, memory its largest resident
set. Run by `make bench`, or python tests/benchmarks/bench_commands.py [--sizes 1000,100000] [--only check,plan].
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks import harness

SIZES = (1_000, 100_000)
PER_FILE = 100
SIDE = Path(__file__).with_name("command_side.py")
# An installed package has its bytecode; without it most of a short command would be the compiler.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
MEMORY = ("plan, nothing changed", "check", "apply", "status -o json", "discover", "doctor")
PROJECT = """\
connections:
  api:
    provider: http
    base_url: http://127.0.0.1:{port}
    timeout_seconds: 60
    kinds:
      Item:
        read: {{path: "/items/{{id}}"}}
        create: {{method: POST, path: /items, id: /id}}
        update: {{method: PUT, path: "/items/{{id}}"}}
        delete: {{path: "/items/{{id}}"}}
        list: {{path: /items, items: /items, id: /id, next: {{cursor: {{pointer: /next, param: cursor}}}}}}
        profile: {{rules: [{{path: /id, class: identity}}]}}
"""
ITEM = """\
apiVersion: http.holdfast.dev/v1
kind: Item
metadata: {{name: r{number:06}}}
spec:
  connection: api
  resource: {{name: r{number}, size: small}}
"""


@dataclass(frozen=True, slots=True)
class Run:
    """The cost of one process."""

    cpu_seconds: float
    memory_mb: float
    wall_seconds: float
    first_line_seconds: float  # from the start to the first byte on standard output


COMMANDS: Mapping[str, Sequence[str]] = {  # in this order: apply comes before all that need applied resources
    "plan, all to create": ("plan", "-f", "infra"),
    "plan, all to create, again": ("plan", "-f", "infra"),
    "apply": ("apply", "-f", "infra", "--yes"),
    "plan, nothing changed": ("plan", "-f", "infra"),
    "check": ("check", "-f", "infra"),
    "check -o json": ("check", "-f", "infra", "-o", "json"),
    "status": ("status",),
    "status -o json": ("status", "-o", "json"),
    "history": ("history",),
    "metrics": ("metrics",),
    "audit verify": ("audit", "verify"),
    "discover": ("discover", "-f", "infra"),
    "doctor": ("doctor", "-f", "infra"),
}
FLOORS = {  # the bare loop that a command is measured beside
    "apply": "floor-apply",
    "check": "floor-check",
    "plan, nothing changed": "floor-check",
    "discover": "floor-check",
}


def run(command: Sequence[str], folder: Path) -> Run:
    """Run a process and return what it cost; an exit code above 2 is a failure."""
    started = time.monotonic()
    with (folder / "stderr").open("wb") as errors:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, env=ENVIRONMENT)
        assert process.stdout is not None
        process.stdout.read(1)
        first = time.monotonic() - started
        while process.stdout.read(1 << 20):
            pass
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in {0, 1, 2}:
        raise RuntimeError(f"{' '.join(command)}: {(folder / 'stderr').read_text()}")
    wall = time.monotonic() - started
    return Run(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, wall, first)


def write_project(folder: Path, port: int, count: int) -> None:
    """Write a project with so many small declarations."""
    (folder / "infra").mkdir(parents=True)
    (folder / "holdfast.yaml").write_text(PROJECT.format(port=port))
    for start in range(0, count, PER_FILE):
        documents = [ITEM.format(number=number) for number in range(start, min(start + PER_FILE, count))]
        (folder / "infra" / f"{start:06}.yaml").write_text("---\n".join(documents))


def measure(count: int, only: Sequence[str]) -> dict[str, Run]:
    """Run every command over a fleet of one size, and the floors; return the costs by name."""
    runs: dict[str, Run] = {}
    folder = Path(tempfile.mkdtemp(prefix="bench-commands-"))
    server = subprocess.Popen([sys.executable, str(SIDE), "serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        write_project(folder, int(port), count)
        for name, arguments in COMMANDS.items():
            if name == "apply" or not only or any(name.startswith(start) for start in only):
                runs[name] = run((sys.executable, "-m", "holdfast", *arguments), folder)
        runs["start"] = run((sys.executable, "-m", "holdfast", "--help"), folder)
        runs["scan"] = run((sys.executable, str(SIDE), "scan", str(folder)), folder)
        for floor in ("floor-check", "floor-apply"):  # the second adds to the collection
            runs[floor] = run((sys.executable, str(SIDE), floor, port, str(count), str(folder)), folder)
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder)
    return runs


def rows(measured: Mapping[int, Mapping[str, Run]]) -> list[dict[str, object]]:
    """Return one row for each command and size."""
    table: list[dict[str, object]] = []
    for count, runs in measured.items():
        for name in (name for name in COMMANDS if name in runs):
            used, floor = runs[name], runs.get(FLOORS.get(name, ""))
            table.append(
                {
                    "command": f"{count:,}: {name}",
                    "CPU, us each": used.cpu_seconds / count * 1e6,
                    "bare loop, us each": "" if floor is None else floor.cpu_seconds / count * 1e6,
                    "times": "" if floor is None else used.cpu_seconds / floor.cpu_seconds,
                    "memory, MB": used.memory_mb,
                    "first output after": f"{used.first_line_seconds / used.wall_seconds:.0%}",
                }
            )
    return table


def _beyond_start(runs: Mapping[str, Run], name: str) -> float:
    """Return the CPU seconds of a command without those that every command takes to start."""
    return max(1e-6, runs[name].cpu_seconds - runs["start"].cpu_seconds)


def promises(measured: Mapping[int, Mapping[str, Run]]) -> list[dict[str, object]]:
    """Return the promises of issue 15 that whole commands keep or break."""
    small, large = min(measured), max(measured)
    few, many = measured[small], measured[large]
    bars = [
        harness.bar(
            f"memory of {name}: at most 2 times that at {small:,}", many[name].memory_mb / few[name].memory_mb, most=2
        )
        for name in MEMORY
        if name in many
    ]
    bars += [
        harness.bar(
            f"CPU of {name}, each: at most 1.15 times that at {small:,}",
            _beyond_start(many, name) / large / (_beyond_start(few, name) / small),
            most=1.15,
        )
        for name in many
        if name in COMMANDS
    ]
    if "check" in many:
        times = _beyond_start(many, "check") / _beyond_start(many, "scan")
        bars.append(harness.bar("check: at most 2.5 times the scan alone", times, most=2.5))
    times = many["apply"].cpu_seconds / many["floor-apply"].cpu_seconds
    bars.append(harness.bar("apply: at most 3 times the bare loop", times, most=3))
    for name in ("plan, all to create", "plan, all to create, again"):
        if name in many:
            share = many[name].first_line_seconds / many[name].wall_seconds
            bars.append(harness.bar(f"first line of {name}: before a tenth of the run", share, most=0.1))
    return bars


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--only", default="", help="commands to run, by how their names begin; apply always runs")
    given = parser.parse_args()
    only = [name for name in given.only.split(",") if name]
    measured = {int(size): measure(int(size), only) for size in given.sizes.split(",")}
    print(harness.table(rows(measured)))
    print()
    print(harness.table(promises(measured)))


if __name__ == "__main__":
    main()
