"""Situations of a decision, from their facts by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from holdfast.policy.decide import DecisionInputs, Handling, PathFacts, WriteLimits, WriteRecord


def inputs(**facts: Any) -> DecisionInputs:
    """Return the situation with these facts, and the usual ones beside them."""
    parts = [
        part(**{field.name: facts.pop(field.name) for field in fields(part) if field.name in facts})
        for part in (Handling, WriteRecord, PathFacts, WriteLimits)
    ]
    assert not facts, f"no fact of a situation: {facts}"
    return DecisionInputs(*parts)  # type: ignore[arg-type]
