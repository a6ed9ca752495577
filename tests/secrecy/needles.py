"""Secrets that are made to be looked for, and where they are looked for: in every byte, however it is packed.

Knows nothing of Holdfast but that its store is an SQLite file; spellings are those that JSON, URLs, XML, Python and
base64 give to a text.
"""

from __future__ import annotations

import base64
import json
import random
import sqlite3
import string
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape

_PLAIN = string.ascii_letters + string.digits
_ODD = ' "\\/&<>%+=:;,~#*[]{}$|é€'


@dataclass(frozen=True, slots=True)
class Needle:
    """One secret, and what sort of secret it is."""

    sort: str
    value: str


def made(chance: random.Random, sort: str, *, odd: bool = True) -> Needle:
    """Make a secret that nothing else can be: odd ones hold what some notation must escape."""
    length = chance.choice((10, 12, 16, 24, 40))
    letters = [chance.choice(_PLAIN) for _ in range(length)]
    if odd and chance.random() < 0.4:
        for place in chance.sample(range(1, length - 1), 2):
            letters[place] = chance.choice(_ODD)
    # A digit and a letter for sure, so that it is not mistaken for a word.
    return Needle(sort, "".join((chance.choice(string.ascii_letters), *letters, chance.choice(string.digits))))


def spellings(value: str) -> frozenset[bytes]:
    """Return how a secret may be written."""
    once = json.dumps(value)[1:-1]
    texts = {
        value,
        once,
        json.dumps(value, ensure_ascii=False)[1:-1],
        json.dumps(once)[1:-1],
        quote(value),
        quote(value, safe=""),
        quote_plus(value),
        escape(value),
        escape(value, {'"': "&quot;"}),
        repr(value)[1:-1],
        base64.b64encode(value.encode()).decode().rstrip("="),
        base64.urlsafe_b64encode(value.encode()).decode().rstrip("="),
    }
    return frozenset(text.encode() for text in texts)


def unpacked(database: Path) -> Iterator[bytes]:
    """Go through every cell of a database, as it is and unpacked."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
        opened.text_factory = bytes
        names = [name.decode() for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            for row in opened.execute(f'SELECT * FROM "{name}"'):
                for cell in row:
                    yield from _forms(cell)


def _forms(cell: object) -> Iterator[bytes]:
    if not isinstance(cell, bytes):
        return
    yield cell
    try:
        yield zlib.decompress(cell)
    except zlib.error:
        return


class Haystack:
    """Everything that came out, piece by piece with its name."""

    def __init__(self) -> None:
        self._pieces: list[tuple[str, bytes]] = []

    def add(self, name: str, data: bytes | str) -> None:
        """Put something on the pile."""
        self._pieces.append((name, data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data))

    def add_files(self, folder: Path, left_out: frozenset[Path]) -> None:
        """Put every file below a folder on the pile, databases cell by cell as well."""
        for file in sorted(folder.rglob("*")):
            if not file.is_file() or any(item == file or item in file.parents for item in left_out):
                continue
            name = str(file.relative_to(folder))
            self.add(name, file.read_bytes())
            if file.suffix == ".db":
                for cell in unpacked(file):
                    self.add(f"{name} (a cell)", cell)

    def found(self, needles: list[Needle]) -> list[str]:
        """Say which secrets are in it, and where: each sort once a place."""
        out: dict[str, None] = {}
        for needle in needles:
            forms = spellings(needle.value)
            for name, data in self._pieces:
                if any(form in data for form in forms):
                    out[f"{needle.sort} in {name}"] = None
        return list(out)
