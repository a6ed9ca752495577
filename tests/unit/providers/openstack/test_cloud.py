"""The session: what cannot be reached or described is a value or an InputError, and never an exception of the SDK's."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from keystoneauth1 import exceptions as known

from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.model.read_result import ReadError, ReadFailure
from holdfast.providers import registry
from holdfast.providers.http.client import Lost
from holdfast.providers.openstack import cloud
from holdfast.providers.openstack.cloud import Cloud
from holdfast.providers.openstack.settings import Account
from holdfast.providers.protocol import Connection, Target

FAILURES = [
    (known.ConnectTimeout("x"), ReadError.TIMEOUT),
    (known.ConnectFailure("http://secret@host"), ReadError.UNREACHABLE),
    (known.SSLError("x"), ReadError.UNREACHABLE),
    (known.Unauthorized("x"), ReadError.UNAUTHORISED),
    (known.ServiceUnavailable("x"), ReadError.SERVER_ERROR),
    (known.HttpError("x", http_status=429), ReadError.THROTTLED),
    (known.EndpointNotFound("x"), ReadError.OTHER),
    (known.MissingAuthPlugin("x"), ReadError.UNAUTHORISED),
    (known.DiscoveryFailure("x"), ReadError.UNREACHABLE),
    (OSError("x"), ReadError.UNREACHABLE),
    (TimeoutError("x"), ReadError.TIMEOUT),
    (KeyError("secret"), ReadError.OTHER),
    (Exception("password is a required attribute"), ReadError.UNAUTHORISED),
]


@pytest.mark.parametrize("error, trouble", FAILURES, ids=lambda value: type(value).__name__)
def test_what_went_wrong_is_told_in_our_own_words(error, trouble):
    found = cloud.lost("GET /x", error)
    assert found.trouble is trouble
    assert "secret" not in found.detail


def nowhere() -> Account:
    auth = {
        "auth_url": "http://127.0.0.1:9/v3",
        "username": "u",
        "project_name": "p",
        "user_domain_id": "default",
        "project_domain_id": "default",
    }
    return Account("c", auth=auth, secrets={"password": "p"}, timeout_seconds=2)


def test_a_cloud_that_is_not_there_is_unreachable():
    async def story() -> tuple[object, object]:
        there = Cloud(nowhere())
        try:
            return await there.send("network", "GET", "/networks", "GET /networks"), await there.project_id()
        finally:
            there.close()

    answer, project = asyncio.run(story())
    assert isinstance(answer, Lost)
    assert isinstance(project, Lost)
    assert {answer.trouble, project.trouble} <= {ReadError.UNREACHABLE}


def test_reading_from_a_cloud_that_is_not_there_is_unreadable():
    async def story() -> object:
        account = nowhere()
        connection = Connection("c", "openstack", {"auth": dict(account.auth or {}), "timeout": 2}, account.secrets)
        async with registry.get("openstack").reader(connection) as reader:
            return await reader.read(Target("Network", "n", "id", {}))

    seen = asyncio.run(story())
    assert isinstance(seen, ReadFailure)
    assert seen.trouble is ReadError.UNREACHABLE


def test_a_cloud_that_nobody_described_is_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("OS_CLOUD", "OS_CLIENT_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)

    monkeypatch.setenv("HOME", str(tmp_path))

    def complaint(**given: Json) -> str:
        async def story() -> None:
            connection = Connection("c", "openstack", given, {}, str(tmp_path))
            async with registry.get("openstack").reader(connection):
                pass

        with pytest.raises(InputError) as caught:
            asyncio.run(story())
        return str(caught.value)

    assert "/connections/c/cloud: no cloud 'nowhere' is described; no clouds.yaml was found" in complaint(
        cloud="nowhere"
    )
    assert f"there is no {tmp_path / 'mine.yaml'}" in complaint(cloud="nowhere", clouds_file="mine.yaml")
    assert "say cloud: or auth:, or set OS_CLOUD" in complaint()
    assert "auth has no 'passwort'" in complaint(auth={"auth_url": "http://127.0.0.1:9/v3", "passwort": "x"})
    (tmp_path / "clouds.yaml").write_text('{"clouds": {"one": {}, "two": {}}}')
    assert complaint(cloud="three").endswith(f"{tmp_path / 'clouds.yaml'} has one, two")


class Keystone(BaseHTTPRequestHandler):
    """Just enough of Keystone and Neutron to sign in once and list."""

    signed_in: int = 0
    pages: int = 0

    def log_message(self, *_arguments: object) -> None:
        pass

    def _answer(self, status: int, body: object, **headers: str) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    @property
    def base(self) -> str:
        return f"http://{self.headers['Host']}"

    def do_GET(self) -> None:
        if self.path.startswith("/v3"):
            links = [{"rel": "self", "href": f"{self.base}/v3/"}]
            self._answer(200, {"version": {"id": "v3.14", "status": "stable", "links": links}})
        elif self.path.startswith("/v2.0/networks"):
            type(self).pages += 1
            more = (
                []
                if "marker" in self.path
                else [{"rel": "next", "href": f"{self.base}/v2.0/networks?limit=1&marker=a"}]
            )
            self._answer(
                200, {"networks": [{"id": "b" if "marker" in self.path else "a", "name": "n"}], "networks_links": more}
            )
        else:
            links = [{"rel": "self", "href": f"{self.base}/v2.0/"}]
            self._answer(200, {"versions": [{"id": "v2.0", "status": "CURRENT", "links": links}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        type(self).signed_in += 1
        endpoint = {"interface": "public", "region_id": "R", "region": "R", "url": self.base}
        token = {
            "methods": ["password"],
            "expires_at": "2100-01-01T00:00:00.000000Z",
            "project": {"id": "project", "name": "p", "domain": {"id": "default", "name": "Default"}},
            "user": {"id": "u", "name": "u", "domain": {"id": "default", "name": "Default"}},
            "catalog": [{"type": "network", "name": "neutron", "endpoints": [endpoint]}],
        }
        self._answer(201, {"token": token}, X_Subject_Token="token")


@pytest.fixture
def served():
    Keystone.signed_in = Keystone.pages = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Keystone)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_both_halves_of_a_connection_sign_in_once_and_follow_every_page(served: str):
    auth = {
        "auth_url": f"{served}/v3",
        "username": "u",
        "project_name": "p",
        "user_domain_id": "default",
        "project_domain_id": "default",
    }
    connection = Connection("c", "openstack", {"auth": auth, "region": "R", "timeout": 5}, {"password": "p"})
    provider = registry.get("openstack")

    async def story() -> list[str]:
        async with (
            provider.reader(connection) as reader,
            provider.writer(connection),
            provider.reader(connection) as other,
        ):
            first = [item.id async for item in reader.list("Network")]
            return first + list(await other.find("Network", {"name": "n"}))

    assert asyncio.run(story()) == ["a", "b", "a", "b"]
    assert (Keystone.signed_in, Keystone.pages) == (1, 4)


def test_clouds_yaml_beside_the_project_is_found(served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OS_CLIENT_CONFIG_FILE", raising=False)
    auth = {
        "auth_url": f"{served}/v3",
        "username": "u",
        "password": "p",
        "project_name": "p",
        "user_domain_id": "default",
        "project_domain_id": "default",
    }
    (tmp_path / "clouds.yaml").write_text(json.dumps({"clouds": {"mine": {"auth": auth, "region_name": "R"}}}))
    connection = Connection("c", "openstack", {"cloud": "mine", "timeout": 5}, {}, str(tmp_path))

    async def story() -> list[str]:
        async with registry.get("openstack").reader(connection) as reader:
            return [item.id async for item in reader.list("Network")]

    assert asyncio.run(story()) == ["a", "b"]


def test_the_variables_of_the_openstack_command_are_honoured(
    served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OS_CLIENT_CONFIG_FILE", raising=False)
    given = {
        "AUTH_URL": f"{served}/v3",
        "USERNAME": "u",
        "PASSWORD": "p",
        "PROJECT_NAME": "p",
        "REGION_NAME": "R",
        "USER_DOMAIN_ID": "default",
        "PROJECT_DOMAIN_ID": "default",
    }
    for name, value in given.items():
        monkeypatch.setenv(f"OS_{name}", value)

    async def story() -> list[str]:
        async with registry.get("openstack").reader(
            Connection("c", "openstack", {"timeout": 5}, {}, str(tmp_path))
        ) as reader:
            return [item.id async for item in reader.list("Network")]

    assert asyncio.run(story()) == ["a", "b"]
