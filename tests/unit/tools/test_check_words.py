"""The check of names and prose: each rule finds its violation, and the repository passes what is enforced."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "tools" / "check_words.py"
spec = importlib.util.spec_from_file_location("check_words", SCRIPT)
assert spec is not None
assert spec.loader is not None
words = importlib.util.module_from_spec(spec)
sys.modules["check_words"] = words
spec.loader.exec_module(words)

MODULE = "src/holdfast/policy/limits.py"
BANNED = words.WORDS["banned"]
VOICE = words.WORDS["voice"]


def rules(violations):
    return [(violation.line, violation.rule, violation.word) for violation in violations]


def check_code(text, path=MODULE):
    return rules(words.check_code(path, text, ast.parse(text)))


@pytest.mark.parametrize("word", BANNED)
def test_banned_words_are_found_in_pages_and_code(word):
    assert (2, "banned-word", word) in rules(words.check_words("docs/a.md", f"# Title\nsome {word.upper()}s here\n"))
    assert (1, "banned-word", word) in rules(words.check_words(MODULE, f'text = "{word}"\n'))


def test_banned_words_are_found_inside_of_identifiers():
    assert rules(words.check_words(MODULE, f"def new_{BANNED[0]}s(): ...\n")) == [(1, "banned-word", BANNED[0])]


@pytest.mark.parametrize("word", VOICE)
def test_voice_words_are_found_in_strings_comments_and_pages(word):
    for path, text in ((MODULE, f'"""A sentence with {word}."""\n'), (MODULE, f"# {word}\n"), ("README.md", word)):
        assert (1, "voice-word", word) in rules(words.check_words(path, text))


def test_voice_words_may_be_identifiers_and_parts_of_words():
    word = next(word for word in VOICE if " " not in word)
    assert rules(words.check_words(MODULE, f"{word} = 1\nx.{word}\ntext = 'x{word}y'\n")) == []
    assert "return why" in VOICE
    assert rules(words.check_words(MODULE, "return why\n")) == []


@pytest.mark.parametrize(
    "template", ['"""A {0}\n{1} b."""\n', "# a {0}\n# {1} b\n", 'x = (\n    "a {0} "\n    "{1} b"\n)\n']
)
def test_phrases_are_found_across_lines(template):
    phrase = next(word for word in VOICE if " " in word)
    text = template.format(*phrase.split())
    assert [(rule, word) for _, rule, word in rules(words.check_words(MODULE, text))] == [("voice-word", phrase)]


@pytest.mark.parametrize(
    "path, is_wrong",
    [
        ("src/holdfast/policy/limits.py", False),
        ("src/holdfast/policy/utils.py", True),
        ("src/holdfast/judging/__init__.py", True),
        ("tests/unit/test_judging.py", True),
        ("src/holdfast/testing/clock.py", False),
    ],
)
def test_modules_are_plain_nouns(path, is_wrong):
    assert bool(list(words.check_module_name(path))) is is_wrong


@pytest.mark.parametrize(
    "first, word",
    [
        ("Return the findings that policy holds back.", None),
        ("Return True if a write is due.", None),
        ("Sayings of a kind.", None),
        ("Tell whether a write is due.", "tell"),
        ("Return what differs.", "return what"),
        ("What differs.", "what"),
        ("Whether a write is due.", "whether"),
        ("Say why.", "say"),
        ("Return the findings", "."),
    ],
)
def test_first_lines_of_docstrings_are_imperative(first, word):
    for text in (f'"""{first}"""\n', f'class A:\n    def f(self):\n        """{first}\n\n        More\n        """\n'):
        assert [(rule, item) for _, rule, item in check_code(text)] == ([("docstring", word)] if word else [])


def test_docstrings_of_tests_are_free():
    assert check_code('"""What differs"""\n', "tests/unit/test_a.py") == []


def test_loop_variables_name_their_element():
    text = (
        "for finding in a: ...\nfor i, each in a: ...\nasync def f():\n    async for out in (one for one in a): ...\n"
    )
    assert sorted(check_code(text)) == [
        (2, "loop-variable", "each"),
        (4, "loop-variable", "one"),
        (4, "loop-variable", "out"),
    ]


def test_a_class_name_has_one_meaning_in_the_core(tmp_path):
    for path, text in {
        "src/holdfast/policy/a.py": "class Limits: ...\nclass _Own: ...\n",
        "src/holdfast/store/b.py": "class Limits: ...\nclass _Own: ...\nclass Other: ...\n",
        "src/holdfast/providers/http/c.py": "class Limits: ...\nclass Other: ...\n",
        "src/holdfast/testing/d.py": "class Limits: ...\n",
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert [(violation.path, violation.word) for violation in words.check_tree(tmp_path)] == [
        ("src/holdfast/policy/a.py", "Limits"),
        ("src/holdfast/store/b.py", "Limits"),
    ]


def test_a_violation_fails_only_where_its_rule_is_enforced(tmp_path, monkeypatch, capsys):
    file = tmp_path / MODULE
    file.parent.mkdir(parents=True)
    file.write_text('"""What limits say."""\n')
    monkeypatch.setitem(words.ENFORCED, "docstring", ())
    assert words.main([str(tmp_path)]) == 0
    monkeypatch.setitem(words.ENFORCED, "docstring", ("src/holdfast/policy",))
    assert words.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"{MODULE}:1: docstring: the first line opens with `What`\n"
    monkeypatch.setitem(words.ENFORCED, "docstring", words.EVERYWHERE)
    assert words.main([str(tmp_path)]) == 1
    assert words.main([str(tmp_path), "--report"]) == 0
    assert "docstring      src/holdfast/policy              1" in capsys.readouterr().out


def test_legitimate_uses_are_allowed_with_a_reason():
    assert all(use["reason"] and (SCRIPT.parents[1] / use["path"]).exists() for use in words.WORDS["allowed"])
