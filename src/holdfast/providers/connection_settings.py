"""Settings of a connection, read with the schema of its provider. Mistakes name the field in holdfast.yaml."""

from __future__ import annotations

from typing import Final, TypeVar

from holdfast.errors import InputError
from holdfast.providers.protocol import Connection
from holdfast.schema import fields
from holdfast.schema.document import Document, DocumentPath, raise_all
from holdfast.schema.fields import FieldType

_COMMON: Final = ("provider", "secrets", "limits")  # fields of every connection, read with the project file
T = TypeVar("T")


def read(type_: FieldType[T], connection: Connection) -> T:
    """Return the settings; raise InputError or InputErrors with the field of every mistake.

    The project adds file and line (`providers.registry.located`).
    """
    place = at(connection)
    value = type_.read(place.document.value, place)
    raise_all(place.errors)
    assert value is not fields.INVALID
    return value


def at(connection: Connection) -> DocumentPath:
    """Return the location of a connection in its project file, with its own settings as the document."""
    settings = {name: value for name, value in connection.settings.items() if name not in _COMMON}
    return DocumentPath(Document(settings), [], ("connections", connection.name), connection.base_dir)


def problem(connection: Connection, message: str, *steps: str) -> InputError:
    """Return an error about a field of a connection."""
    return InputError(message, Document(None).location(("connections", connection.name, *steps)))
