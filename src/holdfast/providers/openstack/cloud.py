"""One authenticated session with one cloud: the only place that knows openstacksdk.

The SDK blocks, so its calls run in a few threads of their own, away from the event loop. Both halves of a connection
share the session, and with it the token, the catalogue and the pool of TCP connections. The SDK's own resource classes
are not used: they rename attributes, remember what was changed, and hide what an answer really said.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson
import yaml

from holdfast.provider import InputError, Json, Location, ReadError
from holdfast.providers.http.client import Answer, Lost
from holdfast.providers.openstack.settings import Account

Params = Sequence[tuple[str, str]]
_Result = TypeVar("_Result")

VERSIONS: Final = {"network": "2", "identity": "3", "image": "2", "compute": "2", "block-storage": "3"}
_UNEXPECTED: Final = re.compile(r"\w+\.__init__\(\) got an unexpected keyword argument")
_REQUIRED: Final = re.compile(r"\w+ is a required attribute")
_SAID: Final = {401: ReadError.UNAUTHORISED, 403: ReadError.UNAUTHORISED, 429: ReadError.THROTTLED}


class Cloud:
    """Sends requests to the services of one cloud, as one user in one project."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self._pool = ThreadPoolExecutor(account.threads, thread_name_prefix=f"openstack-{account.connection}")
        self._lock = threading.Lock()
        self._region: Any = None
        self._clients: dict[str, Any] = {}

    async def send(  # noqa: PLR0913 - a request is made of these
        self,
        service: str,
        method: str,
        path: str,
        label: str,
        *,
        params: Params = (),
        body: Json = None,
        headers: Mapping[str, str] | None = None,
        data: bytes | Path | None = None,
        microversion: str | None = None,
    ) -> Answer | Lost:
        """Send a request; `label` is how it is called in messages. Raises for nothing the world does.

        A path as `data` is a file whose contents are sent.
        """
        given: dict[str, Any] = {"params": list(params), "headers": dict(headers or {})}
        if body is not None:
            given["data"] = orjson.dumps(body)
            given["headers"].setdefault("Content-Type", "application/json")
        if microversion is not None:
            given["microversion"] = microversion

        def exchange() -> Answer | Lost:
            try:
                if isinstance(data, Path):
                    with data.open("rb") as stream:  # sent as it is read, however large
                        return self._exchange(service, method, path, {**given, "data": stream})
                whole = {} if data is None else {"data": data}
                return self._exchange(service, method, path, {**given, **whole})
            except Exception as error:  # noqa: BLE001 - SDK, keystoneauth, requests and urllib3 have no common base
                return lost(label, error)

        return await self._in_thread(exchange)

    async def described(self) -> None:
        """Read how to sign in, so that whoever described it wrongly is told at once; nothing is sent."""
        await self._in_thread(self._opened)

    async def project_id(self) -> str | Lost:
        """Return the project that we are in."""

        def ask() -> str | Lost:
            try:
                return str(self._opened().get_session().get_project_id())
            except Exception as error:  # noqa: BLE001
                return lost("asking for our own project", error)

        return await self._in_thread(ask)

    def close(self) -> None:
        """Wait for nothing more; requests under way end by their own time limit."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._region is not None:
            self._region.get_session().session.close()

    async def _in_thread(self, work: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    # -- in a thread

    def _exchange(self, service: str, method: str, path: str, given: dict[str, Any]) -> Answer:
        from keystoneauth1.adapter import Adapter  # noqa: PLC0415 - the SDK is optional

        client = self._client(service)
        # Not the SDK's own request(), which caches, counts, and warns about its own future.
        response = Adapter.request(client, path, method, raise_exc=False, **given)
        return Answer(response.status_code, response.headers, response.content, response.url)

    def _client(self, service: str) -> Any:  # noqa: ANN401 - the SDK's
        region = self._opened()
        with self._lock:
            if service not in self._clients:
                self._clients[service] = region.get_session_client(service, version=VERSIONS[service])
            return self._clients[service]

    def _opened(self) -> Any:  # noqa: ANN401 - the SDK's
        with self._lock:
            if self._region is None:
                self._region = _region(self.account)
            return self._region


def _region(account: Account) -> Any:  # noqa: ANN401 - the SDK's
    """Read the configuration as OpenStack's own tools do; nothing is sent by this."""
    try:
        from keystoneauth1.exceptions import ClientException  # noqa: PLC0415
        from openstack import config  # noqa: PLC0415 - optional, and slow to import
        from openstack.exceptions import ConfigException  # noqa: PLC0415
    except ImportError:
        raise InputError("the openstack provider needs openstacksdk: pip install 'holdfast[openstack]'") from None
    # Without a handler of their own their warnings, which hold addresses, would come out on the terminal.
    for name in ("keystoneauth", "openstack"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    is_given = account.auth is not None
    options: dict[str, Any] = dict(account.options)
    auth = {**(account.auth or {}), **account.secrets}
    if auth:
        options["auth"] = auth
    named = {"region_name": account.region, "auth_type": account.auth_type}
    options.update({name: value for name, value in named.items() if value is not None})
    try:
        loader = config.OpenStackConfig(
            config_files=_files(account, config.loader.CONFIG_FILES),
            load_yaml_config=not is_given,
            load_envvars=not is_given,
            app_name="holdfast",
            app_version=metadata.version("holdfast"),
        )
        _refuse_unknown(account, loader)
        region = loader.get_one(cloud=account.cloud, api_timeout=account.timeout_seconds, **options)
        region.get_session().additional_user_agent.append(("connection", account.connection))
    except (ClientException, ConfigException, TypeError, ValueError, OSError, yaml.YAMLError) as error:
        place = Location(field=f"/connections/{account.connection}")
        hint = "" if is_given or account.cloud else "; say cloud: or auth:, or set OS_CLOUD or the OS_* variables"
        words = _UNEXPECTED.sub("auth has no", str(error))
        raise InputError(f"the connection to OpenStack is not well described: {words}{hint}", place) from None
    return region


def _refuse_unknown(account: Account, loader: Any) -> None:  # noqa: ANN401 - the SDK's
    """Raise InputError if a connection names a cloud that no file describes."""
    known = loader.get_cloud_names()
    if account.cloud is None or account.cloud in known:
        return
    file = loader.config_filename
    if file:
        where = f"{file} has {', '.join(sorted(map(str, known))) or 'none'}"
    elif account.is_file_named:
        where = f"there is no {account.files[0]}"
    else:
        where = "no clouds.yaml was found, neither beside holdfast.yaml nor where the openstack command looks"
    place = Location(field=f"/connections/{account.connection}/cloud")
    raise InputError(f"no cloud {account.cloud!r} is described; {where}", place)


def _files(account: Account, usual: Sequence[str]) -> list[str]:
    """Return where to look for clouds.yaml: the named one alone, or one beside the project before the usual ones."""
    return list(account.files) if account.is_file_named else [*account.files, *usual]


def lost(label: str, error: Exception) -> Lost:
    """Return the failure in our own words, because texts of exceptions hold addresses and bodies."""
    from keystoneauth1 import exceptions as known  # noqa: PLC0415 - as above

    if isinstance(error, known.HttpError) and not isinstance(error, known.RequestTimeout):
        status = int(error.http_status or 0)
        if status == 401:
            words = "the cloud does not let us in (401): look at the user, the password and the project"
            return Lost(ReadError.UNAUTHORISED, f"{label}: {words}")
        trouble = _SAID.get(status, ReadError.SERVER_ERROR if status >= 500 else ReadError.OTHER)
        return Lost(trouble, f"{label}: signing in or finding the service was answered {status}")
    troubles: tuple[tuple[tuple[type[Exception], ...], ReadError, str], ...] = (
        ((known.ConnectTimeout, known.RequestTimeout, TimeoutError), ReadError.TIMEOUT, "not answered in time"),
        ((known.SSLError,), ReadError.UNREACHABLE, "no trusted TLS connection could be made"),
        ((known.ConnectionError, OSError), ReadError.UNREACHABLE, "the service cannot be reached"),
        ((known.EndpointNotFound,), ReadError.OTHER, "the catalogue of the cloud has no such service"),
        ((known.DiscoveryFailure,), ReadError.UNREACHABLE, "the service does not say which versions it speaks"),
        ((known.AuthPluginException,), ReadError.UNAUTHORISED, "the connection does not say how to sign in"),
    )
    for kinds, trouble, words in troubles:
        if isinstance(error, kinds):
            return Lost(trouble, f"{label}: {words}")
    if _REQUIRED.fullmatch(str(error)):  # a bare Exception of the SDK's
        return Lost(ReadError.UNAUTHORISED, f"{label}: the connection does not say how to sign in: {error}")
    return Lost(ReadError.OTHER, f"{label} could not be sent ({type(error).__name__})")
