"""Live progress of a run on standard error, if that is a terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from holdfast.reconcile.action_result import ActionResult

if TYPE_CHECKING:
    from holdfast.reconcile.check import CheckResult
    from holdfast.reconcile.resolve import Blocked


class ProgressMeter:
    """Shows how many resources are done, how fast, and how long the rest takes."""

    def __init__(self, total: int, verb: str) -> None:
        self._total, self._verb = total, verb
        self._done = 0
        self._started = time.monotonic()
        self._shown_at = 0.0
        self._is_live = sys.stderr.isatty() and total > 0

    def __call__(self, step: CheckResult | ActionResult | Blocked) -> None:
        """Count a resource."""
        if not isinstance(step, ActionResult):
            self._done += 1
        now = time.monotonic()
        if self._is_live and (now - self._shown_at > 0.1 or self._done == self._total):
            self._shown_at = now
            rate = self._done / max(now - self._started, 1e-6)
            left = (self._total - self._done) / rate if rate else 0.0
            text = f"\r{self._verb} {self._done}/{self._total}  {rate:,.0f}/s  {left:,.0f} s left "
            click.echo(text, nl=False, err=True)

    def close(self) -> None:
        """Clear the line."""
        if self._is_live:
            click.echo("\r" + " " * 60 + "\r", nl=False, err=True)
