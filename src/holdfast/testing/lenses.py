"""The lenses of the providers that have one: so that what is measured on recorded traffic is what ships."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.providers.azure import conversion
from holdfast.providers.azure.kinds import Kinds
from holdfast.testing.corpus import Lens


def shipped() -> Mapping[str, Lens]:
    """Return the lenses, by provider; the Azure one is its conversion and its profile pack, as the reader uses them."""
    kinds = Kinds()
    return {"azure": Lens(conversion.document, lambda kind: kinds[kind].profiles)}
