"""One exchange with Azure Resource Manager through the pipeline of azure-core. Remote failures do not raise.

The pipeline is Azure's own, without two of its policies. The retry policy is left out because it sleeps inside the call
and repeats every request whose answer carries a Retry-After. The policy that registers resource providers is left out
because it waits without a limit. Retries belong to the engine. Nothing is logged here because bodies hold secrets.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import metadata
from typing import Any, Final
from urllib.parse import urlsplit

from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    IncompleteReadError,
    ServiceRequestError,
    ServiceRequestTimeoutError,
    ServiceResponseTimeoutError,
)
from azure.core.pipeline import policies
from azure.core.pipeline.transport import AioHttpTransport
from azure.core.rest import AsyncHttpResponse, HttpRequest
from azure.mgmt.core import AsyncARMPipelineClient
from azure.mgmt.core.policies import AsyncARMChallengeAuthenticationPolicy

from holdfast.model.read_result import ReadError
from holdfast.providers.azure import credentials, errors, ids
from holdfast.providers.azure.quota import Quota
from holdfast.providers.azure.settings import Account
from holdfast.providers.http import status_mapping
from holdfast.providers.http.client import Answer, Lost

Pipeline = AsyncARMPipelineClient[HttpRequest, AsyncHttpResponse]

_LOG: Final = logging.getLogger("holdfast.providers.azure")
_MAX_BYTES: Final = 64 * 2**20
_TRACED: Final = ("x-ms-request-id", "x-ms-correlation-request-id")


class Client:
    """A sender of requests to Azure, and to no other host, even if an answer links to one."""

    def __init__(self, pipeline: Pipeline, account: Account, quota: Quota) -> None:
        self._pipeline = pipeline
        self._account = account
        self._quota = quota
        self._host = urlsplit(account.base_url).netloc

    def url(self, ident: str, api_version: str) -> str:
        """Return the URL of a resource."""
        return f"{self._account.base_url}{ids.url_path(ident)}?api-version={api_version}"

    def may_ask(self, url: str) -> bool:
        """Return True if our token may be sent to a linked URL: the same host, or a host of Azure itself."""
        parts = urlsplit(url)
        if parts.netloc == self._host:
            return parts.scheme == urlsplit(self._account.base_url).scheme
        name = (parts.hostname or "").lower()
        return parts.scheme == "https" and any(name.endswith(f".{suffix}") for suffix in self._account.hosts)

    async def send(
        self, method: str, url: str, label: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer | Lost:
        """Send one request once and return the answer. Messages name the request by `label`."""
        given = {"Accept": "application/json", **(headers or {})}
        if body is not None:
            given["Content-Type"] = "application/json"
        answer = await self._exchanged(HttpRequest(method, url, headers=given, content=body), url, label)
        if isinstance(answer, Lost):
            self._quota.lost(method)
        else:
            self._note(method, answer, label)
        return answer

    async def _exchanged(self, request: HttpRequest, url: str, label: str) -> Answer | Lost:
        try:
            response = await self._pipeline.send_request(request, **self._options(url))
            data = response.content  # already loaded; read() raises for an empty body
        except ClientAuthenticationError as error:
            return Lost(ReadError.UNAUTHORISED, f"{label}: {credentials.failure(error, self._account)}")
        except (ServiceRequestTimeoutError, ServiceResponseTimeoutError, TimeoutError):
            return Lost(ReadError.TIMEOUT, f"{label} was not answered in time")
        except IncompleteReadError:
            return Lost(ReadError.MALFORMED, f"the answer to {label} broke off")
        except ServiceRequestError as error:
            return Lost(ReadError.UNREACHABLE, f"{label}: {_unconnected(error, urlsplit(url).netloc)}")
        except (AzureError, OSError, ValueError) as error:
            return Lost(ReadError.UNREACHABLE, f"{label}: the connection was lost ({type(error).__name__})")
        if len(data) > _MAX_BYTES:
            return Lost(ReadError.OTHER, f"{label} was answered with more than {_MAX_BYTES:,} bytes")
        return Answer(response.status_code, response.headers, data, url)

    def _options(self, url: str) -> dict[str, Any]:
        # Only for an emulator on this machine, because the settings reject every other plain HTTP address.
        return {"enforce_https": False} if url.startswith("http://") else {}

    def _note(self, method: str, answer: Answer, label: str) -> None:
        if answer.status == 429 and errors.read(answer.body).is_not_ready:
            self._quota.lost(method)  # not about the quota: only this resource has to wait
            return
        self._quota.learn(method, answer.status, answer.headers, status_mapping.retry_after(answer.headers))
        if answer.status >= 400 and answer.status != 404:
            traced = " ".join(f"{name}={answer.headers[name]}" for name in _TRACED if name in answer.headers)
            _LOG.info("%s was answered %d %s", label, answer.status, traced)


def _unconnected(error: BaseException, host: str) -> str:
    """Return the reason for a failed connection. An untrusted certificate needs a person."""
    causes = [error, error.__cause__, error.__context__, getattr(error, "inner_exception", None)]
    if any(isinstance(cause, ssl.SSLError) or "CERTIFICATE_VERIFY_FAILED" in str(cause) for cause in causes if cause):
        return f"the certificate of {host} is not trusted; name who vouches for it: tls: {{ca_file: ...}}"
    return f"cannot connect to {host}"


@asynccontextmanager
async def opened(account: Account, quota: Quota, transport: Any = None) -> AsyncIterator[Client]:  # noqa: ANN401
    """Open the pipeline of a reader or a writer. Tests replace its last step with `transport`."""
    verify = account.ca_file if account.ca_file is not None else True
    last = transport or AioHttpTransport(
        connection_verify=verify, connection_timeout=account.timeout_seconds, read_timeout=account.timeout_seconds
    )
    async with credentials.credential(account, transport) as credential:
        chain = [
            policies.RequestIdPolicy(),
            policies.UserAgentPolicy(f"holdfast/{metadata.version('holdfast')}"),
            AsyncARMChallengeAuthenticationPolicy(credential, f"{account.audience}/.default"),
        ]
        pipeline: Pipeline = AsyncARMPipelineClient(account.base_url, policies=chain, transport=last)
        async with pipeline:
            yield Client(pipeline, account, quota)
