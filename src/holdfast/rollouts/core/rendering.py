"""Rendering of child declarations from the revisions that a child was created from.

A child keeps the content it was created with, even if its template has changed since. Only fields that are changed in
place follow at once. A part that is a separate resource adds no content. Children depend on it and so come after it.

`$(name)`, `$(slot)`, `$(index)` and `$(zone)` in strings are the child's own. A string that is only `$(index)` becomes
the number. `$$(` stands for itself.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from holdfast.compat.karpenter.hash_annotations import Stamp
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.model.resource import Declaration, ManagementPolicy
from holdfast.policy.dependency_graph import DEPENDS_ON
from holdfast.rollouts.core import template_schemes
from holdfast.rollouts.core.revisions import ParentRecord, TemplateRevision
from holdfast.rollouts.core.slots import ChildState
from holdfast.rollouts.core.template_groups import ChildRecord, OwnerRecord, OwnerRevision, TemplateGroup
from holdfast.rollouts.core.template_schemes import Keys
from holdfast.rollouts.core.templates import LIVE, RESOURCE, Method, Template

TEMPLATE: Final = "holdfast.dev/template"  # label of generated children
SLOT: Final = "holdfast.dev/slot"
_PLACE = re.compile(r"(\$)?\$\((name|slot|index|zone)\)")


def slot_name(template: Template, index: int) -> str:
    """Return the name of a slot, which is also the name of its first child."""
    return f"{template.name}-{index}"


def index_of(template: Template, slot: str) -> int | None:
    """Return the index of a slot of `replicas`, or None."""
    text = slot[len(template.name) + 1 :]
    if not text.isdecimal() or (text[0] == "0" and text != "0") or not slot.startswith(template.name):
        return None
    return int(text)


def zone_of(template: Template, slot: str) -> str:
    """Return the zone of a slot. Slots are assigned to zones in rotation."""
    index = index_of(template, slot)
    return (
        ""
        if index is None or not template.rollout.zones
        else template.rollout.zones[index % len(template.rollout.zones)]
    )


def declaration(group: TemplateGroup, child: ChildRecord, around: Mapping[Address, Declaration]) -> Declaration:
    """Return the declaration of a child, merged with the manifest's own declaration of a selected child.

    A child of unknown origin is compared with the content it would be created from now, and is never written.
    """
    template, kind, own = group.template, group.template.child, around.get(child.address)
    made, needs = content(group, child), _needs(group, "" if own is None else own.annotations.get(DEPENDS_ON, ""))
    is_known = group.lead.uid in child.births and all(_is_known(group.owner(uid), child) for uid in child.births)
    if own is not None:
        return dataclasses.replace(
            own,
            desired=_merged(made, dict(own.desired)),
            annotations={**own.annotations, **needs},
            policy=own.policy if is_known else ManagementPolicy.OBSERVED,
        )
    assert kind is not None, f"template {template.name} has children but no kind of child"
    return Declaration(
        child.address,
        kind.provider,
        kind.api_version,
        made,
        labels={**kind.labels, TEMPLATE: template.name, SLOT: child.slot},
        annotations=needs,
        policy=ManagementPolicy.MANAGED if is_known else ManagementPolicy.OBSERVED,
        options=kind.options,
        type=kind.type,
        location=template.source.location,
    )


def _needs(group: TemplateGroup, own: str) -> dict[str, str]:
    """Return the dependencies of a child as an annotation: its declared ones, and the parts that are resources."""
    kind = group.template.child
    said = own if own or kind is None else kind.depends_on
    parts = [str(owner.template.address) for owner in group.owners if owner.template.address is not None]
    names = [name for name in (said, *parts) if name]
    return {DEPENDS_ON: ",".join(names)} if names else {}


def _is_known(owner: OwnerRecord | None, child: ChildRecord) -> bool:
    if owner is None:
        return False
    birth = child.record_of(owner.uid)
    return birth.is_bound and birth.birth is not None and owner.record.revision(birth.birth) is not None


def content(group: TemplateGroup, child: ChildRecord) -> dict[str, Json]:
    """Return the content that a child gets from its owners."""
    out: Json = {}
    owners = [each for uid in child.births if (each := group.owner(uid)) is not None] or list(group.owners)
    for owner in owners:
        out = _merged(out, _of_owner(owner, child.births.get(owner.uid, OwnerRevision())))
    index = index_of(group.template, child.slot)
    known = {
        "name": child.name,
        "slot": child.slot,
        "index": "" if index is None else str(index),
        "zone": zone_of(group.template, child.slot),
    }
    out = _filled(out, known)
    for owner in owners:
        out = _stamped(out, owner, child.births.get(owner.uid, OwnerRevision()))
    return dict(out)


def _of_owner(owner: OwnerRecord, birth: OwnerRevision) -> Json:
    """Return the content that a child gets from an owner: of its birth, with the current values of in-place fields."""
    made_from = owner.record.latest if birth.revision is None else owner.record.revision(birth.revision)
    if made_from is None or LIVE in made_from.content:
        return {}
    content = made_from.content[RESOURCE]
    for keys, value in _in_place(owner, birth).items():
        content = template_schemes.put(content, keys, value)
    return content


def _in_place(owner: OwnerRecord, birth: OwnerRevision) -> dict[Keys, Json]:
    """Return the fields that were in place since a child was born, as they are, or were when that ended.

    A field that is in place no longer keeps what it had by then: to choose other fields must not write to a child.
    """
    record, out = owner.record, dict[Keys, Json]()
    since = [epoch for epoch in record.regimes if birth.regime is None or epoch.index >= birth.regime]
    for regime, following in zip_longest(since, since[1:]):
        ending = _giving(record, record.current if following is None else following.base)
        for keys in owner.policies.get(regime.scheme, {}).get("inPlace", ()):
            if ending is not None:
                out[tuple(keys)] = template_schemes.at(ending.content[RESOURCE], keys)
    return out


def _giving(record: ParentRecord, ordinal: int) -> TemplateRevision | None:
    """Return the newest revision up to one that gave content to children, and was no resource of its own."""
    kept = (
        revision
        for revision in reversed(record.revisions)
        if revision.ordinal <= ordinal and LIVE not in revision.content
    )
    return next(kept, None)


def _merged(under: Json, over: Json) -> Json:
    """Lay one content over another; objects are merged, everything else is replaced."""
    if not (isinstance(under, Mapping) and isinstance(over, Mapping)):
        return over
    return {**under, **{key: _merged(under[key], item) if key in under else item for key, item in over.items()}}


def _filled(value: Json, known: Mapping[str, str]) -> Json:
    if isinstance(value, str):
        if value == "$(index)" and known["index"]:
            return int(known["index"])
        return _PLACE.sub(lambda m: f"$({m[2]})" if m[1] else known[m[2]], value) if "$(" in value else value
    if isinstance(value, Mapping):
        return {key: _filled(item, known) for key, item in value.items()}
    return [_filled(item, known) for item in value] if isinstance(value, list) else value


def _stamped(content: Json, owner: OwnerRecord, birth: OwnerRevision) -> Json:
    """Write hash and version as the seed has them; what a child was born with stays on it for life."""
    stamping = owner.template.stamps.stamping
    if stamping is None or birth.stamp is None:
        return content
    wanted = Stamp(birth.stamp.digest, birth.stamp.scheme).annotations(stamping.key)
    for key, text in wanted.items():
        content = template_schemes.put(content, (*stamping.at, key), text)
    return content


def stamp_on(owner: OwnerRecord, observed: Json) -> Stamp | None:
    """Read hash and version from what was observed of a child."""
    stamping = owner.template.stamps.stamping
    if stamping is None or observed is ABSENT:
        return None
    found = template_schemes.at(observed, stamping.at)
    if not isinstance(found, Mapping):
        return None
    return Stamp.read({key: text for key, text in found.items() if isinstance(text, str)}, stamping.key)


def child_address(template: Template, name: str) -> Address:
    """Return the address of a generated child."""
    assert template.child is not None
    return Address(template.child.connection, template.child.kind, name, template.child.namespace)


_HIDDEN: Final = frozenset({ChildState.REMOVING, ChildState.FAILED, ChildState.EMPTY})


def declarations(group: TemplateGroup, around: Mapping[Address, Declaration]) -> list[Declaration]:
    """Return the declaration of the children of a template group that are there, or are to be there."""
    shown = (child for child in at_hand(group, around).children.values() if is_declared(group, child))
    return [*(declaration(group, record, around) for record in shown), *unrecorded(group, around)]


def unrecorded(group: TemplateGroup, around: Mapping[Address, Declaration]) -> list[Declaration]:
    """Return the declaration of selected children that were never checked. They are only checked."""
    new = (address for address in selected(group, around) if address not in group.children)
    return [declaration(group, ChildRecord(address, address.name, {}), around) for address in new]


def is_declared(group: TemplateGroup, child: ChildRecord) -> bool:
    """Return True if a child is to exist; what is rewritten exists all the time."""
    return group.template.rollout.method is Method.REWRITE or child.is_rewriting or child.state not in _HIDDEN


def at_hand(group: TemplateGroup, around: Mapping[Address, Declaration]) -> TemplateGroup:
    """Return a template group with the children that can be written; selected ones must be declared."""
    if group.template.selector is None:
        return group
    return replace(group, children={address: child for address, child in group.children.items() if address in around})


def imagined(group: TemplateGroup) -> list[ChildRecord]:
    """Return the first child that more `replicas` would make, to be looked at; a selector makes none."""
    template = group.template
    if template.replicas is None:
        return []
    slot = slot_name(template, 0)
    return [ChildRecord(child_address(template, slot), slot, {})]


def selected(group: TemplateGroup, declared: Mapping[Address, Declaration]) -> dict[Address, Declaration]:
    """Return the declared resources that the selector of a template matches."""
    template = group.template
    if template.selector is None:
        return {}
    return {address: declaration for address, declaration in declared.items() if template.selects(declaration)}
