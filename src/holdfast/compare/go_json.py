"""Read JSON text exactly as Go's encoding/json reads it, or say where and why it cannot be read.

Two programs that hash the same text must first read the same values out of it. So this reader makes Go's choices: the
last of duplicate keys wins, a broken surrogate or a byte that is not UTF-8 becomes U+FFFD, a number that no double can
hold is refused, 10,000 levels are the limit. orjson answers where its answer is provably the same, the reader below
answers everything else. Refuses to know what the document is for: any JSON value may stand at the top.
"""

from __future__ import annotations

import math
import re
from typing import Final, Literal, NoReturn

import orjson

from holdfast.errors import DocumentError, Location
from holdfast.model.json import Json

Numbers = Literal["float64", "int64"]
"""float64: every number is a double (the seed's rule). int64: integers keep 64 bits (the Kubernetes client's rule)."""

MAX_DEPTH: Final = 10_000
FLOAT64_EXACT: Final = 2**53
INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
EXACT_INTEGERS: Final = {"float64": (-FLOAT64_EXACT, FLOAT64_EXACT), "int64": (INT64_MIN, INT64_MAX)}

# A longer number token is beyond 64 bits; int() would read it slowly, and refuse it from 4,300 digits on.
_LONGEST_INTEGER = len(str(INT64_MIN))

# Digits become "0" and all else ".", so that one substring search finds every integer that may be too long.
_DIGIT_MAP = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x2E for byte in range(256))
_LONG_RUN = {numbers: b"0" * len(str(high)) for numbers, (_, high) in EXACT_INTEGERS.items()}
_LONG_INTEGER = {
    numbers: re.compile(rb"(?:\A|[:,\[ \t\n\r])-?[0-9]{%d}" % len(run)) for numbers, run in _LONG_RUN.items()
}
_MINUS_ZERO = re.compile(rb"-0(?=[ \t\n\r,\]}]|\Z)")

_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANK = re.compile(r"[ \t\n\r]*+")
_INTEGER = r"-?(?:0|[1-9][0-9]*+)"
_PLAIN = r'[^"\\\x00-\x1f]'
_ESCAPED = r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
_VALUE = re.compile(
    rf'[ \t\n\r]*+(?:"(?P<plain>{_PLAIN}*+)"|(?P<bracket>[\[{{])|(?P<integer>{_INTEGER})(?![.eE])'
    rf"|(?P<float>{_INTEGER}(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)|(?P<literal>true|false|null)"
    rf'|"(?P<escaped>(?:{_PLAIN}++|{_ESCAPED})*+)")'
)
_KEY = re.compile(rf'[ \t\n\r]*+"((?:{_PLAIN}++|{_ESCAPED})*+)"')
_COLON = re.compile(r"[ \t\n\r]*+:")
_AFTER = re.compile(r"[ \t\n\r]*+([,\]}])")
_STRING_BODY = re.compile(rf"(?:{_PLAIN}++|{_ESCAPED})*+")
_PAIR_OR_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))", re.DOTALL
)

_LITERALS: Final[dict[str, Json]] = {"true": True, "false": False, "null": None}
_SHORT_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_NUMBER_HINT = "numbers are decimal, without leading zeros, with digits around the point"
_HINTS = (
    ("\ufeff", "save the file without a byte order mark"),
    ("\ufffd", "the text may not be UTF-8"),
    (r"/[/*]|#", "JSON has no comments"),
    (r"(?<=[0-9])[0-9.eExX]", _NUMBER_HINT),
)
_VALUE_HINTS = (
    *_HINTS,
    (r"[\]},]", "a comma stands only between two elements"),
    ("'", "strings stand in double quotes"),
    (r"(?i:[-+]?(?:NaN|Inf))", "JSON has no NaN and no Infinity"),
    ("(?i:true|false|null)", "true, false and null are written in lower case"),
    ("None|undefined", "the empty value is written null"),
    (r"[-+.]", _NUMBER_HINT),
    (r"\w", "strings stand in double quotes; the only words are true, false and null"),
)
_Hints = tuple[tuple[str, str], ...]  # patterns are compiled for a message only


def loads(text: str | bytes, numbers: Numbers = "float64") -> Json:
    """Read one JSON value, or raise DocumentError with line and column.

    `float64` turns integers beyond 2**53 into the nearest double and `-0` into -0.0; `int64` keeps integers of 64 bits
    and turns larger ones into doubles. Time and memory are linear in the text.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return read(text, numbers)
    raw = text if isinstance(text, bytes) else text.encode()
    if numbers == "float64" and _MINUS_ZERO.search(raw):
        return read(text, numbers)
    if may_hold_long_integers(raw, numbers):
        return round_integers(value, numbers)
    return value


def read(text: str | bytes, numbers: Numbers = "float64") -> Json:
    """Do what `loads` does without orjson: slower, for every text, and with errors that name the place."""
    if isinstance(text, bytes):
        # One lone surrogate for each bad byte, as Go counts them; errors="replace" would merge several into one.
        text = text.decode("utf-8", "surrogateescape")
    return _Reader(_SURROGATE.sub("\ufffd", text), numbers).document()


def may_hold_long_integers(text: bytes, numbers: Numbers) -> bool:
    """Return False if a JSON text surely has no integer that the mode would round."""
    # The search costs a tenth of the pattern, which is left to tell numbers from account ids in strings.
    return _LONG_RUN[numbers] in text.translate(_DIGIT_MAP) and bool(_LONG_INTEGER[numbers].search(text))


def round_integers(value: Json, numbers: Numbers) -> Json:
    """Replace, in place, the integers that orjson keeps exact and the mode does not."""
    low, high = EXACT_INTEGERS[numbers]
    root = [value]
    pending: list[Json] = [root]
    while pending:
        container = pending.pop()
        for step, item in container.items() if type(container) is dict else enumerate(container):
            kind = type(item)
            if kind is dict or kind is list:
                pending.append(item)
            elif kind is int and not low <= item <= high:
                container[step] = float(item)
    return root[0]


class _Reader:
    """One pass over a text with a stack of its own, so that depth costs memory and not the interpreter's stack."""

    def __init__(self, text: str, numbers: Numbers) -> None:
        self.text = text
        self.position = 0
        self.unfinished: list[Json] = []
        self.keys: list[str] = []
        self.exact = EXACT_INTEGERS[numbers]
        self.minus_zero: Json = -0.0 if numbers == "float64" else 0

    def document(self) -> Json:
        """Read the whole text as one value."""
        while True:
            token = _VALUE.match(self.text, self.position)
            if token is None:
                self.fail_value()
            kind = token.lastgroup or ""
            self.position = token.end()
            if kind != "bracket":
                item = self.scalar(kind, token[kind])
            elif self.descends(token[kind]):
                continue
            else:
                item = self.unfinished.pop()
            is_root, item = self.place(item)
            if is_root:
                break
        end = self.skip_blank()
        if end != len(self.text):
            self.fail_expected("the end of the text", end)
        return item

    def descends(self, bracket: str) -> bool:
        """Open a container; False when it is closed again at once."""
        if len(self.unfinished) == MAX_DEPTH:
            self.fail(f"nested deeper than {MAX_DEPTH:,} levels, which is the limit", self.position - 1)
        is_map = bracket == "{"
        self.unfinished.append({} if is_map else [])
        start = self.skip_blank()
        if self.text[start : start + 1] == ("}" if is_map else "]"):
            self.position = start + 1
            return False
        if is_map:
            self.read_key()
        return True

    def place(self, item: Json) -> tuple[bool, Json]:
        """Put a value where it belongs, and each container that this completes; True with the root when all is."""
        while self.unfinished:
            container = self.unfinished[-1]
            is_map = type(container) is dict
            if is_map:
                container[self.keys.pop()] = item
            else:
                container.append(item)
            token = _AFTER.match(self.text, self.position)
            mark = token[1] if token else None
            closing = "}" if is_map else "]"
            if token is None or mark not in (",", closing):
                self.fail_expected(f"',' or '{closing}'", self.skip_blank())
            self.position = token.end()
            if mark == ",":
                if is_map:
                    self.read_key()
                return False, None
            item = self.unfinished.pop()
        return True, item

    def read_key(self) -> None:
        token = _KEY.match(self.text, self.position)
        if token is None:
            self.fail_key()
        self.keys.append(_unescaped(token[1]) if "\\" in token[1] else token[1])
        colon = _COLON.match(self.text, token.end())
        self.position = token.end()
        if colon is None:
            self.fail_expected("':' after an object key", self.skip_blank())
        self.position = colon.end()

    def scalar(self, kind: str, text: str) -> Json:
        if kind == "plain":
            return text
        if kind == "integer":
            return self.integer(text)
        if kind == "float":
            return self.double(text)
        return _LITERALS[text] if kind == "literal" else _unescaped(text)

    def integer(self, text: str) -> Json:
        if text == "-0":
            return self.minus_zero
        if len(text) > _LONGEST_INTEGER:
            return self.double(text)
        value = int(text)
        return value if self.exact[0] <= value <= self.exact[1] else float(value)

    def double(self, text: str) -> float:
        value = float(text)
        if math.isinf(value):
            self.fail("the number does not fit into a 64-bit float", self.position - len(text))
        return value

    def skip_blank(self) -> int:
        """Return where the next token begins."""
        match = _BLANK.match(self.text, self.position)
        return match.end() if match else self.position

    def fail_value(self) -> NoReturn:
        start = self.skip_blank()
        if self.text[start : start + 1] == '"':
            self.fail_string(start)
        self.fail_expected("a value", start, _VALUE_HINTS)

    def fail_key(self) -> NoReturn:
        start = self.skip_blank()
        if self.text[start : start + 1] == '"':
            self.fail_string(start)
        self.fail_expected("an object key in double quotes", start)

    def fail_string(self, start: int) -> NoReturn:
        body = _STRING_BODY.match(self.text, start + 1)
        stop = body.end() if body else start + 1
        if stop == len(self.text):
            self.fail("the text ends inside the string that begins here", start)
        if self.text[stop] != "\\":
            code = ord(self.text[stop])
            self.fail(f"raw control character U+{code:04X} in a string; write it as \\u{code:04x}", stop)
        if self.text[stop + 1 : stop + 2] == "u":
            self.fail("\\u in a string needs four hexadecimal digits", stop)
        self.fail('unknown escape in a string; JSON knows \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX', stop)

    def fail_expected(self, expected: str, position: int, hints: _Hints = _HINTS) -> NoReturn:
        """Raise an error with the expected token and one character of the text, never more of the document."""
        if position == len(self.text):
            found = "but the text ends" if position else "but the text is empty"
        else:
            character = self.text[position]
            found = f"found {character!r}" if character.isascii() else f"found U+{ord(character):04X}"
            found += next(
                (f" ({hint})" for pattern, hint in hints if re.compile(pattern).match(self.text, position)), ""
            )
        self.fail(f"expected {expected}, {found}", position)

    def fail(self, message: str, position: int) -> NoReturn:
        line = self.text.count("\n", 0, position) + 1
        column = position - self.text.rfind("\n", 0, position)
        raise DocumentError(message, Location(line=line, column=column))


def _unescaped(text: str) -> str:
    return _PAIR_OR_ESCAPE.sub(_replacement, text)


def _replacement(escape: re.Match[str]) -> str:
    high, low, unit, short = escape.groups()
    if short:
        return _SHORT_ESCAPES[short]
    if high:
        return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))
    character = chr(int(unit, 16))
    return "\ufffd" if _SURROGATE.match(character) else character
