"""HTML: one file, nothing fetched, nothing unescaped, readable without scripts."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.render import html
from holdfast.reconcile.report import RunReport
from tests.unit.cli.formats import reporting

VOID = {"meta"}
KNOWN = {
    *("html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "p", "ul", "li", "span", "b", "main"),
    *("article", "details", "summary", "div", "code", "table", "thead", "tbody", "tr", "th", "td", "section", "script"),
}


class Page(HTMLParser):
    """Reads a page, and refuses what does not nest or is not ours."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.seen = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in KNOWN
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.seen += data

    def handle_comment(self, data: str) -> None:
        pytest.fail(f"a comment: {data}")


def page_of(report: RunReport, folder: Path, command: str = "check") -> Page:
    return Page(html.render(report, reporting.around(folder, command)))


def test_every_resource_is_an_article_of_its_status(tmp_path):
    page = page_of(reporting.troubled(tmp_path), tmp_path)
    classes = [attributes["class"] for tag, attributes in page.tags if tag == "article"]
    assert classes == ["missing", "drifted", "unknown", "pending", "in_sync", "not_checked", "not_checked"]
    assert "Checked 4 of 7; 1 could not be read" in page.seen
    assert "infra/all.yaml:15" in page.seen


def test_there_is_a_filter_for_every_status_there_is(tmp_path):
    text = html.render(reporting.troubled(tmp_path), reporting.around(tmp_path))
    filters = re.findall(r'<li><span class="(\w+)"><b>(\d+)</b>', text)
    assert dict(filters) == {
        "missing": "1",
        "drifted": "1",
        "unknown": "1",
        "pending": "1",
        "in_sync": "1",
        "not_checked": "2",
    }


def test_nothing_is_fetched_from_anywhere(tmp_path):
    text = html.render(reporting.troubled(tmp_path), reporting.around(tmp_path))
    assert not re.search(r"\b(?:src|href|srcset|action|data)\s*=", text)
    assert not re.search(r"url\(|@import|https?://", text)


def test_the_policy_allows_our_own_style_and_script_and_nothing_else(tmp_path):
    text = html.render(RunReport(), reporting.around(tmp_path))
    page = Page(text)
    policy = next(
        a["content"] for t, a in page.tags if t == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    )
    for tag in ("style", "script"):
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in (policy or "")
    assert (policy or "").startswith("default-src 'none';")
    assert not any(name.startswith("on") or name == "style" for _, attributes in page.tags for name in attributes)


def test_a_plan_has_its_closing_line(tmp_path):
    assert "Plan: 2 to add, 1 to change" in page_of(reporting.troubled(tmp_path), tmp_path, "plan").seen


def test_what_is_suppress_is_there(tmp_path):
    report = reporting.with_suppressions(reporting.troubled(tmp_path), reporting.waived(), reporting.ignored())
    page = page_of(report, tmp_path)
    assert "Suppressed: 1 waived, 1 ignored." in page.seen
    assert "ada: until the audit, 2026-12-31" in page.seen


def test_values_are_shown_as_they_are(tmp_path):
    page = page_of(reporting.troubled(tmp_path, reporting.NASTY), tmp_path)
    assert "</td></details><script>alert(1)</script> @root" in page.seen
    assert sum(tag == "script" for tag, _ in page.tags) == 1


@given(st.text(alphabet=st.characters()))
def test_no_text_whatever_becomes_markup(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("html")
    plain = page_of(reporting.with_path(reporting.troubled(folder), "x"), folder)
    suppressions = reporting.with_suppressions(
        reporting.with_path(reporting.troubled(folder), text), reporting.waived(note=text)
    )
    assert [tag for tag, _ in page_of(suppressions, folder).tags if tag == "article"] == [
        tag for tag, _ in plain.tags if tag == "article"
    ]
