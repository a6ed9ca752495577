"""Damaged rows: errors of decoding become a StoreError that names the damage and the remedy.

A database checks the structure of its file, not the content of its cells, so a flipped bit there raises an error in
the decoder.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import wraps
from typing import Final, TypeVar

from holdfast.errors import DocumentError, StoreError

Result = TypeVar("Result")

# Raised for bytes that Holdfast did not encode; JSON, UTF-8 and enumerations raise ValueErrors.
_UNDECODABLE: Final = (
    zlib.error, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, DocumentError
)  # fmt: skip


class DocumentLost(StoreError, KeyError):  # noqa: N818 - reads better so
    """A stored document is missing or damaged."""

    def __init__(self, digest: str) -> None:
        self.digest = digest
        super().__init__(f"the store has lost document {digest}, or it is damaged; restore the file from a backup")

    def __str__(self) -> str:
        return str(self.args[0])


def damaged(table: str) -> StoreError:
    """Return the error for a damaged row of a table."""
    message = f"the store is damaged: a row of its table `{table}` cannot be read"
    return StoreError(f"{message}; restore the file from a backup, or use another file with --store")


def undamaged(table: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Decorate a function that decodes a row of a table: its decoding errors become a StoreError."""

    def decorated(decode: Callable[..., Result]) -> Callable[..., Result]:
        @wraps(decode)
        def decoded(*row: object) -> Result:
            try:
                return decode(*row)
            except _UNDECODABLE:
                raise damaged(table) from None

        return decoded

    return decorated
