"""From accepted differences to changes of a declared document: which place each of them means.

Every path is looked up in the declaration as it stands, so that no edit moves the place of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import Enum
from typing import Final

from holdfast.compare import apply_patch, paths
from holdfast.compare.comparators import typed_equal
from holdfast.manifests.edit import edit_refusal
from holdfast.manifests.edit.edit_refusal import BY_HAND, Guarded, Refused
from holdfast.model.absent import ABSENT
from holdfast.model.finding import Finding
from holdfast.model.json import Json
from holdfast.model.path import Path, Pointer, Selector, Step
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.policy import source_location


class Unsaid(Enum):
    """The marker for an unknown previous value, as opposed to an absent one."""

    UNSAID = "unsaid"


UNSAID: Final = Unsaid.UNSAID


@dataclass(frozen=True, slots=True)
class Edit:
    """One value to be written into a declaration; the path begins at `spec.resource`, as those of findings do.

    `was` is the declared value at the time of the comparison, ABSENT if there was none. With it an edit that does not
    fit is refused. An index then counts the elements of the live list, as in findings, and means the declared element
    with that content, or with ABSENT a new one. If that element is ambiguous the edit is refused. Without `was` an
    index is a place in the declared list: its element is replaced, and one place behind the last adds an element.
    """

    path: Path
    value: Json  # ABSENT: remove
    was: Json = UNSAID


def of_finding(finding: Finding) -> Edit:
    """Return the edit that accepts the live value of a finding."""
    return Edit(finding.path, finding.observed, finding.desired)


@dataclass(slots=True)
class _Target:
    """A place in the document at work; `inserts` where an element goes between others."""

    pointer: Pointer
    holder: Json
    step: str | int
    value: Json
    inserts: bool = False


@dataclass(frozen=True, slots=True)
class ValueEdit:
    """A value to be set (or with ABSENT removed, or inserted before the element at an index) at a declared place."""

    pointer: Pointer
    value: Json
    inserts: bool = False


def changes(declaration: Declaration, edits: Sequence[Edit]) -> list[ValueEdit]:
    """Return the changes of the edits, in an order in which each place is valid when its change is made.

    Raise Refused for an edit whose place does not exist or is guarded.
    """
    work = _Work(declaration)
    targets = [work.target(edit) for edit in edits]
    work.check_apart(targets)
    sets = [ValueEdit(item.pointer, item.value) for item in targets if item.value is not ABSENT and not item.inserts]
    moving: dict[int, list[_Target]] = {}
    for target in targets:
        if target.value is ABSENT or target.inserts:
            moving.setdefault(id(target.holder), []).append(target)
    # The deepest first: what comes to or goes from a list moves all that stands below it.
    inside_out = sorted(moving.values(), key=lambda group: len(group[0].pointer), reverse=True)
    return sets + [change for group in inside_out for change in _moves(group)]


def _moves(group: Sequence[_Target]) -> list[ValueEdit]:
    """Order the additions and removals of one map or list."""
    above, holder = group[0].pointer[:-1], group[0].holder
    going = [target for target in group if target.value is ABSENT]
    if isinstance(holder, list):
        going.sort(key=lambda target: int(target.step), reverse=True)
    coming = sorted((target for target in group if target.inserts), key=lambda target: int(target.step))
    removals = [ValueEdit((*above, target.step), ABSENT) for target in going]
    if len(going) == len(holder):  # a list that would be empty in between loses its layout
        end = len(holder)
        return [ValueEdit((*above, end + at), item.value, inserts=True) for at, item in enumerate(coming)] + removals
    length = len(holder) - len(going)
    places = [min(int(item.step), length + at) for at, item in enumerate(coming)]
    return removals + [
        ValueEdit((*above, at), place.value, inserts=True) for at, place in zip(places, coming, strict=True)
    ]


@dataclass(slots=True)
class _Work:
    """Looks up places in a declaration."""

    declaration: Declaration
    _root: list[Json] = field(init=False)
    _guarded: Guarded = field(init=False)

    def __post_init__(self) -> None:
        self._root = [apply_patch.copied(dict(self.declaration.desired))]  # no two places of it are one object
        self._guarded = Guarded(self.declaration)

    def check_apart(self, targets: Sequence[_Target]) -> None:
        """Refuse two edits of one place: the outcome would depend on their order."""
        taken: set[Pointer] = set()
        for target in sorted(targets, key=lambda each: len(each.pointer)):
            if any(target.pointer[:length] in taken for length in range(len(target.pointer) + 1)):
                raise self._refused("two of the changes concern this place; accept one of them", target.pointer)
            taken.add(target.pointer)

    def _refused(self, reason: str, path: Path | Pointer) -> Refused:
        return Refused(reason, source_location.desired(self.declaration, path))

    def target(self, edit: Edit) -> _Target:
        """Return the place that an edit means."""
        trouble = "" if edit.value is ABSENT else edit_refusal.value_trouble(edit.value)
        if trouble:
            raise self._refused(trouble, edit.path)
        value = edit_refusal.escaped(edit.value)
        if not edit.path:
            return self._whole(value)
        holder, pointer = self._holder(edit)
        if isinstance(holder, dict):
            target = self._in_map(edit, holder, pointer, value)
        elif isinstance(edit.path[-1], Selector):
            target = self._by_selector(edit, edit.path[-1], holder, pointer, value)
        else:
            target = self._by_index(edit, holder, pointer, value)
        trouble = self._guarded.trouble(target.pointer)
        if trouble:
            raise self._refused(trouble, target.pointer)
        return target

    def _whole(self, value: Json) -> _Target:
        if not isinstance(value, dict):
            raise self._refused("the whole resource cannot be removed here; delete its document from the file", ())
        trouble = self._guarded.trouble(())
        if trouble:
            raise self._refused(trouble, ())
        return _Target((), self._root, 0, value)

    def _holder(self, edit: Edit) -> tuple[Json, Pointer]:
        """Return the collection that holds the place of an edit, and its pointer."""
        here: Json = self._root[0]
        pointer: Pointer = ()
        for depth, step in enumerate(edit.path[:-1]):
            place = self._place(here, step, pointer)
            if isinstance(here, list) and _is_index(step) and edit.was is not UNSAID:
                place = self._compared(edit, here, int(str(step)), pointer, edit.path[depth + 1 :])
            if place is None:
                break
            here, pointer = here[place], (*pointer, place)
        else:
            if isinstance(here, dict | list):
                return here, pointer
        trouble = self._guarded.trouble(pointer) if pointer and not isinstance(here, dict | list) else ""
        above = paths.format_path(edit.path[: len(pointer) + 1])
        raise self._refused(trouble or f"{above} is not in the manifest; accept that instead, or {BY_HAND}", edit.path)

    def _place(self, here: Json, step: Step, pointer: Pointer) -> str | int | None:
        """Return the key or index that a step means, None if nothing stands there."""
        if isinstance(here, dict):
            return _spelling(here, step) if isinstance(step, str | int) else None
        if not isinstance(here, list):
            return None
        if isinstance(step, Selector):
            return self._selected(here, step, pointer)
        return int(step) if _is_index(step) and int(step) < len(here) else None

    def _selected(self, here: list[Json], step: Selector, pointer: Pointer) -> int | None:
        found = [index for index, element in enumerate(here) if paths.selects(step, element)]
        found = found or [index for index, element in enumerate(here) if _selects_folded(step, element)]
        if len(found) > 1:
            name = paths.format_path((step,))
            raise self._refused(f"{len(found)} elements of this list are {name}; {BY_HAND}", pointer)
        return found[0] if found else None

    def _in_map(self, edit: Edit, holder: dict[str, Json], pointer: Pointer, value: Json) -> _Target:
        step = edit.path[-1]
        if isinstance(step, Selector):
            raise self._refused("this is a map in the manifest, not a list; " + BY_HAND, pointer)
        key = str(step)
        spelling = _spelling(holder, key)
        if spelling is not None and spelling != key and edit.was is not ABSENT:
            if edit.was is UNSAID and value is not ABSENT:
                raise self._refused(f"the manifest spells this key {spelling!r}; {BY_HAND}", (*pointer, spelling))
            key = spelling
        place = (*pointer, key)
        self._check_was(edit, holder.get(key, ABSENT), place)
        if value is ABSENT and key not in holder:
            raise self._refused("this is not in the manifest, so it cannot be removed from it", place)
        return _Target(place, holder, key, value)

    def _by_selector(self, edit: Edit, step: Selector, holder: list[Json], pointer: Pointer, value: Json) -> _Target:
        index = self._selected(holder, step, pointer)
        if index is not None and edit.was is ABSENT and not paths.selects(step, holder[index]):
            index = None
        place = (*pointer, len(holder) if index is None else index)
        self._check_was(edit, ABSENT if index is None else holder[index], place)
        if index is not None:
            return _Target(place, holder, index, value)
        if value is ABSENT:
            raise self._refused("there is no such element in the manifest, so it cannot be removed from it", edit.path)
        if any(self._guarded.trouble((*pointer, at, name)) for at in range(len(holder)) for name, _ in step.fields):
            raise self._refused(f"elements of this list are named by references; {BY_HAND}", pointer)
        return _Target((*pointer, paths.format_path((step,))), holder, len(holder), value, inserts=True)

    def _by_index(self, edit: Edit, holder: list[Json], pointer: Pointer, value: Json) -> _Target:
        step = edit.path[-1]
        if not _is_index(step):
            raise self._refused("this is a list in the manifest, not a map; " + BY_HAND, pointer)
        index = int(str(step))
        if edit.was is ABSENT:
            return _Target((*pointer, f"+{index}"), holder, index, value, inserts=True)
        if edit.was is not UNSAID:
            index = self._compared(edit, holder, index, pointer)
        elif index > len(holder) or (index == len(holder) and value is ABSENT):
            raise self._refused(f"the list has {len(holder)} elements; accept the whole list, or {BY_HAND}", edit.path)
        return _Target((*pointer, index), holder, index, value, inserts=index == len(holder))

    def _compared(self, edit: Edit, holder: list[Json], index: int, pointer: Pointer, rest: Path = ()) -> int:
        """Return where the element stands that was compared: an index counts places in the live list, not in this.

        It is the only one with that content or, of several that are the same and stand together, any.
        """
        found = [at for at, element in enumerate(holder) if _says(paths.resolve(element, rest), edit.was)]
        if edit.was is ABSENT:  # which says nothing about the element, so there must be no choice
            found = [*range(len(holder))]
        together = bool(found) and not rest and found[-1] - found[0] == len(found) - 1
        if len(found) == 1 or together:
            return index if index in found else found[0]
        if not found and index < len(holder) and self._guarded.trouble((*pointer, index)):
            return index
        raise self._refused(f"which element this means cannot be told; accept the whole list, or {BY_HAND}", pointer)

    def _check_was(self, edit: Edit, found: Json, place: Pointer) -> None:
        """Refuse an edit that was made for another text. A guarded place is refused elsewhere with a better message."""
        if edit.was is UNSAID or self._guarded.trouble(place):
            return
        if not _says(found, edit.was):
            raise self._refused("the manifest says something else here than what was compared; check again", place)


def _is_index(step: Step) -> bool:
    return isinstance(step, int) or (isinstance(step, str) and step.isascii() and step.isdigit())


def _says(found: Json, was: Json) -> bool:
    """Return True if a place of the manifest has the compared value, in which references were filled in."""
    if found is ABSENT or was is ABSENT:
        return found is was
    return typed_equal(edit_refusal.meant(found), was)


def _spelling(here: dict[str, Json], step: str | int) -> str | None:
    """Return the key as the map spells it, whose case may differ from the observed one."""
    key = str(step)
    if key in here:
        return key
    folded = [other for other in here if other.casefold() == key.casefold()]
    return folded[0] if len(folded) == 1 else None


def _selects_folded(selector: Selector, element: Json) -> bool:
    return isinstance(element, dict) and all(
        name in element and paths.scalar_text(element[name]).casefold() == text.casefold()
        for name, text in selector.fields
    )
