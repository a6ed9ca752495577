"""The lenses of the providers that have one: so that what is measured on recorded traffic is what ships."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.compare.profile import Profile
from holdfast.providers.azure import conversion
from holdfast.providers.azure.kinds import rules_of
from holdfast.providers.azure.type_catalog import Types
from holdfast.testing.corpus import Lens


def shipped(*, facts: bool = True) -> Mapping[str, Lens]:
    """Return the views by provider. The Azure view has its conversion, its profile and the facts of its types.

    Without `facts` only the rules for all types are left, as for a type without published facts.
    """
    known = Types()

    def azure(kind: str, version: str | None) -> Sequence[Profile]:
        return rules_of(kind, version or "", known[kind], with_facts=facts)

    return {"azure": Lens(conversion.document, azure)}
