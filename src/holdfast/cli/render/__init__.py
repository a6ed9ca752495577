"""Renderings of a report for other programs and for people elsewhere: SARIF, JUnit, Markdown, HTML.

Belongs here: pure functions from a report, and what is `Around` it, to a text; one format a module. Must not be here:
printing, files, the clock, or any judgement of what a report says. Nothing is escaped twice and nothing is left
unescaped: paths, reasons and live values come from anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from holdfast.cli.render import html, junit, markdown, sarif
from holdfast.cli.render.report_view import Around
from holdfast.reconcile.report import RunReport

__all__ = ["RENDERERS", "Around", "Renderer"]

Renderer = Callable[[RunReport, Around], str]

RENDERERS: Final[Mapping[str, Renderer]] = {
    "markdown": markdown.render,
    "sarif": sarif.render,
    "junit": junit.render,
    "html": html.render,
}
