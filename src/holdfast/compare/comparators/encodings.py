"""Comparators of encoded bytes: base64, PEM blocks, SSH public keys. Nothing here is cached: it may be a secret."""

from __future__ import annotations

import re

from holdfast.compare.comparators import base
from holdfast.model.json import Json

_BLANKS = re.compile(r"[ \t\r\n]+")
_BASE64 = re.compile(r"([A-Za-z0-9+/]+)(={0,2})")
_URL_SAFE = str.maketrans("-_", "+/")
_PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----")
_SSH = re.compile(r"((?:ssh-|ecdsa-|sk-)[a-z0-9@.-]+)[ \t]+([A-Za-z0-9+/]+)={0,2}(?:[ \t]+[^\r\n]*)?")
_GROUP = 4  # base64 characters that stand for three bytes


def base64() -> base.Comparator:
    """Ignore padding, line breaks and whether the URL-safe alphabet is used."""
    return base.Parsed("base64", "base64", _base64)


def _base64(value: Json) -> base.Key:
    return _body(value) if isinstance(value, str) else None


def _body(text: str) -> str | None:
    match = _BASE64.fullmatch(_BLANKS.sub("", text).translate(_URL_SAFE))
    if match is None:
        return None
    body, padding = match.groups()
    if len(body) % _GROUP == 1 or (padding and (len(body) + len(padding)) % _GROUP):
        return None
    return body


def pem() -> base.Comparator:
    """Compare the PEM blocks of a text in their order; line width and text outside the blocks do not count."""
    return base.Parsed("pem", "pem", _pem)


def _pem(value: Json) -> base.Key:
    if not isinstance(value, str):
        return None
    blocks = tuple((kind, _body(body)) for kind, body in _PEM.findall(value))
    is_whole = len(blocks) == value.count("-----BEGIN") and all(body is not None for _, body in blocks)
    return blocks if blocks and is_whole else None


def ssh_key() -> base.Comparator:
    """Compare type and key material of one SSH public key; the comment does not count."""
    return base.Parsed("ssh_key", "ssh_key", _ssh_key)


def _ssh_key(value: Json) -> base.Key:
    match = _SSH.fullmatch(value.strip()) if isinstance(value, str) else None
    return None if match is None else match.groups()
