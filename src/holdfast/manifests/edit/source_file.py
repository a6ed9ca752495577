"""The text of a manifest file, taken apart so that one document in it can change and all the rest cannot.

Knows the properties that an edit must keep: the byte order mark, the line ends, whether the last line has one.
"""

from __future__ import annotations

import codecs
import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from holdfast.compare import go_json, yaml_reader
from holdfast.errors import InputError, Location
from holdfast.manifests import documents, file_discovery
from holdfast.manifests.edit import json_places
from holdfast.manifests.edit.edit_refusal import Refused
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.text_edit import yaml_nodes

_WIDE: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
_COMMENT = re.compile(r"#+\s*(.*)")
_GENERATED = re.compile(r"(?<!not )(?<!never )\b(?:auto-?)?generated\b", re.IGNORECASE)
_GENERATED_BY = re.compile(r"(?<!not )\b(?:auto-?generated|generated (?:by|from|with|automatically))\b", re.IGNORECASE)
_HANDS_OFF = re.compile(r"\bdo not (?:edit|modify|change)\b", re.IGNORECASE)
_HELM = re.compile(r"Source: \S+/templates/\S+")


@dataclass(frozen=True, slots=True)
class ResourceText:
    """One resource in a file: its document, the text before and after, and its place in the document."""

    before: str
    text: str
    after: str
    document: Json
    pointer: Pointer  # of the resource, where the document is a list of several
    ends: tuple[str, ...]  # of all lines of the file


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of a file with its value; the document that holds it stands between `start` and `end`."""

    start: int
    end: int
    document: Json
    pointer: Pointer
    value: Json


@dataclass(frozen=True, slots=True)
class SourceText:
    """One file; its text has plain line breaks, and one at the end."""

    name: str
    is_json: bool
    text: str
    data: bytes
    line_ends: tuple[str, ...]  # one a line; the last is empty where the file ends without

    @staticmethod
    def of(data: bytes, name: str) -> SourceText:
        """Take a file apart; raise Refused if it is not one that may be edited."""
        if data.startswith(_WIDE):
            raise Refused("the file is not UTF-8; save it as UTF-8 first", Location(name))
        try:
            raw = data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise Refused("the file is not UTF-8; save it as UTF-8 first", Location(name, line)) from None
        raw = raw.removeprefix("\ufeff")
        line_ends = tuple(_LINE_ENDS.findall(raw))
        if "\r" in line_ends:
            line = line_ends.index("\r") + 1
            raise Refused(
                "lines end with a lone carriage return; save it with ordinary line ends", Location(name, line)
            )
        if not raw.endswith("\n"):
            line_ends = (*line_ends, "")
        text = raw.replace("\r\n", "\n")
        text = text if text.endswith("\n") else text + "\n"
        out = SourceText(name, _is_json(data, name), text, data, line_ends)
        _check_generated(out)
        return out

    def resources(self) -> list[Resource]:
        """Return every resource, in the order in which manifests are read; raise Refused if the file is unreadable."""
        try:
            return [
                Resource(start, end, document, pointer, value)
                for start, end, document in (self._json() if self.is_json else self._yaml())
                for pointer, value in _expanded(document, ())
            ]
        except InputError as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: InputError) -> Refused:
        line = error.location.line
        there = self.text.split("\n")[line - 1] if line else ""
        if "\t" in there[: len(there) - len(there.lstrip())]:
            return Refused("this line is indented with a tab; use blanks", Location(self.name, line))
        return Refused(f"{error.message}; correct the file first", error.at(Location(self.name)).location)

    def _yaml(self) -> Iterator[tuple[int, int, Json]]:
        read = yaml_reader.documents(self._said(self.text), self.name)  # first: it is strict, and says where
        nodes = [document for document in yaml_nodes.documents(self.text) if not document.is_empty]
        for node, document in zip(nodes, read, strict=True):
            start = yaml_nodes.line_start(self.text, node.start)
            start = node.start if self.text[start : node.start].strip() else start  # indentation is part of it
            yield start, node.end, go_json.round_integers(document.value, "int64")

    def _json(self) -> Iterator[tuple[int, int, Json]]:
        documents.read(self.data, self.name, is_json=True)  # first: it is strict, and says where
        for start, end in json_places.spans(self.text):
            yield start, end, go_json.loads(self.text[start:end], "int64")

    def find(self, resources: Sequence[Resource], declaration: Declaration) -> ResourceText:
        """Return where a declaration stands that was read from this file; raise Refused if it no longer does."""
        named = [at for at, resource in enumerate(resources) if _is_of(resource.value, declaration)]
        if len(named) > 1:  # of several connections, say
            written = documents.read(self.data, self.name, is_json=self.is_json)
            named = [at for at in named if written[at].line == declaration.location.line] or named
        if len(named) != 1:
            what = "is not in this file" if not named else "stands more than once in this file"
            raise Refused(f"{declaration.address} {what}; check again", Location(self.name))
        found = resources[named[0]]
        around = self.text[: found.start], self.text[found.start : found.end], self.text[found.end :]
        return ResourceText(*around, found.document, found.pointer, self.line_ends)

    def value_of(self, part: ResourceText, text: str) -> Json:
        """Read the document of a part, its text changed; raise DocumentError if it is none any more."""
        if self.is_json:
            return go_json.loads(text, "int64")
        whole = text if part.after else self._said(text)
        return go_json.round_integers(yaml_reader.document(whole, self.name).value, "int64")

    def _said(self, text: str) -> str:
        """Return the end of the text as it is in the file: a last line break may be ours."""
        return text if self.line_ends[-1] else text.removesuffix("\n")

    def encoded(self, part: ResourceText, text: str) -> bytes:
        """Return the bytes of the file with the text of a part changed; lines that did not change keep their ends."""
        if not self.line_ends[-1] and not part.after:  # a blank line at the end would be a line break
            text = text.rstrip("\n") + "\n"
        ends = self._ends(part, text)
        lines = (part.before + text + part.after).split("\n")[:-1]
        out = "".join(line + end for line, end in zip(lines, ends, strict=True)).encode()
        return codecs.BOM_UTF8 + out if self.data.startswith(codecs.BOM_UTF8) else out

    def surrounds(self, part: ResourceText) -> bool:
        """Return True if the text around a part of another version of the file is here byte for byte."""
        first, last = part.before.count("\n"), part.after.count("\n")
        other = part.ends
        return (
            self.text.startswith(part.before)
            and self.text.endswith(part.after)
            and self.line_ends[:first] == other[:first]
            and self.line_ends[len(self.line_ends) - last :] == other[len(other) - last :]
        )

    def _ends(self, part: ResourceText, text: str) -> list[str]:
        counted = Counter(filter(None, self.line_ends))
        usual = counted.most_common(1)[0][0] if counted else "\n"
        first = part.before.count("\n")
        last = first + part.text.count("\n")
        old, new = (name.split("\n")[: name.count("\n")] for name in (part.text, text))
        ends = [usual] * len(new)
        if set(self.line_ends) - {usual}:
            matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
            for block in matcher.get_matching_blocks():
                ends[block.b : block.b + block.size] = self.line_ends[first + block.a : first + block.a + block.size]
        out = [*self.line_ends[:first], *ends, *self.line_ends[last:]]
        inside = [end or usual for end in out[:-1]]
        return [*inside, self.line_ends[-1]]


def _is_json(data: bytes, name: str) -> bool:
    """Return True if the file is JSON, by the same rule as the loader."""
    lower = name.lower()
    return lower.endswith(".json") or (not lower.endswith(file_discovery.SUFFIXES) and documents.looks_like_json(data))


def _check_generated(source: SourceText) -> None:
    """Refuse a file that says in its first comments that a program writes it."""
    is_first = True
    for number, line in enumerate(source.text.split("\n"), start=1):
        comment = _COMMENT.fullmatch(line.strip())
        if comment is None:
            if line.strip() and not line.startswith(("---", "%")):
                return
            continue
        pattern = _GENERATED if is_first else _GENERATED_BY
        is_first = False
        if pattern.search(comment[1]) or _HANDS_OFF.search(comment[1]) or _HELM.match(comment[1]):
            message = "the file says that a program writes it; change what it is generated from"
            raise Refused(message, Location(source.name, number))


def _expanded(value: Json, pointer: Pointer) -> Iterator[tuple[Pointer, Json]]:
    """Go through the resources of a document, as manifests.documents does."""
    if isinstance(value, list):
        items, prefix = value, pointer
    elif isinstance(value, dict) and value.get("kind") == "List" and isinstance(value.get("items"), list):
        items, prefix = value["items"], (*pointer, "items")
    else:
        yield pointer, value
        return
    for index, item in enumerate(items):
        yield from _expanded(item, (*prefix, index))


def _is_of(value: Json, declaration: Declaration) -> bool:
    head = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(head, dict):
        return False
    address = declaration.address
    return (value.get("apiVersion"), value.get("kind"), head.get("name"), head.get("namespace")) == (
        declaration.api_version,
        address.kind,
        address.name,
        address.namespace,
    )
