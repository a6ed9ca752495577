"""The name of a declared thing: `connection/Kind/[namespace/]name`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Address:
    """Unique within a store; parts never hold a slash (the manifest reader sees to that)."""

    connection: str
    kind: str
    name: str
    namespace: str | None = None

    def __str__(self) -> str:
        parts = [self.connection, self.kind, self.namespace, self.name]
        return "/".join(part for part in parts if part is not None)

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read the text form; raise ValueError if it is not one."""
        match text.split("/"):
            case [connection, kind, name] if connection and kind and name:
                return cls(connection, kind, name)
            case [connection, kind, namespace, name] if connection and kind and namespace and name:
                return cls(connection, kind, name, namespace)
        message = f"{text!r} is not an address; write connection/Kind/name or connection/Kind/namespace/name"
        raise ValueError(message)
