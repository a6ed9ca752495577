"""RunPod endpoints from Python beside Flash: what a hash costs, and what it costs to look after a thousand of them.

Flash gets an environment of its own below .make/, and a process of its own; both sides take turns in one run, and what
counts is the CPU time of each side's own process. The RunPod both talk to is our emulator, in a third.

python tests/benchmarks/bench_runpod.py [rounds]
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp

# Run as a script, Python would look for siblings in this folder only.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from holdfast.api import ResourceManager
from holdfast.providers import runpod
from holdfast.providers.runpod import CpuLoadBalancerSlsResource
from holdfast.providers.runpod.resources.serverless import ServerlessResource
from tests.benchmarks import harness

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".make/flash"
COUNT = 1_000
CHECKS = 7
CALLS = 400

_COMMON = {"imageName": "user/image:1.0", "workersMin": 0, "workersMax": 5, "env": {"MODE": "fast", "TOKEN": "x" * 40}}
TYPICAL: dict[str, dict[str, Any]] = {
    "ServerlessEndpoint": {"name": "g", "gpuIds": "AMPERE_80,ADA_24", "locations": "EU-RO-1", **_COMMON},
    "LoadBalancerSlsResource": {"name": "l", "gpuIds": "AMPERE_80", **_COMMON},
    "CpuServerlessEndpoint": {"name": "c", **_COMMON},
    "CpuLoadBalancerSlsResource": {"name": "b", **_COMMON},
}


def environment() -> Path:
    """Return a Python that has Flash, installed once."""
    python = ENVIRONMENT / "bin/python"
    done = ENVIRONMENT / ".done"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "runpod-flash"]
        subprocess.run(install, check=True, stdout=sys.stderr, stderr=subprocess.DEVNULL)
        done.touch()
    return python


class Flash:
    """The process on the other side."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        python = environment()
        ask = [str(python), "-c", "from importlib.metadata import version; print(version('runpod-flash'))"]
        self.version = subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip()
        quiet = {"LOG_LEVEL": "ERROR", "PYTHONWARNINGS": "ignore"}
        self._process = subprocess.Popen(
            [str(python), str(Path(__file__).with_name("flash_side.py"))],
            cwd=folder,
            env={**os.environ, **environ, **quiet},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.order(json.dumps(TYPICAL))

    def order(self, text: str) -> Any:
        """Have something done; return what it says."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()


@contextlib.contextmanager
def emulator() -> Iterator[dict[str, Any]]:
    """Run our RunPod in a process of its own."""
    command = [sys.executable, "-m", "holdfast_emulators.runpod"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


def ours(name: str, calls: int) -> float:
    """Return the CPU seconds of so many hashes."""
    endpoint: ServerlessResource = getattr(runpod, name)(**TYPICAL[name])
    start = time.process_time()
    for _ in range(calls):
        endpoint.config_hash  # noqa: B018 - a property that computes
    return time.process_time() - start


def hashes(flash: Flash, rounds: int) -> list[dict[str, object]]:
    """Measure config_hash, in turns."""
    rows: list[dict[str, object]] = []
    for name in TYPICAL:
        theirs, mine = [], []
        for _ in range(rounds):
            theirs.append(flash.order(f"hash {name} {CALLS}") / CALLS * 1e6)
            mine.append(ours(name, CALLS) / CALLS * 1e6)
        us, flashs = statistics.median(mine), statistics.median(theirs)
        rows.append({"config_hash of": name, "Flash us": flashs, "holdfast us": us, "Flash / holdfast": flashs / us})
    return rows


def config(number: int) -> dict[str, Any]:
    """Return the fields of one of the thousand."""
    return {**TYPICAL["CpuLoadBalancerSlsResource"], "name": f"e{number:04}", "workersMax": 3 + number % 5}


async def made(where: dict[str, Any]) -> list[str]:
    """Make the thousand; not through anybody's library, for that is not what is measured."""
    headers = {"Authorization": f"Bearer {where['token']}"}
    out = []
    async with aiohttp.ClientSession(headers=headers) as session:
        for number in range(COUNT):
            fields = config(number)
            body = {
                "name": fields["name"],
                "type": "LOAD_BALANCER",
                "image": fields["imageName"],
                "env": fields["env"],
                "cpu": [{"id": "cpu3g", "vcpuCount": 2}],
                "disk": 20,
                "flashboot": "FLASHBOOT",
                "workers": {"min": fields["workersMin"], "max": fields["workersMax"], "idleTimeout": 60},
                "scaling": {"type": "REQUEST_COUNT", "requestCount": 4},
            }
            async with session.post(f"{where['rest']}/serverless", json=body) as answer:
                out.append((await answer.json())["id"])
    return out


def checks(flash: Flash, folder: Path, where: dict[str, Any]) -> list[dict[str, object]]:
    """Measure a drift check of a thousand endpoints that nobody touched, in turns."""
    idents = asyncio.run(made(where))
    connection = (
        f"{{provider: runpod, base_url: 'http://127.0.0.1:{where['port']}', secrets: {{api_key: {{env: KEY}}}}}}"
    )
    (folder / "holdfast.yaml").write_text(f"connections: {{bench: {connection}}}\n", encoding="utf-8")
    os.environ["KEY"] = where["token"]
    manager = ResourceManager(folder)
    configs = [CpuLoadBalancerSlsResource(**config(number)) for number in range(COUNT)]
    flash.order(f"load {json.dumps([{**config(n), 'id': ident} for n, ident in enumerate(idents)])}")
    asyncio.run(_taken_over(manager, configs, idents))
    times: dict[str, list[float]] = {"look": [], "mine": [], "local": []}
    for _ in range(CHECKS):
        times["look"].append(flash.order("check"))
        times["local"].append(flash.order("compare"))
        start = time.process_time()
        seen = asyncio.run(manager.check(*configs))
        times["mine"].append(time.process_time() - start)
        if not all(item.is_in_sync for item in seen):
            raise SystemExit("not everything is in sync: the comparison would mean nothing")
    ms = {name: statistics.median(values) * 1e3 for name, values in times.items()}
    return [
        {"1,000 unchanged": label, "CPU ms": ms[name], "times ours": ms[name] / ms["mine"]}
        for name, label in (
            ("look", "Flash: each is asked for, and its hash compared"),
            ("local", "Flash: the hashes only, without reading live state"),
            ("mine", "holdfast: all are read, and compared with what was settled"),
        )
    ]


async def _taken_over(manager: ResourceManager, configs: list[CpuLoadBalancerSlsResource], idents: list[str]) -> None:
    for endpoint, ident in zip(configs, idents, strict=True):
        await manager.adopt(endpoint, ident)


def bars(hashed: list[dict[str, object]], checked: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return what was promised beside what was measured."""
    out = [
        harness.bar(f"config_hash of {row['config_hash of']}: no dearer than Flash's", float(str(ratio)), least=1.0)
        for row in hashed
        for ratio in [row["Flash / holdfast"]]
    ]
    ratio = float(str(checked[0]["times ours"]))
    return [*out, harness.bar("a drift check of 1,000 unchanged: at least 5 times less than Flash", ratio, least=5.0)]


def main() -> None:
    """Print the tables."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as folder, emulator() as where:
        base = f"http://127.0.0.1:{where['port']}"
        environ = {
            "RUNPOD_API_KEY": where["token"],
            "RUNPOD_API_BASE_URL": base,
            "RUNPOD_REST_API_URL": f"{base}/v1",
            "RUNPOD_ENDPOINT_BASE_URL": f"{base}/ai/v2",
        }
        flash = Flash(Path(folder), environ)
        try:
            hashed = hashes(flash, rounds)
            checked = checks(flash, Path(folder), where)
        finally:
            flash.close()
    print(f"Flash is {flash.version}.", harness.table(hashed), harness.table(checked), sep="\n\n", end="\n\n")
    print(harness.table(bars(hashed, checked)))


if __name__ == "__main__":
    main()
