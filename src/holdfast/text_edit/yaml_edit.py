"""One edit of one YAML document, with every other character unchanged.

An edit gives one or more attempts, the most faithful first. The caller must read an attempt again and compare it. An
edit that is not possible for the value alone raises CannotError.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

import yaml

from holdfast.compare import paths, yaml_reader
from holdfast.compare.comparators import typed_equal
from holdfast.errors import DocumentError
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.text_edit import edits, pieces, yaml_block, yaml_flow, yaml_layout, yaml_nodes, yaml_values
from holdfast.text_edit.edits import Act, DocumentEdit
from holdfast.text_edit.pieces import CannotError, TextPatch
from holdfast.text_edit.yaml_layout import Layout
from holdfast.text_edit.yaml_nodes import Entry, NodeKind, TextNode


def attempts(text: str, root: TextNode, edit: DocumentEdit) -> Iterator[str]:
    """Yield the text with one edit of the document of that root; `text` must end with a line break."""
    edit = _feasible(root, edit)
    holder, step = _holder(root, edit.pointer), edit.pointer[-1]
    place = holder.position(step)
    if edit.act is Act.REMOVE:
        if place is None:
            raise CannotError
        remove = yaml_flow.removed if holder.is_flow else yaml_block.removed
        yield pieces.apply_patches(text, remove(text, holder, place))
        return
    layout = yaml_layout.of(text, root, holder)
    # A block scalar at the end of a file may lose line breaks, so a second layout has none.
    for candidate in (layout, dataclasses.replace(layout, has_blocks=False)):
        for patches in _written(text, root, edit, candidate):
            yield pieces.apply_patches(text, patches)


def _written(text: str, root: TextNode, edit: DocumentEdit, layout: Layout) -> Iterator[list[TextPatch]]:
    """Yield the patches that add or replace an entry; an own entry overrides a merged one."""
    holder, step = _holder(root, edit.pointer), edit.pointer[-1]
    place = holder.position(step)
    if edit.act is Act.ADD or (place is None and holder.merges()):
        add = yaml_flow.added if holder.is_flow else yaml_block.added
        yield add(text, holder, step, edit.value, layout)
        return
    if place is None:
        raise CannotError
    entry = holder.entries[place]
    if holder.is_flow:
        yield [_in_flow(text, entry, edit.value, layout)]
    else:
        yield from yaml_block.replaced(text, holder, entry, edit.value, layout)


def edit_span(text: str, root: TextNode, edit: DocumentEdit) -> tuple[int, int]:
    """Return the span that an edit may change: the lines of its entry, or the text between its neighbours."""
    edit = _feasible(root, edit)
    holder, step = _holder(root, edit.pointer), edit.pointer[-1]
    place = holder.position(step)
    entries = holder.entries
    if edit.act is Act.ADD or place is None:
        if not holder.is_flow:
            return (yaml_block.insertion(text, holder, step),) * 2
        following = place if place is not None else len(entries)
        place = following
    elif edit.act is Act.REPLACE:
        entry = entries[place]
        return entry.start, entry.end if holder.is_flow else yaml_nodes.line_end(text, entry.end) + 1
    elif not holder.is_flow:
        return yaml_block.removal(text, holder, place)
    else:
        following = place + 1
    start = entries[place - 1].end if place else holder.body + 1
    return start, entries[following].start if following < len(entries) else holder.end - 1


def _feasible(root: TextNode, edit: DocumentEdit) -> DocumentEdit:
    """Return the edit in a form that can be applied: an edit of an empty or emptied collection replaces it."""
    if not edit.pointer:
        raise CannotError
    if edit.act is Act.REPLACE or len(edit.pointer) < 2:
        return edit
    holder = _holder(root, edit.pointer)
    is_list = holder.kind is NodeKind.LIST
    if edit.act is Act.REMOVE and len(holder.entries) == 1:
        return DocumentEdit(Act.REPLACE, edit.pointer[:-1], [] if is_list else {})
    if edit.act is Act.ADD and not holder.entries:
        return DocumentEdit(Act.REPLACE, edit.pointer[:-1], [edit.value] if is_list else {edit.pointer[-1]: edit.value})
    return edit


def _holder(root: TextNode, pointer: Pointer) -> TextNode:
    node = yaml_nodes.find(root, pointer[:-1])
    if node is None or node.kind not in (NodeKind.MAP, NodeKind.LIST):
        raise CannotError
    return node


def _in_flow(text: str, entry: Entry, value: Json, layout: Layout) -> TextPatch:
    """Return the patch that replaces a value between commas."""
    node = entry.value
    if node.is_tagged and node.anchor is not None:
        raise CannotError
    start = node.start if node.is_tagged else node.body
    written = yaml_values.flow(value, layout, node)
    if entry.key is not None and entry.head == entry.key.end:  # {a} stands for {a: null}
        return TextPatch(start, node.end, f": {written}")
    gap = " " if text[start - 1] in ":&" or node.start == node.end else ""
    return TextPatch(start, node.end, gap * (text[start - 1] != " ") + written)


# --- from document to document ----------------------------------------------------------------------------------------


def edit_text(text: str, after: Json) -> str | None:
    """Return the text of one document edited to read as `after`, or None.

    If a value cannot be edited alone (for example behind an alias or a merge key), the smallest collection around it is
    rewritten. The result may still have another meaning, so the caller must read it again.
    """
    has_bare_end = not text.endswith("\n")
    text += "\n" * has_bare_end
    try:
        pending = list(edits.between(_read(text), after))
        for _ in range(2 * len(pending) + text.count("*") + 1):
            if not pending:
                return text.removesuffix("\n") if has_bare_end else text
            text = _one_further(text, pending, after)
            pending = list(edits.between(_read(text), after))
    except (CannotError, yaml.YAMLError, DocumentError):
        return None
    return None


def _one_further(text: str, pending: Iterable[DocumentEdit], after: Json) -> str:
    """Apply the first edit that is possible."""
    for edit in pending:
        try:
            return _edited(text, edit, after)
        except CannotError:
            continue
    raise CannotError


def _edited(text: str, edit: DocumentEdit, after: Json) -> str:
    """Apply an edit. If that fails, write out an alias that needs the edited text, or rewrite the parent collection."""
    root = yaml_nodes.documents(text)[0].root
    before = _read(text)
    alias = _alias_of(root, edit.pointer)
    while edit.pointer:
        try:
            return _best(attempts(text, root, edit), edits.apply_edit(before, edit))
        except CannotError:
            if alias is not None:
                edit, alias = DocumentEdit(Act.REPLACE, alias, paths.resolve(before, alias)), None
                continue
            above = edit.pointer[:-1]
            edit = DocumentEdit(Act.REPLACE, above, paths.resolve(after, above))
    raise CannotError


def _alias_of(root: TextNode, pointer: Pointer) -> Pointer | None:
    """Return the first place outside of a node that stands for a part of it: an alias, or a mapping that merges one."""
    edited = yaml_nodes.find(root, pointer)
    parts = list(yaml_nodes.walk(edited)) if edited is not None else []
    pending: list[tuple[Pointer, TextNode]] = [((), root)]
    while pending:
        place, node = pending.pop()
        if node.target in parts or any(merged.target in parts for merged in node.merges()):
            return place
        steps = [(index if entry.key is None else entry.key.text, entry) for index, entry in enumerate(node.entries)]
        pending += [((*place, step), entry.value) for step, entry in reversed(steps) if entry.value is not edited]
    return None


def _best(candidates: Iterable[str], wanted: Json) -> str:
    """Return the first attempt that reads as wanted, else the first that can be read."""
    readable = []
    for attempt in candidates:
        try:
            value = _read(attempt)
        except DocumentError:
            continue
        if typed_equal(value, wanted):
            return attempt
        readable.append(attempt)
    if not readable:
        raise CannotError
    return readable[0]


def _read(text: str) -> Json:
    return yaml_reader.document(text).value
