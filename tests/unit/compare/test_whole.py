"""Lists and maps that are declared as a whole: what else is in them, is too many, also before there is a baseline."""

from __future__ import annotations

import pytest

from holdfast.compare import diff, paths, profiles
from holdfast.errors import InputError


def tree(rule: str):
    text = f"profile: a/b\nversion: 1\nrules: [{{path: /it, {rule}}}]"
    return profiles.stack(profiles.parse(text)).tree()


def named(desired, observed, rule, baseline=None):
    return [paths.format_path(f.path) for f in diff.findings(desired, observed, tree(rule), baseline)]


WANTED = {"it": [{"name": "ssh", "port": 22}]}
LIVE = {"it": [{"name": "ssh", "port": 22, "id": 1}, {"name": "telnet", "port": 23, "id": 2}]}


@pytest.mark.parametrize("rule", ["list: {keyed: [name], whole: true}", "list: {kind: set, whole: true}"])
def test_an_element_too_many_is_found_while_there_is_only_the_declaration(rule):
    (path,) = named(WANTED, LIVE, rule)
    assert path in ("/it[name=telnet]", "/it/1")


def test_without_the_word_a_service_may_keep_objects_of_its_own():
    assert named(WANTED, LIVE, "list: {keyed: [name]}") == []


def test_an_entry_too_many_is_found_while_there_is_only_the_declaration():
    assert named({"it": {"a": 1}}, {"it": {"a": 1, "b": 2}}, "map: {whole: true}") == ["/it/b"]
    assert named({"it": {"a": 1}}, {"it": {"a": 1, "b": 2}}, "map: {subset: false}") == []


def test_what_is_not_declared_at_all_is_not_declared_as_a_whole():
    assert named({}, {"it": {"b": 2}}, "map: {whole: true}") == []
    assert named({}, {"it": [{"name": "x"}]}, "list: {keyed: [name], whole: true}") == []


def test_what_is_not_compared_is_not_too_many():
    text = """{profile: a/b, version: 1, rules: [
      {path: /it, map: {whole: true}}, {path: /it/seen, class: runtime}, {path: /it/told, class: read_only}]}"""
    rules = profiles.stack(profiles.parse(text)).tree()
    assert diff.findings({"it": {"a": 1}}, {"it": {"a": 1, "seen": 1, "told": 2}}, rules) == []


def test_the_word_is_true_or_false():
    with pytest.raises(InputError, match="expected a boolean, got a string"):
        tree("map: {whole: yes please}")
