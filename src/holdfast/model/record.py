"""A decorator for records that costs a tenth of the standard one when a module is imported.

`dataclasses.dataclass` writes and compiles the source of six methods for every class. A command imports some hundred
records and creates a few of them, so that start-up was spent on code that never ran. Here the standard library still
collects the fields, and `__init__` is still its own, but compiled at the first record that is created. The other
methods are shared. Everything that reads a dataclass (`replace`, `fields`, `asdict`, msgspec, mypy) sees one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool, eq: bool = True, kw_only: bool = False) -> Callable[..., Any]:
        """Return a decorator that makes a class a record, as the standard decorator of this name does."""
        return lambda cls: _record(cls, frozen=frozen, slots=slots, eq=eq, kw_only=kw_only)


def _record(cls: type, *, frozen: bool, slots: bool, eq: bool, kw_only: bool) -> Any:  # noqa: ANN401 - a class
    if any(map(dataclasses.is_dataclass, cls.__bases__)):  # a few inherit fields
        return dataclasses.dataclass(frozen=frozen, slots=slots, eq=eq, kw_only=kw_only)(cls)
    own = cls.__dict__
    is_initialised, is_shown, is_compared = "__init__" in own, "__repr__" in own, "__eq__" in own
    # The standard decorator collects the fields and adds the slots. Without these methods it compiles nothing.
    record: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    record.__dataclass_params__.frozen = frozen  # a record that inherits from it must be alike
    fields = dataclasses.fields(record)
    if not is_initialised:
        record.__init__ = _compiled_once(record, frozen=frozen)
    if not is_shown:
        record.__repr__ = _shown(tuple(field.name for field in fields if field.repr))
    if eq and not is_compared:
        compared = [field.name for field in fields if field.compare]
        record.__eq__, digest = _compared(_values(compared))
        if "__hash__" not in own:
            hashed = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
            same = digest if hashed == compared else _compared(_values(hashed))[1]
            record.__hash__ = same if frozen else None
    if frozen:
        record.__setattr__, record.__delattr__ = _refuse_assignment, _refuse_deletion
        record.__getstate__, record.__setstate__ = _get_state, _set_state
    return record


def _compiled_once(cls: Any, *, frozen: bool) -> Callable[..., None]:  # noqa: ANN401 - a class of any shape
    """Return an `__init__` that compiles the one of the standard library at its first call, and gives way to it."""

    def __init__(self: object, *arguments: Any, **named: Any) -> None:  # noqa: ANN401, N807 - any field
        fields = cls.__dataclass_fields__
        namespace = {
            "__module__": cls.__module__,
            "__annotations__": {name: item.type for name, item in fields.items()},
        }
        namespace |= fields
        if hasattr(cls, "__post_init__"):
            namespace["__post_init__"] = cls.__post_init__
        twin: Any = type(cls.__name__, (), namespace)
        compiled = dataclasses.dataclass(repr=False, eq=False, frozen=frozen)(twin).__init__
        compiled.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = compiled
        compiled(self, *arguments, **named)

    return __init__


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that returns the values of some fields of a record as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


def _compared(values: Callable[[Any], tuple[Any, ...]]) -> tuple[Callable[..., Any], Callable[..., int]]:
    def __eq__(self: object, other: object) -> Any:  # noqa: ANN401, N807 - True, False or NotImplemented
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__, lambda self: hash(values(self))


def _shown(names: tuple[str, ...]) -> Callable[[Any], str]:
    def __repr__(self: object) -> str:  # noqa: N807
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({parts})"

    return __repr__


def _refuse_assignment(_self: object, name: str, _value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:  # noqa: ANN401 - any record
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:  # noqa: ANN401 - any record
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
