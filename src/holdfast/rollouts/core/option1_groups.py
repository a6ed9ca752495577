"""Option 1 for a template group: back-propagation of the owner's hash to its children, as the seed recommends it.

It applies only where a template sets `compatibility: option1`. `hash_annotations` lists its defects.
"""

from __future__ import annotations

import dataclasses

from holdfast.compare.hash_schemes import StampedHash
from holdfast.compat.karpenter import hash_annotations
from holdfast.compat.karpenter.hash_annotations import Stamp, Stamped
from holdfast.rollouts.core.template_findings import FindingKind
from holdfast.rollouts.core.template_groups import ChildRecord, OwnerRecord, OwnerRevision, TemplateGroup


def propagated(group: TemplateGroup) -> tuple[OwnerRecord | None, list[ChildRecord]]:
    """Return the owner and the children that get a new stamp. The store changes them together."""
    lead = group.lead
    scheme = lead.known[lead.record.regimes[-1].scheme]
    content = lead.record.latest.content
    owner = Stamped("", None if lead.stamp is None else Stamp(*lead.stamp))
    by_name = {str(address): child for address, child in group.children.items()}
    children = [Stamped(name, _stamp(child, lead.uid), _is_marked(child)) for name, child in by_name.items()]
    after, changed = None, []
    for patch in hash_annotations.patches(
        owner, children, content, scheme.id, lambda value: scheme.digests(value, "").declared
    ):
        if not patch.name:
            after = dataclasses.replace(lead, stamp=(patch.stamp.digest, patch.stamp.version))
            continue
        child = by_name[patch.name]
        birth = dataclasses.replace(
            child.births.get(lead.uid, OwnerRevision()), stamp=StampedHash(patch.stamp.version, patch.stamp.digest)
        )
        changed.append(dataclasses.replace(child, births={**child.births, lead.uid: birth}))
    return after, changed


def _stamp(child: ChildRecord, owner: str) -> Stamp | None:
    stamp = child.births.get(owner, OwnerRevision()).stamp
    return None if stamp is None else Stamp(stamp.digest, stamp.scheme)


def _is_marked(child: ChildRecord) -> bool:
    """Return True if a child has any finding, because the guard of the original asks for no more than that."""
    return any(finding.kind in {FindingKind.SPEC, FindingKind.DYNAMIC} for finding in child.findings)
