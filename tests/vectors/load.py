"""Vectors made by running the original Go programs; each line is one case. Nothing here was computed by Holdfast."""

from __future__ import annotations

import json
from pathlib import Path

from holdfast.model.json import Json

FOLDER = Path(__file__).parent


def vectors(name: str) -> list[Json]:
    """Return the cases of one file, `canonical_go` for example."""
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def by_name(case: Json) -> str:
    """Name a parametrised test after its case."""
    return str(case["name"])
