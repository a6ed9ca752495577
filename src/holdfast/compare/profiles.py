"""Profiles: the rules of a kind as versioned data that a person can read and change.

A profile is a YAML document:

    profile: azure/general
    version: 1
    applies: {provider: azure, kinds: ["*"]}      # kinds are globs, compared without regard to case
    defaults: {presence: empty, keys: casefold}   # what holds where no rule speaks
    rules:
      - path: /location
        compare: region
        why: Azure answers "West US" to "westus"
      - path: /properties/accessPolicies
        list: {keyed: [tenantId, objectId], normalise: {tenantId: guid}}
      - path: /**
        adopt: [casefold, number]                 # spellings to accept as long as there is no baseline

`compare` holds always. `adopt` and `adopt_list` hold only while there is no baseline: then the declaration is all there
is to go by, and a service's habits of spelling must be forgiven; once a baseline exists the spelling is known exactly.
`adopt_missing: true` forgives in the same way that a declared value is not returned; what is returned is compared.
A rule with `guess: true` goes by a name or a habit and gives way where the schema of the kind is known: one that a
corpus brings, or a profile that says `schema: true`, whose rules are what the service itself publishes.

Reading one is strict: an unknown word is an error with its line. Several profiles stack: a user's before the shipped
ones, a kind's before the general; the first rule that speaks about an aspect of a path wins.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from holdfast.compare import comparators, paths, yaml_reader
from holdfast.compare.comparators import Comparator
from holdfast.compare.rule_tree import RuleTree
from holdfast.compare.rules import FieldClass, ListKind, ListRule, MapRule, Presence, Rule, RuleCondition
from holdfast.errors import InputError, ProfileError
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Pointer


@dataclass(frozen=True, slots=True)
class Profile:
    """The rules for the kinds it applies to; `name@version` is what a stored decision remembers."""

    name: str
    version: int
    provider: str = "*"
    kinds: tuple[str, ...] = ("*",)
    rules: tuple[Rule, ...] = ()
    presence: Presence | None = None
    keys: Comparator | None = None
    is_schema: bool = False  # what the service publishes about the kind, so that nobody need guess
    raw: Json = field(default=None, compare=False, repr=False)  # as written, so that it can be kept and read again

    @property
    def id(self) -> str:
        """Name and version, as written into decisions."""
        return f"{self.name}@{self.version}"

    def applies_to(self, provider: str, kind: str) -> bool:
        """Tell whether this profile speaks about a kind."""
        if self.provider not in ("*", provider):
            return False
        return any(fnmatch.fnmatchcase(kind.lower(), glob.lower()) for glob in self.kinds)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The stacked rules for one kind, compiled; conditional rules are chosen when a document is at hand."""

    profiles: tuple[str, ...]
    rules: tuple[Rule, ...]
    presence: Presence = Presence.EMPTY
    keys: Comparator | None = None
    _trees: dict[tuple[bool, ...], RuleTree] = field(default_factory=dict, repr=False, compare=False)
    _conditional: tuple[Rule, ...] = field(init=False, repr=False, compare=False)  # looked for once

    def __post_init__(self) -> None:
        object.__setattr__(self, "_conditional", tuple(rule for rule in self.rules if rule.when is not None))

    def preceded_by(self, profile: Profile) -> RuleSet:
        """Return the rules with those of another profile before them; it says nothing about defaults."""
        return RuleSet((profile.id, *self.profiles), (*profile.rules, *self.rules), self.presence, self.keys)

    def tree(self, desired: Json = ABSENT, observed: Json = ABSENT) -> RuleTree:
        """Return the rules in force for this pair of documents."""
        holds = tuple(_holds(rule.when, desired, observed) for rule in self._conditional if rule.when is not None)
        tree = self._trees.get(holds)
        if tree is None:
            off = {id(rule) for rule, yes in zip(self._conditional, holds, strict=True) if not yes}
            live = [rule for rule in self.rules if id(rule) not in off]
            tree = self._trees[holds] = RuleTree(live, presence=self.presence, key_comparator=self.keys)
        return tree


def _holds(condition: RuleCondition, desired: Json, observed: Json) -> bool:
    for document in (desired, observed):
        value = paths.resolve(document, paths.parse_path(condition.path.text))
        if value is not ABSENT:
            return any(comparators.typed_equal(value, wanted) for wanted in condition.values) is not condition.negated
    return condition.negated


def stack(profiles: Iterable[Profile], schema: Sequence[Rule] | None = None) -> RuleSet:
    """Join profiles, the earlier winning; the rules of a schema go before all, and where there is one, guesses go."""
    chosen = tuple(profiles)
    shipped = (rule for profile in chosen for rule in profile.rules)
    is_known = schema is not None or any(profile.is_schema for profile in chosen)
    rules = (*(schema or ()), *(rule for rule in shipped if not (is_known and rule.guess)))
    presence = next((profile.presence for profile in chosen if profile.presence is not None), Presence.EMPTY)
    keys = next((profile.keys for profile in chosen if profile.keys is not None), None)
    if keys is not None:
        rules = (*rules, Rule(paths.parse_pattern("/**"), map_rule=MapRule(keys), source="profile defaults"))
    return RuleSet(tuple(profile.id for profile in chosen), rules, presence, keys)


def parse(text: str | bytes, file: str | None = None) -> list[Profile]:
    """Read the profiles in a YAML text; raise ProfileError with file, line and field at the first mistake."""
    try:
        found = yaml_reader.documents(text, file)
    except InputError as error:
        raise ProfileError(error.message, error.location) from None
    return [_Reader(document, file).profile() for document in found]


def build(raw: Json) -> Profile:
    """Read a profile from its value as kept in `Profile.raw`."""
    return _Reader(yaml_reader.Document(raw, 1, {}), None).profile()


_TOP = {"profile", "version", "applies", "defaults", "schema", "rules", "description"}
_RULE = {
    "path",
    "class",
    "compare",
    "list",
    "map",
    "presence",
    "default",
    "adopt",
    "adopt_list",
    "adopt_presence",
    "adopt_missing",
    "when",
    "guess",
    "why",
}


class _Reader:
    """Turns one YAML document into a Profile, or says which line keeps it from being one."""

    def __init__(self, document: yaml_reader.Document, file: str | None) -> None:
        self._document = document
        self._file = file
        self._source = ""

    def _fail(self, message: str, pointer: Pointer) -> NoReturn:
        location = self._document.location(pointer, self._file)
        field_name = paths.format_path(pointer) or None
        raise ProfileError(message, type(location)(location.file, location.line, location.column, field_name))

    def _mapping(self, value: Json, allowed: set[str], pointer: Pointer) -> dict[str, Json]:
        if not isinstance(value, dict):
            self._fail("a mapping is needed here", pointer)
        for key in value:
            if key not in allowed:
                self._fail(f"unknown word {key!r}; allowed here: {', '.join(sorted(allowed))}", (*pointer, key))
        return value

    def _strings(self, value: Json, pointer: Pointer) -> tuple[str, ...]:
        items = value if isinstance(value, list) else [value]
        if not items or not all(isinstance(item, str) for item in items):
            self._fail("a word or a list of words is needed here", pointer)
        return tuple(items)

    def _string(self, value: Json, pointer: Pointer) -> str:
        if not isinstance(value, str):
            self._fail("a word is needed here", pointer)
        return value

    def _flag(self, body: dict[str, Json], word: str, pointer: Pointer) -> bool:
        value = body.get(word, False)
        if not isinstance(value, bool):
            self._fail(f"{word} is true or false", (*pointer, word))
        return value

    def profile(self) -> Profile:
        top = self._mapping(self._document.value, _TOP, ())
        name, version = top.get("profile"), top.get("version")
        if not isinstance(name, str) or not name:
            self._fail("a profile needs a name: `profile: azure/general`", ("profile",))
        if type(version) is not int or version < 1:
            self._fail("a profile needs a whole version number: `version: 1`", ("version",))
        self._source = f"{name}@{version}"
        applies = self._mapping(top.get("applies", {}), {"provider", "kinds"}, ("applies",))
        defaults = self._mapping(top.get("defaults", {}), {"presence", "keys"}, ("defaults",))
        rules = top.get("rules", [])
        if not isinstance(rules, list):
            self._fail("rules must be a list", ("rules",))
        return Profile(
            name,
            version,
            self._string(applies.get("provider", "*"), ("applies", "provider")),
            self._strings(applies.get("kinds", "*"), ("applies", "kinds")),
            tuple(self._rule(rule, ("rules", index)) for index, rule in enumerate(rules)),
            self._presence(defaults.get("presence"), ("defaults", "presence")),
            self._comparator(defaults["keys"], ("defaults", "keys")) if "keys" in defaults else None,
            self._flag(top, "schema", ()),
            self._document.value,
        )

    def _rule(self, value: Json, pointer: Pointer) -> Rule:
        body = self._mapping(value, _RULE, pointer)
        if "path" not in body:
            self._fail("a rule needs a path", pointer)
        says = {word for word, given in body.items() if word == "default" or given not in (None, [], {})}
        if not says - {"path", "why", "when", "guess"}:
            self._fail("the rule says nothing: give it a class, compare, list, map, presence or default", pointer)
        return Rule(
            path=self._pattern(body["path"], (*pointer, "path")),
            cls=self._class(body.get("class"), (*pointer, "class")),
            comparator=self._comparator(body["compare"], (*pointer, "compare")) if "compare" in body else None,
            list_rule=self._list(body["list"], (*pointer, "list")) if "list" in body else None,
            map_rule=self._map(body["map"], (*pointer, "map")) if "map" in body else None,
            presence=self._presence(body.get("presence"), (*pointer, "presence")),
            default=body.get("default", ABSENT),
            adopt=self._comparators(body.get("adopt", []), (*pointer, "adopt")),
            adopt_list=self._list(body["adopt_list"], (*pointer, "adopt_list")) if "adopt_list" in body else None,
            adopt_presence=self._presence(body.get("adopt_presence"), (*pointer, "adopt_presence")),
            adopt_missing=self._flag(body, "adopt_missing", pointer),
            guess=self._flag(body, "guess", pointer),
            when=self._condition(body["when"], (*pointer, "when")) if "when" in body else None,
            why=str(body.get("why", "")),
            source=self._source,
        )

    def _pattern(self, value: Json, pointer: Pointer) -> paths.Pattern:
        if not isinstance(value, str):
            self._fail("a path is a string such as /properties/*/name", pointer)
        try:
            return paths.parse_pattern(value)
        except InputError as error:
            self._fail(error.message, pointer)

    def _class(self, value: Json, pointer: Pointer) -> FieldClass | None:
        if value is None:
            return None
        try:
            return FieldClass(value)
        except ValueError:
            self._fail(f"{value!r} is not a class; one of {', '.join(FieldClass)}", pointer)

    def _presence(self, value: Json, pointer: Pointer) -> Presence | None:
        if value is None:
            return None
        try:
            return Presence(value)
        except ValueError:
            self._fail(f"{value!r} is not a presence; one of {', '.join(Presence)}", pointer)

    def _comparator(self, value: Json, pointer: Pointer) -> Comparator:
        name, options = (value, {}) if isinstance(value, str) else self._named(value, pointer)
        try:
            return comparators.build(name, **options)
        except InputError as error:
            self._fail(error.message, pointer)

    def _comparators(self, value: Json, pointer: Pointer) -> tuple[Comparator, ...]:
        if not isinstance(value, list):
            self._fail("adopt needs a list of comparators", pointer)
        return tuple(self._comparator(item, (*pointer, index)) for index, item in enumerate(value))

    def _named(self, value: Json, pointer: Pointer) -> tuple[str, dict[str, Json]]:
        if not isinstance(value, dict) or len(value) != 1:
            self._fail("write `compare: region`, or `compare: {token_set: {sep: ','}}` to give options", pointer)
        ((name, options),) = value.items()
        if options is not None and not isinstance(options, dict):
            self._fail(f"the options of {name} must be a mapping", (*pointer, name))
        return name, options or {}

    def _list(self, value: Json, pointer: Pointer) -> ListRule:
        if isinstance(value, str):
            if value not in (ListKind.ORDERED, ListKind.SET, ListKind.MULTISET):
                self._fail(f"{value!r} is not a list semantics; ordered, set, multiset or {{keyed: [field]}}", pointer)
            return ListRule(ListKind(value))
        body = self._mapping(value, {"keyed", "normalise", "one_or_many", "kind", "whole"}, pointer)
        one_or_many, whole = self._flag(body, "one_or_many", pointer), self._flag(body, "whole", pointer)
        if "keyed" not in body:
            kind = body.get("kind", "ordered")
            if kind not in (ListKind.ORDERED, ListKind.SET, ListKind.MULTISET):
                self._fail(f"{kind!r} is not a list semantics; ordered, set or multiset", (*pointer, "kind"))
            return ListRule(ListKind(kind), one_or_many=one_or_many, whole=whole)
        fields = self._strings(body["keyed"], (*pointer, "keyed"))
        normalise = self._mapping(body.get("normalise", {}), set(fields), (*pointer, "normalise"))
        return ListRule(
            ListKind.KEYED,
            fields,
            tuple((name, self._comparator(how, (*pointer, "normalise", name))) for name, how in normalise.items()),
            one_or_many,
            whole,
        )

    def _map(self, value: Json, pointer: Pointer) -> MapRule:
        if value == "subset":
            return MapRule(subset=True)
        body = self._mapping(value, {"keys", "subset", "whole"}, pointer)
        keys = self._comparator(body["keys"], (*pointer, "keys")) if "keys" in body else None
        return MapRule(keys, self._flag(body, "subset", pointer), self._flag(body, "whole", pointer))

    def _condition(self, value: Json, pointer: Pointer) -> RuleCondition:
        body = self._mapping(value, {"path", "equals", "in", "not"}, pointer)
        pattern = self._pattern(body.get("path"), (*pointer, "path"))
        try:
            paths.parse_path(pattern.text)
        except InputError as error:
            self._fail(error.message, (*pointer, "path"))
        given = body.keys() & {"equals", "in", "not"}
        if len(given) != 1:
            self._fail("a condition needs exactly one of equals, in, not", pointer)
        (word,) = given
        values = body[word] if word == "in" else [body[word]]
        if not isinstance(values, list):
            self._fail("`in` needs a list", (*pointer, "in"))
        return RuleCondition(pattern, tuple(values), negated=word == "not")
