"""Writing live values into the manifest that declares them, for `holdfast accept`.

The result is read again before it is returned. It has exactly the content of the file with exactly the accepted
changes, and no character outside of the changed entries differs. A change for which that is impossible is refused with
the reason and an alternative. Bytes in, bytes out: this module touches no files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from holdfast.compare import apply_patch, paths
from holdfast.compare.comparators import typed_equal
from holdfast.errors import DocumentError, Location
from holdfast.manifests import documents
from holdfast.manifests.edit import anchors, edit_plan
from holdfast.manifests.edit.edit_plan import UNSAID, Edit, ValueEdit, of_finding
from holdfast.manifests.edit.edit_refusal import BY_HAND, Refused
from holdfast.manifests.edit.source_file import ResourceText, SourceText
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.model.resource import Declaration
from holdfast.policy import source_location
from holdfast.text_edit import edits as steps
from holdfast.text_edit import json_edit, pieces, yaml_edit, yaml_nodes
from holdfast.text_edit.edits import Act
from holdfast.text_edit.pieces import CannotError
from holdfast.text_edit.yaml_nodes import TextNode

__all__ = ["UNSAID", "Edit", "Refused", "accept", "of_finding"]

_RESOURCE: Pointer = ("spec", "resource")


def accept(source: bytes, name: str, declaration: Declaration, edits: Sequence[Edit]) -> bytes:
    """Return the file with the edits made to one of its declarations; raise Refused, and then nothing was changed."""
    file = SourceText.of(source, name)
    resources = file.resources()
    part = file.find(resources, declaration)
    resource = paths.resolve(part.document, (*part.pointer, *_RESOURCE))
    if not typed_equal({} if resource in (ABSENT, None) else resource, dict(declaration.desired)):
        raise Refused("the file has changed since it was read; check again", Location(name, declaration.location.line))
    changes = edit_plan.changes(declaration, edits)
    if changes and resource is ABSENT:
        message = f"there is no spec.resource in this document; add `resource: {{}}` to its spec, or {BY_HAND}"
        raise Refused(message, declaration.location)
    work = _Work(file, part, declaration)
    if resource is None:
        filled = {str(change.pointer[0]): change.value for change in changes}
        changes = [ValueEdit((), filled)] if filled else []
    for change in changes:
        work.change((*part.pointer, *_RESOURCE, *change.pointer), change)
    if work.text == part.text:
        return source
    result = file.encoded(part, work.text)
    expected = [
        paths.resolve(work.document, item.pointer) if item.start == len(part.before) else item.value
        for item in resources
    ]
    _check(file, part, expected, result)
    return result


class _Work:
    """One document of a file, changed step by step; each step is read again."""

    def __init__(self, file: SourceText, part: ResourceText, declaration: Declaration) -> None:
        self._file = file
        self._part = part
        self._declaration = declaration
        self.text = part.text
        self.document = apply_patch.copied(part.document)
        self._parsed: tuple[str, TextNode] | None = None

    def change(self, pointer: Pointer, change: ValueEdit) -> None:
        """Make a change, in as many and as small steps as it takes; raise Refused if the text cannot take it."""
        now = paths.resolve(self.document, pointer)
        if change.inserts or now is ABSENT:
            self._make(steps.DocumentEdit(Act.ADD, pointer, change.value))
        elif change.value is ABSENT:
            self._make(steps.DocumentEdit(Act.REMOVE, pointer))
        else:
            self._check_order(steps.reordered_lists(now, change.value, pointer))
            self._set(pointer, change.value)

    def _set(self, pointer: Pointer, value: Json) -> None:
        pending = list(steps.between(paths.resolve(self.document, pointer), value, pointer))
        while pending:
            step = pending.pop(0)
            alias = None if self._file.is_json else anchors.alias_above(self._root(), step.pointer)
            if alias is None or len(alias) < len(pointer):
                self._make(step)
            else:  # the whole value was accepted, so what stands in the place of some of it can be written out
                self._make(steps.DocumentEdit(Act.REPLACE, alias, paths.resolve(value, alias[len(pointer) :])))
                pending = list(steps.between(paths.resolve(self.document, pointer), value, pointer))

    def _make(self, change: steps.DocumentEdit) -> None:
        """Make one edit and read the text again."""
        wanted = steps.apply_edit(self.document, change)
        attempts = self._in_json(change) if self._file.is_json else self._in_yaml(change, wanted)
        for attempt in attempts:
            if self._says(attempt, wanted):
                self.text, self.document = attempt, wanted
                return
        raise self._refused(change, self._shared(change))

    def _check_order(self, lists: Iterable[Pointer]) -> None:
        """Refuse to change the order of a list with comments in it: they would come to stand at other elements."""
        for pointer in lists:
            node = None if self._file.is_json else yaml_nodes.find(self._root(), pointer)
            if node is not None and yaml_nodes.has_comment(self.text, node):
                reason = f"the elements are in another order, and comments stand between them; {BY_HAND}"
                raise self._refused(steps.DocumentEdit(Act.REPLACE, pointer), reason)

    def _says(self, text: str, wanted: Json) -> bool:
        try:
            return typed_equal(self._file.value_of(self._part, text), wanted)
        except DocumentError:
            return False

    def _in_json(self, change: steps.DocumentEdit) -> Iterator[str]:
        try:
            start, end = json_edit.edit_span(self.text, change)
            attempt = json_edit.edit_text(self.text, change, json_edit.Style.of(self.text))
        except json_edit.TooDeepError:
            return
        if pieces.is_within(self.text, attempt, start, end):
            yield attempt

    def _in_yaml(self, change: steps.DocumentEdit, wanted: Json) -> Iterator[str]:
        """Try the edit itself and, in a flow collection without comments, rewriting that collection."""
        root = self._root()
        elsewhere = anchors.comes_from(self.text, root, change, self._first_line())
        if elsewhere:
            raise self._refused(change, elsewhere)
        while change.pointer:
            yield from self._attempts(root, change)
            above = yaml_nodes.find(root, change.pointer[:-1])
            if above is None or not above.is_flow or yaml_nodes.has_comment(self.text, above):
                return
            place = change.pointer[:-1]
            change = steps.DocumentEdit(Act.REPLACE, place, paths.resolve(wanted, place))

    def _attempts(self, root: TextNode, change: steps.DocumentEdit) -> Iterator[str]:
        try:
            start, end = yaml_edit.edit_span(self.text, root, change)
            for attempt in yaml_edit.attempts(self.text, root, change):
                if pieces.is_within(self.text, attempt, start, end):
                    yield attempt
        except CannotError:
            return

    def _root(self) -> TextNode:
        if self._parsed is None or self._parsed[0] is not self.text:
            self._parsed = self.text, yaml_nodes.documents(self.text)[0].root
        return self._parsed[1]

    def _first_line(self) -> int:
        return yaml_nodes.line_number(self._part.before, len(self._part.before))

    def _shared(self, change: steps.DocumentEdit) -> str:
        if self._file.is_json:
            return ""
        return anchors.is_used_by(self.text, self._root(), change, self._first_line())

    def _refused(self, change: steps.DocumentEdit, reason: str) -> Refused:
        reason = reason or f"this cannot be written without disturbing what stands around it; {BY_HAND}"
        pointer = change.pointer[len(self._part.pointer) + len(_RESOURCE) :]
        return Refused(reason, source_location.desired(self._declaration, pointer))


def _check(file: SourceText, part: ResourceText, expected: list[Json], result: bytes) -> None:
    """Read the whole result as manifests are read: one resource has the wanted content, the rest is unchanged."""
    try:
        found = [document.value for document in documents.read(result, file.name, is_json=file.is_json)]
    except DocumentError:
        found = []
    if not typed_equal(found, expected) or not SourceText.of(result, file.name).surrounds(part):
        raise Refused(f"the change would disturb other documents of the file; {BY_HAND}", Location(file.name))
