"""The address of a resource: `connection/Kind/[namespace/]name`."""

from __future__ import annotations

from holdfast.model.record import dataclass


@dataclass(frozen=True, slots=True)
class Address:
    """An address, unique within a store; the manifest reader refuses parts with a slash."""

    connection: str
    kind: str
    name: str
    namespace: str | None = None

    def __str__(self) -> str:
        local = self.name if self.namespace is None else f"{self.namespace}/{self.name}"
        return f"{self.connection}/{self.kind}/{local}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse the text form; raise ValueError if the text is not an address."""
        match text.split("/"):
            case [connection, kind, name] if connection and kind and name:
                return cls(connection, kind, name)
            case [connection, kind, namespace, name] if connection and kind and namespace and name:
                return cls(connection, kind, name, namespace)
        message = f"{text!r} is not an address; write connection/Kind/name or connection/Kind/namespace/name"
        raise ValueError(message)
