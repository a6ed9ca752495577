"""The cases beside the files of tests/data/accept: what is accepted into them, and what becomes of the text.

Also what must be true of every result, found out without any of the means by which it was made.

=== a sentence
resource Kind/[namespace/]name     where the file holds several
set PATH = JSON                    what is accepted; `was JSON` on a line of its own tells what was compared
insert PATH = JSON                 the same with `was` nothing
remove PATH
---
the difference between the texts, or: refused LINE: what the message says
"""

from __future__ import annotations

import codecs
import copy
import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.compare import paths
from holdfast.compare.comparators import typed_equal
from holdfast.manifests import documents, loader
from holdfast.manifests.edit import accept_edit
from holdfast.manifests.edit.accept_edit import Edit, Refused
from holdfast.manifests.project import ConnectionSpec, ProjectFile
from holdfast.manifests.secrets import FromEnvironment
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Pointer, Selector
from holdfast.model.resource import Declaration
from holdfast.schema.document import Document as Written

FILES = Path(__file__).parents[2] / "data" / "accept"
PROVIDERS = [
    "helm",
    "kubernetes",
    "openstack",
    "cloud",
    "azure",
    "monitoring",
    "ci",
    "compose",
    "host",
    "gateway",
    "grafana",
    "aws",
]


@dataclass(frozen=True)
class Case:
    file: Path
    title: str
    resource: str
    edits: tuple[Edit, ...]
    expected: str
    head: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        return f"{self.file.name}: {self.title}"

    def declaration(self) -> Declaration:
        return declared(self.file, self.resource)

    def outcome(self) -> tuple[bytes | None, str]:
        """Return the new text with its difference from the old one, or nothing with the refusal."""
        before = self.file.read_bytes()
        try:
            after = accept_edit.accept(before, str(self.file), self.declaration(), self.edits)
        except Refused as refused:
            return None, f"refused {refused.location.line}: {refused.message}\n"
        return after, difference(before, after)


def declared(file: Path, resource: str = "") -> Declaration:
    secrets = {"token": FromEnvironment("TOKEN")}
    written = file.read_bytes()  # with a connection to a cluster, plain objects of Kubernetes would be ours as well
    providers = [name for name in PROVIDERS if name != "kubernetes" or f"{name}.holdfast.dev".encode() in written]
    connections = {name: ConnectionSpec(name, name, secrets=secrets) for name in providers}
    connections["prod-cloud"] = ConnectionSpec("prod-cloud", "openstack")
    pattern = f"{file.parent}/[{file.name[0]}]{file.name[1:]}"  # as found in a folder: other people's documents pass
    found = loader.read([pattern], ProjectFile(FILES, connections=connections))
    named = [
        declaration
        for declaration in found.declarations
        if declaration.location.file == str(file)
        and (not resource or f"/{declaration.address}".endswith(f"/{resource}"))
    ]
    assert len(named) == 1, (file, resource, [str(item.address) for item in named])
    return named[0]


def cases(file: Path) -> list[Case]:
    text = file.with_name(file.name + ".cases").read_text("utf-8")
    return [_case(file, part) for part in text.split("=== ")[1:]]


def _case(file: Path, part: str) -> Case:
    head, _, expected = part.partition("\n---\n")
    title, *lines = head.split("\n")
    resource, edits = "", list[Edit]()
    for line in lines:
        word, _, rest = line.partition(" ")
        path, _, value = rest.partition(" = ")
        if word == "resource":
            resource = rest
        elif word == "was":
            edits[-1] = Edit(edits[-1].path, edits[-1].value, json.loads(rest))
        elif word == "remove":
            edits.append(Edit(paths.parse_path(path.strip()), ABSENT))
        else:
            assert word in ("set", "insert"), line
            new: Json = json.loads(value)
            place = paths.parse_path(path.strip())
            edits.append(Edit(place, new, ABSENT) if word == "insert" else Edit(place, new))
    return Case(file, title, resource, tuple(edits), expected, head)


def difference(before: bytes, after: bytes) -> str:
    """Return the unified difference without context; a carriage return is shown, and so is an end without a break."""
    old, new = (text.decode().split("\n") for text in (before, after))
    lines = list(difflib.unified_diff(_ended(old), _ended(new), n=0, lineterm=""))[2:]
    return "".join(line.replace("\r", "␍") + "\n" for line in lines)


def _ended(lines: list[str]) -> list[str]:
    return lines[:-1] if not lines[-1] else [*lines[:-1], lines[-1] + "␄"]


# --- what must be true of every result --------------------------------------------------------------------------------


def check(before: bytes, after: bytes, declaration: Declaration, edits: Sequence[Edit]) -> None:
    """Check that a file says what it said, with these edits and no others, and keeps its bytes where it can."""
    name = str(declaration.location.file)
    old, new = (documents.read(data, name, is_json=name.endswith(".json")) for data in (before, after))
    assert len(old) == len(new)
    for item, other in zip(old, new, strict=True):
        wanted = item.value
        if item.line == declaration.location.line and wanted["metadata"]["name"] == declaration.address.name:
            spec = wanted["spec"] | {"resource": edited(wanted["spec"].get("resource") or {}, edits)}
            wanted = wanted | {"spec": spec}
        assert typed_equal(other.value, wanted)
    assert after.startswith(codecs.BOM_UTF8) is before.startswith(codecs.BOM_UTF8)
    assert after.endswith(b"\n") is before.endswith(b"\n")
    if before.count(b"\n") == before.count(b"\r\n"):
        assert after.count(b"\n") == after.count(b"\r\n")


class _Gone:
    """Stands in a list where an element was."""


def edited(resource: Json, edits: Sequence[Edit]) -> Json:
    """Make edits in the plainest way: all places first, then all values, then what goes, then what comes."""
    root: list[Json] = [copy.deepcopy(resource)]
    places = [_find(root, edit) for edit in edits]
    coming: list[tuple[int, Json, Json]] = []
    for (holder, step), edit in zip(places, edits, strict=True):
        value = _GONE if edit.value is ABSENT else _escaped(edit.value)
        if isinstance(holder, list) and (edit.was is ABSENT or step >= len(holder)):
            coming.append((step, holder, value))
        elif value is _GONE and isinstance(holder, dict):
            del holder[step]
        else:
            holder[step] = value
    for holder, _ in places:
        if isinstance(holder, list):
            holder[:] = [element for element in holder if element is not _GONE]
    for step, holder, value in sorted(coming, key=lambda each: each[0]):
        holder.insert(step, value)
    return root[0]


_GONE = _Gone()


def _find(root: list[Json], edit: Edit) -> tuple[Json, Json]:
    holder: Json = root
    step: Json = 0
    for following in edit.path:
        holder, step = holder[step], following
        if isinstance(holder, dict):
            spellings = [key for key in holder if key.lower() == str(step).lower()]
            step = step if step in holder or not spellings or edit.was is ABSENT else spellings[0]
        elif isinstance(step, Selector):
            ((field, text),) = step.fields
            found = [at for at, item in enumerate(holder) if str(item.get(field)).lower() == text.lower()]
            is_new = not found or (edit.was is ABSENT and following is edit.path[-1])
            step = len(holder) if is_new else found[0]
        else:
            step = int(step)
            if following is edit.path[-1] and edit.was in holder and holder[step] != edit.was:
                step = holder.index(edit.was)
    return holder, step


def _escaped(value: Json) -> Json:
    return json.loads(json.dumps(value).replace("${", "$${")) if "${" in json.dumps(value) else value


def check_lines(before: bytes, after: bytes, written: Written, pointer: Pointer) -> None:
    """Check that all lines around an entry, or around the collection it was added to, are what they were."""
    first, last = _lines(written, ("spec", "resource", *pointer))
    old, new = ((data + b"\n" * (not data.endswith(b"\n"))).splitlines() for data in (before, after))
    first = _dash_above(old, first)
    before_comment = old[first - 2].partition(b" #")[0]  # a key may hold a #, a comment follows a space
    first -= before_comment.rstrip().endswith(b",")  # which goes with the last of its collection
    assert new[: first - 1] == old[: first - 1]
    below = old[last:]
    assert new[len(new) - len(below) :] == below


def _dash_above(lines: list[bytes], first: int) -> int:
    """Return the line of the dash that stands alone above a line, with nothing but comments between; else the line."""
    for at in range(first - 2, -1, -1):
        said = lines[at].partition(b"#")[0].strip()
        if said:
            return _dash_above(lines, at + 1) if not said.strip(b"- ") and said != b"---" else first
    return first


def _lines(written: Written, pointer: Pointer) -> tuple[int, int]:
    while pointer not in written.places or len(paths.resolve(written.value, pointer[:-1])) == 1:
        pointer = pointer[:-1]  # a collection that is or becomes empty is written anew
    start = written.places[pointer]
    later = [place for other, place in written.places.items() if place > start and other[: len(pointer)] != pointer]
    following = min(later, default=(10**9, 0))
    last = following[0] - 1
    is_first = pointer[-1] == 0 or written.places[pointer[:-1]] == start
    return start[0], last + 1 if is_first or last < start[0] else last  # what follows moves up behind its dash
