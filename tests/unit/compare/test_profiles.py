"""Profiles: the rules of a kind as data, read strictly, stacked, and chosen by kind and condition."""

from __future__ import annotations

import re
from pathlib import Path as FilePath

import pytest

from holdfast.compare import diff, paths, profiles
from holdfast.compare.profile import Profile
from holdfast.compare.rules import FieldClass, ListKind, Presence, Rule
from holdfast.errors import InputError
from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast.model.path import Selector
from holdfast.providers import builtin_profiles

HEAD = "profile: p\nversion: 1\nrules:\n"


def one(text: str) -> Profile:
    (profile,) = profiles.parse(text)
    return profile


def rule(text: str) -> Rule:
    (found,) = one(f"{HEAD}  - {text}\n").rules
    return found


# -- reading


def test_a_profile_is_read_with_all_it_can_say():
    profile = one("""
        profile: azure/vault
        version: 3
        description: what Key Vault does
        applies: {provider: azure, kinds: [Microsoft.KeyVault/vaults]}
        defaults: {presence: blank, keys: casefold}
        rules:
          - path: /properties/accessPolicies
            list: {keyed: [tenantId, objectId], normalise: {tenantId: guid}, one_or_many: true}
            why: they come back in any order
          - {path: /tags, map: {keys: casefold, subset: true}, presence: strict}
          - {path: /sku, compare: {enum_map: {mapping: {A: B}}}, default: {name: A}, class: create_only}
          - {path: /**, adopt: [casefold, {token_set: {sep: ","}}], adopt_list: set, adopt_presence: zero, guess: true}
          - {path: /count, class: ignore, when: {path: /autoscale, equals: true}}
    """)
    assert profile.id == "azure/vault@3"
    assert profile.content.presence is Presence.BLANK
    assert profile.content.keys is not None
    lists, tags, sku, guess, count = profile.rules
    assert lists.list_rule is not None
    assert (lists.list_rule.kind, lists.list_rule.key) == (ListKind.KEYED, ("tenantId", "objectId"))
    assert [(field, how.name) for field, how in lists.list_rule.normalise] == [("tenantId", "guid")]
    assert lists.list_rule.one_or_many
    assert lists.why == "they come back in any order"
    assert tags.map_rule is not None
    assert tags.map_rule.subset
    assert (tags.presence, sku.cls, sku.default) == (Presence.STRICT, FieldClass.CREATE_ONLY, {"name": "A"})
    assert [comparator.name for comparator in guess.adopt] == ["casefold", "token_set(sep=,)"]
    assert (guess.adopt_presence, guess.guess) == (Presence.ZERO, True)
    assert count.when is not None
    assert count.label == "azure/vault@3: /count ignore"


def test_null_is_a_default_that_can_be_declared():
    assert rule("{path: /a, default: null}").default is None
    assert rule("{path: /a, class: ignore}").default is ABSENT


@pytest.mark.parametrize(
    "text, line, field, complaint",
    [
        ("[]", 1, None, "expected a mapping, got a list"),
        ("version: 1", 1, None, "`profile` is missing; a profile needs a name"),
        ("profile: ''\nversion: 1", 1, "/profile", "expected a string that is not empty"),
        ("profile: p", 1, None, "`version` is missing"),
        ("profile: p\nversion: '1'", 2, "/version", "expected a whole number >= 1"),
        ("profile: p\nversion: true", 2, "/version", "expected a whole number >= 1"),
        ("profile: p\nversion: 0", 2, "/version", "expected a whole number >= 1"),
        ("profile: p\nversion: 1\nrulez: []", 3, "/rulez", "unknown field `rulez`; did you mean `rules`?"),
        ("profile: p\nversion: 1\nrules: {}", 3, "/rules", "expected a list, got a mapping"),
        ("profile: p\nversion: 1\napplies: azure", 3, "/applies", "expected a mapping"),
        (
            "profile: p\nversion: 1\napplies:\n  providr: x",
            4,
            "/applies/providr",
            "unknown field `providr`; did you mean `provider`?",
        ),
        ("profile: p\nversion: 1\napplies: {provider: [a]}", 3, "/applies/provider", "expected a string, got a list"),
        ("profile: p\nversion: 1\napplies: {kinds: []}", 3, "/applies/kinds", "a list that is not empty"),
        ("profile: p\nversion: 1\napplies: {kinds: [1]}", 3, "/applies/kinds/0", "expected a string"),
        ("profile: p\nversion: 1\ndefaults: {presence: lax}", 3, "/defaults/presence", "got 'lax'"),
        ("profile: p\nversion: 1\ndefaults: {keys: nope}", 3, "/defaults/keys", 'unknown comparator "nope"'),
        ("profile: p\nprofile: q", 2, None, "duplicate key 'profile' (first in line 1)"),
        ("profile: [p", 2, None, "not YAML"),
    ],
)
def test_a_mistake_in_the_head_is_refused_with_its_line_and_field(
    text: str, line: int, field: str | None, complaint: str
):
    with pytest.raises(InputError, match=re.escape(complaint)) as caught:
        profiles.parse(text + "\n", "mine.yaml")
    location = caught.value.location
    assert (location.file, location.line, location.field) == ("mine.yaml", line, field)


@pytest.mark.parametrize(
    "body, field, complaint",
    [
        ("/a", "", "expected a mapping"),
        ("{class: secret}", "", "`path` is missing"),
        ("{path: /a}", "", "the rule says nothing"),
        ("{path: /a, why: because, guess: true}", "", "the rule says nothing"),
        ("{path: /a, class: null}", "", "the rule says nothing"),
        ("{path: /a, adopt: []}", "", "the rule says nothing"),
        ("{path: /a, class: ignore, clas: 3}", "/clas", "unknown field `clas`; did you mean `class`?"),
        ("{path: a, class: secret}", "/path", "must start with /"),
        ("{path: 3, class: secret}", "/path", "expected a path such as"),
        ("{path: '/a[b', class: secret}", "/path", "unclosed or misplaced bracket"),
        ("{path: /a~9, class: secret}", "/path", "'~9' is not an escape"),
        ("{path: /a, class: secrt}", "/class", "expected one of runtime, read_only"),
        ("{path: /a, class: [secret]}", "/class", "got a list"),
        ("{path: /a, compare: regoin}", "/compare", 'unknown comparator "regoin"; did you mean "region"?'),
        ("{path: /a, compare: [region]}", "/compare", "write `compare: region`"),
        ("{path: /a, compare: {region: {}, casefold: {}}}", "/compare", "write `compare: region`"),
        ("{path: /a, compare: {region: 3}}", "/compare", "the options of region must be a mapping"),
        ("{path: /a, compare: {token_set: {sop: x}}}", "/compare", 'has no option "sop"; allowed are: sep'),
        ("{path: /a, compare: {token_set: {sep: 3}}}", "/compare", "must be a string, not a value of type int"),
        ("{path: /a, compare: {regex: {pattern: '('}}}", "/compare", "does not compile"),
        ("{path: /a, compare: custom}", "/compare", 'needs the option "function"'),
        ("{path: /a, presence: lax}", "/presence", "got 'lax'"),
        ("{path: /a, presence: {}, class: ignore}", "/presence", "got a mapping"),
        ("{path: /a, list: sorted}", "/list", "expected one of ordered, set, multiset, got 'sorted'"),
        ("{path: /a, list: keyed}", "/list", "expected one of ordered, set, multiset, got 'keyed'"),
        ("{path: /a, list: {keyed: []}}", "/list/keyed", "a list that is not empty"),
        ("{path: /a, list: {keyed: [3]}}", "/list/keyed/0", "expected a string"),
        ("{path: /a, list: {keyed: n, normalise: {m: guid}}}", "/list/normalise/m", "unknown field `m`"),
        ("{path: /a, list: {keyed: n, normalise: {n: nope}}}", "/list/normalise/n", "unknown comparator"),
        ("{path: /a, list: {keyed: n, one_or_many: 3}}", "/list/one_or_many", "expected a boolean"),
        ("{path: /a, list: {kind: keyed}}", "/list/kind", "expected one of ordered, set, multiset, got 'keyed'"),
        ("{path: /a, map: superset}", "/map", "expected a mapping"),
        ("{path: /a, map: {keys: nope}}", "/map/keys", "unknown comparator"),
        ("{path: /a, map: {subset: 3}}", "/map/subset", "expected a boolean"),
        ("{path: /a, adopt: casefold}", "/adopt", "expected a list, got a string"),
        ("{path: /a, adopt: [casefold, nope]}", "/adopt/1", "unknown comparator"),
        ("{path: /a, adopt_list: sorted}", "/adopt_list", "expected one of ordered, set, multiset"),
        ("{path: /a, adopt_presence: lax}", "/adopt_presence", "expected one of"),
        ("{path: /a, adopt_missing: maybe}", "/adopt_missing", "expected a boolean"),
        ("{path: /a, class: ignore, guess: 3}", "/guess", "expected a boolean"),
        ("{path: /a, class: ignore, when: []}", "/when", "expected a mapping"),
        ("{path: /a, class: ignore, when: {path: /b}}", "/when", "exactly one of equals, in, not, present"),
        ("{path: /a, class: ignore, when: {path: /b, present: 3}}", "/when/present", "expected a boolean"),
        ("{path: /a, class: ignore, when: {path: /b, equals: 1, not: 2}}", "/when", "exactly one of"),
        ("{path: /a, class: ignore, when: {path: /b, in: 3}}", "/when/in", "expected a list, got a number"),
        ("{path: /a, class: ignore, when: {equals: 1}}", "/when", "`path` is missing"),
        ("{path: /a, class: ignore, when: {path: '/*/b', equals: 1}}", "/when/path", "one exact path is needed"),
    ],
)
def test_a_mistake_in_a_rule_is_refused_with_its_line_and_field(body: str, field: str, complaint: str):
    with pytest.raises(InputError, match=re.escape(complaint)) as caught:
        profiles.parse(f"{HEAD}  - {{path: /fine, class: ignore}}\n  - {body}\n", "mine.yaml")
    location = caught.value.location
    assert (location.file, location.line, location.field) == ("mine.yaml", 5, f"/rules/1{field}")
    assert str(caught.value).startswith(f"mine.yaml:5:{location.column} (/rules/1{field}): ")


def test_a_file_may_hold_several_profiles():
    found = profiles.parse("profile: a\nversion: 1\n---\nprofile: b\nversion: 2\n")
    assert [profile.id for profile in found] == ["a@1", "b@2"]


def test_what_was_written_can_be_kept_and_read_again():
    text = f"{HEAD}  - {{path: /a, class: ignore, when: {{path: /b, in: [1, 2]}}}}\n"
    assert profiles.build(one(text).raw) == one(text)


# -- choosing


@pytest.mark.parametrize(
    "applies, provider, kind, expected",
    [
        ("{}", "azure", "anything", True),
        ("{provider: azure}", "azure", "x", True),
        ("{provider: azure}", "aws", "x", False),
        ("{kinds: Microsoft.Web/sites}", "azure", "microsoft.web/SITES", True),
        ("{kinds: [Microsoft.Web/*]}", "azure", "Microsoft.Web/sites/config", True),
        ("{kinds: [a, b]}", "azure", "c", False),
    ],
)
def test_a_profile_applies_to_kinds_by_glob_without_regard_to_case(
    applies: str, provider: str, kind: str, expected: bool
):
    assert one(f"profile: p\nversion: 1\napplies: {applies}\n").applies_to(provider, kind) is expected


def test_stacked_profiles_let_the_earlier_one_win_and_remember_both():
    mine = one(f"{HEAD}  - {{path: /a, class: ignore}}\n")
    shipped = one(
        "profile: q\nversion: 2\ndefaults: {presence: strict, keys: casefold}\n"
        "rules: [{path: /a, class: secret}, {path: /b, class: secret}]\n"
    )
    rules = profiles.stack([mine, shipped])
    assert rules.profiles == ("p@1", "q@2")
    assert (rules.presence, rules.keys and rules.keys.name) == (Presence.STRICT, "casefold")
    root = rules.tree().root
    assert (root.child("a").cls, root.child("b").cls) == (FieldClass.IGNORE, FieldClass.SECRET)


def test_without_any_profile_nothing_is_special_and_empty_means_absent():
    rules = profiles.stack([])
    assert rules.profiles == ()
    assert diff.findings({"a": []}, {}, rules.tree()) == []


def test_the_rules_of_a_schema_come_first_and_make_guesses_void():
    guessing = one(f"{HEAD}  - {{path: /etag, class: ignore, guess: true}}\n  - {{path: /id, class: ignore}}\n")
    schema = [Rule(paths.parse_pattern("/id"), cls=FieldClass.SECRET, source="schema")]
    assert profiles.stack([guessing]).tree().root.child("etag").hidden
    root = profiles.stack([guessing], schema=schema).tree().root
    assert not root.child("etag").hidden
    assert root.child("id").secret
    assert not profiles.stack([guessing], schema=[]).tree().root.child("etag").hidden


@pytest.mark.parametrize(
    "when, desired, observed, hidden",
    [
        ("{path: /auto, equals: true}", {"auto": True}, {}, True),
        ("{path: /auto, equals: true}", {"auto": 1}, {}, False),
        ("{path: /auto, equals: true}", {}, {"auto": True}, True),
        ("{path: /auto, equals: true}", {"auto": False}, {"auto": True}, False),
        ("{path: /auto, equals: true}", {}, {}, False),
        ("{path: /mode/kind, in: [a, b]}", {"mode": {"kind": "b"}}, {}, True),
        ("{path: /mode/kind, in: [a, b]}", {"mode": {"kind": "c"}}, {}, False),
        ("{path: /mode, not: manual}", {"mode": "manual"}, {}, False),
        ("{path: /mode, not: manual}", {"mode": "auto"}, {}, True),
        ("{path: /mode, not: manual}", {}, {}, True),
        ("{path: /mode, present: true}", {"mode": {}}, {}, True),
        ("{path: /mode, present: true}", {}, {"mode": None}, True),
        ("{path: /mode, present: true}", {}, {}, False),
        ("{path: /mode, present: false}", {}, {}, True),
        ("{path: /mode, present: false}", {"mode": 1}, {}, False),
        ("{path: '/l[name=x]/on', equals: 1}", {"l": [{"name": "x", "on": 1.0}]}, {}, True),
    ],
)
def test_a_conditional_rule_holds_by_the_declaration_or_else_by_what_is_observed(
    when: str, desired: Json, observed: Json, hidden: bool
):
    rules = profiles.stack([one(f"{HEAD}  - {{path: /count, class: ignore, when: {when}}}\n")])
    assert rules.tree(desired, observed).root.child("count").hidden is hidden


def test_an_autoscaled_count_is_ignored_only_while_the_autoscaler_is_on():
    rules = profiles.stack([one(f"{HEAD}  - {{path: /count, class: ignore, when: {{path: /auto, equals: true}}}}\n")])

    def found(*, auto: bool) -> list[str]:
        desired, observed = {"auto": auto, "count": 3}, {"auto": auto, "count": 7}
        tree = rules.tree(desired, observed)
        return [
            paths.format_path(f.path) for f in diff.findings(desired, observed, tree, diff.Baseline(desired, desired))
        ]

    assert found(auto=True) == []
    assert found(auto=False) == ["/count"]


# -- the shipped packs

PACKS = sorted(FilePath(builtin_profiles.__file__).parent.glob("*/profiles/*.yaml"))
ALL = [profile for file in PACKS for profile in profiles.parse(file.read_bytes(), str(file))]


def test_every_profile_of_a_provider_with_recordings_is_shipped():
    expected = {profile.id for profile in ALL if profile.provider in builtin_profiles.PROVIDERS}
    assert {profile.id for profile in builtin_profiles.shipped()} == expected


@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.id)
def test_what_a_shipped_rule_says_holds_at_a_place_its_path_names(profile: Profile):
    """A rule that an earlier one of its own profile makes void everywhere would be a mistake."""
    root = profiles.stack([profile]).tree().root
    for rule in profile.rules:
        node = root
        for segment in rule.path.segments:
            if isinstance(segment, Selector):
                node = node.element(dict(segment.fields), 0)
            else:
                node = node.child(_sample(segment))
        said = (rule.cls, rule.comparator, rule.list_rule, rule.map_rule, rule.presence, rule.adopt_list)
        held = (node.cls, node.comparator, node.list_rule, node.map_rule, node.presence, node.adopt_list)
        for say, holds in zip(said, held, strict=True):
            assert say is None or say == holds or rule.when is not None, rule.label
        assert not rule.adopt or rule.adopt == node.adopt, rule.label


def _sample(segment: paths.Segment) -> str:
    if isinstance(segment, paths.Glob):
        return segment.regex.pattern.replace(".*", "Zz").replace("\\", "")
    return segment if isinstance(segment, str) else "anyword"


def test_shipped_profiles_of_single_kinds_come_before_the_general_ones():
    general = [profile.kinds == ("*",) for profile in builtin_profiles.shipped()]
    assert general == sorted(general)
    assert len({profile.id for profile in builtin_profiles.shipped()}) == len(builtin_profiles.shipped())


def test_a_profile_put_before_rules_is_as_one_that_was_stacked_before_them():
    general = profiles.parse(
        "profile: g\nversion: 1\ndefaults: {presence: blank, keys: casefold}\nrules:\n"
        "  - {path: /**, compare: casefold, guess: true}\n  - {path: /a, class: ignore, when: {path: /b, equals: 1}}\n"
    )
    schema = profiles.parse("profile: s\nversion: 1\nschema: true\nrules: [{path: /c, class: runtime}]\n")
    (first,) = profiles.parse("profile: f\nversion: 1\nrules: [{path: /a, class: secret}]\n")
    for own in (general, [*schema, *general]):
        assert profiles.stack(own).preceded_by(first) == profiles.stack([first, *own])
