"""Content addressing: documents by the digest of their canonical bytes, compressed where that pays.

Plain zlib 6: on the recorded traffic of three clouds it takes a document of 737 bytes to 328 in 18 us. A preset
dictionary made from other kinds reached 258 in 27 us, but would have to be kept unchanged for ever: not worth a fifth.
"""

from __future__ import annotations

import zlib
from typing import Final

import orjson

from holdfast.compare import canonical, go_json
from holdfast.errors import DocumentError
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.store.state import Digest

PACK_AT: Final = 100  # bytes; below that zlib saves next to nothing
_LEVEL: Final = 6
_ZLIB: Final = b"x"  # the first byte of every zlib stream, and of no JSON text
_SHA256: Final = "sha256:"
_HEX_DIGITS: Final = 64


def digest_of(value: Json) -> tuple[Digest, bytes]:
    """Return the digest of a document and the canonical bytes to keep under it."""
    data = canonical.canonical_bytes(value, lists="ordered")
    return Digest(canonical.digest_bytes(data)), data


def require_match(digest: Digest, data: bytes) -> None:
    """Refuse bytes that are not what their digest says; a wrong one would poison everybody who shares it."""
    if canonical.digest_bytes(data) != digest:
        raise ValueError(f"the document given under {digest} has another digest; take both from documents.digest_of")


def load(data: bytes) -> Json:
    """Read canonical bytes back; integers keep 64 bits."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:  # nested deeper than orjson goes
        return go_json.read(data, "int64")


def kept(digest: Digest, body: bytes) -> Json:
    """Return the document that is kept under a digest; ABSENT if the bytes are not those that were put there."""
    try:
        data = unpack(body)
        return load(data) if canonical.digest_bytes(data) == digest else ABSENT
    except (zlib.error, TypeError, AttributeError, DocumentError):
        return ABSENT


def pack(data: bytes, at_least: int = PACK_AT) -> bytes:
    """Compress JSON text if it is long enough and gets shorter."""
    if len(data) < at_least:
        return data
    packed = zlib.compress(data, _LEVEL)
    return packed if len(packed) < len(data) else data


def unpack(data: bytes) -> bytes:
    """Undo `pack`; the first byte tells whether there is anything to undo."""
    return zlib.decompress(data) if data.startswith(_ZLIB) else data


def pack_digest(text: str) -> bytes | str:
    """Return a digest as its 32 bytes, followed by whatever stands before them unless that is plain `sha256:`.

    `sha256:<hex>` and stamped hashes take half the room so; any other text, an opaque checksum say, stays what it is.
    """
    prefix, digits = text[:-_HEX_DIGITS], text[-_HEX_DIGITS:]
    try:
        raw = bytes.fromhex(digits)
    except ValueError:
        return text
    if not prefix or raw.hex() != digits:
        return text
    return raw if prefix == _SHA256 else raw + prefix.encode()


def unpack_digest(packed: bytes | str) -> str:
    """Undo `pack_digest`."""
    if isinstance(packed, str):
        return packed
    return (packed[32:].decode() if len(packed) > 32 else _SHA256) + packed[:32].hex()
