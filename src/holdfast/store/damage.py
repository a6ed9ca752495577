"""What a damaged file looks like from inside: a row that no longer holds what was put there.

SQLite checks the structure of its file, and not what is in the cells. A flipped bit there ends in whatever the decoder
of a cell raises; here that becomes one sentence that says what is damaged and what to do.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import wraps
from typing import Final, TypeVar

from holdfast.errors import DocumentError, StoreError

Result = TypeVar("Result")

# What decoding raises for bytes that were not encoded by us; JSON, UTF-8 and enumerations raise ValueErrors.
_UNDECODABLE: Final = (
    zlib.error, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, DocumentError
)  # fmt: skip


class DocumentLost(StoreError, KeyError):  # noqa: N818 - reads better so
    """A document that should be kept is not, or is not what its digest says."""

    def __init__(self, digest: str) -> None:
        self.digest = digest
        super().__init__(f"the store has lost document {digest}, or it is damaged; restore the file from a backup")

    def __str__(self) -> str:
        return str(self.args[0])


def damaged(table: str) -> StoreError:
    """Say that something in a table is not what was put there."""
    message = f"the store is damaged: a row of its table `{table}` cannot be read"
    return StoreError(f"{message}; restore the file from a backup, or use another file with --store")


def undamaged(table: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Let a function that decodes a row of a table say that the row is damaged, whatever else it would raise."""

    def decorated(decode: Callable[..., Result]) -> Callable[..., Result]:
        @wraps(decode)
        def decoded(*row: object) -> Result:
            try:
                return decode(*row)
            except _UNDECODABLE:
                raise damaged(table) from None

        return decoded

    return decorated
