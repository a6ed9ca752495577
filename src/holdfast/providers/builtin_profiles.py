"""The profile packs that ship with Holdfast.

People read and edit the YAML files in the folder `profiles` of each provider. `tools/build_profiles.py` turns them into
one `profiles.json` a provider, because JSON is read a hundred times faster, and a command reads them at every start.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import orjson

from holdfast.compare.profile import Profile, load

PROVIDERS: Final = ("azure", "aws", "gcp", "kubernetes")  # with recorded traffic
FILE: Final = "profiles.json"


@cache
def shipped_with(provider: str) -> tuple[Profile, ...]:
    """Return the profiles of a provider, in the order of its files."""
    data = Path(__file__).with_name(provider).joinpath(FILE).read_bytes()
    return tuple(map(load, orjson.loads(data)))


@cache
def shipped() -> tuple[Profile, ...]:
    """Return all shipped profiles. Profiles of single kinds come before the general ones of their provider."""
    found = (profile for provider in PROVIDERS for profile in shipped_with(provider))
    return tuple(sorted(found, key=lambda profile: profile.kinds == ("*",)))
