"""One spelling for percent-encoded text, without ever turning an encoded delimiter into a real one."""

from __future__ import annotations

import re
import string

UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")
"""The characters RFC 3986 says mean the same encoded or not."""

SEGMENT = UNRESERVED | frozenset("!$&'()*+,;=:@")
"""And those that mean the same inside one path segment: all but the slash, the percent sign and what needs encoding."""

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNSAFE = re.compile(r"[^\x21-\x7e]|[\"<>\\^`{|}]")


def normalise(text: str, decoded: frozenset[str] = UNRESERVED) -> str:
    """Decode the characters in `decoded`, encode what may not stand bare, write hex digits in capitals; idempotent."""
    if "%" in text:
        text = _ESCAPE.sub(lambda match: _unescape(match[1], decoded), text)
    return _UNSAFE.sub(_escape, text)


def _unescape(digits: str | None, decoded: frozenset[str]) -> str:
    if digits is None:
        return "%25"
    character = chr(int(digits, 16))
    return character if character in decoded else f"%{digits.upper()}"


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))
