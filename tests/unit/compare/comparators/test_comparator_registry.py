"""Comparators by name: what a profile may ask for, and what it is told when it asks wrongly."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.compare import comparators
from holdfast.compare.comparators import ByKey, Comparator, Key, registry
from holdfast.errors import ProfileError
from holdfast.model.json import Json


class FirstLetter(ByKey):
    """A comparator as a user would write it."""

    __slots__ = ()

    def key(self, value: Json) -> Key:
        return value[:1] if isinstance(value, str) else None


def first_letter(*, strict: bool = False) -> Comparator:
    return FirstLetter(f"custom:first_letter{strict}")


@pytest.fixture(autouse=True)
def _clean_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package with comparators, allowed by the project."""
    (tmp_path / "users_comparators.py").write_text(
        "length = len\nnumber = 5\ndef listed(value): return [value, {'a': 1}]\n"
        "def close(one, other): return abs(one - other) < 2\n"
    )
    names = ("length", "listed", "close", "number", "lost", "gone")
    info = tmp_path / "users_comparators-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: users-comparators\nVersion: 1\n")
    modules = {"lost": "no_such_module_here:f"}
    lines = (f"{name} = {modules.get(name, f'users_comparators:{name}')}" for name in names)
    (info / "entry_points.txt").write_text("[holdfast.comparators]\n" + "\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    comparators.allow_code([*names, "unheard_of"])
    yield
    comparators.allow_code([])
    sys.modules.pop("users_comparators", None)


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("regoin", {}, 'unknown comparator "regoin"; did you mean "region"?'),
        ("zzzzzz", {}, "known are: arm_id, base64"),
        ("region", {"loose": True}, 'comparator "region" has no option "loose"; it takes no options'),
        ("token_set", {"separator": ","}, "allowed are: sep, ignore_case"),
        ("enum_map", {}, 'needs the option "mapping"; allowed are: mapping, ignore_case'),
        ("enum_map", {"mapping": {}}, '"mapping" is empty'),
        ("enum_map", {"mapping": [1]}, "must be a mapping, not a value of type list"),
        ("enum_map", {"mapping": {"a": {}}}, '"a" must map to a string, number or boolean'),
        ("enum_map", {"mapping": {"a": None}}, '"a" must map to'),
        ("bool_str", {"loose": "yes"}, 'option "loose" must be true or false, not a value of type str'),
        ("bool_str", {"loose": 1}, "must be true or false"),
        ("timestamp", {"precision": "fortnight"}, 'option "precision" must be one of day, hour, minute, second'),
        ("duration", {"unit": 5}, 'option "unit" must be one of ns, us, ms, s, m, h, d'),
        ("token_set", {"sep": ""}, '"sep" is empty'),
        ("version_prefix", {"separators": "a"}, '"separators"'),
        ("version_prefix", {"separators": ""}, '"separators"'),
        ("regex", {"pattern": "("}, "does not compile"),
        ("regex", {"pattern": "a", "replace": r"\3"}, "does not compile"),
        ("custom", {"function": "length"}, "'length' is not allowed"),
        ("custom", {"function": "os:system"}, "'os:system' is not allowed"),
        ("custom", {"function": "length", "style": "sideways"}, "one of key, equal"),
    ],
)
def test_a_mistake_in_a_profile_is_told_with_the_way_out(name: str, options: dict[str, Json], message: str) -> None:
    with pytest.raises(ProfileError) as caught:
        comparators.build(name, **options)
    assert message in str(caught.value)


def test_options_that_are_null_by_default_may_be_given_as_null() -> None:
    assert comparators.build("timestamp", precision=None).name == "timestamp"


@pytest.mark.parametrize(
    "name, options, expected",
    [
        ("region", {}, "region"),
        ("token_set", {"sep": ","}, "token_set(sep=,)"),
        ("bool_str", {"loose": True}, "bool_str(loose=true)"),
        ("arm_id", {"scope_relative": True}, "arm_id(scope_relative=true)"),
        ("version_prefix", {"separators": ".-"}, "version_prefix(separators=.-)"),
        ("enum_map", {"mapping": {"a": 1}}, 'enum_map(mapping={"a":1})'),
    ],
)
def test_the_name_of_a_comparator_shows_its_options(name: str, options: dict[str, Json], expected: str) -> None:
    assert comparators.build(name, **options).name == expected


def test_comparators_built_alike_are_equal_and_hashable() -> None:
    for options in ({"mapping": {"a": 1}}, {"mapping": {"a": 1}, "ignore_case": True}):
        one, other = comparators.build("enum_map", **options), comparators.build("enum_map", **options)
        assert one == other
        assert hash(one) == hash(other)
    assert comparators.build("duration") == comparators.build("duration")
    assert comparators.build("duration") != comparators.build("duration", unit="s")


def test_names_are_sorted_and_hold_all_that_was_promised() -> None:
    assert list(comparators.names()) == sorted(comparators.names())
    assert set(comparators.names()) >= {
        "exact", "casefold", "region", "guid", "bool_str", "number", "enum_map", "version_prefix", "url", "path", "xml",
        "json_str", "duration", "timestamp", "cidr", "ip", "quantity", "token_set", "base64", "ssh_key", "arm_id",
        "resource_id", "whitespace", "email", "fqdn", "write_only", "custom",
    }  # fmt: skip


def test_a_registered_comparator_is_built_with_its_options() -> None:
    comparators.register("custom:first_letter", first_letter)
    assert "custom:first_letter" in comparators.names()
    assert comparators.build("custom:first_letter").equal("abc", "axe")
    assert comparators.build("custom:first_letter", strict=True).name == "custom:first_letterTrue"
    with pytest.raises(ProfileError, match="allowed are: strict"):
        comparators.build("custom:first_letter", loose=True)


def test_a_factory_with_free_options_gets_them_all() -> None:
    comparators.register("custom:free", lambda **options: FirstLetter(repr(options)))
    assert comparators.build("custom:free", a=1).name == "{'a': 1}"


def test_registering_needs_the_prefix_and_happens_once() -> None:
    with pytest.raises(ValueError, match="begin with"):
        comparators.register("region", first_letter)
    with pytest.raises(ValueError, match="begin with"):
        comparators.register("custom:", first_letter)
    comparators.register("custom:x", first_letter)
    comparators.register("custom:x", first_letter)
    with pytest.raises(ValueError, match="already registered"):
        comparators.register("custom:x", FirstLetter)


def test_a_function_of_one_value_compares_by_what_it_returns(installed: None) -> None:
    comparator = comparators.build("custom", function="length")
    assert comparator.equal("abc", "xyz")
    assert not comparator.equal("abc", "abcd")
    assert comparator.name == "custom(function=length)"


def test_a_value_on_which_the_function_fails_is_only_itself(installed: None) -> None:
    comparator = comparators.build("custom", function="length")
    assert comparator.equal(3, 3)
    assert not comparator.equal(3, "abc")
    assert not comparator.equal(3, 4)


def test_a_function_may_return_what_is_not_hashable(installed: None) -> None:
    comparator = comparators.build("custom", function="listed")
    assert comparator.equal(1, 1.0)
    assert hash(comparator.key("a")) == hash(comparator.key("a"))


def test_a_function_of_two_values_is_asked_directly(installed: None) -> None:
    comparator = comparators.build("custom", function="close", style="equal")
    assert comparator.equal(5, 6)
    assert not comparator.equal(5, 8)
    assert comparator.equal("a", "a")
    assert not comparator.equal("a", "b")
    assert comparator.key(5) != comparator.key(6)


@pytest.mark.parametrize(
    "name, message",
    [
        ("number", "users_comparators:number is not a function"),
        ("lost", "no_such_module_here:f cannot be imported"),
        ("gone", "users_comparators:gone cannot be imported"),
        ("unheard_of", "no installed package has an entry point 'unheard_of'"),
        ("os:system", "'os:system' is not allowed"),
        ("users_comparators:length", "is not allowed; list it under allowedCode in holdfast.yaml"),
    ],
)
def test_what_is_no_allowed_function_is_refused(installed: None, name: str, message: str) -> None:
    with pytest.raises(ProfileError, match=re.escape(message)):
        comparators.build("custom", function=name)


def test_what_is_not_allowed_any_more_is_not_loaded(installed: None) -> None:
    comparators.allow_code(["close"])
    with pytest.raises(ProfileError, match="'length' is not allowed"):
        comparators.build("custom", function="length")
    assert "users_comparators" not in sys.modules


def test_the_package_exports_what_it_lists() -> None:
    for name in comparators.__all__:
        assert hasattr(comparators, name)
    assert comparators.__all__ == sorted(comparators.__all__)
