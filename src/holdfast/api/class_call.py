"""Methods that may also be called on the class, as in the design that Flash was built from."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


class also_on_class(Generic[Given, Result]):  # noqa: N801 - a decorator
    """A decorator for methods that may be called on the class, which creates an object for that call only."""

    def __init__(self, function: Callable[Concatenate[Any, Given], Result]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: object | None, owner: type) -> Callable[Given, Result]:
        bound: Callable[Given, Result] = functools.partial(self._function, owner() if instance is None else instance)
        return functools.update_wrapper(bound, self._function)
