"""The secrets that this process knows, and their recognition in any text.

A service may repeat a secret in any field, key, error or header, and encode it as in URLs, JSON or base64. These
secrets are searched for in all of them. Short values are not searched for, because they occur in innocent texts.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import Final
from urllib.parse import quote, quote_plus

import orjson

from holdfast.model.json import Json
from holdfast.model.record import dataclass

SHORTEST: Final = 6  # characters of a secret that is recognised inside other texts
MASK: Final = "***"
_SHORTEST_TELLING: Final = 8  # of one that is taken out of any text: more of it must be unlike a word
_LONG: Final = 16
_SHORTEST_ENCODED: Final = 8  # characters of a base64 spelling that can be nothing else
_ONE_BY_ONE: Final = 64  # spellings up to this many are looked for one after the other
_MOST_MET: Final = 4096  # live secrets that are remembered for as long as the process runs

_LONGEST: Final = 1024  # characters of a piece; longer secrets are looked for piece by piece

Fingerprint = Callable[[Json], str]
_Letters = dict[str, "_Letters"]


def is_telling(value: str) -> bool:
    """Return True if a value is very likely a secret: long, and not a mere word."""
    return len(value) >= _LONG or (len(value) >= _SHORTEST_TELLING and not value.isalpha() and not value.isspace())


@dataclass(frozen=True, slots=True)
class _Finder:
    """Looks for any of some texts in another: few one after the other, many by one expression."""

    spellings: tuple[str, ...] = ()  # the longest first
    written: tuple[bytes, ...] = ()  # as the JSON of a document has them, escaped once more
    text: re.Pattern[str] | None = None
    in_json: re.Pattern[bytes] | None = None

    @classmethod
    def of(cls, spellings: Iterable[str]) -> _Finder:
        found = tuple(sorted(set(spellings), key=len, reverse=True))
        written = tuple(orjson.dumps(name)[1:-1] for name in found if _is_text(name))
        if len(found) <= _ONE_BY_ONE:
            return cls(found, written)
        as_letters = (item.decode("latin-1") for item in written)
        in_json = re.compile(_alternatives(as_letters).encode("latin-1"))
        return cls(found, written, re.compile(_alternatives(found)), in_json)

    def may_be_in(self, document: Json) -> bool:
        """Return True if a document may hold a secret, at the cost of serializing it. There are no false negatives."""
        try:
            written = orjson.dumps(document)
        except (TypeError, orjson.JSONEncodeError):  # nested too deep, or integers beyond 64 bits
            return True
        if self.in_json is not None:
            return self.in_json.search(written) is not None
        return any(item in written for item in self.written)

    def is_in(self, text: str) -> bool:
        if self.text is not None:
            return self.text.search(text) is not None
        return any(spelling in text for spelling in self.spellings)

    def masked(self, text: str) -> str:
        if self.text is not None:
            return self.text.sub(MASK, text)
        for spelling in self.spellings:
            if spelling in text:
                text = text.replace(spelling, MASK)
        return text


@dataclass(slots=True)
class KnownSecrets:
    """The values, by how widely they are looked for."""

    _values: set[str] = field(default_factory=set, repr=False)  # in every document
    _met: dict[str, set[str]] = field(default_factory=dict, repr=False)  # live ones, with where: in every message
    _finder: _Finder | None = field(default=None, repr=False)
    _masker: _Finder | None = field(default=None, repr=False)

    def add(self, *values: Json) -> None:
        """Add values that must never be shown."""
        texts = (value for value in values if isinstance(value, str) and len(value) >= SHORTEST)
        new = {piece for text in texts for piece in _pieces(text)} - self._values
        if new:
            self._values |= new
            self._finder = self._masker = None

    def meet(self, values: Iterable[str], where: str) -> None:
        """Learn live secrets of a resource as they are seen; they are kept out of all messages from now on."""
        for value in (piece for name in values for piece in _pieces(name)):
            if value in self._values or not is_telling(value):
                continue
            if value not in self._met:
                self._met[value] = set()
                self._masker = None
                if len(self._met) > _MOST_MET:
                    del self._met[next(iter(self._met))]
            self._met[value].add(where)

    def met(self, where: str) -> list[str]:
        """Return the live secrets that a resource has shown, now or before, because it may repeat them."""
        return [value for value, places in self._met.items() if where in places] if self._met else []

    def __bool__(self) -> bool:
        return bool(self._values)

    @property
    def is_empty(self) -> bool:
        """True if no secret is known, neither one to look for in documents nor a live one."""
        return not self._values and not self._met

    def knows(self, value: str) -> bool:
        """Return True if every document is searched for the value anyway."""
        return value in self._values

    def hidden(self, text: str) -> str:
        """Return a message without any of the secrets."""
        if not self._values and not self._met:
            return text
        if self._masker is None:
            telling = (value for value in (*self._values, *self._met) if is_telling(value))
            self._masker = _Finder.of(form for name in telling for form in spellings(name))
        return self._masker.masked(text)

    def is_in(self, text: str) -> bool:
        """Return True if a text of a document holds a secret."""
        return self._found().is_in(text)

    def _found(self) -> _Finder:
        if self._finder is None:
            self._finder = _Finder.of(form for value in self._values for form in spellings(value))
        return self._finder

    def scrubbed(self, document: Json, fingerprint: Fingerprint, others: Iterable[str] = ()) -> Json:
        """Return a document with a fingerprint for every text that holds a secret; the same one if none does."""
        for finder in (self._found(), _Finder.of(form for other in others for form in spellings(other))):
            if finder.spellings and finder.may_be_in(document):
                document = _scrubbed(document, finder, fingerprint)
        return document


def _pieces(value: str) -> Iterator[str]:
    for start in range(0, max(len(value) - _LONGEST // 2, 1), _LONGEST):
        last = start + _LONGEST >= len(value) - _LONGEST // 2
        yield value[start:] if last else value[start : start + _LONGEST]


def _scrubbed(value: Json, finder: _Finder, fingerprint: Fingerprint) -> Json:
    if isinstance(value, str):
        return fingerprint(value) if finder.is_in(value) else value
    if isinstance(value, dict):
        return {
            fingerprint(key) if finder.is_in(key) else key: _scrubbed(item, finder, fingerprint)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_scrubbed(item, finder, fingerprint) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return fingerprint(value) if str(value) in finder.spellings else value
    return value


def spellings(secret: str) -> Iterator[str]:
    """Go through the ways a secret is written: as it is, and as URLs, JSON, Python, XML and base64 write it."""
    yield secret
    if not _is_text(secret):
        return
    yield quote(secret)
    yield quote(secret, safe="")
    yield quote_plus(secret)
    for escaped in (orjson.dumps(secret).decode()[1:-1], json.dumps(secret)[1:-1]):
        yield escaped
        yield json.dumps(escaped)[1:-1]
        yield orjson.dumps(escaped).decode()[1:-1]
    yield repr(secret)[1:-1]
    yield secret.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    for encoded in _in_base64(secret.encode()):
        yield encoded
        yield encoded.replace("+", "-").replace("/", "_")


def _in_base64(data: bytes) -> Iterator[str]:
    """Yield the base64 encodings of a secret at any offset of the encoded text, without the uncertain ends."""
    for before in range(3):
        written = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        whole = written[(before * 8 + 5) // 6 : len(b"\0" * before + data) * 8 // 6]
        if len(whole) >= _SHORTEST_ENCODED:
            yield whole


def _is_text(value: str) -> bool:
    """Return True if a text can be encoded in UTF-8."""
    return not any("\ud800" <= name <= "\udfff" for name in value)


def _alternatives(texts: Iterable[str]) -> str:
    """Return an expression for any of many texts, the longest first, that branches letter by letter."""
    root: _Letters = {}
    for text in texts:
        node = root
        for letter in text:
            node = node.setdefault(letter, {})
        node[""] = {}  # a text ends here
    return _expression(root)


def _expression(node: _Letters) -> str:
    run = ""
    while len(node) == 1 and "" not in node:
        ((letter, node),) = node.items()
        run += re.escape(letter)
    branches = [re.escape(letter) + _expression(below) for letter, below in node.items() if letter]
    if not branches:
        return run
    return f"{run}(?:{'|'.join(branches)}){'?' if '' in node else ''}"
