"""Patches: from a decided change to the desired document, and from two documents to the smallest patch.

The wanted document is the observed one with the decided paths put right and nothing else touched, so that a field which
was hidden from the comparison cannot slip into a write. Every kind of patch is then the difference of those two.
"""

from __future__ import annotations

from holdfast.compare import apply_patch, paths
from holdfast.compare.comparators import typed_equal
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Path, Pointer, Selector, Step
from holdfast.providers.protocol import Change
from holdfast.text_edit import edits
from holdfast.text_edit.edits import Act


def wanted(desired: Json, observed: Json, changed: tuple[str, ...]) -> Json:
    """Return `observed` with what stands at the changed paths in `desired`; what `desired` lacks there is removed.

    Paths are those of findings: an index is a place in the observed list, where no key tells the elements apart. Such a
    list is edited in place only if that makes it what was declared; otherwise it is taken from `desired` as a whole.
    """
    work = _Work(apply_patch.copied(observed))
    for text in changed:
        work.put(desired, paths.parse_path(text))
    return work.finished()


def desired_document(change: Change) -> Json:
    """Return the document that a change wants."""
    return wanted(change.desired, change.observed, change.paths)


class _Work:
    """A document being put right; removals wait until the end, because they move what stands after them."""

    def __init__(self, document: Json) -> None:
        self._root: Json = [document]
        self._removals: list[Pointer] = []
        self._indexed: dict[Pointer, Json] = {}

    def put(self, desired: Json, path: Path) -> None:
        """Carry over what stands at one path, and no more of its surroundings than it needs to stand there."""
        here: Json = self._root
        pointer: Pointer = (0,)
        want, rest = desired, path
        while rest:
            inside = here[pointer[-1]]
            place = _place(inside, rest[0])
            if place is None:
                break
            if isinstance(inside, list) and isinstance(want, list) and not isinstance(rest[0], Selector):
                self._indexed[pointer] = want
            here, pointer, want, rest = inside, (*pointer, place), _lookup(want, rest[0]), rest[1:]
            if place not in _places(inside):
                break
        value = _narrowed(want, rest)
        if value is not ABSENT or not rest:
            self._assign(here, pointer, value)

    def _assign(self, here: Json, pointer: Pointer, value: Json) -> None:
        step = pointer[-1]
        if value is ABSENT:
            if step in _places(here):
                self._removals.append(pointer)
        elif isinstance(here, list) and step == len(here):
            here.append(apply_patch.copied(value))
        else:
            here[step] = apply_patch.copied(value)

    def finished(self) -> Json:
        """Return the document, all removals made and all index-wise edits checked."""
        for pointer in sorted(set(self._removals), key=_late_first, reverse=True):
            container = paths.resolve(self._root, pointer[:-1])
            if pointer[-1] in _places(container):
                del container[pointer[-1]]
        for pointer, target in self._indexed.items():
            above = paths.resolve(self._root, pointer[:-1])
            if pointer[-1] in _places(above) and not _is_declared(above[pointer[-1]], target):
                above[pointer[-1]] = apply_patch.copied(target)
        return self._root[0] if self._root else ABSENT


def _narrowed(want: Json, rest: Path) -> Json:
    """Return a declared value with nothing in it but what stands at the rest of a path; lists are taken whole."""
    if not rest or not isinstance(want, dict):
        return want
    below = _lookup(want, rest[0])
    value = _narrowed(below, rest[1:])
    return ABSENT if value is ABSENT or isinstance(rest[0], Selector) else {_spelling(want, rest[0]): value}


def _late_first(pointer: Pointer) -> tuple[tuple[int, int | str], ...]:
    return tuple((0, step) if isinstance(step, int) else (1, step) for step in pointer)


def _places(container: Json) -> Json:
    """Return the keys of a mapping or the indices of a list."""
    if isinstance(container, list):
        return range(len(container))
    return container if isinstance(container, dict) else ()


def _place(container: Json, step: Step) -> str | int | None:
    """Return the key or index a step means in an observed container; a new element goes last; None: not a container."""
    if isinstance(container, dict):
        return _spelling(container, step) if isinstance(step, str | int) else None
    if not isinstance(container, list):
        return None
    if isinstance(step, Selector):
        return _selected(container, step, len(container))
    return min(int(step), len(container)) if str(step).isdigit() else None


def _lookup(container: Json, step: Step) -> Json:
    """Return a step in the declaration's spelling, which may differ from the observed one."""
    if isinstance(container, dict):
        return container.get(_spelling(container, step), ABSENT) if isinstance(step, str | int) else ABSENT
    if not isinstance(container, list):
        return ABSENT
    index = _selected(container, step, -1) if isinstance(step, Selector) else int(step) if str(step).isdigit() else -1
    return container[index] if 0 <= index < len(container) else ABSENT


def _spelling(container: dict[str, Json], step: str | int) -> str:
    key = str(step)
    if key in container:
        return key
    folded = [other for other in container if other.casefold() == key.casefold()]
    return folded[0] if len(folded) == 1 else key


def _selected(container: list[Json], selector: Selector, otherwise: int) -> int:
    exact = (index for index, element in enumerate(container) if paths.selects(selector, element))
    folded = (index for index, element in enumerate(container) if _selects_folded(selector, element))
    return next(exact, next(folded, otherwise))


def _selects_folded(selector: Selector, element: Json) -> bool:
    return isinstance(element, dict) and all(
        name in element and paths.scalar_text(element[name]).casefold() == value.casefold()
        for name, value in selector.fields
    )


def _is_declared(here: Json, target: Json) -> bool:
    """Return True if everything declared stands there: maps may hold more, lists may not."""
    if isinstance(here, dict) and isinstance(target, dict):
        return all(key in here and _is_declared(here[key], value) for key, value in target.items())
    if isinstance(here, list) and isinstance(target, list):
        return len(here) == len(target) and all(map(_is_declared, here, target))
    return typed_equal(here, target)


# --- the difference of two documents ---------------------------------------------------------------------------------


def json_patch(before: Json, after: Json) -> list[dict[str, Json]]:
    """Return the RFC 6902 patch."""
    out: list[dict[str, Json]] = []
    for edit in edits.between(before, after):
        operation: dict[str, Json] = {"op": edit.act.value, "path": rfc6901(edit.pointer)}
        out.append(operation if edit.act is Act.REMOVE else operation | {"value": edit.value})
    return out


def rfc6901(pointer: Pointer) -> str:
    """Write a plain JSON Pointer, without the further escapes of our own paths."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in pointer)


def merge_patch(before: Json, after: Json) -> Json:
    """Return the RFC 7396 patch; it cannot set a null, and takes lists whole."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    out: dict[str, Json] = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            out[key] = value
        elif not typed_equal(before[key], value):
            out[key] = merge_patch(before[key], value)
    return out


def changed_fields(before: Json, after: Json) -> Json:
    """Return the top-level fields that differ, each with its whole new value, null where it goes."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    gone = {key: None for key in before if key not in after}
    return gone | {key: value for key, value in after.items() if not typed_equal(before.get(key, ABSENT), value)}
