"""Asking before something is written: on the terminal, wherever the output goes."""

from __future__ import annotations

import sys

import click

from holdfast.errors import InputError


def require_answer(verb: str) -> None:
    """Raise InputError if standard input is not a terminal, because then no person can answer."""
    if not sys.stdin.isatty():
        message = f"standard input is not a terminal, so there is no prompt: pass --yes to {verb} without one"
        raise InputError(f"nothing was done; {message}")


def is_agreed(question: str) -> bool:
    """Ask; the question goes to standard error, so that a pipe on standard output does not swallow it."""
    return click.confirm(question, default=False, err=True)
