"""Errors as ARM and the providers behind it write them; the shapes are those that were recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from holdfast.model.json import Json
from holdfast_emulators.azure.messages import Response
from holdfast_emulators.azure.type_behaviour import Refused


class RefusalError(Exception):
    """A request that is refused; `gateway` if ARM itself does it, before any provider sees it."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        target: str = "",
        more: Mapping[str, Json] | None = None,
        gateway: bool = False,
    ) -> None:
        self.status, self.code, self.message, self.target = status, code, message, target
        self.more, self.gateway = more or {}, gateway
        self.headers: dict[str, str] = {}
        super().__init__(f"{status} {code}: {message}")

    @classmethod
    def as_described(cls, refused: Refused, **words: str) -> Self:
        """Refuse as a pack says; `${word}` in its message is replaced."""
        message = refused.message
        for word, value in words.items():
            message = message.replace(f"${{{word}}}", value)
        details = [{"code": refused.detail, "message": message}] if refused.detail else []
        refusal = cls(refused.status, refused.code, message, more={"details": details} if details else {})
        if refused.retry_after is not None:
            refusal.headers["Retry-After"] = str(refused.retry_after)
        return refusal

    def error(self) -> dict[str, Json]:
        """Return the object under `error`."""
        return {
            "code": self.code,
            "message": self.message,
            **({"target": self.target} if self.target else {}),
            **self.more,
        }

    def response(self, shape: str = "arm") -> Response:
        """Write it down; what ARM itself refuses has ARM's shape, whatever the provider's is."""
        kind = "application/problem+json" if shape == "problem" and not self.gateway else "application/json"
        headers = {"Content-Type": f"{kind}; charset=utf-8", **self.headers}
        if self.gateway:
            headers["x-ms-failure-cause"] = "gateway"
        response = Response.of(self.status, self._shaped("arm" if self.gateway else shape), headers)
        response.code = self.code
        return response

    def _shaped(self, shape: str) -> Json:
        match shape:
            case "bare":
                return self.error()
            case "capital":
                return {"Code": self.code, "Message": self.message, "Target": None, "Details": [], "Innererror": None}
            case "message":
                return {"Message": self.message}
            case "problem":
                return {"type": "about:blank", "title": self.code, "status": self.status, "detail": self.message}
            case "numeric":
                return {"code": self.status * 1_000 + 1, "message": self.message}
            case _:
                return {"error": self.error()}


def gateway(status: int, code: str, message: str, **more: Json) -> RefusalError:
    """Refuse as ARM itself does."""
    return RefusalError(status, code, message, more=more, gateway=True)


def not_found(type_: str, name: str, group: str | None) -> RefusalError:
    """Return the error for an absent resource."""
    where = f" under resource group '{group}'" if group else ""
    return gateway(404, "ResourceNotFound", f"The Resource '{type_}/{name}'{where} was not found.")


def group_not_found(group: str) -> RefusalError:
    """Return the error for an absent group."""
    return gateway(404, "ResourceGroupNotFound", f"Resource group '{group}' could not be found.")


def parent_not_found(name: str) -> RefusalError:
    """Return the error for an absent parent."""
    return gateway(
        404,
        "ParentResourceNotFound",
        f"Can not perform requested operation on nested resource. Parent resource '{name}' not found.",
    )


def method_not_allowed(method: str, type_: str, allowed: tuple[str, ...]) -> RefusalError:
    """Return the error for a method that the type does not support, with the supported ones."""
    refusal = RefusalError(
        405, "MethodNotAllowed", f"The requested resource of type '{type_}' does not support http method '{method}'."
    )
    refusal.headers["Allow"] = ",".join(allowed)
    return refusal
