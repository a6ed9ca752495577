"""One history with the manifest index and without it: every command must print the same and end the same."""

from __future__ import annotations

import dataclasses
import os
import re
import secrets
from unittest import mock

from holdfast.app.sources import catalog
from tests.simulation.history import History
from tests.simulation.life import Life, live

_TIME = re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?Z?|^\d\d:\d\d:\d\d|\b18\d{8,11}(\.\d+)?\b", re.MULTILINE)
# Ids and the jitter of due times are drawn in the order in which writes begin and end, which depends on the time.
_DRAWN = re.compile(r"\b[0-9a-f]{32}\b|(?<=\"overdue\": )\d+")
Outputs = list[tuple[str, int | None, str, str]]


def outputs(history: History, *, index: bool) -> Outputs:
    """Live a history and return what every command printed, with its exit code."""
    switch = {catalog.SWITCH: "on" if index else "off"}
    with mock.patch.dict(os.environ, switch), mock.patch.object(secrets, "token_bytes", b"k".__mul__):
        life = live(history)
    return [
        (" ".join(process.arguments), process.code, _shown(process.text, life), _shown(process.error_text, life))
        for process in life.kernel.processes
    ]


def _shown(text: str, life: Life) -> str:
    """Return a text without its folder, times and drawn ids, because fewer calls of the store take less time."""
    return _DRAWN.sub("DRAWN", _TIME.sub("TIME", text.replace(str(life.folder), "FOLDER")))


def difference(history: History) -> str:
    """Return the first command whose result depends on the index; an empty string if there is none."""
    # A slow disk draws a delay for each answer of the store. The index changes how many there are, and so their order.
    history = dataclasses.replace(history, steps=[step for step in history.steps if step.op != "slow_store"])
    plain, indexed = (outputs(history, index=index) for index in (False, True))
    for without, with_index in zip(plain, indexed, strict=False):
        if without != with_index:
            return f"seed {history.seed} ({history.scenario})\nwithout: {without}\nwith:    {with_index}"
    if len(plain) != len(indexed):
        return f"seed {history.seed}: {len(plain)} commands without the index, {len(indexed)} with it"
    return ""
