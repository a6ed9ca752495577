"""Where the secrets of a declaration may stand in a live document."""

from __future__ import annotations

import pytest

from holdfast.compare import comparators
from holdfast.manifests.secrets import Secret
from holdfast.reconcile import secret_paths
from holdfast.reconcile.known_secrets import KnownSecrets
from holdfast.reconcile.redact import RedactionContext, redact, split

S = Secret("declared-0815")
HIDDEN = "-"


def shown(declared, live):
    """Return a live document as it is shown, with one word for every secret."""
    means = RedactionContext(lambda _value: HIDDEN, KnownSecrets(), "a resource")
    return redact(live, secret_paths.of(declared), None, means)


CASES = {
    "at its place": ({"a": S}, {"a": "x", "b": "y"}, {"a": HIDDEN, "b": "y"}),
    "below its place": ({"a": S}, {"a": {"b": ["x"]}}, {"a": HIDDEN}),
    "in any case": ({"passWord": S}, {"Password": "x"}, {"Password": HIDDEN}),
    "in another element": (
        {"l": [{"u": "a", "p": S}]},
        {"l": [{"u": "b", "p": "x"}, {"u": "a", "p": "y"}]},
        {"l": [{"u": "b", "p": HIDDEN}, {"u": "a", "p": HIDDEN}]},
    ),
    "in a list of texts": ({"l": ["-p", S]}, {"l": ["x", "-p"]}, {"l": [HIDDEN, HIDDEN]}),
    "in a list in a list": ({"l": [{"m": [S]}]}, {"l": [{}, {"m": ["x", "y"]}]}, {"l": [{}, {"m": [HIDDEN, HIDDEN]}]}),
    "by the name of the element": (
        {"l": [{"name": "a", "v": "1"}, {"name": "b", "v": S}]},
        {"l": [{"name": "b", "v": "x"}, {"name": "a", "v": "2"}]},
        {"l": [{"name": "b", "v": HIDDEN}, {"name": "a", "v": "2"}]},
    ),
    "under another name": (
        {"l": [{"name": "a", "v": "1"}, {"name": "b", "v": S}]},
        {"l": [{"name": "c", "v": "x"}]},
        {"l": [{"name": "c", "v": HIDDEN}]},
    ),
    "under a name that is there twice": (
        {"l": [{"name": "a", "v": "1"}, {"name": "b", "v": S}]},
        {"l": [{"name": "a", "v": "x"}, {"name": "a", "v": "y"}]},
        {"l": [{"name": "a", "v": HIDDEN}, {"name": "a", "v": HIDDEN}]},
    ),
    "in an element that does not declare it": (
        {"l": [{"name": "a"}, {"name": "b", "v": S}]},
        {"l": [{"name": "a", "v": "x"}]},
        {"l": [{"name": "a", "v": HIDDEN}]},
    ),
    "in lists of named elements": (
        {"c": [{"id": "x", "e": [{"name": "A", "v": "1"}, {"name": "P", "v": S}]}]},
        {"c": [{"id": "x", "e": [{"name": "A", "v": "2"}, {"name": "P", "v": "3"}, {"name": "N", "v": "4"}]}]},
        {"c": [{"id": "x", "e": [{"name": "A", "v": "2"}, {"name": "P", "v": HIDDEN}, {"name": "N", "v": HIDDEN}]}]},
    ),
    "where a list is a map now": (
        {"l": [{"p": S}]}, {"l": {"p": "x", "q": {"p": "y"}}}, {"l": {"p": HIDDEN, "q": {"p": HIDDEN}}},
    ),
    "where a map is a list now": ({"m": {"p": S}}, {"m": [{"p": "x"}]}, {"m": [{"p": HIDDEN}]}),
    "where a map is a text now": ({"m": {"p": S}}, {"m": "x"}, {"m": HIDDEN}),
    "but no mask": ({"a": S, "l": [S]}, {"a": "****", "l": [None]}, {"a": "****", "l": [None]}),
}  # fmt: skip


@pytest.mark.parametrize("declared, live, expected", CASES.values(), ids=CASES.keys())
def test_a_secret_is_hidden(declared, live, expected):
    assert shown(declared, live) == expected


def test_a_declaration_without_secrets_has_no_places():
    assert secret_paths.of({"a": [1, {"b": None}]}) is None


@pytest.mark.parametrize(
    "declared, patterns",
    [
        ({"a": {"b": S}}, ("/a/b",)),
        ({"l": [{"p": S}, {"p": S}]}, ("/l/*/p",)),
        ({"l": [{"name": "a", "p": S}, {"name": "b", "p": S}]}, ("/l/*/p",)),
        ({"l": [{"name": "a", "p": "1"}, {"name": "b", "p": S}]}, ("/l/[name=b]/p",)),
        ({"l": ["x", S]}, ("/l/*",)),
    ],
)
def test_rules_name_an_element_only_where_another_shows_its_field(declared, patterns):
    _, _, where = split(declared, lambda value: comparators.fingerprint(value, b"key"))
    assert secret_paths.patterns(where, declared, secret_paths.of(declared)) == patterns
