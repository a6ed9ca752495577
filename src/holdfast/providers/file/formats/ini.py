"""INI texts, edited line by line: comments, blank lines, order and the way entries are spaced stay as they are.

A section is a map of strings; entries before the first section stand at the top. An entry that stands several times is
a list, as systemd and many others mean it. What follows the `=` is taken literally: there are no comments at the end of
a line, no quotes and no interpolation. A line indented further than its entry continues it.
"""

from __future__ import annotations

import re
from dataclasses import field

from holdfast.compare import paths
from holdfast.compare.comparators import typed_equal
from holdfast.errors import DocumentError, Location
from holdfast.model.json import Json
from holdfast.model.record import dataclass

_SECTION = re.compile(r"\s*\[(?P<name>[^\]]+)\]\s*(?:[;#].*)?$")
_ENTRY = re.compile(r"(?P<head>(?P<indent>\s*)(?P<key>[^=:\s][^=:]*?)\s*(?:[=:][ \t]*|$))(?P<value>.*?)\s*$")
_COMMENTS = ("#", ";")


@dataclass(slots=True)
class _Entry:
    """One entry: its lines, the text before its value, and the value; None where there is no delimiter."""

    key: str
    head: str
    indent: int
    first: int
    last: int
    values: list[str] | None

    @property
    def value(self) -> str | None:
        return None if self.values is None else "\n".join(self.values)


@dataclass(slots=True)
class _Section:
    """A header line (-1 for the top) and its entries."""

    name: str | None
    line: int
    entries: list[_Entry] = field(default_factory=list)

    @property
    def last(self) -> int:
        return self.entries[-1].last if self.entries else self.line


def parse(text: str) -> Json:
    """Read a text as a map of sections."""
    out: dict[str, Json] = {}
    for section in _sections(text):
        into = out
        if section.name is not None:
            if section.name in out:
                raise _fail(f"the name {section.name!r} stands twice", section.line)
            into = out[section.name] = {}
        for entry in section.entries:
            _collect(into, entry)
    return out


def _collect(into: dict[str, Json], entry: _Entry) -> None:
    if entry.key not in into:
        into[entry.key] = entry.value
        return
    before = into[entry.key]
    into[entry.key] = [*(before if isinstance(before, list) else [before]), entry.value]


def _fail(message: str, line: int) -> DocumentError:
    return DocumentError(f"not INI: {message}", Location(line=line + 1))


def _sections(text: str) -> list[_Section]:
    found = [_Section(None, -1)]
    current: _Entry | None = None
    for number, line in enumerate(text.split("\n")):
        stripped = line.strip()
        if not stripped or stripped.startswith(_COMMENTS):
            current = current if stripped else None
        elif current is not None and len(line) - len(line.lstrip()) > current.indent:
            current.values = [*(current.values or []), stripped]
            current.last = number
        elif header := _SECTION.match(line):
            found.append(_Section(header["name"].strip(), number))
            current = None
        elif entry := _ENTRY.match(line):
            value = [entry["value"]] if entry["head"].rstrip(" \t")[-1] in "=:" else None
            current = _Entry(entry["key"], entry["head"], len(entry["indent"]), number, number, value)
            found[-1].entries.append(current)
        else:
            raise _fail("a line is neither a [section], an entry nor a comment", number)
    return found


def as_written(value: Json) -> Json:
    """Return the value with every scalar as its text; only maps of maps of scalars and lists of scalars can be said."""
    if not isinstance(value, dict):
        raise DocumentError("an INI text is a map of sections")
    return {
        str(name): {str(key): _texts(item) for key, item in part.items()} if isinstance(part, dict) else _texts(part)
        for name, part in value.items()
    }


def _texts(value: Json) -> Json:
    if isinstance(value, dict):
        raise DocumentError("an INI text has no maps inside sections")
    if not isinstance(value, list):
        return None if value is None else paths.scalar_text(value)
    if len(value) < 2 or any(isinstance(item, list) for item in value):
        raise DocumentError(
            "a list in an INI text is an entry that stands at least twice, with a plain value each time"
        )
    return [_texts(item) for item in value]


def dump(value: Json) -> str:
    """Write a new text: top entries first, then a paragraph a section."""
    written = as_written(value)
    top = {key: part for key, part in written.items() if not isinstance(part, dict)}
    paragraphs = ["\n".join(_lines(top))] if top else []
    for name, part in written.items():
        if isinstance(part, dict):
            paragraphs.append("\n".join([f"[{name}]", *_lines(part)]))
    return "\n\n".join(paragraphs) + "\n" if paragraphs else ""


def _lines(entries: dict[str, Json], delimiter: str = " = ", indent: str = "") -> list[str]:
    out: list[str] = []
    for key, value in entries.items():
        for item in value if isinstance(value, list) else [value]:
            out += _entry_lines(f"{indent}{key}{delimiter}", item)
    return out


def _entry_lines(head: str, value: str | None, further: str = "") -> list[str]:
    if value is None:
        return [head.rstrip().rstrip("=:").rstrip()]
    first, *rest = value.split("\n")
    indent = further or head[: len(head) - len(head.lstrip())] + "    "
    return [(head + first).rstrip(), *(indent + line for line in rest)]


def edit(text: str, before: Json, after: Json) -> list[str]:
    """Change, add and remove single entries; a section that goes takes the lines between its entries along."""
    lines = text.split("\n")
    for name in dict.fromkeys([*after, *before]):
        old, new = before.get(name), after.get(name)
        if isinstance(old, dict) and not isinstance(new, dict):
            section = _find(lines, name)
            del lines[section.line : section.last + 1]
            old = None
        if isinstance(new, dict):
            _edit_section(lines, name, old if isinstance(old, dict) else None, new)
        elif not typed_equal(old, new) or (name in before) is not (name in after):
            _edit_entry(lines, None, name, new, present=name in after)
    return ["\n".join(lines)]


def _edit_section(lines: list[str], name: str, old: dict[str, Json] | None, new: dict[str, Json]) -> None:
    if old is None:
        while lines and not lines[-1].strip():
            lines.pop()
        lines += ["", f"[{name}]", *_lines(new), ""] if lines else [f"[{name}]", *_lines(new), ""]
        return
    for key in dict.fromkeys([*old, *new]):
        if key not in old or key not in new or not typed_equal(old[key], new[key]):
            _edit_entry(lines, name, key, new.get(key), present=key in new)


def _find(lines: list[str], name: str | None) -> _Section:
    return next(section for section in _sections("\n".join(lines)) if section.name == name)


def _edit_entry(lines: list[str], name: str | None, key: str, value: Json, *, present: bool) -> None:
    section = _find(lines, name)
    standing = [entry for entry in section.entries if entry.key == key]
    values = (value if isinstance(value, list) else [value]) if present else []
    for entry in reversed(standing[len(values) :]):
        del lines[entry.first : entry.last + 1]
    if extra := values[len(standing) :]:
        place = (standing[-1].last if standing else section.last) + 1
        lines[place:place] = _lines({key: list(extra)}, *_spacing(section))
    for entry, item in reversed(list(zip(standing, values, strict=False))):
        head = entry.head if entry.values is not None else f"{entry.head.rstrip()} = "
        if item != entry.value:
            second = lines[entry.first + 1] if entry.last > entry.first else ""
            further = second[: len(second) - len(second.lstrip())]
            lines[entry.first : entry.last + 1] = _entry_lines(head, item, further)


def _spacing(section: _Section) -> tuple[str, str]:
    """Return the delimiter and indentation that the entries of a section have."""
    sample = next((entry for entry in section.entries if entry.values is not None), None)
    if sample is None:
        return " = ", ""
    delimiter = sample.head[sample.indent + len(sample.key) :]
    return delimiter if delimiter.endswith(" ") or delimiter in ("=", ":") else delimiter + " ", sample.head[
        : sample.indent
    ]
