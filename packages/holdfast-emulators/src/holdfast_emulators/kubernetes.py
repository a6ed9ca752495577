"""A real API server on this machine: etcd, kube-apiserver 1.20.2 and its controllers, without containers.

The programs come from ../shared/bin, else from the folder that HOLDFAST_KUBE_BIN names. etcd comes from there or PATH,
else from the machine's own package client.

    python -m holdfast_emulators.kubernetes up FOLDER       # writes FOLDER/kubeconfig
    python -m holdfast_emulators.kubernetes down FOLDER
"""

from __future__ import annotations

import fcntl
import json
import lzma
import os
import secrets
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast_emulators import debian_packages
from holdfast_emulators.debian_packages import Unavailable
from holdfast_emulators.local_server import free_port, until

Json = Any  # a parsed document of the server

VERSION = "1.20.2"
PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
SHARED = Path(__file__).parents[4].parent / "shared" / "bin" / f"kubernetes-{VERSION}"
START_SECONDS = 120.0


def cache() -> Path:
    """Return the folder of the unpacked programs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "holdfast" / f"kubernetes-{VERSION}"


def binaries() -> dict[str, Path]:
    """Return the programs by name; unpack or fetch them once for all runs."""
    given = os.environ.get("HOLDFAST_KUBE_BIN")
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = {name: _unpacked(name, folder, Path(given) if given else None) for name in PROGRAMS}
        return {**found, "etcd": _etcd(folder, Path(given) if given else None)}


def _unpacked(name: str, folder: Path, given: Path | None) -> Path:
    packed, unpacked = SHARED / f"{name}-{VERSION}.xz", folder / name
    if unpacked.exists():
        return unpacked
    if packed.exists():
        scratch = folder / f"{name}.part"
        with lzma.open(packed) as source, scratch.open("wb") as target:
            shutil.copyfileobj(source, target)
        scratch.chmod(0o755)
        scratch.rename(unpacked)
        return unpacked
    if given is not None and (given / name).exists():
        return given / name
    raise Unavailable(f"there is no {name}: neither {packed} nor HOLDFAST_KUBE_BIN has it")


def _etcd(folder: Path, given: Path | None) -> Path:
    known = [folder / "etcd", *([given / "etcd"] if given else []), Path(shutil.which("etcd") or "/nowhere")]
    for path in known:
        if path.exists():
            return path
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        whole = debian_packages.unpack(["etcd-server"], Path(scratch), folder / "apt")
        (whole / "usr/bin/etcd").rename(folder / "etcd")
    return folder / "etcd"


@dataclass
class ApiServer:
    """One API server with its etcd and its controllers, and requests to it under any field manager."""

    folder: Path
    programs: dict[str, Path]
    extra: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    # -- life

    def start(self) -> None:
        """Start everything; return when the API server is ready."""
        key, tokens = self.folder / "sa.key", self.folder / "tokens.csv"
        if not key.exists():
            debian_packages.run(["openssl", "genrsa", "-out", str(key), "2048"], self.folder)
        tokens.write_text(f"{self.token},admin,admin,system:masters\nreader-token,reader,reader\n")
        client, peer = free_port(), free_port()
        here = "http://127.0.0.1"
        self._spawn(
            "etcd",
            f"--name=t --data-dir={self.folder}/etcd --unsafe-no-fsync --listen-client-urls={here}:{client} "
            f"--advertise-client-urls={here}:{client} --listen-peer-urls={here}:{peer} "
            f"--initial-advertise-peer-urls={here}:{peer} --initial-cluster=t={here}:{peer}",
        )
        self.etcd_url = f"{here}:{client}"
        self.start_api()
        self.kubeconfig.write_text(json.dumps(self._kubeconfig(self.token)))
        loops = f"--kubeconfig={self.kubeconfig} --leader-elect=false --bind-address=127.0.0.1 --secure-port=0 --port=0"
        self._spawn(
            "kube-controller-manager",
            f"{loops} --service-account-private-key-file={key} --controllers=*,-nodeipam,-route,-service",
        )
        self._spawn("kube-scheduler", loops)

    def start_api(self) -> None:
        """Start the API server alone, on the etcd that runs."""
        key = self.folder / "sa.key"
        self._spawn(
            "kube-apiserver",
            f"--etcd-servers={self.etcd_url} --bind-address=127.0.0.1 --advertise-address=127.0.0.1 "
            f"--secure-port={self.port} --cert-dir={self.folder}/certs --service-cluster-ip-range=10.0.0.0/16 "
            f"--token-auth-file={self.folder}/tokens.csv --authorization-mode=RBAC --allow-privileged=true "
            f"--service-account-issuer={self.url} --service-account-key-file={key} "
            f"--service-account-signing-key-file={key} --disable-admission-plugins=ServiceAccount",
            *self.extra,
        )
        until(self._is_ready, START_SECONDS, f"kube-apiserver did not start: see {self.folder}/kube-apiserver.log")

    def _spawn(self, name: str, words: str, *more: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            command = [str(self.programs[name]), *words.split(), *more]
            self._processes[name] = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)

    def _is_ready(self) -> bool:
        ended = self._processes["kube-apiserver"].poll()
        assert ended is None, (self.folder / "kube-apiserver.log").read_text()[-800:]
        try:
            status, _ = self.request("GET", "/readyz")
        except OSError:
            return False
        return status == 200

    def stop(self, *names: str) -> None:
        """Stop some programs, or all."""
        for name in names or tuple(reversed(self._processes)):
            process = self._processes.pop(name)
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @property
    def url(self) -> str:
        """The address of the API server."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the administrator."""
        return self.folder / "kubeconfig"

    def kubeconfig_of(self, token: str) -> Path:
        """Return a kubeconfig of another identity."""
        path = self.folder / f"kubeconfig-{token}"
        path.write_text(json.dumps(self._kubeconfig(token)))
        return path

    def _kubeconfig(self, token: str) -> dict[str, Json]:
        cluster = {"server": self.url, "certificate-authority": f"{self.folder}/certs/apiserver.crt"}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "t", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": token}}],
            "contexts": [{"name": "t", "context": {"cluster": "t", "user": "admin"}}],
            "current-context": "t",
        }

    # -- requests, as kubectl and controllers make them

    def request(
        self, method: str, path: str, body: Json = None, content_type: str = "application/json", **query: str
    ) -> tuple[int, Json]:
        """Return status and body of an answer."""
        asked = f"?{urllib.parse.urlencode(query)}" if query else ""
        request = urllib.request.Request(
            f"{self.url}{path}{asked}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.token}", "Content-Type": content_type},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=30, context=ssl._create_unverified_context()) as answer:
                status, data = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, data = error.code, error.read()
        try:
            return status, json.loads(data)
        except ValueError:
            return status, data

    def __call__(
        self, method: str, path: str, body: Json = None, content_type: str = "application/json", **query: str
    ) -> Json:
        """Return the body of an answer that must be a success."""
        status, answer = self.request(method, path, body, content_type, **query)
        assert status < 300, (status, answer)
        return answer

    def get(self, path: str) -> dict[str, Json] | None:
        """Return an object; None if there is none."""
        status, answer = self.request("GET", path)
        assert status in (200, 404), (status, answer)
        return answer if status == 200 else None

    def merge(self, path: str, body: Json, manager: str) -> Json:
        """Change an object as `kubectl edit`, `label` and `set image` do."""
        return self("PATCH", path, body, "application/merge-patch+json", fieldManager=manager)

    def strategic(self, path: str, body: Json, manager: str) -> Json:
        """Change an object as `kubectl set image` and client-side apply do."""
        return self("PATCH", path, body, "application/strategic-merge-patch+json", fieldManager=manager)

    def apply(self, path: str, body: Json, manager: str, *, force: bool = True) -> Json:
        """Apply an object under another manager."""
        return self("PATCH", path, body, "application/apply-patch+yaml", fieldManager=manager, force=str(force).lower())

    def update(self, path: str, change: Callable[[Json], Json], manager: str) -> Json:
        """Read, change and replace an object as a controller does: on a conflict once more."""
        while True:
            status, answer = self.request("PUT", path, change(self("GET", path)), fieldManager=manager)
            if status != 409:
                assert status < 300, (status, answer)
                return answer

    def namespace(self) -> str:
        """Create a namespace of a test's own."""
        name = f"t-{secrets.token_hex(4)}"
        self("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        return name

    def pids(self) -> list[int]:
        """Return the processes, in the order of their start."""
        return [process.pid for process in self._processes.values()]


def main(words: list[str]) -> int:
    """Start or stop a server in a folder."""
    action, folder = words
    pids = Path(folder, "pids")
    if action == "down":
        for pid in reversed(pids.read_text().split()):
            os.kill(int(pid), signal.SIGTERM)
        return 0
    Path(folder).mkdir(parents=True, exist_ok=True)
    try:
        server = ApiServer(Path(folder).resolve(), binaries())
        server.start()
    except Unavailable as error:
        sys.stderr.write(f"no Kubernetes API server: {error}\n")
        return 1
    until(lambda: server.get("/api/v1/namespaces/default") is not None, START_SECONDS, "there is no default namespace")
    pids.write_text(" ".join(map(str, server.pids())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
