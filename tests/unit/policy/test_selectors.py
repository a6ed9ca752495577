"""Label selectors read as in Kubernetes; targets are globs on addresses, part by part."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.model.address import Address
from holdfast.policy import selectors

LABELS = {"app": "web", "tier": "1", "holdfast.dev/team": "net"}


@pytest.mark.parametrize(
    "text, selects",
    [
        ("", True),
        ("  ", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web , tier=1", True),
        ("app=db", False),
        ("app!=db", True),
        ("app!=web", False),
        ("missing!=x", True),
        ("missing=x", False),
        ("app in (web, db)", True),
        ("app in (db,cache)", False),
        ("app notin (db)", True),
        ("app notin (web)", False),
        ("missing notin (web)", True),
        ("app", True),
        ("missing", False),
        ("!missing", True),
        ("!app", False),
        ("holdfast.dev/team=net,!missing,tier in (1,2)", True),
        ("app=", False),
    ],
)
def test_a_selector_matches_labels(text, selects):
    assert selectors.parse_labels(text).matches(LABELS) is selects


@pytest.mark.parametrize(
    "text, rest",
    [
        ("a=b,", "','"),
        ("a=b c=d", "' c=d'"),
        ("a in x", "' in x'"),
        ("=b", "'=b'"),
        ("a in (x", "' in (x'"),
        (",", "','"),
    ],
)
def test_a_selector_that_cannot_be_read_shows_from_where(text, rest):
    with pytest.raises(InputError) as caught:
        selectors.parse_labels(text)
    assert caught.value.message.startswith(f"the selector cannot be read from {rest} on; write a=b")


words = st.text("abcz019._/-", min_size=1, max_size=4)
requirements = st.builds(
    lambda key, operator, values: selectors.Requirement(
        key, operator, frozenset(values) if operator in ("In", "NotIn") else frozenset()
    ),
    words.filter(lambda word: word not in ("in", "notin")),
    st.sampled_from(selectors.Operator),
    st.lists(words, min_size=1, max_size=3),
)


@given(st.lists(requirements, max_size=4).map(lambda found: selectors.LabelSelector(tuple(found))))
def test_a_selector_is_read_back_as_it_is_written(selector):
    assert selectors.parse_labels(str(selector)) == selector


WEB = Address("prod", "Network", "web-1")
API = Address("prod", "Network", "api", "team-a")
SECRET = Address("stage", "Secret", "web-1")


@pytest.mark.parametrize(
    "targets, chosen",
    [
        ([], {WEB, API, SECRET}),
        (["web-1"], {WEB, SECRET}),
        (["web-*"], {WEB, SECRET}),
        (["Network/web-1"], {WEB}),
        (["Network/*"], {WEB, API}),
        (["prod/*/*"], {WEB, API}),
        (["prod/**"], {WEB, API}),
        (["**/api"], {API}),
        (["Network/team-a/api"], {API}),
        (["prod/Network/team-a/api"], {API}),
        (["prod/Network/api"], {API}),
        (["team-?/api"], {API}),
        (["stage/*/*", "api"], {SECRET, API}),
        (["!Secret/*"], {WEB, API}),
        (["!web-1", "prod/**"], {API}),
        (["prod/**", "!web-1"], {API}),
        (["prod*"], set()),
    ],
)
def test_targets_choose_addresses(targets, chosen):
    found = selectors.parse_targets(targets)
    assert {address for address in (WEB, API, SECRET) if found.matches(address)} == chosen


@pytest.mark.parametrize("target", ["", "!", "a//b", "/a", "a/b/c/d/e"])
def test_what_is_no_target_is_refused(target):
    with pytest.raises(InputError, match="is not a target; write a name"):
        selectors.parse_targets([target])


def test_a_target_that_covers_nothing_is_an_error_with_a_guess():
    targets = selectors.parse_targets(["Network/web-2", "!Secrit/web-1", "api"])
    assert [error.message for error in selectors.unmatched(targets, [WEB, API, SECRET])] == [
        "the target 'Network/web-2' matches no resource; did you mean Network/web-1?",
        "the target '!Secrit/web-1' matches no resource; did you mean Secret/web-1?",
    ]
