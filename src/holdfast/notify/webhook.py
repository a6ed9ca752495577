"""Webhooks: an event posted, signed and retried, as Standard Webhooks asks.

`webhook-id`, `webhook-timestamp`, and `webhook-signature` over both and the body let a receiver tell forgeries,
replays and repetitions. No message holds the address, which is often a secret itself.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import field
from typing import Final

import aiohttp

import holdfast
from holdfast.errors import InputError
from holdfast.manifests import notify_spec
from holdfast.manifests.notify_spec import ToWebhook
from holdfast.manifests.secrets import Reference
from holdfast.model.record import dataclass
from holdfast.notify.cloudevents import CONTENT_TYPE, CloudEvent
from holdfast.notify.sinks import SinkContext, Undelivered

LONGEST_WAIT_SECONDS: Final = 10.0  # whatever Retry-After says: a run must end
_RETRIED: Final = frozenset({408, 425, 429, *range(500, 600)})
_PREFIX: Final = "whsec_"


@dataclass(frozen=True, slots=True)
class WebhookSink:
    """POSTs the event in structured mode; passing troubles are retried, with growing patience."""

    url: str = field(repr=False)
    key: bytes | None = field(repr=False)  # None: not signed
    means: SinkContext

    async def send(self, event: CloudEvent) -> None:
        """Deliver the event, or return the reason why it was not delivered."""
        body = event.dumps()
        timeout = aiohttp.ClientTimeout(total=self.means.attempt_seconds)
        async with aiohttp.ClientSession(timeout=timeout, trust_env=True) as session:
            attempt = 0
            while True:
                attempt += 1
                why, may_pass, asked = await self._attempt(session, event.id, body)
                if why is None:
                    return
                if not may_pass or attempt >= self.means.patience.attempts:
                    tried = f" ({attempt} attempts)" if attempt > 1 else ""
                    message = f"{notify_spec.url_name(self.url)} {why}{tried}"
                    raise Undelivered(message)
                await self.means.clock.sleep(self.means.patience.delay(attempt, asked, self.means.random01))

    async def _attempt(
        self, session: aiohttp.ClientSession, ident: str, body: bytes
    ) -> tuple[str | None, bool, float | None]:
        """Try once. Return the reason of a failure, whether a retry may help, and the requested wait."""
        try:
            async with session.post(
                self.url, data=body, headers=self._headers(ident, body), allow_redirects=False
            ) as response:
                if 200 <= response.status < 300:
                    return None, False, None
                may_pass = response.status in _RETRIED
                return f"answered {response.status}", may_pass, _asked(response.headers.get("Retry-After"))
        except TimeoutError:
            return "did not answer in time", True, None
        except (aiohttp.ClientError, OSError) as error:
            # The message of a client error may hold the whole URL.
            return f"could not be reached ({type(error).__name__})", True, None

    def _headers(self, ident: str, body: bytes) -> dict[str, str]:
        """Return the headers of one attempt; the time is that of the attempt, as receivers refuse what is old."""
        stamp = str(int(self.means.clock.now()))
        headers = {
            "Content-Type": CONTENT_TYPE,
            "User-Agent": f"holdfast/{holdfast.__version__}",
            "webhook-id": ident,
            "webhook-timestamp": stamp,
        }
        if self.key is not None:
            headers["webhook-signature"] = sign(self.key, ident, stamp, body)
        return headers


def sign(key: bytes, ident: str, stamp: str, body: bytes) -> str:
    """Return the signature of Standard Webhooks, scheme v1."""
    content = b".".join((ident.encode(), stamp.encode(), body))
    return "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


def key_of(secret: str) -> bytes:
    """Return the key a secret stands for: base64 behind `whsec_`, as the convention writes it, else its bytes."""
    if not secret.startswith(_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        message = f"its secret begins with {_PREFIX} and is not base64 after that"
        raise Undelivered(message) from None


def open_hook(target: ToWebhook, means: SinkContext) -> WebhookSink:
    """Return a sender for a webhook. Raise Undelivered if its address or secret cannot be resolved."""
    url = target.url if isinstance(target.url, str) else _fetched(target.url, means)
    trouble = notify_spec.url_trouble(url, in_clear=False)
    if trouble:
        message = f"its address {trouble}"
        raise Undelivered(message)
    key = None if target.secret is None else key_of(_fetched(target.secret, means))
    return WebhookSink(url, key, means)


def _fetched(reference: Reference, means: SinkContext) -> str:
    try:
        return str(means.resolver.fetch(reference).reveal())
    except InputError as error:
        raise Undelivered(error.message) from None


def _asked(retry_after: str | None) -> float | None:
    """Return how long the receiver asks us to wait, within reason; dates are not understood, and not needed."""
    if retry_after is None or not retry_after.strip().isdecimal():
        return None
    return min(float(retry_after), LONGEST_WAIT_SECONDS)
