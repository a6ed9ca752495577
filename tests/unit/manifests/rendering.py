"""Writes a document as YAML the way somebody might: any indentation, quotes, flow or block, comments in odd places."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from holdfast.model.json import Json

_PLAIN = re.compile(r"[A-Za-z/_][A-Za-z0-9/_.]*(?: [A-Za-z0-9/_.]+)*")
_NOT_STRINGS = {"null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE"}


@dataclass
class Pen:
    """One person's habits."""

    chance: random.Random
    indent: int = 2
    offset: int = 2
    dash: int = 2
    flow: float = 0.15
    comments: float = 0.15
    blanks: float = 0.05
    quotes: tuple[str, ...] = ("", "'", '"')
    sharing: float = 0  # how often what was said before is said again by an alias
    marks: int = 0
    anchors: list[tuple[str, Json]] = field(default_factory=list)

    @staticmethod
    def of(chance: random.Random) -> Pen:
        indent = chance.choice([2, 2, 2, 3, 4])
        return Pen(
            chance,
            indent,
            chance.choice([0, indent, 2]),
            chance.choice([2, 2, 2, 4]),
            chance.choice([0, 0.1, 0.3]),
            chance.choice([0, 0.1, 0.4]),
            chance.choice([0, 0, 0.2]),
            chance.choice([("",), ("", "'", '"'), ('"',), ("'",)]),
        )

    def happens(self, probability: float) -> bool:
        return self.chance.random() < probability

    def document(self, value: Json) -> str:
        if not isinstance(value, dict | list) or not value:
            return self.inline(value) + "\n"
        return "\n".join(self.block(value)) + "\n"

    # -- lines

    def block(self, value: Json) -> list[str]:
        out: list[str] = []
        entries = value.items() if isinstance(value, dict) else ((None, item) for item in value)
        for key, item in entries:
            out += self.before()
            out += self.entry(key, item)
        return out

    def before(self) -> list[str]:
        out = [""] if self.happens(self.blanks) else []
        return [*out, self.comment()] if self.happens(self.comments) else out

    def entry(self, key: str | None, item: Json) -> list[str]:
        head = "-" if key is None else self.key(key) + ":"
        for name, said in self.anchors:
            if self.sharing and said == item and type(said) is type(item):
                return [f"{head} *{name}{self.trailing()}"]
        if self.happens(self.sharing):
            self.marks += 1
            name = f"a{self.marks}"
            lines = self.written(f"{head} &{name}", key, item, is_anchored=True)
            self.anchors.append((name, item))
            return lines
        return self.written(head, key, item)

    def written(self, head: str, key: str | None, item: Json, *, is_anchored: bool = False) -> list[str]:
        width = self.dash if key is None else self.indent
        if isinstance(item, dict | list) and item and not self.happens(self.flow):
            lines = self.block(item)
            is_bare = bool(lines[0]) and not lines[0].lstrip().startswith("#") and not is_anchored
            if key is None and is_bare and self.happens(0.9):
                return [head + " " * (self.dash - 1) + lines[0], *indented(lines[1:], self.dash)]
            by = self.offset if isinstance(item, list) and key is not None else width
            return [head + self.trailing(), *indented(lines, by)]
        if isinstance(item, str) and "\n" in item and self.happens(0.8) and is_literal(item):
            chomp = "" if item.endswith("\n") else "-"
            body = item.removesuffix("\n").split("\n")
            return [f"{head} |{chomp}{self.trailing()}", *indented(body, width)]
        if isinstance(item, str) and is_foldable(item) and self.happens(0.5):
            words, cut = item.split(" "), self.chance.randint(1, 3)
            return [f"{head} >-{self.trailing()}", *indented([" ".join(words[:cut]), " ".join(words[cut:])], width)]
        if item is None and self.happens(0.3):
            return [head + self.trailing()]
        gap = " " * (self.dash - 1 if key is None else self.chance.choice([1, 1, 1, 3]))
        if isinstance(item, dict | list) and len(item) > 1 and self.happens(0.3):
            return self.wrapped(head + gap, item, width)
        return [head + gap + self.inline(item) + self.trailing()]

    def wrapped(self, head: str, item: Json, width: int) -> list[str]:
        """Write a collection in brackets, one entry a line."""
        opening, closing = "{}" if isinstance(item, dict) else "[]"
        parts = [self.inline({key: item[key]})[1:-1].strip() for key in item] if isinstance(item, dict) else []
        parts = parts or [self.inline(element) for element in item]
        last = "," if self.happens(0.3) else ""
        lines = [part + ("," if at + 1 < len(parts) else last) + self.trailing() for at, part in enumerate(parts)]
        return [head + opening, *indented(lines, width), " " * width + closing]

    def trailing(self) -> str:
        return "  " * self.chance.randint(1, 2) + self.comment() if self.happens(self.comments) else ""

    def comment(self) -> str:
        self.marks += 1
        return f"# mark {self.marks}: it's {{not}} [a] 'value'"

    # -- within a line

    def inline(self, value: Json) -> str:
        if isinstance(value, dict):
            pad = self.chance.choice(["", " "]) if value else ""
            inside = ", ".join(f"{self.key(key)}: {self.inline(item)}" for key, item in value.items())
            return f"{{{pad}{inside}{pad}}}"
        if isinstance(value, list):
            pad = self.chance.choice(["", " "]) if value else ""
            return f"[{pad}{', '.join(self.inline(item) for item in value)}{pad}]"
        if value is None:
            return self.chance.choice(["null", "~", "Null"])
        if isinstance(value, bool):
            return self.chance.choice([str(value), str(value).lower()])
        return self.string(value) if isinstance(value, str) else repr(value)

    def key(self, key: str) -> str:
        return self.string(key)

    def string(self, value: str) -> str:
        quote = self.chance.choice(self.quotes)
        if not quote and _PLAIN.fullmatch(value) and value not in _NOT_STRINGS:
            return value
        if quote != '"' and value.isprintable():
            return "'" + value.replace("'", "''") + "'"
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return '"' + "".join(item if item.isprintable() else f"\\U{ord(item):08x}" for item in escaped) + '"'


def indented(lines: list[str], by: int) -> list[str]:
    return [" " * by + line if line else "" for line in lines]


def is_literal(text: str) -> bool:
    is_visible = text.isascii() and text.replace("\n", "").isprintable()
    return is_visible and bool(text.strip()) and not text[0].isspace() and not text.endswith("\n\n")


def is_foldable(text: str) -> bool:
    words = text.split(" ")
    return len(words) > 3 and all(word.isalnum() for word in words)
