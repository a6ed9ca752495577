"""Data centres: the ways people write them, and the one way they are compared."""

from __future__ import annotations

from typing import Final

from holdfast.providers.runpod.resources.enums import DataCenter

WITH_CPUS: Final = frozenset({DataCenter.EU_RO_1})
"""Data centres that have CPU workers."""
_KNOWN: Final = {str(centre): centre for centre in DataCenter}


def centre(text: str) -> DataCenter | str:
    """Return a data centre from any usual spelling. An unknown one stays a string."""
    plain = text.strip().upper().replace("_", "-")
    return _KNOWN.get(plain, plain)


def canonical(text: str) -> str:
    """Return a comma list of data centres in the one way it is compared: a set, in upper case."""
    plain = text.upper().replace("_", "-")
    if "," not in plain:
        return plain.strip()
    return ",".join(sorted({part.strip() for part in plain.split(",")} - {""}))


def joined(centres: list[DataCenter | str]) -> str:
    """Return the comma list for the API, in the order given."""
    return ",".join(map(str, centres))
