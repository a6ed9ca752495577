"""Bytes and text: UTF-8 only, with the byte order mark and the line ends of the file kept for when it is written."""

from __future__ import annotations

import codecs
from dataclasses import replace

from holdfast.errors import DocumentError
from holdfast.model.record import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a document, its line ends as line feeds; how it stands on disk is in the other two fields."""

    body: str
    has_mark: bool = False
    has_crlf: bool = False

    def with_body(self, body: str) -> Text:
        """Return another text in the same dress."""
        return replace(self, body=body)

    @property
    def data(self) -> bytes:
        """The bytes to write."""
        body = self.body.replace("\n", "\r\n") if self.has_crlf else self.body
        return (codecs.BOM_UTF8 if self.has_mark else b"") + body.encode()


def decoded(data: bytes, *, is_document: bool) -> Text:
    """Read bytes; a plain text is taken as it is, mark, line ends and all."""
    has_mark = is_document and data.startswith(codecs.BOM_UTF8)
    try:
        body = data[len(codecs.BOM_UTF8) :].decode() if has_mark else data.decode()
    except UnicodeDecodeError as error:
        raise DocumentError(f"not UTF-8 from byte {error.start:,} on") from None
    # Where only some lines end in CR LF it would be wrong to end all of them so; then none is touched.
    has_crlf = is_document and "\r\n" in body and body.count("\r\n") == body.count("\n")
    return Text(body.replace("\r\n", "\n") if has_crlf else body, has_mark, has_crlf)
