r"""Escaping of external text, right before it is shown or logged. Pure.

Keys, ids and messages of services may hold escape sequences that move a cursor or rename a window, marks that reverse
the text direction, line breaks that forge a line of ours, and words that a CI system reads as a command. All of these
are written as escapes such as `\u001b`. JSON uses the same escapes, so JSON stays valid.
"""

from __future__ import annotations

import re
from typing import Final

# Controls (C0, DEL, C1), invisible and direction marks, other line breaks, lone surrogates.
_INVISIBLE: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff"
)
_IN_A_LINE: Final = re.compile(f"[\t\n{_INVISIBLE}]")
_IN_A_DOCUMENT: Final = re.compile(f"[{_INVISIBLE}]")
_COMMAND: Final = re.compile(r"#(?=#\w*\[)")  # ##[error], ##vso[...], ##teamcity[...]: a command anywhere in a line
_WORKFLOW: Final = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)  # ::error::, at the beginning of a line
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def in_a_line(text: str) -> str:
    """Return a text escaped for one line of output, with line breaks and tabs escaped as well."""
    return _without_commands(_IN_A_LINE.sub(_escape, text))


def in_a_document(text: str) -> str:
    """Return a text of several lines escaped for output. Its line breaks are our own and stay."""
    return _without_commands(_IN_A_DOCUMENT.sub(_escape, text))


def _without_commands(text: str) -> str:
    if "##" in text:
        text = _COMMAND.sub(r"\\u0023", text)
    return _WORKFLOW.sub(r"\1\\u003a", text) if "::" in text else text


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in _SHORT:
        return _SHORT[character]
    number = ord(character)
    if number <= 0xFFFF:
        return f"\\u{number:04x}"
    number -= 0x10000
    return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"
