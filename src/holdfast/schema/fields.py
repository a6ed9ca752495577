"""The types of configuration: each reads one value, collects its mistakes, and describes itself as JSON Schema.

    BUDGET = record(Budget, {"max": required(AMOUNT, "write a number such as 10"), "kinds": one_or_many(STRING)})
    budget = read(BUDGET, document)          # a Budget, or InputError with every mistake

A record is a table from the names in the file to types. A field that is absent or null keeps the default of the class
that the record makes. A type is made more exact with `then`: a function that converts a value or raises InputError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any, Final, Generic, Literal, TypeVar

from holdfast.compare import paths
from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.record import dataclass
from holdfast.schema import did_you_mean
from holdfast.schema.document import Document, DocumentPath, raise_all

T = TypeVar("T")
U = TypeVar("U")
_Word = TypeVar("_Word", bound=StrEnum)

LONGEST_NAME: Final = 253
_FORBIDDEN_IN_NAME = r"[\s\x00-\x1f\x7f/,#${}*?!\[\]\"'\\]"
_LONGEST_SHOWN = 60
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PERCENT = r"([0-9]{1,3}(?:\.[0-9]{1,9})?) ?%"


class _Invalid(Enum):
    INVALID = "invalid"


INVALID: Final = _Invalid.INVALID  # what a type returns after it noted a mistake
Invalid = Literal[_Invalid.INVALID]
Read = Callable[[Json, DocumentPath], "T | Invalid"]


class FieldType(Generic[T]):
    """The type of one value: how it is read, and its JSON Schema."""

    def __init__(self, read: Read[T], describe: Callable[[], Mapping[str, Json]] = dict) -> None:
        self.read = read
        self._describe = describe

    @property
    def json_schema(self) -> Mapping[str, Json]:
        """The JSON Schema of the values, built when it is asked for."""
        return self._describe()

    def then(self, convert: Callable[[T], U]) -> FieldType[U]:
        """Return a type whose value is converted; `convert` raises InputError for a value that it refuses."""
        return self.then_at(lambda value, _: convert(value))

    def then_at(self, convert: Callable[[T, DocumentPath], U | Invalid]) -> FieldType[U]:
        """Return a type whose value is converted by a function that may note mistakes at its place."""

        def read(value: Json, at: DocumentPath) -> U | Invalid:
            before = len(at.errors)
            raw = self.read(value, at)
            if raw is INVALID or len(at.errors) > before:  # a list or mapping with a wrong element is incomplete
                return INVALID
            try:
                converted = convert(raw, at)
            except InputError as error:
                at.note(error)
                return INVALID
            return converted if len(at.errors) == before else INVALID

        return FieldType(read, self._describe)


def read(type_: FieldType[T], document: Document, *, pointer: tuple[str | int, ...] = (), folder: str = ".") -> T:
    """Return the value of a document; raise InputError or InputErrors with everything that is wrong."""
    errors: list[InputError] = []
    value = type_.read(document.value, DocumentPath(document, errors, pointer, folder))
    raise_all(errors)
    assert value is not INVALID
    return value


# --- words of messages


def kind_name(value: Json) -> str:
    """Return the kind of a value with its article, without showing the value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "a mapping"


def shown(text: str) -> str:
    """Return a word in quotes for a message, shortened if it is long."""
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "...")


def unknown_field(name: str, known: Collection[str]) -> str:
    """Return the message about a field that does not exist."""
    guess = did_you_mean.closest(name, known)
    hint = f"did you mean `{guess}`?" if guess else f"known here: {', '.join(known)}"
    return f"unknown field `{name[:_LONGEST_SHOWN]}`; {hint}"


def expected(what: str, value: Json) -> InputError:
    """Return the error about a value of the wrong kind."""
    return InputError(f"expected {what}, got {kind_name(value)}")


# --- single values


def parsed(parse: Callable[[Json], T], **json_schema: Json) -> FieldType[T]:
    """Return a type that a function reads from any value; the function raises InputError."""
    return FieldType(ANY.then(parse).read, lambda: json_schema)


def _string(value: Json, at: DocumentPath) -> str | Invalid:
    if isinstance(value, str) and value:
        return value
    if value == "":
        at.fail("expected a string that is not empty")
    else:
        at.fail(f"expected a string, got {kind_name(value)}{_quotes(value, at)}")
    return INVALID


def _quotes(value: Json, at: DocumentPath) -> str:
    if not isinstance(value, bool | int | float):
        return ""
    key = f"{at.pointer[-1]}: " if at.pointer and isinstance(at.pointer[-1], str) else ""
    return f"; write it in quotes: {key}'{paths.scalar_text(value)}'"


def _boolean(value: Json) -> bool:
    if not isinstance(value, bool):
        raise expected("a boolean", value)
    return value


ANY: Final[FieldType[Json]] = FieldType(lambda value, _: value)
STRING: Final[FieldType[str]] = FieldType(_string, lambda: {"type": "string", "minLength": 1})
BOOLEAN: Final = parsed(_boolean, type="boolean")


def whole(least: int | None = 0, most: int | None = None) -> FieldType[int]:
    """Return the type of whole numbers in a range."""
    limits = {"minimum": least, "maximum": most}
    span = "" if least is None else f" >= {least}" if most is None else f" from {least} to {most:,}"

    def parse(value: Json) -> int:
        if type(value) is not int:
            raise expected(f"a whole number{span}", value)
        if (least is not None and value < least) or (most is not None and value > most):
            raise InputError(f"expected a whole number{span}")
        return value

    return parsed(parse, type="integer", **{name: limit for name, limit in limits.items() if limit is not None})


def _positive(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise expected("a number > 0", value)
    if value <= 0:
        raise InputError("expected a number > 0")
    return float(value)


POSITIVE: Final = parsed(_positive, type="number", exclusiveMinimum=0)
COUNT: Final = whole(1)


def percentage(value: Json) -> float | None:
    """Return the number before a percent sign, or None if the value is not a percentage."""
    match = re.fullmatch(_PERCENT, value) if isinstance(value, str) else None
    return float(match[1]) if match is not None else None


def fraction(value: Json, *, least: float = 0.0) -> float:
    """Return a fraction from a number up to 1 or a percentage."""
    percent = percentage(value)
    number = value if percent is None else percent / 100
    if isinstance(number, bool) or not isinstance(number, int | float) or not least <= number <= 1:
        raise InputError("expected a fraction from 0 to 1, such as 0.1 or 10%")
    return float(number)


FRACTION: Final = parsed(fraction, type=["number", "string"])


def name_problem(name: str) -> str:
    """Return the reason why a text cannot be a part of an address, or an empty text."""
    bad = re.search(_FORBIDDEN_IN_NAME, name)
    if bad is not None:
        character = "a slash" if bad[0] == "/" else "a blank" if bad[0].isspace() else repr(bad[0])
        return f"must not hold {character}, because names are parts of addresses; use letters, digits, - _ . : @ + ="
    if len(name) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters"
    return "must not be made of dots alone" if not name.strip(".") else ""


def _name(text: str) -> str:
    problem = name_problem(text)
    if problem:
        raise InputError(f"the name {shown(text)} {problem}")
    return text


NAME: Final = STRING.then(_name)


def word(words: Sequence[str]) -> FieldType[str]:
    """Return the type of a closed set of words."""

    def parse(value: Json) -> str:
        if isinstance(value, str) and value in words:
            return value
        guess = did_you_mean.hint(value, words) if isinstance(value, str) else ""
        got = shown(value) if isinstance(value, str) else kind_name(value)
        raise InputError(f"expected one of {', '.join(words)}, got {got}{guess}")

    return parsed(parse, enum=list(words))


def choice(choices: type[_Word]) -> FieldType[_Word]:
    """Return the type of the values of an enumeration."""
    return word([item.value for item in choices]).then(choices)


def field_path(value: Json) -> Path:
    """Return a path such as /status/phase."""
    if not isinstance(value, str) or not value.startswith("/"):
        raise InputError("expected a path that begins with a slash, such as /status/phase")
    return paths.parse_path(value)


PATH: Final = parsed(field_path, type="string", pattern="^/")
PATTERN: Final = STRING.then(paths.parse_pattern)


# --- lists and mappings


def list_of(item: FieldType[T], *, is_empty_allowed: bool = True) -> FieldType[tuple[T, ...]]:
    """Return the type of lists."""

    def read(value: Json, at: DocumentPath) -> tuple[T, ...] | Invalid:
        if not isinstance(value, list):
            at.fail(f"expected a list, got {kind_name(value)}")
            return INVALID
        if not value and not is_empty_allowed:
            at.fail("expected a list that is not empty; leave the field out for the default")
            return INVALID
        results = [item.read(element, at.below(index)) for index, element in enumerate(value)]
        return tuple(result for result in results if result is not INVALID)

    least = {} if is_empty_allowed else {"minItems": 1}
    return FieldType(read, lambda: {"type": "array", "items": item.json_schema, **least})


def one_or_many(item: FieldType[T]) -> FieldType[tuple[T, ...]]:
    """Return the type of a single value or a list of them that is not empty."""
    many = list_of(item, is_empty_allowed=False)

    def read(value: Json, at: DocumentPath) -> tuple[T, ...] | Invalid:
        if isinstance(value, list):
            return many.read(value, at)
        single = item.read(value, at)
        return INVALID if single is INVALID else (single,)

    return FieldType(read, lambda: {"anyOf": [item.json_schema, many.json_schema]})


STRINGS: Final = list_of(STRING)


def mapping_of(item: FieldType[T], key: Callable[[str], object] | None = None) -> FieldType[dict[str, T]]:
    """Return the type of mappings from free names to values; `key` raises InputError for a name that it refuses."""

    def read(value: Json, at: DocumentPath) -> dict[str, T] | Invalid:
        if not isinstance(value, dict):
            at.fail(f"expected a mapping, got {kind_name(value)}")
            return INVALID
        results = {}
        for name, element in value.items():
            place = at.below(name)
            if key is not None:
                try:
                    key(name)
                except InputError as error:
                    place.note(error)
            result = item.read(element, place)
            if result is not INVALID:
                results[name] = result
        return results

    return FieldType(read, lambda: {"type": "object", "additionalProperties": item.json_schema})


def _document(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise expected("a mapping", value)
    return value


def _labels(value: Json, at: DocumentPath) -> dict[str, str] | Invalid:
    if isinstance(value, dict) and all(isinstance(text, str) for text in value.values()):
        return value
    return _labels_one_by_one.read(value, at)


def _label(value: Json, at: DocumentPath) -> str | Invalid:
    return "" if value == "" else _string(value, at)


DOCUMENT: Final = parsed(_document, type="object")  # any mapping, as written
_labels_one_by_one: Final = mapping_of(FieldType(_label, lambda: {"type": "string"}))
LABELS: Final[FieldType[dict[str, str]]] = FieldType(
    _labels, lambda: _labels_one_by_one.json_schema
)  # strings, empty ones included


# --- records


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record: its type, and a hint if it is missing and required."""

    type: FieldType[Any]
    hint: str = ""
    is_required: bool = False
    keeps_null: bool = False  # null is a value here, not an absent field
    attribute: str = ""  # of the class that the record makes; the name in the file, in snake case, unless given


def required(type_: FieldType[Any], hint: str = "", attribute: str = "") -> Field:
    """Return a field that must be there."""
    return Field(type_, hint, is_required=True, attribute=attribute)


def renamed(type_: FieldType[Any], attribute: str) -> Field:
    """Return an optional field that the class calls otherwise than the file."""
    return Field(type_, attribute=attribute)


Table = Mapping[str, FieldType[Any] | Field]


class Record(FieldType[T]):
    """A mapping with known fields, made into an object of a class."""

    def __init__(self, make: Callable[..., T], table: Table, *, is_open: bool = False) -> None:
        self._make = make
        self._is_open = is_open
        self.table = {name: field if isinstance(field, Field) else Field(field) for name, field in table.items()}
        self._attributes = {name: field.attribute or _HUMP.sub("_", name).lower() for name, field in self.table.items()}
        super().__init__(self._read, self._describe_fields)

    def _read(self, value: Json, at: DocumentPath) -> T | Invalid:
        before = len(at.errors)
        values = self.read_fields(value, at)
        if len(at.errors) > before:
            return INVALID
        try:
            return self._make(**values)
        except InputError as error:
            at.note(error)
            return INVALID

    def read_fields(self, value: Json, at: DocumentPath) -> dict[str, Any]:
        """Return the fields that could be read, by attribute; mistakes are noted. For checks between fields."""
        if not isinstance(value, dict):
            at.fail(f"expected a mapping, got {kind_name(value)}")
            return {}
        misspelt = set() if self._is_open else self._unknown(value, at)
        values: dict[str, Any] = {}
        for name, field in self.table.items():
            item = value.get(name)
            if item is None and not (field.keeps_null and name in value):
                if field.is_required and name not in misspelt:
                    at.fail(f"`{name}` is missing{'; ' if field.hint else ''}{field.hint}")
                continue
            result = field.type.read(item, at.below(name))
            if result is not INVALID:
                values[self._attributes[name]] = result
        if self._is_open:
            values["others"] = {name: item for name, item in value.items() if name not in self.table}
        return values

    def _unknown(self, value: Mapping[str, Json], at: DocumentPath) -> set[str]:
        """Note unknown fields; return the names that they were probably meant to be."""
        meant = set()
        for name in value:
            if name not in self.table:
                at.fail(unknown_field(name, self.table), name)
                meant.add(did_you_mean.closest(name, self.table) or name)
        return meant

    def _describe_fields(self) -> dict[str, Json]:
        names = [name for name, field in self.table.items() if field.is_required]
        return {
            "type": "object",
            "properties": {name: _or_null(field) for name, field in self.table.items()},
            **({"required": names} if names else {}),
            **({} if self._is_open else {"additionalProperties": False}),
        }


def _or_null(field: Field) -> Mapping[str, Json]:
    schema = field.type.json_schema
    if field.is_required or not schema:
        return schema
    return {"anyOf": [schema, {"type": "null"}]}


def record(make: Callable[..., T], table: Table, *, is_open: bool = False) -> Record[T]:
    """Return the type of mappings with known fields; an open one also takes unknown fields, as `others`."""
    return Record(make, table, is_open=is_open)


def plain(table: Table, *, is_open: bool = False) -> Record[dict[str, Any]]:
    """Return the type of mappings with known fields that stay a dict, by attribute."""
    return Record(dict, table, is_open=is_open)


def short_for(type_: FieldType[T], name: str) -> FieldType[T]:
    """Return a record type that also takes a string, which stands for a mapping with this one field."""

    def read(value: Json, at: DocumentPath) -> T | Invalid:
        return type_.read({name: value} if isinstance(value, str) else value, at)

    return FieldType(read, lambda: {"anyOf": [{"type": "string"}, type_.json_schema]})


def either(words: Mapping[Json, T], otherwise: FieldType[T]) -> FieldType[T]:
    """Return a type that also takes some fixed values, such as `off`."""

    def read(value: Json, at: DocumentPath) -> T | Invalid:
        if isinstance(value, str | bool) and value in words:
            return words[value]
        return otherwise.read(value, at)

    return FieldType(read, lambda: {"anyOf": [{"enum": list(words)}, otherwise.json_schema]})


def lazy(load: Callable[[], FieldType[T]]) -> FieldType[T]:
    """Return a type that is loaded with its first value, so that an unused feature is not imported."""
    return FieldType(lambda value, at: load().read(value, at), lambda: load().json_schema)


def json_schema(type_: FieldType[Any], title: str = "") -> dict[str, Json]:
    """Return the JSON Schema of a type."""
    head: dict[str, Json] = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**head, **({"title": title} if title else {}), **type_.json_schema}
