"""Signing in: the credential of azure-identity that a connection asks for. Imports it, so import this late."""

from __future__ import annotations

import logging
import re
import time
from typing import Any, Final, Self

from azure.core.credentials import AccessToken, AccessTokenInfo
from azure.core.credentials_async import AsyncTokenCredential
from azure.identity import aio

from holdfast.providers.azure.settings import Account

_CODE: Final = re.compile(r"AADSTS\d+")
_REMEDIES: Final = {
    "token": "fetch another token",
    "client_secret": "see tenant_id, client_id and the secret of the connection",
    "managed_identity": "is there an identity on this machine?",
    "workload_identity": "is the service account federated with the identity?",
    "cli": "run az login",
    "default": "run az login, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
}
_LIFETIME: Final = 3600  # seconds that a given token is taken to be good for; a 401 tells otherwise


# What azure-identity writes about a sign-in that failed, answers and all, is for those who listen to it; without this
# it would go to the terminal of those who do not.
logging.getLogger("azure").addHandler(logging.NullHandler())


def failure(error: Exception, account: Account) -> str:
    """Return the failure of a sign-in, with Azure's error number, none of its text, and advice."""
    number = _CODE.search(str(error))
    how = account.auth.type + (f", {number[0]}" if number else "")
    return f"signing in to Azure did not work ({how}); {_REMEDIES[account.auth.type]}"


class GivenToken:
    """A token that was fetched elsewhere, for emulators and for pipelines that receive one."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get_token(self, *_scopes: str, **_options: Any) -> AccessToken:  # noqa: ANN401 - as the SDK has it
        """Return the token."""
        return AccessToken(self._token, int(time.time()) + _LIFETIME)

    async def get_token_info(self, *_scopes: str, **_options: Any) -> AccessTokenInfo:  # noqa: ANN401
        """Return the token, in the newer shape."""
        return AccessTokenInfo(self._token, int(time.time()) + _LIFETIME)

    async def close(self) -> None:
        """There is nothing to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


def credential(account: Account, transport: Any = None) -> AsyncTokenCredential:  # noqa: ANN401 - the SDK's own type
    """Return the credential of a connection; nothing is fetched before the first request."""
    auth = account.auth
    options: dict[str, Any] = {"authority": account.authority}
    if account.ca_file is not None:
        options["connection_verify"] = account.ca_file
    if transport is not None:
        options["transport"] = transport
    match auth.type:
        case "token":
            return GivenToken(auth.secret or "")
        case "client_secret":
            tenant, client, secret = auth.tenant or "", auth.client or "", auth.secret or ""
            return aio.ClientSecretCredential(tenant, client, secret, disable_instance_discovery=True, **options)
        case "managed_identity":
            return aio.ManagedIdentityCredential(client_id=auth.client)
        case "workload_identity":
            return aio.WorkloadIdentityCredential(tenant_id=auth.tenant, client_id=auth.client, **options)
        case "cli":
            return aio.AzureCliCredential(tenant_id=auth.tenant or "")
        case _:
            return aio.DefaultAzureCredential(**options)
