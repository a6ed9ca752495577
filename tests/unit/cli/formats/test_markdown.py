"""Markdown: read back by a parser, so that no value can break out of where it stands, and never too large."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from holdfast.cli.render import markdown
from holdfast.reconcile.report import RunReport
from tests.unit.cli.formats import reporting

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
PLAIN = {"text", "code_inline", "strong_open", "strong_close", "html_inline", "softbreak"}
OUR_HTML = re.compile(r"</?(details|summary|code|sub)>")


def rendered(report: RunReport, folder: Path, command: str = "check") -> str:
    return markdown.render(report, reporting.around(folder, command))


def tokens_of(text: str) -> list[Token]:
    """Parse, and make sure that the only markup there is, is ours."""
    tokens = PARSER.parse(text)
    for token in tokens:
        if token.type == "html_block":
            assert not set(re.findall(r"</?\w+", token.content)) - {
                "<details", "</details", "<summary", "</summary", "<code", "</code", "<sub", "</sub"
            }  # fmt: skip
        for child in token.children or []:
            assert child.type in PLAIN, child
            assert child.type != "html_inline" or OUR_HTML.fullmatch(child.content)
    opened = [token.content for token in tokens if token.type == "html_block"]
    assert sum(text.count("<details>") for text in opened) == sum(text.count("</details>") for text in opened)
    return tokens


def table_of(tokens: list[Token]) -> list[list[str]]:
    """Return the cells of the first table as the text a reader sees."""
    rows: list[list[str]] = []
    for place, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("td_open", "th_open"):
            rows[-1].append("".join(child.content for child in tokens[place + 1].children or []))
        elif token.type == "table_close":
            break
    return rows


def test_the_headline_counts_and_the_coverage_line_says_what_is_missing(tmp_path):
    lines = rendered(reporting.troubled(tmp_path), tmp_path).splitlines()
    assert lines[0] == "## Holdfast check: 1 missing, 1 drifted, 1 unknown, 1 pending, 1 in sync"
    assert lines[2].startswith("**Checked 4 of 7; 1 could not be read;")


def test_the_table_has_a_row_for_everything_that_is_not_in_sync(tmp_path):
    head, *rows = table_of(tokens_of(rendered(reporting.troubled(tmp_path), tmp_path)))
    assert head == ["Resource", "Status", "Why", "Declared in"]
    assert [(row[0], row[1], row[3]) for row in rows] == [
        ("mem/Thing/missing", "missing", "infra/all.yaml:15"),
        ("mem/Thing/drifted", "drifted", "infra/all.yaml:1"),
        ("mem/Thing/unknown", "unknown", "infra/all.yaml:25"),
        ("mem/Thing/pending", "pending", "infra/all.yaml:20"),
        ("mem/Thing/waiting", "waits", "infra/all.yaml:35"),
        ("mem/Thing/space/later", "not checked", ""),
    ]


def test_a_plan_says_what_would_be_done_and_shows_the_write(tmp_path):
    text = rendered(reporting.troubled(tmp_path), tmp_path, "plan")
    tokens = tokens_of(text)
    assert "Plan: 2 to add, 1 to change" in text
    assert "1 to decide once what they refer to is there, 1 unknown." in text
    symbols = {row[1]: row[0] for row in table_of(tokens)[1:]}
    assert (symbols["mem/Thing/drifted"], symbols["mem/Thing/pending"]) == ("~", "+")
    (diff,) = [token.content for token in tokens if token.type == "fence"]
    assert diff.startswith("--- live\n+++ declared\n@@ /colour @@")
    assert '- "blue"\n+ "red"\n' in diff


def test_the_details_are_a_diff_from_declared_to_live(tmp_path):
    tokens = tokens_of(rendered(reporting.troubled(tmp_path), tmp_path))
    (fence,) = [token for token in tokens if token.type == "fence"]
    assert fence.info == "diff"
    assert fence.content.startswith(
        '--- declared\n+++ live\n@@ /colour @@ changed; changed outside Holdfast; specified\n- "red"\n+ "blue"\n'
    )
    assert "\n one\n-two\n+2\n three\n" in fence.content


def test_texts_that_differ_in_how_they_end_only_are_shown_as_values(tmp_path):
    report = reporting.with_values(reporting.troubled(tmp_path), "blue", "one\r\ntwo\r\nthree\r\n")
    assert '+ "one\\r\\ntwo\\r\\nthree\\r\\n"' in rendered(report, tmp_path)


def test_what_is_suppress_is_counted_and_visible(tmp_path):
    report = reporting.with_suppressions(reporting.troubled(tmp_path), reporting.waived(), reporting.ignored())
    text = rendered(report, tmp_path)
    tokens_of(text)
    assert "\nSuppressed: 1 waived, 1 ignored.\n" in text
    assert "| waived | `mem/Thing/drifted` | `/rules[name=ssh]/port` | ada: until the audit, 2026-12-31 |" in text


def test_nothing_at_all_is_said_to_be_nothing(tmp_path):
    assert rendered(RunReport(), tmp_path).startswith("## Holdfast check: nothing was checked\n\nChecked 0 of 0.\n")


@pytest.mark.parametrize("text", [reporting.NASTY, "a|b", "a\\|b", "`", "``` x", "| | |\n\n# no", "<img src=x>", "*_~"])
def test_no_value_breaks_out_of_where_it_stands(tmp_path, text):
    report = reporting.with_suppressions(reporting.troubled(tmp_path, text), reporting.waived(note=text))
    tokens = tokens_of(rendered(reporting.with_path(report, text), tmp_path))
    assert {len(row) for row in table_of(tokens)} == {4}
    assert sum(token.type == "heading_open" for token in tokens) == 1


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_no_text_whatever_breaks_out_of_where_it_stands(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("md")
    report = reporting.troubled(folder)
    told = [reporting.with_verdict(item, replace(item.verdict, reason=text)) for item in report.checked]
    tokens = tokens_of(rendered(reporting.with_path(replace(report, checked=told), text), folder))
    assert {len(row) for row in table_of(tokens)} == {4}


@given(st.text(alphabet="`|\\ab \n<>&*_[]~$@#!:", min_size=1))
def test_a_text_in_code_is_read_back_as_it_was_written(text):
    flat = re.sub(r"\n+", " ", text)
    (inline,) = [
        token for token in PARSER.parse(f"| a |\n|---|\n| x{markdown.code(text)}x |") if token.content[:1] == "x"
    ]
    read = "".join(child.content for child in inline.children or [] if child.type != "html_inline")
    assert read.split() == f"x{flat}x".split()


@pytest.mark.parametrize("text, called", [("ask @root", "@root"), ("see #12", "#12"), ("@org/team now", "@org")])
def test_nobody_is_called_and_nothing_is_linked(text, called):
    assert called not in markdown.prose(text)
    assert markdown.prose(text).replace("\u200b", "") == text


@pytest.mark.parametrize("number, size", [(300, 10), (2_000, 10), (100, 4_000)])
def test_it_stays_below_the_size_of_a_comment_and_says_what_is_left_out(tmp_path, number, size):
    text = rendered(reporting.many(tmp_path, number, size), tmp_path)
    assert len(text.encode()) <= markdown.LIMIT
    assert len(text.encode()) > markdown.LIMIT * 0.8
    tokens = tokens_of(text)
    rows, details = len(table_of(tokens)) - 1, sum(token.type == "fence" for token in tokens)
    said = re.search(r"^> (?:(\d+) resources)?(?: and )?(?:the details of (\d+))? left out", text, re.MULTILINE)
    assert said is not None
    assert int(said[1] or 0) == number - rows
    assert int(said[2] or 0) == rows - details


def test_what_fits_is_all_there_and_nothing_is_said_to_be_left_out(tmp_path):
    text = rendered(reporting.many(tmp_path, 20), tmp_path)
    assert sum(token.type == "fence" for token in tokens_of(text)) == 20
    assert "left out" not in text


def test_many_findings_of_one_resource_are_cut_and_counted(tmp_path):
    report = reporting.troubled(tmp_path)
    for index in range(60):
        report = reporting.with_path(report, f"field{index}")
    assert "and 25 more differences" in rendered(report, tmp_path)
