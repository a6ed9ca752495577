"""A document under examination: its values, the place of each value, and the mistakes collected so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Final

from holdfast.compare import paths
from holdfast.errors import InputError, Location
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.model.record import dataclass

MOST_SHOWN: Final = 20


class InputErrors(InputError):  # noqa: N818 - a group of errors
    """Several mistakes at once, in the order of files and lines. The text has the first twenty."""

    def __init__(self, errors: Iterable[InputError]) -> None:
        self.errors = tuple(sorted(errors, key=_order))
        lines = [str(error) for error in self.errors[:MOST_SHOWN]]
        if len(self.errors) > MOST_SHOWN:
            lines.append(f"and {len(self.errors) - MOST_SHOWN:,} more")
        self.lines = tuple(lines)
        super().__init__("\n".join(lines))

    def at(self, location: Location) -> InputErrors:
        """Return the same errors, each with the parts of `location` that it did not know yet."""
        return InputErrors(error.at(location) for error in self.errors)


def _order(error: InputError) -> tuple[str, int, int, str]:
    where = error.location
    return where.file or "", where.line or 0, where.column or 0, error.message


def flatten(errors: Iterable[InputError]) -> list[InputError]:
    """Return the single mistakes behind errors and groups of errors."""
    return [single for error in errors for single in (error.errors if isinstance(error, InputErrors) else [error])]


def raise_all(errors: Iterable[InputError]) -> None:
    """Raise the mistakes together, a single one as itself; do nothing if there are none."""
    mistakes = flatten(errors)
    if len(mistakes) == 1:
        raise mistakes[0]
    if mistakes:
        raise InputErrors(mistakes)


@dataclass(frozen=True, slots=True)
class Document:
    """One document as written: its value, and the line and column of each part of it."""

    value: Json
    file: str | None = None
    line: int | None = None
    places: Mapping[Pointer, tuple[int, int]] = field(default_factory=dict, repr=False)
    begin: int | None = None  # the line where its text begins; None: it cannot be read without the rest of the file
    item: int = 0  # its position among the items of that text, which may be a list

    def location(self, pointer: Pointer) -> Location:
        """Return the location of the value at the pointer, or of the nearest value above it."""
        name = paths.format_path(pointer) or None
        for length in range(len(pointer), -1, -1):
            place = self.places.get(pointer[:length])
            if place is not None:
                return Location(self.file, place[0], place[1], name)
        return Location(self.file, self.line, field=name)


class DocumentPath:
    """A place in a document: mistakes are noted there, and reading goes on."""

    __slots__ = ("document", "errors", "folder", "pointer")

    def __init__(self, document: Document, errors: list[InputError], pointer: Pointer = (), folder: str = ".") -> None:
        self.document = document
        self.errors = errors
        self.pointer = pointer
        self.folder = folder  # where relative paths begin

    def below(self, *steps: str | int) -> DocumentPath:
        """Return the place of a value inside this one."""
        return DocumentPath(self.document, self.errors, (*self.pointer, *steps), self.folder)

    @property
    def location(self) -> Location:
        """File, line, column and field of this place."""
        return self.document.location(self.pointer)

    def fail(self, message: str, *steps: str | int) -> None:
        """Note a mistake here, or at a value inside."""
        self.errors.append(InputError(message, self.document.location((*self.pointer, *steps))))

    def note(self, error: InputError, *steps: str | int) -> None:
        """Note a mistake that another reader raised, with its place in this document."""
        location = self.document.location((*self.pointer, *steps))
        self.errors.extend(single.at(location) for single in flatten([error]))
