"""Every exception Holdfast raises, and nothing else.

HoldfastError
├── InputError            invalid input from a person; names the file, line and field if known
│   ├── DocumentError     a JSON or YAML text that cannot be read
│   ├── ProfileError      a profile that breaks its own rules
│   └── PathError         a path that does not parse
├── DeployError           a resource could not be deployed as its object declares; names the obstacle
├── StoreError            the store cannot be used
│   ├── SchemaTooNew      it was written by a newer Holdfast
│   └── ChainBroken       the audit trail was edited
├── UnhashableError       a value that has no canonical form; names the path of the offending value
└── SchemeError           hashes of different schemes compared, or a scheme that is not registered

A failed read is not an exception but a value (see model.read_result). A message names the attempt, its object and the
next step. It never contains a secret or a whole document.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """A location in a person's input; lines and columns count from 1."""

    file: str | None = None
    line: int | None = None
    column: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        if self.column is None and self.field is None and self.line is not None and self.file is not None:
            return f"{self.file}:{self.line}"
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{place} ({self.field})" if self.field and place else place or self.field or ""


class HoldfastError(Exception):
    """Base of all errors raised by Holdfast."""


class InputError(HoldfastError):
    """Input from a person is invalid; nothing was changed."""

    def __init__(self, message: str, location: Location | None = None) -> None:
        self.message = message
        self.location = location or Location()
        prefix = str(self.location)
        super().__init__(f"{prefix}: {message}" if prefix else message)

    def at(self, location: Location) -> InputError:
        """Return the same error with the missing parts of its location filled in."""
        mine = self.location
        merged = Location(
            mine.file or location.file,
            mine.line or location.line,
            mine.column or location.column,
            mine.field or location.field,
        )
        return type(self)(self.message, merged)


class DocumentError(InputError):
    """A JSON or YAML text that cannot be read."""


class ProfileError(InputError):
    """A profile that breaks the rules of profiles."""


class PathError(InputError):
    """A path that does not parse."""


class DeployError(HoldfastError):
    """A resource could not be deployed; `is_final` if a retry without a change cannot help."""

    def __init__(self, address: str, message: str, *, is_final: bool = False) -> None:
        self.address = address
        self.message = message
        self.is_final = is_final
        super().__init__(f"{address}: {message}")


class StoreError(HoldfastError):
    """The store cannot be opened, read or written."""


class SchemaTooNew(StoreError):  # noqa: N818 - reads better than SchemaTooNewError
    """The store was written by a newer Holdfast; nothing was touched."""


class ChainBroken(StoreError):  # noqa: N818
    """The audit trail does not verify; `sequence` is the first invalid event."""

    def __init__(self, sequence: int, message: str) -> None:
        self.sequence = sequence
        super().__init__(message)


class UnhashableError(HoldfastError):
    """A value that has no canonical form; `path` is the JSON pointer of the offending value."""

    def __init__(self, message: str, path: str) -> None:
        self.message = message
        self.path = path
        super().__init__(f"{path or '(document root)'}: {message}")


class SchemeError(HoldfastError):
    """Hashes of different schemes were compared, or a scheme is not registered."""
