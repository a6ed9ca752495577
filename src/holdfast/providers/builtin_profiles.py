"""The profile packs that ship with Holdfast: YAML files beside each provider."""

from __future__ import annotations

from functools import cache
from importlib import resources

from holdfast.compare import profiles

PROVIDERS = ("azure", "aws", "gcp", "kubernetes")


@cache
def shipped() -> tuple[profiles.Profile, ...]:
    """Return all shipped profiles. Profiles of single kinds come before the general ones of their provider."""
    found: list[profiles.Profile] = []
    for provider in PROVIDERS:
        folder = resources.files(f"holdfast.providers.{provider}").joinpath("profiles")
        if folder.is_dir():
            for entry in sorted(folder.iterdir(), key=lambda item: item.name):
                if entry.name.endswith(".yaml"):
                    found += profiles.parse(entry.read_bytes(), f"{provider}/profiles/{entry.name}")
    return tuple(sorted(found, key=lambda profile: profile.kinds == ("*",)))
