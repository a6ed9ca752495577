"""One request to a resource, with all that is known of it once the front door has let it in."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from holdfast.model.json import Json
from holdfast_emulators.azure.errors import RefusalError, gateway
from holdfast_emulators.azure.ids import ArmId
from holdfast_emulators.azure.messages import Request
from holdfast_emulators.azure.response_view import etag
from holdfast_emulators.azure.state import Resource, Stamp, State
from holdfast_emulators.azure.type_behaviour import Habits


@dataclass(frozen=True, slots=True)
class Call:
    """A request on its way to the provider of the type."""

    state: State
    request: Request
    id: ArmId
    who: Stamp

    @property
    def habits(self) -> Habits:
        """The habits of the type that is asked for."""
        return self.state.habits_of(self.id.type)

    def sent(self) -> dict[str, Json]:
        """Return the document that was sent."""
        try:
            document = orjson.loads(self.request.body)
        except orjson.JSONDecodeError as error:
            raise gateway(400, "InvalidRequestContent", "The request content was invalid: no JSON.") from error
        if not isinstance(document, dict):
            raise gateway(400, "InvalidRequestContent", "The request content was invalid: an object is needed.")
        return document

    def check_preconditions(self, existing: Resource | None) -> None:
        """Hold a write against the etag it names, where the type does that."""
        if not self.habits.etag.honoured:
            return
        now = etag(self.state, existing) if existing is not None else None
        match, none_match = self.request.headers.get("If-Match"), self.request.headers.get("If-None-Match")
        if match is not None and (now is None if match == "*" else _bare(match) != _bare(now)):
            raise RefusalError(412, "PreconditionFailed", "The condition specified using If-Match is not met.")
        if none_match == "*" and existing is not None:
            raise RefusalError(412, "PreconditionFailed", "The resource exists, and If-None-Match says it must not.")


def _bare(tag: str | None) -> str | None:
    """Compare weakly, and take a tag without its quotes, as providers that show it in the body do."""
    return tag.removeprefix("W/").strip('"') if tag is not None else None
