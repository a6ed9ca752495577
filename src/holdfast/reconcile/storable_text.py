"""Texts from outside as they can be kept: a lone surrogate, which UTF-8 cannot carry, is written out as an escape."""

from __future__ import annotations

from dataclasses import replace

from holdfast.model.read_result import Found, ReadFailure, ReadResult
from holdfast.model.write_result import Done, WriteFailure, WriteResult
from holdfast.providers.protocol import Unchanged
from holdfast.store.escape import escaped


def of_reading(reading: ReadResult | Unchanged) -> ReadResult | Unchanged:
    """Return a reading whose texts beside the document can be kept."""
    if isinstance(reading, ReadFailure):
        return reading if reading.detail.isascii() else replace(reading, detail=escaped(reading.detail))
    if isinstance(reading, Found) and not (_is_plain(reading.etag) and _is_plain(reading.id)):
        return replace(reading, etag=_escaped(reading.etag), id=_escaped(reading.id))
    if isinstance(reading, Unchanged) and not _is_plain(reading.etag):
        return replace(reading, etag=_escaped(reading.etag))
    return reading


def of_writing(writing: WriteResult) -> WriteResult:
    """Return the answer to a write whose texts can be kept."""
    if isinstance(writing, WriteFailure) and not writing.message.isascii():
        return replace(writing, message=escaped(writing.message))
    if isinstance(writing, Done) and not (writing.id.isascii() and _is_plain(writing.etag)):
        return replace(writing, id=escaped(writing.id), etag=_escaped(writing.etag))
    return writing


def _is_plain(text: str | None) -> bool:
    return text is None or text.isascii()


def _escaped(text: str | None) -> str | None:
    return None if text is None else escaped(text)
