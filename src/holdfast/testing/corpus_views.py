"""The lenses of the providers that have one: so that what is measured on recorded traffic is what ships."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.compare.profiles import Profile
from holdfast.providers.azure import conversion
from holdfast.providers.azure.kinds import rules_of
from holdfast.providers.azure.type_catalog import Types
from holdfast.providers.kubernetes.group_version_kind import GroupVersionKind
from holdfast.providers.kubernetes.schema_rules import rules_for, rules_without_facts
from holdfast.testing.corpus import Lens


def shipped(*, facts: bool = True) -> Mapping[str, Lens]:
    """Return the views by provider: the conversion of an answer, the profile pack and the shipped facts.

    Without `facts` only the rules for all types are left, as for a type without published facts.
    """
    known = Types()

    def azure(kind: str, version: str | None) -> Sequence[Profile]:
        return rules_of(kind, version or "", known[kind], with_facts=facts)

    def kubernetes(kind: str, _: str | None) -> Sequence[Profile]:
        named = GroupVersionKind.parse(kind)
        return rules_for(named, None) if facts else rules_without_facts(named)

    return {"azure": Lens(conversion.document, azure), "kubernetes": Lens(lambda document: document, kubernetes)}
