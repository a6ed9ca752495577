"""The real Prometheus and Alertmanager for tests, without root: Debian's packages, unpacked into a cache of our own.

Binaries on PATH are taken as they are. Otherwise the packages are fetched with the machine's own package client, from
wherever it is configured to fetch from, once for all runs. Where that cannot be done the tests are skipped by name, and
with CI=true a skip is a failure.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from holdfast_emulators import debian_packages
from holdfast_emulators.debian_packages import Unavailable
from holdfast_emulators.local_server import free_port, until

PACKAGES = {"prometheus": "usr/bin/prometheus", "prometheus-alertmanager": "usr/bin/prometheus-alertmanager"}
SHARED = b"/usr/share/prometheus/alertmanager"
START_SECONDS = 120.0


# --- the binaries ----------------------------------------------------------------------------------------------------


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "holdfast" / "prometheus"


def binaries() -> dict[str, Path]:
    """Return the two programs by package; fetch them if need be, one process at a time, all or nothing."""
    found = {name: shutil.which(name) for name in PACKAGES}
    if all(found.values()):
        return {name: Path(path) for name, path in found.items() if path}
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        unpacked = folder / "unpacked"
        if not unpacked.exists():
            _fetch(folder, unpacked)
    return {name: unpacked / path for name, path in PACKAGES.items()}


def _fetch(folder: Path, unpacked: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        whole = debian_packages.unpack(PACKAGES, Path(scratch), folder / "apt")
        for name, path in PACKAGES.items():
            if not os.access(whole / path, os.X_OK):
                raise Unavailable(f"the package {name} has no program {path}")
        _relocate(whole / PACKAGES["prometheus-alertmanager"])
        whole.rename(unpacked)


def _relocate(program: Path) -> None:
    """Have Debian's Alertmanager look for its templates where it is started, for without root they are nowhere else.

    The folder is compiled into it; the replacement is as long, and means the same however often a dot is in it.
    """
    here = b"/proc/self/cwd"
    there = here + b"/." * ((len(SHARED) - len(here)) // 2)
    assert len(there) == len(SHARED)
    program.write_bytes(program.read_bytes().replace(SHARED, there))


# --- the servers -----------------------------------------------------------------------------------------------------


@dataclass
class Process:
    """One server, in a folder of its own."""

    words: list[str]
    log: Path
    ready: str
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.words, stdout=log, stderr=log, cwd=self.log.parent)
        until(self._answers, START_SECONDS, f"{self.words[0]} did not start: see {self.log}")

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"{self.words[0]} ended with {self.process.returncode}: {self.log.read_text()[-600:]}")
        return get(self.ready) is not None

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(15)
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()


def get(url: str) -> str | None:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return str(answer.read().decode())
    except (OSError, urllib.error.HTTPError):
        return None


PROMETHEUS = """\
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s, query_log_file: {folder}/queries.log}}
rule_files: [rules.yml]
alerting: {{alertmanagers: [{{static_configs: [{{targets: ["127.0.0.1:{alerts}"]}}]}}]}}
scrape_configs:
  - {{job_name: service, honor_labels: true, static_configs: [{{targets: ["127.0.0.1:{service}"]}}]}}
"""
RULES = """\
groups:
  - name: service
    rules:
      - alert: HighMemory
        expr: sum by (service) (memory_bytes) > 900 or sum by (service) (pressure_bytes) > 900
        for: 1s
"""
ALERTMANAGER = """\
route: {receiver: none, group_wait: 1s, group_interval: 1s, repeat_interval: 1h}
receivers: [{name: none}]
"""


@dataclass
class Monitoring:
    """Prometheus, Alertmanager, and a service whose memory follows from its configuration file."""

    folder: Path
    configuration: Path  # of the service: whoever says `cache: big` in it uses much memory
    eases: Callable[[Monitoring], bool] = lambda _: True  # whether the alert may end once the memory is back
    prometheus: Process = field(init=False)
    alertmanager: Process = field(init=False)
    ports: dict[str, int] = field(default_factory=dict)
    fronts: dict[str, Front] = field(default_factory=dict)  # whom to ask, so that it is known who was asked

    def __post_init__(self) -> None:
        programs = binaries()
        self.ports = {name: free_port() for name in ("prometheus", "alertmanager")}
        self.service = Service(self.configuration, lambda: self.eases(self))
        values = {"folder": self.folder, "alerts": self.ports["alertmanager"], "service": self.service.port}
        (self.folder / "prometheus.yml").write_text(PROMETHEUS.format(**values))
        (self.folder / "rules.yml").write_text(RULES)
        (self.folder / "alertmanager.yml").write_text(ALERTMANAGER)
        for template in (cache() / "unpacked" / SHARED.decode().removeprefix("/")).glob("*.tmpl"):
            shutil.copy(template, self.folder)
        self.prometheus = Process(
            [
                str(programs["prometheus"]),
                f"--config.file={self.folder}/prometheus.yml",
                f"--storage.tsdb.path={self.folder}/data",
                f"--web.listen-address=127.0.0.1:{self.ports['prometheus']}",
                "--rules.alert.resend-delay=1s",
                "--rules.alert.for-grace-period=1s",
            ],
            self.folder / "prometheus.log",
            f"{self.url('prometheus')}/-/ready",
        )
        self.alertmanager = Process(
            [
                str(programs["prometheus-alertmanager"]),
                f"--config.file={self.folder}/alertmanager.yml",
                f"--storage.path={self.folder}/alerts",
                f"--web.listen-address=127.0.0.1:{self.ports['alertmanager']}",
                "--cluster.listen-address=",
            ],
            self.folder / "alertmanager.log",
            f"{self.url('alertmanager')}/-/ready",
        )

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.ports[name]}"

    def start(self) -> None:
        self.alertmanager.start()
        self.prometheus.start()
        self.fronts = {name: Front(self.url(name)) for name in self.ports}

    def stop_servers(self) -> None:
        """Have neither of them answer any more."""
        for front in self.fronts.values():
            front.stop()
        self.prometheus.stop()
        self.alertmanager.stop()

    def stop(self) -> None:
        self.stop_servers()
        self.service.stop()

    # -- what the servers say

    def requests(self) -> dict[str, int]:
        """Return how often each was asked, whatever for."""
        return {name: len(front.requests) for name, front in self.fronts.items()}

    def is_firing(self) -> bool:
        answer = get(f"{self.url('alertmanager')}/api/v2/alerts?filter=alertname=%22HighMemory%22")
        return bool(json.loads(answer)) if answer else False

    def has_been_at(self, value: float, seconds: int) -> bool:
        """Tell whether Prometheus has seen nothing but a value for a while."""
        query = urllib.parse.quote(
            f"min_over_time(memory_bytes[{seconds}s]) == {value} unless memory_bytes offset {seconds}s != {value}"
        )
        answer = get(f"{self.url('prometheus')}/api/v1/query?query={query}")
        return bool(json.loads(answer)["data"]["result"]) if answer else False

    def range_queries(self) -> list[str]:
        """Return the range queries that were asked over HTTP, as the log of Prometheus has them."""
        log = self.folder / "queries.log"
        lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return [
            line["params"]["query"] for line in lines if line.get("httpRequest", {}).get("path", "").endswith("range")
        ]


class Front:
    """Stands before a server and keeps a log of the requests; Alertmanager itself keeps none."""

    def __init__(self, server: str) -> None:
        self.requests: list[str] = []
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requests.append(self.path.partition("?")[0])
                try:
                    with urllib.request.urlopen(server + self.path, timeout=10) as answer:
                        status, body = answer.status, answer.read()
                except urllib.error.HTTPError as error:
                    status, body = error.code, error.read()
                except OSError:
                    status, body = 502, b""
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                pass

        self._served = Served(Handler)
        self.url = self._served.url
        self.stop = self._served.stop


class Served:
    """A small HTTP server in a thread."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()


class Service:
    """Something that serves metrics and says whether it is well; how it is follows from its configuration file.

    Once under pressure, it is so until that may end: by something that happened, not by the time that it takes.
    """

    def __init__(self, configuration: Path, eases: Callable[[], bool]) -> None:
        self.is_pressed = False
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                big = configuration.exists() and "cache: big" in configuration.read_text()
                service.is_pressed = big or (service.is_pressed and not eases())
                values = {"memory_bytes": 1000 if big else 400, "pressure_bytes": 1000 if service.is_pressed else 400}
                metrics = "".join(f'{name}{{service="cart"}} {value}\n' for name, value in values.items())
                body = metrics if self.path == "/metrics" else "ok\n"
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_arguments: object) -> None:
                pass

        self._served = Served(Handler)
        self.port = self._served.port
        self.url = self._served.url
        self.stop = self._served.stop


@contextmanager
def running(
    folder: Path, configuration: Path, eases: Callable[[Monitoring], bool] = lambda _: True
) -> Iterator[Monitoring]:
    """Have both servers run; skip, loudly, where they cannot be had."""
    try:
        binaries()
    except Unavailable as reason:
        pytest.skip(f"the real Prometheus and Alertmanager cannot be had here: {reason}")
    folder.mkdir(parents=True, exist_ok=True)
    monitoring = Monitoring(folder, configuration, eases)
    try:
        monitoring.start()
        yield monitoring
    finally:
        monitoring.stop()
