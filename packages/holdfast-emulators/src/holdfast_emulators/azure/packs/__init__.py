"""The habits of real resource types, as YAML beside this file.

Fields, their defaults and their spellings come from recorded traffic, except for types marked `not in the corpus`:
those come from the tables of research/aso.md and from documentation. The duration of operations, and most codes of
refusals, are plausible rather than measured. A quirk that was never observed belongs into the test that needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

import msgspec
import yaml

from holdfast_emulators.azure.type_behaviour import Habits


def load(text: str) -> dict[str, Habits]:
    """Read a pack: a list of types under `types`; a misspelt field is an error that names its place."""
    parsed = yaml.load(text, yaml.CSafeLoader)
    found = msgspec.convert(parsed["types"], list[Habits])
    return {habits.type: habits for habits in found}


@cache
def shipped() -> Mapping[str, Habits]:
    """Return all types of all packs, by name."""
    found: dict[str, Habits] = {}
    for file in sorted(resources.files(__package__).iterdir(), key=lambda each: each.name):
        if file.name.endswith(".yaml"):
            found |= load(file.read_text(encoding="utf-8"))
    return found
