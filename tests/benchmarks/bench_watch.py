"""What idle resources cost a running `holdfast watch`: the real process, over HTTP, with two sizes of fleet.

Anonymous memory of the process once it is at rest, after sweeps; the store's page cache (16 MB) is full at both sizes.
Run by `make bench`, or python tests/benchmarks/bench_watch.py.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from holdfast.cli import demo_fixtures
from holdfast.testing.rest_server import RestServer
from tests.benchmarks import harness

SIZES = (6_000, 12_000)
PER_FILE = 100
REST_SECONDS = 25.0  # three periods
IDLE, IDLE_SECONDS = 10_000, 60.0
SETTLE_SECONDS = 5.0
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Rest:
    """What a watch uses once it is at rest."""

    memory: int
    share: float  # of a core


async def at_rest(count: int, folder: Path, resync: str, seconds: float) -> Rest:
    """Measure a watch over so many resources, once nothing happens but sweeps."""
    async with RestServer(demo_fixtures.SHAPES) as server:
        write(folder, server.url, count, resync)
        command = (sys.executable, "-u", "-m", "holdfast", "watch", "-f", "infra")
        process = await asyncio.create_subprocess_exec(*command, cwd=folder, stdout=asyncio.subprocess.PIPE)
        assert process.stdout is not None
        async for line in process.stdout:
            if f"Checked {count}".encode() in line:
                break
        draining = asyncio.ensure_future(_drain(process.stdout))
        await asyncio.sleep(SETTLE_SECONDS)
        before = cpu_seconds(process.pid)
        await asyncio.sleep(seconds)
        rest = Rest(anonymous_bytes(process.pid), (cpu_seconds(process.pid) - before) / seconds)
        process.send_signal(signal.SIGINT)
        await process.wait()
        await draining
        return rest


def write(folder: Path, url: str, count: int, resync: str) -> None:
    """Write the demo's project with many widgets."""
    demo_fixtures.write(folder, url)
    for file in (folder / "infra").iterdir():
        file.unlink()
    project = folder / "holdfast.yaml"
    project.write_text(project.read_text().replace("timeout_seconds: 0.5", "timeout_seconds: 60"))
    for start in range(0, count, PER_FILE):
        documents = [demo_fixtures.widget(f"w{number}", resync=resync) for number in range(start, start + PER_FILE)]
        (folder / "infra" / f"{start}.yaml").write_text("---\n".join(documents))


def anonymous_bytes(pid: int) -> int:
    """Return the memory that only this process has."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("RssAnon"))


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process used until now, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


async def _drain(stream: asyncio.StreamReader) -> None:
    async for _ in stream:
        pass


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        found = [asyncio.run(at_rest(count, Path(folder) / str(count), "8s", REST_SECONDS)).memory for count in SIZES]
        idle = asyncio.run(at_rest(IDLE, Path(folder) / "idle", "1h", IDLE_SECONDS))
    grown = max(0, found[1] - found[0]) / (SIZES[1] - SIZES[0])
    rows = [
        {"watched": f"{count:,}, checked every 8 s", "memory, MB": used / 1e6, "CPU, % of a core": ""}
        for count, used in zip(SIZES, found, strict=True)
    ]
    rows.append(
        {
            "watched": f"{IDLE:,}, checked every hour",
            "memory, MB": idle.memory / 1e6,
            "CPU, % of a core": idle.share * 100,
        }
    )
    print(harness.table(rows))
    print()
    promises = [
        harness.bar("an idle resource costs a watch under 200 bytes of memory", grown, most=200),
        harness.bar("10,000 idle resources: under 0.1 % of a core", idle.share * 100, most=0.1),
    ]
    print(harness.table(promises))


if __name__ == "__main__":
    main()
