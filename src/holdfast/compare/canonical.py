"""The canonical form of a JSON value: one text for all documents that differ only in the order of keys and elements.

The text is, byte for byte, what Go's encoding/json writes for the value once every list is sorted by the text of its
elements (seed 003, DD-EM-002), so a hash of it equals the hash another program stored. A recursive writer on top of
orjson serves ordinary documents; what it cannot serve (deep nesting, cycles, values that are not JSON) goes to an
iterative writer, which gives either the same bytes or an error that names the path. Refuses to know where a value came
from and which of its fields matter.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final, Literal, NoReturn

from orjson import OPT_SORT_KEYS, Fragment, dumps

from holdfast.compare.go_json import EXACT_INTEGERS, INT64_MIN, MAX_DEPTH, Numbers, may_hold_long_integers
from holdfast.errors import UnhashableError
from holdfast.model.json import Json

Lists = Literal["sorted", "ordered"]
"""sorted: a list is a bag, its order means nothing (the seed's rule). ordered: the order is part of the value."""

UINT64_MAX = 2**64 - 1
MAX_LEVELS: Final = 200  # of the recursive writer: orjson refuses 255, and compiled code has no recursion limit

_PLAIN = frozenset({str, int, bool, type(None)})
_GO_ESCAPES = (
    (b"<", rb"\u003c"),
    (b">", rb"\u003e"),
    (b"&", rb"\u0026"),
    ("\u2028".encode(), rb"\u2028"),
    ("\u2029".encode(), rb"\u2029"),
)
# The first bytes of the above, as numbers: `60 in data` is one memchr, `b"<" in data` takes four times as long.
_LT: Final = 0x3C
_GT: Final = 0x3E
_AMP: Final = 0x26
_E2: Final = 0xE2
_FEW: Final = 8


def canonical_spec_hash(spec: Mapping[str, Json] | None, numbers: Numbers = "int64") -> str:
    """Return `sha256:` and 64 hex digits for a spec; None, like Go's nil map, is the empty object.

    The hash of a text in a number mode is `canonical_spec_hash(jsontext.loads(text, mode))`.
    """
    return digest_bytes(canonical_bytes(as_spec(spec), numbers))


def as_spec(value: Json) -> dict[str, Json]:
    """Return a spec as a dict, or refuse what is not an object."""
    if value is None:
        return {}
    if type(value) is dict:
        return value
    if isinstance(value, Mapping):
        return dict(value)
    raise UnhashableError(f"a spec must be an object or null, not {type(value).__name__}", "")


def digest_bytes(data: bytes) -> str:
    """Return the typed SHA-256 digest of bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def canonical_text(value: Json, numbers: Numbers = "int64", lists: Lists = "sorted") -> str:
    """Return the hashed text, so that a person can see why two hashes differ."""
    return canonical_bytes(value, numbers, lists).decode()


def canonical_bytes(value: Json, numbers: Numbers = "int64", lists: Lists = "sorted") -> bytes:
    """Write a value in canonical form, or raise UnhashableError with the JSON pointer of what cannot be written.

    Takes dict, list, tuple (as a list), str, int, float, bool and None, and no subclass of them: an enum or a named
    tuple must be converted by the caller. Integers are exact from -2**63 to 2**64-1;
    with `float64` those beyond 2**53 become doubles first.
    """
    try:
        data = _write_fast(value, lists)
    except (TypeError, RecursionError):
        return write(value, numbers, lists)
    if numbers == "float64" and may_hold_long_integers(data, numbers):
        return write(value, numbers, lists)
    return data


def write(value: Json, numbers: Numbers = "int64", lists: Lists = "sorted") -> bytes:
    """Do what `canonical_bytes` does without recursion: slower, to any depth, and with errors that name the path."""
    return _Writer(numbers, lists).write(value)


def number_text(value: float) -> bytes:
    """Write a double as Go does: shortest digits, no exponent from 1e-6 up to 1e21; TypeError when not finite."""
    if not math.isfinite(value):
        raise TypeError(str(value))
    text = repr(value)
    if "e" not in text:
        return text.removesuffix(".0").encode()
    if 1e-6 <= abs(value) < 1e21:
        return format(Decimal(text), "f").encode()
    return text.replace("e-0", "e-").encode()


def _write_fast(value: Json, lists: Lists) -> bytes:
    packed = _packed(value, MAX_LEVELS) if lists == "sorted" else _packed_in_order(value, MAX_LEVELS)
    data = dumps(packed, None, OPT_SORT_KEYS)
    return _go_escaped(data) if _needs_escapes(data) else data


def _packed(value: Json, levels: int) -> Json:
    """Return the value in the form that orjson must write; unchanged parts are shared."""
    kind = type(value)
    if kind is dict:
        return _packed_map(value, levels)
    if kind is list:
        return _packed_list(value, levels)
    if kind is tuple:
        return _packed_list(list(value), levels)
    return value if kind in _PLAIN else _packed_number(value)


def _packed_map(value: dict[str, Json], levels: int) -> Json:
    # The hot loop: most values are strings, so they are asked for first and cost one comparison.
    if not levels:
        raise RecursionError
    packed = value
    new: Json
    for key, item in value.items():
        kind = type(item)
        if kind is str:
            continue
        if kind is dict:
            new = _packed_map(item, levels - 1)
        elif kind is int or kind is bool or item is None:
            continue
        elif kind is list:
            new = _packed_list(item, levels - 1)
        else:
            new = _packed(item, levels - 1)
        if new is not item:
            if packed is value:
                packed = value.copy()
            packed[key] = new
    return packed


def _packed_list(value: list[Json], levels: int) -> Json:
    if not levels:
        raise RecursionError
    if not value:
        return value
    if len(value) == 1:
        packed = _packed(value[0], levels - 1)
        return value if packed is value[0] else [packed]
    parts: list[bytes] = []
    for item in value:
        kind = type(item)
        if kind is dict:
            parts.append(dumps(_packed_map(item, levels - 1), None, OPT_SORT_KEYS))
        elif kind is str:
            parts.append(dumps(item))
        else:
            parts.append(dumps(_packed(item, levels - 1), None, OPT_SORT_KEYS))
    parts.sort()
    data = b",".join(parts)
    if _needs_escapes(data):
        # Escapes change the order ("<" sorts as a backslash), so they come before the sort that counts.
        data = b",".join(sorted(map(_go_escaped, parts)))
    return Fragment(b"[" + data + b"]")


def _packed_number(value: Json) -> Fragment:
    # orjson's own text of a float is not Go's, and it writes enums, dates and NaN, which have no canonical form.
    if type(value) is float:
        return Fragment(number_text(value))
    raise TypeError(type(value).__name__)


def _packed_in_order(value: Json, levels: int) -> Json:
    """Return the same as `_packed` for lists whose order is part of the value.

    The loops are written out again with types of their own and without a flag, because they are hot.
    """
    kind = type(value)
    if kind is dict:
        return _packed_map_in_order(value, levels)
    if kind is list:
        return _packed_list_in_order(value, levels)
    if kind is tuple:
        return _packed_list_in_order(list(value), levels)
    return value if kind in _PLAIN else _packed_number(value)


def _packed_map_in_order(value: dict[str, Json], levels: int) -> Json:
    if not levels:
        raise RecursionError
    packed = value
    new: Json
    for key, item in value.items():
        kind = type(item)
        if kind is str:
            continue
        if kind is dict:
            new = _packed_map_in_order(item, levels - 1)
        elif kind is int or kind is bool or item is None:
            continue
        elif kind is list:
            new = _packed_list_in_order(item, levels - 1)
        else:
            new = _packed_in_order(item, levels - 1)
        if new is not item:
            if packed is value:
                packed = value.copy()
            packed[key] = new
    return packed


def _packed_list_in_order(value: list[Json], levels: int) -> Json:
    if not levels:
        raise RecursionError
    packed = value
    new: Json
    for index, item in enumerate(value):
        kind = type(item)
        if kind is str:
            continue
        new = _packed_map_in_order(item, levels - 1) if kind is dict else _packed_in_order(item, levels - 1)
        if new is not item:
            if packed is value:
                packed = value.copy()
            packed[index] = new
    return packed


def _needs_escapes(data: bytes) -> bool:
    return _LT in data or _GT in data or _AMP in data or (_E2 in data and _may_hold_separators(data))


def _may_hold_separators(data: bytes) -> bool:
    """Return False if a text surely holds neither U+2028 nor U+2029."""
    at = data.find(_E2)
    for _ in range(_FEW):  # for these, a jump from one to the next takes a tenth of the search for two bytes
        if at < 0:
            return False
        if data[at + 1] == 0x80:
            return True
        at = data.find(_E2, at + 1)
    return b"\xe2\x80" in data


def _go_escaped(data: bytes) -> bytes:
    """Apply the escapes that Go adds to JSON's own; harmless to apply twice."""
    for character, escape in _GO_ESCAPES:
        data = data.replace(character, escape)
    return data


class _Map:
    """An object being written: keys in order of their UTF-8 bytes, which is the order of their code points."""

    def __init__(self, value: dict[str, Json], out: list[bytes]) -> None:
        self.rest: Iterator[tuple[str | int, Json]] = ((key, value[key]) for key in sorted(value))
        self.at: str | int = ""
        self.out = out
        self.before = b"{"

    def begin(self) -> list[bytes]:
        self.out += (self.before, _string_text(str(self.at)), b":")
        self.before = b","
        return self.out

    def end(self) -> None:
        self.out.append(b"{}" if self.before == b"{" else b"}")


class _List:
    """A list being written in the order it has."""

    def __init__(self, value: list[Json] | tuple[Json, ...], out: list[bytes]) -> None:
        self.rest: Iterator[tuple[str | int, Json]] = enumerate(value)
        self.at: str | int = 0
        self.out = out
        self.before = b"["

    def begin(self) -> list[bytes]:
        self.out.append(self.before)
        self.before = b","
        return self.out

    def end(self) -> None:
        self.out.append(b"[]" if self.before == b"[" else b"]")


class _SortedList(_List):
    """A list being written whose elements are put in order at the end, so each is written apart."""

    def __init__(self, value: list[Json] | tuple[Json, ...], out: list[bytes]) -> None:
        super().__init__(value, out)
        self.elements: list[list[bytes]] = []

    def begin(self) -> list[bytes]:
        self.elements.append([])
        return self.elements[-1]

    def end(self) -> None:
        self.out += (b"[", b",".join(sorted(map(b"".join, self.elements))), b"]")


class _Writer:
    """Writes a value of any depth with a stack of its own, and knows the path of what it is writing."""

    def __init__(self, numbers: Numbers, lists: Lists) -> None:
        self.numbers: Numbers = numbers
        self.lists = lists
        self.frames: list[_Map | _List] = []
        self.containers: list[int] = []
        self.on_path: set[int] = set()

    def write(self, value: Json) -> bytes:
        out: list[bytes] = []
        self.start(value, out)
        while self.frames:
            frame = self.frames[-1]
            step = next(frame.rest, None)
            if step is None:
                frame.end()
                self.frames.pop()
                self.on_path.discard(self.containers.pop())
            else:
                frame.at = step[0]
                self.start(step[1], frame.begin())
        return b"".join(out)

    def start(self, value: Json, out: list[bytes]) -> None:
        """Write a scalar, or begin a container."""
        kind = type(value)
        if kind is dict:
            self.check_keys(value)
            self.enter(value, _Map(value, out))
        elif kind is list or kind is tuple:
            is_bag = self.lists == "sorted" and len(value) > 1
            self.enter(value, _SortedList(value, out) if is_bag else _List(value, out))
        else:
            out.append(self.scalar(value))

    def enter(self, value: Json, frame: _Map | _List) -> None:
        if id(value) in self.on_path:
            self.refuse("the value contains itself")
        if len(self.frames) == MAX_DEPTH:
            self.refuse(f"nested deeper than {MAX_DEPTH:,} levels, which is the limit")
        self.frames.append(frame)
        self.containers.append(id(value))
        self.on_path.add(id(value))

    def check_keys(self, value: dict[Json, Json]) -> None:
        for key in value:
            if type(key) is not str:
                self.refuse(f"object keys must be str, not {type(key).__name__}")
            if not _is_unicode(key):
                self.refuse("an object key holds a lone surrogate, which UTF-8 cannot carry")

    def scalar(self, value: Json) -> bytes:
        kind = type(value)
        if kind is str:
            if not _is_unicode(value):
                self.refuse("the string holds a lone surrogate, which UTF-8 cannot carry")
            return _string_text(value)
        if kind is int:
            return self.integer(value)
        if kind is float:
            if not math.isfinite(value):
                self.refuse(f"{value} is not a JSON number")
            return number_text(value)
        if kind is bool or value is None:
            return dumps(value)
        return self.refuse(f"a value of type {kind.__name__} has no canonical form; convert it to a JSON value first")

    def integer(self, value: int) -> bytes:
        low, high = EXACT_INTEGERS[self.numbers]
        if self.numbers == "float64" and not low <= value <= high:
            try:
                return number_text(float(value))
            except OverflowError:
                self.refuse("the integer does not fit into a 64-bit float")
        if not INT64_MIN <= value <= UINT64_MAX:
            self.refuse("the integer does not fit into 64 bits")
        return b"%d" % value

    def refuse(self, message: str) -> NoReturn:
        raise UnhashableError(message, _pointer([frame.at for frame in self.frames]))


def _string_text(text: str) -> bytes:
    data = dumps(text)
    return _go_escaped(data) if _needs_escapes(data) else data


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _pointer(steps: list[str | int]) -> str:
    """Return a JSON pointer; the middle of a very long one is left out, because people read it."""
    shown = [str(step).replace("~", "~0").replace("/", "~1") for step in steps]
    if len(shown) > 40:
        shown[20:-20] = ["..."]
    return "".join(f"/{step}" for step in shown).encode("utf-8", "backslashreplace").decode()
