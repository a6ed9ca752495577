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

Reading one is strict: an unknown field is an error with its line. Several profiles stack: a user's before the shipped
ones, a kind's before the general; the first rule that speaks about an aspect of a path wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any, Final

from holdfast.compare import comparators, paths, yaml_reader
from holdfast.compare.comparators import Comparator
from holdfast.compare.profile import Profile, ProfileRules, load
from holdfast.compare.rule_tree import RuleTree
from holdfast.compare.rules import FieldClass, ListKind, ListRule, MapRule, Presence, Rule, RuleCondition
from holdfast.errors import InputError
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.schema import fields
from holdfast.schema.document import Document, DocumentPath
from holdfast.schema.fields import FieldType


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
            if condition.present is not None:
                return condition.present
            return any(comparators.typed_equal(value, wanted) for wanted in condition.values) is not condition.negated
    return condition.negated if condition.present is None else not condition.present


def stack(profiles: Iterable[Profile], schema: Sequence[Rule] | None = None) -> RuleSet:
    """Join profiles, the earlier winning; the rules of a schema go before all, and where there is one, guesses go."""
    chosen = tuple(profiles)
    shipped = (rule for profile in chosen for rule in profile.rules)
    is_known = schema is not None or any(profile.is_schema for profile in chosen)
    rules = (*(schema or ()), *(rule for rule in shipped if not (is_known and rule.guess)))
    contents = [profile.content for profile in chosen]
    presence = next((content.presence for content in contents if content.presence is not None), Presence.EMPTY)
    keys = next((content.keys for content in contents if content.keys is not None), None)
    if keys is not None:
        rules = (*rules, Rule(paths.parse_pattern("/**"), map_rule=MapRule(keys), source="profile defaults"))
    return RuleSet(tuple(profile.id for profile in chosen), rules, presence, keys)


def parse(text: str | bytes, file: str | None = None) -> list[Profile]:
    """Return the profiles of a YAML text; raise InputError or InputErrors with file, line and field of all mistakes."""
    found = yaml_reader.documents(text, file)
    return [_read(Document(document.value, file, document.line, document.places)) for document in found]


def build(raw: Json) -> Profile:
    """Return a profile from its value as kept in `Profile.raw`."""
    return _read(Document(raw, None, 1))


def _read(document: Document) -> Profile:
    given = fields.read(SCHEMA, document)
    source, defaults = f"{given['profile']}@{given['version']}", given.get("defaults", {})
    rules = tuple(Rule(**rule, source=source) for rule in given.get("rules", ()))
    return load(document.value, ProfileRules(rules, defaults.get("presence"), defaults.get("keys")))


# --- the schema


def _pattern(value: Json) -> paths.Pattern:
    if not isinstance(value, str):
        raise fields.expected("a path such as /properties/*/name", value)
    return paths.parse_pattern(value)


def _exact_path(pattern: paths.Pattern) -> paths.Pattern:
    paths.parse_path(pattern.text)
    return pattern


def _comparator(value: Json) -> Comparator:
    if isinstance(value, str):
        return comparators.build(value)
    if not isinstance(value, dict) or len(value) != 1:
        raise InputError("write `compare: region`, or `compare: {token_set: {sep: ','}}` to give options")
    ((name, options),) = value.items()
    if options is not None and not isinstance(options, dict):
        raise InputError(f"the options of {name} must be a mapping")
    return comparators.build(name, **(options or {}))


def _list_rule(given: dict[str, Any], at: DocumentPath) -> ListRule:
    flags = {name: given[name] for name in ("one_or_many", "whole", "keys_filled_in") if name in given}
    names, normalise = given.get("keyed", ()), given.get("normalise", {})
    if not names:
        return ListRule(ListKind(given.get("kind", ListKind.ORDERED)), **flags)
    for name in normalise:
        if name not in names:
            at.fail(fields.unknown_field(name, names), "normalise", name)
    return ListRule(ListKind.KEYED, names, tuple(normalise.items()), **flags)


def _condition(given: dict[str, Any]) -> RuleCondition:
    words = given.keys() & {"equals", "in", "not", "present"}
    if len(words) != 1:
        raise InputError("a condition needs exactly one of equals, in, not, present")
    (word,) = words
    if word == "present":
        return RuleCondition(given["path"], (), present=given["present"])
    return RuleCondition(given["path"], given["in"] if word == "in" else (given[word],), negated=word == "not")


def _rule(value: Json, at: DocumentPath) -> dict[str, Any]:
    given = _RULE.read_fields(value, at)
    if isinstance(value, dict) and "path" in value:
        says = {name for name, item in value.items() if name == "default" or item not in (None, [], {})}
        if not says - {"path", "why", "when", "guess"}:
            at.fail("the rule says nothing: give it a class, compare, list, map, presence or default")
    return given


_PATTERN = fields.parsed(_pattern, type="string")
_COMPARATOR = fields.parsed(_comparator, type=["string", "object"])
_PRESENCE = fields.choice(Presence)
_LIST_KIND = fields.word([kind.value for kind in (ListKind.ORDERED, ListKind.SET, ListKind.MULTISET)])
_LIST_RECORD = fields.plain(
    {
        "keyed": fields.one_or_many(fields.STRING),
        "normalise": fields.mapping_of(_COMPARATOR),
        "one_or_many": fields.BOOLEAN,
        "kind": _LIST_KIND,
        "whole": fields.BOOLEAN,
        "keys_filled_in": fields.BOOLEAN,
    }
).then_at(_list_rule)
_LIST_WORD = _LIST_KIND.then(lambda word: ListRule(ListKind(word)))
_LIST: Final[FieldType[ListRule]] = FieldType(
    lambda value, at: (_LIST_WORD if isinstance(value, str) else _LIST_RECORD).read(value, at),
    lambda: {"anyOf": [_LIST_WORD.json_schema, _LIST_RECORD.json_schema]},
)
_MAP: Final[FieldType[MapRule]] = fields.either(
    {"subset": MapRule(subset=True)},
    fields.record(MapRule, {"keys": _COMPARATOR, "subset": fields.BOOLEAN, "whole": fields.BOOLEAN}),
)
_RULE: Final = fields.plain(
    {
        "path": fields.required(_PATTERN),
        "class": fields.renamed(fields.choice(FieldClass), "cls"),
        "compare": fields.renamed(_COMPARATOR, "comparator"),
        "list": fields.renamed(_LIST, "list_rule"),
        "map": fields.renamed(_MAP, "map_rule"),
        "presence": _PRESENCE,
        "default": fields.Field(fields.ANY, keeps_null=True),
        "adopt": fields.list_of(_COMPARATOR),
        "adopt_list": _LIST,
        "adopt_presence": _PRESENCE,
        "adopt_missing": fields.BOOLEAN,
        "when": fields.plain(
            {
                "path": fields.required(_PATTERN.then(_exact_path)),
                "equals": fields.Field(fields.ANY, keeps_null=True),
                "in": fields.list_of(fields.ANY),
                "not": fields.Field(fields.ANY, keeps_null=True),
                "present": fields.BOOLEAN,
            }
        ).then(_condition),
        "guess": fields.BOOLEAN,
        "why": fields.parsed(str),
    }
)
_RULE_TYPE: Final[FieldType[dict[str, Any]]] = FieldType(fields.ANY.then_at(_rule).read, lambda: _RULE.json_schema)
SCHEMA: Final = fields.plain(
    {
        "profile": fields.required(fields.STRING, "a profile needs a name: `profile: azure/general`"),
        "version": fields.required(fields.COUNT, "a profile needs a version number: `version: 1`"),
        "applies": fields.plain({"provider": fields.STRING, "kinds": fields.one_or_many(fields.STRING)}),
        "defaults": fields.plain({"presence": _PRESENCE, "keys": _COMPARATOR}),
        "schema": fields.renamed(fields.BOOLEAN, "is_schema"),
        "rules": fields.list_of(_RULE_TYPE),
        "description": fields.ANY,
    }
)
