"""Credentials of a cluster: a kubeconfig with its contexts and exec plugins, or the service account of a pod.

kubernetes-asyncio reads both. It is imported when a connection is opened, because it takes a quarter of a second.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from holdfast.errors import InputError, Location
from holdfast.providers.kubernetes.settings import Settings

_DEFAULT: Final = "~/.kube/config"
_IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"
_REFRESH_SECONDS: Final = 60.0  # plugins and token files are asked at most once a minute


@dataclass(slots=True)
class Credentials:
    """Address and identity. `headers` renews a token that is about to expire."""

    host: str
    namespace: str
    tls: ssl.SSLContext | bool
    server_name: str | None = None
    proxy: str | None = None
    _found: Any = field(default=None, repr=False)  # has the token in `api_key`
    _renew: Callable[[], Awaitable[None]] | None = field(default=None, repr=False)
    _renewed: float = field(default=0.0, repr=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def headers(self, now: float) -> dict[str, str]:
        """Return the header that authenticates a request; raise CredentialsError if a plugin fails."""
        if self._renew is not None and now - self._renewed >= _REFRESH_SECONDS:
            async with self._lock:
                if now - self._renewed >= _REFRESH_SECONDS:
                    try:
                        await self._renew()
                    except Exception as error:  # a plugin may fail in any way
                        raise CredentialsError(type(error).__name__) from error
                    self._renewed = now
        token = self._found.api_key.get("BearerToken") if self._found is not None else None
        return {"Authorization": token} if token else {}


class CredentialsError(Exception):
    """The credentials could not be renewed."""


async def load(settings: Settings, environ: Mapping[str, str], now: float) -> Credentials:
    """Return the credentials of a connection; raise InputError that says what is missing."""
    try:
        from kubernetes_asyncio.config import incluster_config, kube_config  # noqa: PLC0415 - see the module's first line
    except ImportError as error:
        raise InputError(f"Kubernetes needs {error.name}: pip install 'holdfast[kubernetes]'") from error
    found = SimpleNamespace(api_key={}, host=None, ssl_ca_cert=None, cert_file=None, key_file=None, verify_ssl=True)
    found.tls_server_name = found.proxy = None
    file = settings.kubeconfig or environ.get("KUBECONFIG") or os.path.expanduser(_DEFAULT)  # noqa: PTH111, ASYNC240
    if settings.kubeconfig is None and not any(map(os.path.exists, file.split(os.pathsep))) and _IN_CLUSTER in environ:
        return _in_cluster(incluster_config, found, settings, now)
    try:
        loader = await kube_config.load_kube_config(file, settings.context, found, persist_config=False)
    except Exception as error:
        raise _unusable(settings, file, error) from error
    if not found.host:
        raise _unusable(settings, file, ValueError("the cluster has no server"))

    async def renew() -> None:
        await loader.load_and_set(found)

    context = (loader.current_context or {}).get("context", {})
    namespace = settings.namespace or context.get("namespace") or "default"
    return Credentials(
        found.host, namespace, _tls(found, settings), found.tls_server_name, found.proxy, found, renew, now
    )


def _in_cluster(module: Any, found: Any, settings: Settings, now: float) -> Credentials:  # noqa: ANN401 - untyped library
    try:
        module.load_incluster_config(found)
    except Exception as error:
        raise _unusable(settings, "the service account of this pod", error) from error
    account = Path(module.SERVICE_TOKEN_FILENAME).parent / "namespace"
    namespace = settings.namespace or (account.read_text().strip() if account.exists() else "default")

    async def renew() -> None:
        found.refresh_api_key_hook(found)

    return Credentials(found.host, namespace, _tls(found, settings), None, None, found, renew, now)


def _tls(found: Any, settings: Settings) -> ssl.SSLContext | bool:  # noqa: ANN401 - untyped library
    if not str(found.host).startswith("https"):
        return True
    try:
        context = ssl.create_default_context(cafile=found.ssl_ca_cert)
        if found.cert_file:
            context.load_cert_chain(found.cert_file, found.key_file)
    except (OSError, ssl.SSLError) as error:
        raise _unusable(settings, "the certificates", error) from error
    if not found.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _unusable(settings: Settings, file: str, error: Exception) -> InputError:
    field_name = "kubeconfig" if settings.context is None else "context"
    where = Location(field=f"/connections/{settings.connection}/{field_name}")
    message = f"no credentials for the cluster in {file}: {_words(error)}; set kubeconfig and context of the connection"
    return InputError(message, where)


def _words(error: Exception) -> str:
    """Return the first line of an error; kubernetes-asyncio names files and keys in it, never values."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
