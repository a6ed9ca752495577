"""Azure Policy: what an organisation adds to, or refuses of, what is written."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from holdfast.model.absent import ABSENT
from holdfast.model.json import Json
from holdfast_emulators.azure import pointers
from holdfast_emulators.azure.errors import RefusalError
from holdfast_emulators.azure.ids import ArmId

PRINCIPAL = "azure-policy-remediation"


@dataclass(frozen=True, slots=True)
class Policy:
    """One assignment: adds values at pointers where there are none, or everywhere, or denies the write."""

    name: str
    add: Mapping[str, Json] = field(default_factory=dict)
    replaces: bool = False
    deny: bool = False
    types: str = "*"  # globs, whatever the case
    ids: str = "*"
    when: Mapping[str, Json] = field(default_factory=dict)

    def concerns(self, id_: ArmId, document: Mapping[str, Json]) -> bool:
        """Return True if it looks at such a resource at all."""
        return (
            fnmatchcase(id_.type.casefold(), self.types.casefold())
            and fnmatchcase(id_.key, self.ids.casefold())
            and pointers.holds(document, self.when)
        )

    def applied(self, document: Mapping[str, Json]) -> dict[str, Json]:
        """Return a document with what the policy adds."""
        out = copy.deepcopy(dict(document))
        for pointer, value in self.add.items():
            if self.replaces or pointers.get(out, pointer) in (ABSENT, None):
                pointers.put(out, pointer, copy.deepcopy(value))
        return out

    def refusal(self, id_: ArmId) -> RefusalError:
        """Deny a write, with the evidence that ARM gives."""
        info = {"policyAssignmentName": self.name, "policyDefinitionEffect": "deny", "policyDefinitionName": self.name}
        return RefusalError(
            403,
            "RequestDisallowedByPolicy",
            f"Resource '{id_.name}' was disallowed by policy '{self.name}'.",
            target=id_.name,
            more={"additionalInfo": [{"type": "PolicyViolation", "info": info}]},
            gateway=True,
        )


def enforce(policies: list[Policy], id_: ArmId, document: dict[str, Json]) -> dict[str, Json]:
    """Let all policies work on what is to be written."""
    for policy in policies:
        if policy.concerns(id_, document):
            if policy.deny:
                raise policy.refusal(id_)
            document = policy.applied(document)
    return document
