"""A decorator for records that costs a tenth of the standard one when a module is imported.

`dataclasses.dataclass` writes and compiles the source of six methods for every class. A command imports some hundred
records and creates a few of them, so that start-up was spent on code that never ran. Here the standard library still
collects the fields, but `__init__`, `__eq__` and `__hash__` are compiled when the first of them is called, and the
other methods are shared. Everything that reads a dataclass (`replace`, `fields`, `asdict`, msgspec, mypy) sees one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, slots: bool, frozen: bool = False, eq: bool = True, kw_only: bool = False) -> Callable[..., Any]:
        """Return a decorator that makes a class a record with slots, as the standard decorator of this name does."""
        if not slots:
            raise TypeError("a record has slots; use the standard decorator for a class without")
        return lambda cls: _record(cls, frozen=frozen, eq=eq, kw_only=kw_only)


def _record(cls: type, *, frozen: bool, eq: bool, kw_only: bool) -> Any:  # noqa: ANN401 - a class
    if any(map(dataclasses.is_dataclass, cls.__bases__)):  # a few inherit fields
        return dataclasses.dataclass(frozen=frozen, slots=True, eq=eq, kw_only=kw_only)(cls)
    own = cls.__dict__
    is_initialised, is_shown, is_compared = "__init__" in own, "__repr__" in own, "__eq__" in own
    is_hashed = own.get("__hash__") is not None
    # The standard decorator collects the fields and adds the slots. Without these methods it compiles nothing.
    record: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    record.__dataclass_params__.frozen = frozen  # a record that inherits from it must be alike
    if not is_initialised:
        record.__init__ = _compiled_once(record, "__init__", _frozen_source if frozen else _source)
    if not is_shown:
        record.__repr__ = _show
    if eq and not is_compared:
        record.__eq__ = _compiled_once(record, "__eq__", _equality_source)
    if eq and not is_hashed:
        record.__hash__ = _compiled_once(record, "__hash__", _hash_source) if frozen else None
    if frozen:
        record.__setattr__, record.__delattr__ = _refuse_assignment, _refuse_deletion
        record.__getstate__, record.__setstate__ = _get_state, _set_state
    return record


def _compiled_once(cls: Any, method: str, source: Callable[[Any, dict[str, Any]], str]) -> Callable[..., Any]:  # noqa: ANN401 - a class
    """Return a method that compiles the real one at its first call, and gives way to it."""

    def compile_and_call(self: object, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - any field
        names: dict[str, Any] = {}
        exec(source(cls, names), names)  # noqa: S102 - the source is made of the names of fields
        names[method].__qualname__ = f"{cls.__qualname__}.{method}"
        setattr(cls, method, names[method])
        return names[method](self, *arguments, **named)

    return compile_and_call


def _source(cls: Any, names: dict[str, Any], *, frozen: bool = False) -> str:  # noqa: ANN401 - a class
    """Return the source of `__init__`: one parameter a field, which sets the slot of that field."""
    parameters, named, body = ["self"], list[str](), list[str]()
    names["_MISSING"] = dataclasses.MISSING
    for field in dataclasses.fields(cls):
        name, value, default = field.name, field.name, ""
        if field.default is not dataclasses.MISSING:
            names[f"_default_{name}"] = field.default
            default = f"_default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            names[f"_new_{name}"] = field.default_factory
            default, value = "_MISSING", f"_new_{name}() if {name} is _MISSING else {name}"
        if field.init:
            (named if field.kw_only else parameters).append(f"{name}={default}" if default else name)
        elif default:
            value = f"_new_{name}()" if default == "_MISSING" else default
        else:
            continue
        if frozen:
            names[f"_set_{name}"] = getattr(cls, name).__set__
        body.append(f"_set_{name}(self, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    signature = ", ".join([*parameters, *(["*", *named] if named else ())])
    return f"def __init__({signature}):\n  " + "\n  ".join(body or ["pass"])


_frozen_source = partial(_source, frozen=True)


def _equality_source(cls: Any, _names: dict[str, Any]) -> str:  # noqa: ANN401 - a class
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    left, right = ("(" + "".join(f"{side}.{name}," for name in names) + ")" for side in ("self", "other"))
    same = f"{left} == {right} if other.__class__ is self.__class__ else NotImplemented"
    return f"def __eq__(self, other):\n  return {same}"


def _hash_source(cls: Any, _names: dict[str, Any]) -> str:  # noqa: ANN401 - a class
    fields = dataclasses.fields(cls)
    names = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
    return "def __hash__(self):\n  return hash((" + "".join(f"self.{name}," for name in names) + "))"


def _show(self: Any) -> str:  # noqa: ANN401 - any record
    parts = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({parts})"


def _refuse_assignment(_self: object, name: str, _value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:  # noqa: ANN401 - any record
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:  # noqa: ANN401 - any record
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
