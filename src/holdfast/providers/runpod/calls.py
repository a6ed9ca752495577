"""Exchanges with RunPod's two APIs, each way they can end told apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from holdfast.provider import Json, NotFound, ReadError, ReadFailure, WriteError, WriteFailure
from holdfast.providers import url_paths
from holdfast.providers.http import error_excerpt, status_mapping
from holdfast.providers.http.client import Answer, Client, Lost
from holdfast.providers.http.description import StatusRules
from holdfast.providers.runpod import graphql
from holdfast.providers.runpod.settings import Account

_RULES: Final = StatusRules()
_DETAIL: Final = ("detail",)
_LONGEST: Final = 300  # characters of an error message that are worth showing
_SHORTEST: Final = 4  # characters; a shorter value is found in innocent texts


@dataclass(frozen=True, slots=True)
class Said:
    """A GraphQL error: what the service said, and nothing done."""

    message: str


@dataclass(frozen=True, slots=True)
class Calls:
    """One session with one account."""

    client: Client
    account: Account

    async def get(self, path: str, label: str) -> bytes | NotFound | ReadFailure:
        """Read one thing of v2: its bytes, that it is not there, or why that cannot be told."""
        answer = await self.client.send("GET", self.account.rest + path, label)
        if isinstance(answer, Answer):
            if status_mapping.is_whole(answer.status):
                return answer.body.strip()
            absence = status_mapping.absence(answer, _RULES, label)
            if absence is not None:
                return absence
        return status_mapping.unreadable(answer, label)

    async def send(self, method: str, path: str, label: str, body: Json = None) -> bytes | WriteFailure:
        """Change a resource through v2. A missing resource is reported as moved."""
        data = None if body is None else orjson.dumps(body)
        answer = await self.client.send(method, self.account.rest + path, label, None, data)
        if isinstance(answer, Answer) and status_mapping.is_success(answer.status):
            return answer.body
        if isinstance(answer, Answer):
            absence = status_mapping.absence(answer, _RULES, label) if path.count("/") > 1 else None
            if isinstance(absence, NotFound):
                return WriteFailure(WriteError.MOVED, f"{label}: it is not there any more")
            quoted = error_excerpt.error_text(answer.body, _DETAIL, self._unquotable(body), None)
            return status_mapping.refused(answer, _RULES, label, quoted)
        return status_mapping.refused(answer, _RULES, label)

    async def graphql(self, text: str, variables: Mapping[str, Json], label: str) -> Json | Said | Answer | Lost:
        """Ask GraphQL; errors come with HTTP 200, so what is returned is data, an error, or a failed exchange."""
        body = orjson.dumps({"query": text, "variables": dict(variables)})
        answer = await self.client.send("POST", self.account.graphql, label, None, body)
        if isinstance(answer, Lost) or not status_mapping.is_success(answer.status):
            return answer
        try:
            found = orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            return Lost(ReadError.MALFORMED, f"the answer to {label} is not JSON")
        if not isinstance(found, dict):
            return Lost(ReadError.MALFORMED, f"the answer to {label} is not an object")
        errors = found.get("errors")
        if errors:
            first = errors[0] if isinstance(errors, list) and isinstance(errors[0], dict) else {}
            message = str(first.get("message", "no reason given"))[:_LONGEST]
            return Said(error_excerpt.masked(message, self._unquotable(variables.get("input"))))
        return found.get("data")

    def _unquotable(self, sent: Json) -> tuple[str, ...]:
        """Return the key, and the values of an environment that was sent: an error may repeat them."""
        container = sent.get("template", sent) if isinstance(sent, Mapping) else {}
        env = container.get("env") if isinstance(container, Mapping) else None
        pairs = env.values() if isinstance(env, Mapping) else [item.get("value") for item in env or ()]
        return (*self.account.api.secrets, *(str(value) for value in pairs if len(str(value)) >= _SHORTEST))

    async def myself(self, text: str, variables: Mapping[str, Json], label: str) -> Mapping[str, Json] | ReadFailure:
        """Ask GraphQL about the account. An answer without a user, with HTTP 200, means that the key is not valid."""
        found = await self.graphql(text, variables, label)
        if isinstance(found, Answer | Lost):
            return status_mapping.unreadable(found, label)
        if isinstance(found, Said):
            trouble = ReadError.SERVER_ERROR if graphql.is_transient(found.message) else ReadError.OTHER
            return ReadFailure(trouble, f"{label}: {found.message}")
        mine = found.get("myself") if isinstance(found, Mapping) else None
        if not isinstance(mine, Mapping):
            return ReadFailure(ReadError.UNAUTHORISED, f"{label}: the service does not know whose key this is")
        return mine

    async def mutate(self, text: str, variables: Mapping[str, Json], label: str) -> Mapping[str, Json] | WriteFailure:
        """Change something through GraphQL."""
        found = await self.graphql(text, variables, label)
        if isinstance(found, Answer | Lost):
            return status_mapping.refused(found, _RULES, label)
        if isinstance(found, Said):
            message = f"{label}: {found.message}"
            if "not found" in found.message.lower():
                return WriteFailure(WriteError.MOVED, message)
            return WriteFailure(
                WriteError.RETRYABLE if graphql.is_transient(found.message) else WriteError.TERMINAL, message
            )
        return found if isinstance(found, Mapping) else {}


def quoted(ident: str) -> str:
    """Return an id as it may stand in a path."""
    return url_paths.segment(ident)
