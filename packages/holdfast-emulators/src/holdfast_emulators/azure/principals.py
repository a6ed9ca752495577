"""Principals, their tokens, and the endpoint that issues tokens.

Tokens have the content of those of Microsoft Entra ID. No signature is checked, and nothing here is a secret outside
this emulator.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from urllib.parse import parse_qsl
from uuid import NAMESPACE_URL, uuid5

import orjson

from holdfast_emulators.azure.errors import RefusalError, gateway
from holdfast_emulators.azure.messages import Request, Response

TENANT = "11111111-1111-4111-8111-111111111111"
SUBSCRIPTION = "22222222-2222-4222-8222-222222222222"
CLIENT_ID = "33333333-3333-4333-8333-333333333333"
CLIENT_SECRET = "not-a-secret"  # noqa: S105 - opens nothing but this emulator
TOKEN_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class Principal:
    """An identity with its name in systemData. `forbidden` are globs of method and path, as in `PUT */vaults/*`."""

    name: str
    kind: str = "Application"  # User, Application, ManagedIdentity or Key
    client_secret: str | None = None  # with one, the token endpoint knows it by its name
    forbidden: tuple[str, ...] = ()

    @property
    def object_id(self) -> str:
        """The id of the principal in its directory."""
        return str(uuid5(NAMESPACE_URL, f"principal:{self.name}"))

    def may(self, method: str, path: str) -> bool:
        """Return True if it is allowed to do something."""
        wanted = f"{method} {path}".casefold()
        return not any(fnmatchcase(wanted, item.casefold()) for item in self.forbidden)


@dataclass(slots=True)
class Directory:
    """All principals and the tokens they hold."""

    tenant: str = TENANT
    principals: dict[str, Principal] = field(default_factory=dict)
    token_seconds: float | None = (
        None  # how long tokens from the endpoint live; None: whatever clients are told, for ever
    )
    _tokens: dict[str, tuple[Principal, float | None]] = field(default_factory=dict)
    _issued: int = 0

    def token_for(self, principal: Principal, expires_at: float | None = None) -> str:
        """Make a token."""
        self.principals[principal.name] = principal
        self._issued += 1
        claims = {"oid": principal.object_id, "appid": principal.name, "tid": self.tenant, "jti": str(self._issued)}
        parts = [{"alg": "none", "typ": "JWT"}, {**claims, "exp": int(expires_at or 4_102_444_800)}]
        token = ".".join(base64.urlsafe_b64encode(orjson.dumps(part)).rstrip(b"=").decode() for part in parts) + "."
        self._tokens[token] = (principal, expires_at)
        return token

    def revoke(self, token: str) -> None:
        """Let a token open nothing any more."""
        self._tokens.pop(token, None)

    def bearer(self, request: Request, now: float) -> Principal:
        """Return whose token a request carries, or refuse it."""
        given = request.headers.get("Authorization", "")
        held = self._tokens.get(given.removeprefix("Bearer "))
        if not given:
            raise _unauthorized("AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
        if held is None:
            raise _unauthorized("InvalidAuthenticationToken", "The access token is invalid.")
        principal, expires_at = held
        if expires_at is not None and now >= expires_at:
            raise _unauthorized("ExpiredAuthenticationToken", "The access token expiry is in the past.")
        return principal

    # -- the token endpoint

    def answer(self, request: Request, now: float) -> Response:
        """Answer below /<tenant>/: the client-credentials flow, and the discovery document that clients ask for."""
        tenant, _, rest = request.path.strip("/").partition("/")
        base = f"{request.base}/{tenant}"
        if rest == "v2.0/.well-known/openid-configuration":
            return Response.of(
                200,
                {
                    "token_endpoint": f"{base}/oauth2/v2.0/token",
                    "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
                    "device_authorization_endpoint": f"{base}/oauth2/v2.0/devicecode",
                    "issuer": f"{base}/v2.0",
                    "tenant_region_scope": None,
                },
            )
        form = dict(parse_qsl(request.body.decode()))
        principal = self.principals.get(form.get("client_id", ""))
        if principal is None or principal.client_secret is None:
            return _denied(400, "unauthorized_client", "AADSTS700016: Application was not found in the directory.")
        if form.get("client_secret") != principal.client_secret:
            return _denied(401, "invalid_client", "AADSTS7000215: Invalid client secret provided.")
        seconds = self.token_seconds
        token = self.token_for(principal, None if seconds is None else now + seconds)
        lifetime = int(TOKEN_SECONDS if seconds is None else seconds)
        body = {"token_type": "Bearer", "expires_in": lifetime, "ext_expires_in": lifetime}
        return Response.of(200, {**body, "access_token": token})


def is_for_directory(path: str) -> bool:
    """Return True if a path is the token endpoint's rather than ARM's."""
    return path.endswith(("/oauth2/v2.0/token", "/v2.0/.well-known/openid-configuration"))


def _denied(status: int, error: str, description: str) -> Response:
    response = Response.of(status, {"error": error, "error_description": description, "error_codes": [700016]})
    response.code = error
    return response


def _unauthorized(code: str, message: str) -> RefusalError:
    refusal = gateway(401, code, message)
    refusal.headers["WWW-Authenticate"] = (
        f'Bearer authorization_uri="https://login.invalid/{TENANT}", error="invalid_token"'
    )
    return refusal
