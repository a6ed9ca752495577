"""Runs inside the services' environment: one service on one port, with a gate before it.

    serve.py SERVICE PORT FOLDER

The gate writes down every request, and answers some of them wrongly where `faults.json` says so. A service whose owners
(the processes named in `owners/`) have all ended stops by itself, so that a killed test run leaves nothing behind.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pathlib
import sys
import threading
import time
import traceback
from typing import Any

OWNERLESS_SECONDS = 10.0
POLL_SECONDS = 2.0

name, port, folder = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
keep: list[Any] = []  # a Service without a reference is collected, and counts as down a minute later


def die(*error: Any) -> None:
    """End the process: threads of a service would keep it alive after a failed start."""
    traceback.print_exception(*error)
    os._exit(1)


def watch_owners() -> None:
    """Stop once the last owner has ended. A folder without any owner stays up."""
    owners, since = folder / "owners", time.monotonic()
    while True:
        time.sleep(POLL_SECONDS)
        pids = [int(file.name) for file in owners.glob("[0-9]*")] if owners.is_dir() else []
        if (folder / "kept").exists() or any(map(is_alive, pids)):
            since = time.monotonic()
        elif time.monotonic() - since > OWNERLESS_SECONDS:
            os._exit(0)


def is_alive(pid: int) -> bool:
    """Return True if a process runs. Without a reaper a dead one stays as a zombie."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def queue_for_sqlite() -> None:
    """Let many threads write one SQLite file in turn: lock at BEGIN, as an upgrade from reading would fail at once.

    Not for Neutron, which opens a second transaction inside the first and would wait for itself.
    """
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    @event.listens_for(Engine, "connect")  # type: ignore[untyped-decorator]
    def connected(connection: Any, _record: Any) -> None:
        if type(connection).__module__.startswith("sqlite3"):
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA busy_timeout=20000")

    @event.listens_for(Engine, "before_cursor_execute", retval=True)  # type: ignore[untyped-decorator]
    def executing(connection: Any, _cursor: Any, text: str, parameters: Any, _context: Any, _many: bool) -> Any:
        is_begin = text == "BEGIN" and connection.dialect.name == "sqlite"
        return ("BEGIN IMMEDIATE" if is_begin else text), parameters


def nova() -> Any:
    """Start all of Nova in this process, because its message bus is one."""
    queue_for_sqlite()
    # By name, because the order counts and no tool may sort it: the application chooses how threads are made.
    application = importlib.import_module("nova.wsgi.osapi_compute").application
    context, service = importlib.import_module("nova.context"), importlib.import_module("nova.service")
    host_mapping = importlib.import_module("nova.objects.host_mapping")

    importlib.import_module("os_vif").initialize()
    for binary, options in (
        ("nova-conductor", {"topic": "conductor"}),
        ("nova-scheduler", {"topic": "scheduler"}),
        ("nova-compute", {"topic": "compute", "topic_alt": "compute-alt"}),
    ):
        keep.append(service.Service.create(binary=binary, **options))
        keep[-1].start()
    host_mapping.discover_hosts(context.get_admin_context())
    return application


def cinder() -> Any:
    """Start all of Cinder in this process; volumes first, for the scheduler waits for their report."""
    queue_for_sqlite()
    sys.argv = [name, "--config-file", str(folder / "etc/cinder/cinder.conf")]
    importlib.import_module("cinder.monkey_patch").patch(backend="threading")
    service, volume = importlib.import_module("cinder.service"), importlib.import_module("cinder.cmd.volume")
    application = importlib.import_module("cinder.wsgi.api").application
    options = importlib.import_module("oslo_config.cfg").CONF
    options.register_opt(volume.host_opt, group="fake")
    host = options.host + "@fake"
    for part in (
        {"binary": "cinder-volume", "host": host, "service_name": "fake", "coordination": True},
        {"binary": "cinder-scheduler"},
    ):
        keep.append(service.Service.create(**part))
        keep[-1].start()
    return application


class Gate:
    """Stands before an application: notes what passes, and spoils what it is told to."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.log = (folder / "log/requests.jsonl").open("a", buffering=1)
        self.seen = 0
        self.rules: list[dict[str, Any]] = []
        self.used: list[int] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        rule = self.rule(environ)
        query = environ.get("QUERY_STRING", "")
        path = environ["PATH_INFO"] + (f"?{query}" if query else "")  # now: applications move it about
        told: list[str] = []

        def start(status: str, headers: Any, *rest: Any) -> Any:
            told.append(status)
            return start_response(status, headers, *rest)

        if rule is None:
            answer = self.app(environ, start)
        else:
            answer = self.spoilt(rule, environ, start)
        self.note(environ, path, told[0] if told else "?", spoilt=rule is not None)
        return answer

    def rule(self, environ: dict[str, Any]) -> dict[str, Any] | None:
        """Return the first rule that speaks about a request, and count its use."""
        try:
            stamp = (folder / "faults.json").stat().st_mtime_ns
            if stamp != self.seen:
                self.rules = json.loads((folder / "faults.json").read_text())
                self.used, self.seen = [0] * len(self.rules), stamp
        except (OSError, ValueError):
            return None
        for place, rule in enumerate(self.rules):
            if self.used[place] < rule.get("times", 10**9) and speaks_of(rule, environ):
                self.used[place] += 1
                return rule
        return None

    def spoilt(self, rule: dict[str, Any], environ: dict[str, Any], start: Any) -> Any:
        """Answer wrongly; `after` lets the service do its work first, and loses the answer."""
        if rule.get("after"):
            for _ in self.app(environ, lambda *_: None):
                pass
        time.sleep(rule.get("delay", 0))
        if "status" not in rule:
            return [] if rule.get("after") else self.app(environ, start)
        headers = [("Content-Type", rule.get("type", "application/json"))]
        if "retry_after" in rule:
            headers.append(("Retry-After", str(rule["retry_after"])))
        start(f"{rule['status']} Injected", headers)
        return [rule.get("body", '{"error": {"message": "injected"}}').encode()]

    def note(self, environ: dict[str, Any], path: str, status: str, *, spoilt: bool) -> None:
        """Write a request down."""
        line = {
            "service": name,
            "method": environ["REQUEST_METHOD"],
            "path": path,
            "status": int(status.split(maxsplit=1)[0]) if status[0].isdigit() else 0,
            "agent": environ.get("HTTP_USER_AGENT", ""),
            "spoilt": spoilt,
        }
        self.log.write(json.dumps(line) + "\n")


def speaks_of(rule: dict[str, Any], environ: dict[str, Any]) -> bool:
    """Return True if a rule is about a request."""
    method = environ["REQUEST_METHOD"]
    return (
        rule.get("service", name) == name
        and rule.get("method", method) == method
        and rule.get("path", "") in environ["PATH_INFO"]
        and rule.get("agent", "") in environ.get("HTTP_USER_AGENT", "")
    )


def main() -> None:
    """Serve."""
    sys.excepthook = die
    sys.argv = [name]  # neutron, nova and cinder hand it to oslo.config
    threading.Thread(target=watch_owners, daemon=True).start()
    if name in ("nova", "cinder"):
        app = {"nova": nova, "cinder": cinder}[name]()
    else:
        app = importlib.import_module(name + ".wsgi.api").application
    from waitress import serve

    gc.collect()
    gc.freeze()  # what was imported stays; to look through it again and again takes a tenth of the time
    gc.set_threshold(50_000, 20, 20)
    # One request at a time, because SQLite has one writer; Nova asks itself through its own API.
    serve(Gate(app), host="127.0.0.1", port=port, threads=4 if name == "nova" else 1)


if __name__ == "__main__":
    main()
