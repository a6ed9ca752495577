"""Records behave as dataclasses of the standard library do."""

import copy
import dataclasses
import pickle
from dataclasses import field
from typing import Any

import pytest

from holdfast.model import record


def _made(decorator: Any, **options: Any) -> Any:
    @decorator(**options)
    class Sample:
        """A sample."""

        name: str
        size: int = 1
        tags: list[str] = field(default_factory=list, compare=False)
        secret: str = field(default="s", repr=False)

        def __post_init__(self) -> None:
            if self.size < 0:
                raise ValueError(self.size)

    return Sample


@record.dataclass(frozen=True, slots=True)
class Pair:
    left: int
    right: int = 2


@record.dataclass(frozen=True, slots=True)
class Single:
    value: float


@record.dataclass(frozen=True, slots=True)
class Triple(Pair):
    third: int = 3


@record.dataclass(frozen=True, slots=True)
class Spelled:
    text: str

    def __repr__(self) -> str:
        return "spelled"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spelled)

    def __hash__(self) -> int:
        return 7


@pytest.mark.parametrize("options", [{"frozen": True, "slots": True}, {"slots": True}, {"slots": True, "eq": False}])
def test_a_record_answers_as_the_standard_dataclass_does(options):
    fast, standard = _made(record.dataclass, **options), _made(dataclasses.dataclass, **options)
    assert [repr(item) for item in dataclasses.fields(fast)] == [repr(item) for item in dataclasses.fields(standard)]
    for cls in (fast, standard):
        first, second = cls("a", tags=["x"]), cls("a", 1)
        assert repr(first) == "_made.<locals>.Sample(name='a', size=1, tags=['x'])"
        assert (first == second) is options.get("eq", True)
        assert first != cls("b")
        assert first != 3
        assert dataclasses.replace(first, size=4).size == 4
        assert dataclasses.asdict(first) == {"name": "a", "size": 1, "tags": ["x"], "secret": "s"}
        assert cls.__match_args__ == ("name", "size", "tags", "secret")
        assert cls.__slots__ == ("name", "size", "tags", "secret")
        with pytest.raises(ValueError, match="-1"):
            cls("a", -1)
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
            cls()
    assert (fast.__hash__ is None) is (standard.__hash__ is None)


def test_a_frozen_record_refuses_assignment_and_deletion():
    pair = Pair(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'left'"):
        pair.left = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'left'"):
        del pair.left


def test_a_frozen_record_is_hashed_by_its_fields():
    assert {Pair(1), Pair(1, 2), Pair(2)} == {Pair(1), Pair(2)}
    assert hash(Single(1.5)) == hash(Single(1.5))


def test_a_record_of_one_field_compares_it_as_a_tuple_does():
    nothing = float("nan")
    assert Single(nothing) == Single(nothing)


def test_a_record_is_copied_and_pickled():
    pair = Pair(1, 5)
    assert copy.deepcopy(pair) == copy.copy(pair) == pickle.loads(pickle.dumps(pair)) == pair


def test_a_record_may_inherit_fields():
    assert repr(Triple(1)) == "Triple(left=1, right=2, third=3)"
    assert Triple(1) != Pair(1)


def test_a_class_of_others_may_inherit_from_a_record():
    standard: Any = dataclasses.dataclass(frozen=True)(
        type("Other", (Pair,), {"__annotations__": {"more": int}, "more": 4})
    )
    assert standard(1).more == 4


def test_methods_of_the_class_are_kept():
    assert repr(Spelled("a")) == "spelled"
    assert Spelled("a") == Spelled("b")
    assert hash(Spelled("a")) == 7
