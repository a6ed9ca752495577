"""Renderings of a report: the terminal, JSON, SARIF, JUnit, Markdown, HTML.

Belongs here: pure functions from a report to a text; one format a module. Must not be here: files, the clock, or any
judgement of a report. Paths, reasons and live values come from anywhere, so every format escapes them, once.
"""
