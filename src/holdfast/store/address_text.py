"""Addresses and other subjects of events as texts, and as the parts that are stored: connection, kind and name."""

from __future__ import annotations

from holdfast.model.address import Address


def text_of(address: Address) -> str:
    """Return str(address) in half the time; raise ValueError if the text could not be parsed back."""
    connection, kind, namespace, name = address.connection, address.kind, address.namespace, address.name
    local = name if namespace is None else f"{namespace}/{name}"
    text = f"{connection}/{kind}/{local}"
    if text.count("/") != 2 + (namespace is not None) or not (connection and kind and name):
        raise ValueError(f"{address!r} cannot be stored: its parts must not be empty and must not contain a slash")
    return text


def split(text: str) -> tuple[str, str, str]:
    """Return connection, kind and the rest of an address; connection and kind are empty for any other text."""
    parts = text.split("/", 2)
    if len(parts) == 3 and parts[0] and parts[1]:
        return parts[0], parts[1], parts[2]
    return "", "", text


def joined(connection: str, kind: str, local: str) -> str:
    """Undo `split`."""
    return f"{connection}/{kind}/{local}" if connection else local


def address_of(connection: str, kind: str, local: str) -> Address:
    """Return the address that was split."""
    namespace, slash, name = local.partition("/")
    return Address(connection, kind, name, namespace) if slash else Address(connection, kind, local)
