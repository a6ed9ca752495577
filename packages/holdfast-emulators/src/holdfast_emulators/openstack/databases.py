"""Databases with their tables, users and catalogue: prepared once, then copied for every control plane."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Final

from holdfast_emulators.openstack import configuration, install, processes
from holdfast_emulators.openstack.clients import Client
from holdfast_emulators.openstack.configuration import CATALOGUE, PASSWORD, REGION, SERVICES, Layout
from holdfast_emulators.openstack.install import Say, Unavailable, inside

_KEYS: Final = ("fernet-keys", "credential-keys")
_SCHEMA_SECONDS: Final = 600.0
_ABOUT: Final = "about.json"


def prepare(layout: Layout, say: Say = install.silent) -> None:
    """Fill the folder of a control plane with configuration and databases; nothing is started."""
    template = _template(layout.python, say)
    for part in (layout.etc, layout.var, layout.logs, layout.plugins):  # of an attempt that was killed
        shutil.rmtree(part, ignore_errors=True)
    configuration.configure(layout)
    for key in _KEYS:
        shutil.copytree(template / "etc/keystone" / key, layout.etc / "keystone" / key)
    for file in (template / "var").glob("*.sqlite"):
        shutil.copy(file, layout.var)
    about = json.loads((template / _ABOUT).read_text())
    _readdress(layout, Path(about["folder"]), int(about["base_port"]))


def _readdress(layout: Layout, folder: Path, base_port: int) -> None:
    """Put the new addresses where databases name the old ones."""
    with closing(sqlite3.connect(layout.var / "keystone.sqlite")) as database, database:
        for place in range(len(SERVICES)):
            old, new = (f"{configuration.HOST}:{first + place}" for first in (base_port, layout.base_port))
            # Through a mark that no port can be mistaken for: old and new ranges may overlap.
            database.execute("UPDATE endpoint SET url = replace(url, ?, ?)", [old, f"host-{place}!{new}"])
        for place in range(len(SERVICES)):
            database.execute("UPDATE endpoint SET url = replace(url, ?, '')", [f"host-{place}!"])
    with closing(sqlite3.connect(layout.var / "nova_api.sqlite")) as database, database:
        statement = "UPDATE cell_mappings SET database_connection = replace(database_connection, ?, ?)"
        database.execute(statement, [f"{folder}/var", str(layout.var)])


def _template(python: Path, say: Say) -> Path:
    """Return the prepared databases, made first if they are not there."""
    sources = b"".join(Path(module.__file__ or "").read_bytes() for module in (configuration, install))
    own = Path(__file__).read_bytes()
    parts = b"".join(inside(name).read_bytes() for name in ("neutron_schema.py", "forked.py"))
    made_by = install.key().encode()  # other versions have other tables
    folder = install.home() / f"template-{hashlib.sha256(sources + own + parts + made_by).hexdigest()[:12]}"
    with install.locked(install.home() / "template.lock"):
        if not (folder / _ABOUT).exists():
            say("preparing the services' databases: once, half a minute")
            shutil.rmtree(folder, ignore_errors=True)
            _make(Layout(folder, python, processes.free_ports(len(SERVICES))))
    return folder


def _make(layout: Layout) -> None:
    configuration.configure(layout)
    for key in _KEYS:
        (layout.etc / "keystone" / key).mkdir(mode=0o700)
    _run_all(layout, _jobs(layout))
    (layout.folder / "kept").touch()
    try:
        processes.spawn(layout, ["keystone"])
        _register(layout)
    finally:
        processes.stop(layout)
    about = {"folder": str(layout.folder), "base_port": layout.base_port}
    (layout.folder / _ABOUT).write_text(json.dumps(about))


def _jobs(layout: Layout) -> dict[str, list[str]]:
    """Return the command that makes each database."""
    bin_ = layout.python.parent

    def conf(name: str, file: str) -> list[str]:
        return ["--config-file", str(layout.etc / name / file)]

    def forked(module: str, tool: str, options: list[str], commands: list[list[str]]) -> list[str]:
        lines = json.dumps([[tool, *options, *command] for command in commands])
        return [str(layout.python), str(inside("forked.py")), module, lines]

    owner = ["--keystone-user", str(os.getuid()), "--keystone-group", str(os.getgid())]
    urls = [part for face in ("public", "internal", "admin") for part in (f"--bootstrap-{face}-url", layout.identity)]
    bootstrap = ["bootstrap", "--bootstrap-password", PASSWORD, "--bootstrap-region-id", REGION, *urls]
    cell0 = ["cell_v2", "map_cell0", "--database_connection", layout.database("nova_cell0")]
    return {
        "keystone": forked(
            "keystone.cmd.manage",
            "keystone-manage",
            conf("keystone", "keystone.conf"),
            [["db_sync"], ["fernet_setup", *owner], ["credential_setup", *owner], bootstrap],
        ),
        "neutron": [str(layout.python), str(inside("neutron_schema.py")), layout.database("neutron")],
        "glance": [str(bin_ / "glance-manage"), *conf("glance", "glance-api.conf"), "db_sync"],
        "nova": forked(
            "nova.cmd.manage",
            "nova-manage",
            conf("nova", "nova.conf"),
            [["api_db", "sync"], cell0, ["db", "sync"], ["cell_v2", "create_cell", "--name", "cell1"]],
        ),
        "cinder": [str(bin_ / "cinder-manage"), *conf("cinder", "cinder.conf"), "db", "sync"],
    }


def _run_all(layout: Layout, jobs: dict[str, list[str]]) -> None:
    """Run the commands side by side; raise Unavailable with what the first failing one said."""
    running: dict[str, subprocess.Popen[bytes]] = {}
    for name, command in jobs.items():
        with (layout.logs / f"{name}-schema.out").open("w") as out:
            running[name] = subprocess.Popen(
                command, env=processes.variables(layout), stdout=out, stderr=subprocess.STDOUT
            )
    failed = [name for name, process in running.items() if _ends_badly(process)]
    if failed:
        said = (layout.logs / f"{failed[0]}-schema.out").read_text(errors="replace")[-1500:]
        raise Unavailable(f"the database of {failed[0]} cannot be made: {said}")


def _ends_badly(process: subprocess.Popen[bytes]) -> bool:
    try:
        return process.wait(_SCHEMA_SECONDS) != 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True


def _register(layout: Layout) -> None:
    """Enter the services into Keystone: a user each, and where they are."""
    client = Client(admin(layout), "preparing")
    identity = "identity"
    project = client.post(identity, "/projects", {"project": {"name": "service", "domain_id": "default"}})
    roles = {role["name"]: role["id"] for role in client.get(identity, "/roles")["roles"]}
    for name, (kind, path) in CATALOGUE.items():
        person = {"name": name, "password": PASSWORD, "domain_id": "default"}
        user = client.post(identity, "/users", {"user": person})["user"]["id"]
        for role in ("admin", "service"):
            where = f"/projects/{project['project']['id']}/users/{user}/roles/{roles[role]}"
            client.put(identity, where, None)
        service = client.post(identity, "/services", {"service": {"name": name, "type": kind}})["service"]["id"]
        for face in ("public", "internal"):
            url = layout.url(name) + path
            given = {"service_id": service, "interface": face, "region_id": REGION, "url": url}
            client.post(identity, "/endpoints", {"endpoint": given})
    client.close()


def admin(layout: Layout) -> dict[str, str]:
    """Return how the administrator signs in."""
    return {
        "auth_url": layout.identity,
        "username": "admin",
        "password": PASSWORD,
        "project_name": "admin",
        "user_domain_id": "default",
        "project_domain_id": "default",
    }
