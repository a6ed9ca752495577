"""What idle resources cost a running `holdfast watch`: the real process, over HTTP, with two sizes of fleet.

Anonymous memory of the process once it is at rest, after sweeps; the store's page cache (16 MB) is full at both sizes.
Run by `make bench`, or python tests/benchmarks/bench_watch.py.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from holdfast.cli import demo_fixtures
from holdfast.testing.rest_server import RestServer
from tests.benchmarks import harness

SIZES = (6_000, 12_000)
PER_FILE = 100
REST_SECONDS = 25.0  # three periods


async def at_rest(count: int, folder: Path) -> int:
    """Return the bytes of a watch over so many resources, once nothing happens but sweeps."""
    async with RestServer(demo_fixtures.SHAPES) as server:
        write(folder, server.url, count)
        command = (sys.executable, "-u", "-m", "holdfast", "watch", "-f", "infra")
        process = await asyncio.create_subprocess_exec(*command, cwd=folder, stdout=asyncio.subprocess.PIPE)
        assert process.stdout is not None
        async for line in process.stdout:
            if f"Checked {count}".encode() in line:
                break
        draining = asyncio.ensure_future(_drain(process.stdout))
        await asyncio.sleep(REST_SECONDS)
        found = anonymous_bytes(process.pid)
        process.send_signal(signal.SIGINT)
        await process.wait()
        await draining
        return found


def write(folder: Path, url: str, count: int) -> None:
    """Write the demo's project with many widgets."""
    demo_fixtures.write(folder, url)
    for file in (folder / "infra").iterdir():
        file.unlink()
    project = folder / "holdfast.yaml"
    project.write_text(project.read_text().replace("timeout_seconds: 0.5", "timeout_seconds: 60"))
    for start in range(0, count, PER_FILE):
        documents = [demo_fixtures.widget(f"w{number}", resync="8s") for number in range(start, start + PER_FILE)]
        (folder / "infra" / f"{start}.yaml").write_text("---\n".join(documents))


def anonymous_bytes(pid: int) -> int:
    """Return the memory that only this process has."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("RssAnon"))


async def _drain(stream: asyncio.StreamReader) -> None:
    async for _ in stream:
        pass


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        found = [asyncio.run(at_rest(count, Path(folder) / str(count))) for count in SIZES]
    grown = max(0, found[1] - found[0]) / (SIZES[1] - SIZES[0])
    rows = [{"resources watched": f"{n:,}", "memory, MB": used / 1e6} for n, used in zip(SIZES, found, strict=True)]
    print(harness.table(rows))
    print()
    print(harness.table([harness.bar("an idle resource costs a watch under 200 bytes of memory", grown, most=200)]))


if __name__ == "__main__":
    main()
