"""The rim of the command line: whatever is shown is escaped, and no secret that the run knows gets past."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.reconcile.escape import in_a_document, in_a_line

__all__ = ["hidden", "hide_with", "in_a_document", "in_a_line"]

Hide = Callable[[str], str]


class _Rim:
    """The function that hides the secrets of the current run. Each run sets its own."""

    hide: Hide = staticmethod(str)


def hide_with(hide: Hide) -> None:
    """Take secrets out of everything that is shown from now on."""
    _Rim.hide = staticmethod(hide)


def hidden(text: str) -> str:
    """Return a text without the secrets that the run knows."""
    return _Rim.hide(text)
