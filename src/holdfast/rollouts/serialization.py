"""Templates, children and rollouts as dossiers, and back: what is kept is plain data that a later release can read."""

from __future__ import annotations

import dataclasses
from typing import Final

import msgspec

from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.rollouts.core import template_groups
from holdfast.rollouts.core.revisions import ParentRecord, Regime, Revision
from holdfast.rollouts.core.template_groups import ChildFile, Generation, Owned, RolloutFile
from holdfast.rollouts.core.template_schemes import Digests
from holdfast.rollouts.core.templates import Template
from holdfast.store.protocol import Dossier

TEMPLATES: Final = "template"
CHILDREN: Final = "template-child"
ROLLOUTS: Final = "rollout"


# -- templates


def owner_dossier(owned: Owned) -> Dossier:
    """Return an owner as its next dossier."""
    record = owned.record
    data: dict[str, Json] = {
        "uid": record.uid,
        "current": record.current,
        "revisions": [_revision(each) for each in record.revisions],
        "regimes": [[each.index, each.scheme, each.base] for each in record.regimes],
        "policies": dict(owned.policies),
        "generations": [[each.number, dict(each.births)] for each in owned.generations],
        "stamp": None if owned.stamp is None else list(owned.stamp),
    }
    return Dossier(TEMPLATES, owned.template.name, data, owned.version, due_at=owned.due_at)


def _revision(revision: Revision) -> Json:
    digests = {scheme: list(found) for scheme, found in revision.digests.items()}
    return [revision.ordinal, revision.content, revision.schema, digests]


def owner_of(template: Template, dossier: Dossier) -> Owned:
    """Return an owner from its dossier and its declaration."""
    data = dossier.data
    record = ParentRecord(
        data["uid"],
        tuple(
            Revision(ordinal, content, schema, {scheme: Digests(*found) for scheme, found in digests.items()})
            for ordinal, content, schema, digests in data["revisions"]
        ),
        tuple(Regime(*each) for each in data["regimes"]),
        data["current"],
        dossier.version,
    )
    generations = tuple(Generation(number, births) for number, births in data["generations"])
    stamp = data.get("stamp")
    return Owned(
        template,
        record,
        data["policies"],
        generations,
        None if stamp is None else (stamp[0], stamp[1]),
        dossier.version,
        template_groups.known_schemes(data["policies"]),
        dossier.due_at,
    )


# -- children


def child_dossier(child: ChildFile, owner: str) -> Dossier:
    """Return a child as its dossier; its version is the one to be kept."""
    data: dict[str, Json] = msgspec.to_builtins(child)
    del data["address"], data["version"]
    return Dossier(CHILDREN, str(child.address), data, child.version, owner)


def child_of(dossier: Dossier) -> ChildFile:
    """Return a child from its dossier."""
    address = dataclasses.asdict(Address.parse(dossier.key))
    return msgspec.convert({**dossier.data, "address": address, "version": dossier.version}, ChildFile)


# -- rollouts


def rollout_dossier(file: RolloutFile, owner: str) -> Dossier:
    """Return a rollout as its dossier; its version is the one to be kept."""
    data = msgspec.to_builtins(file, order="deterministic")
    return Dossier(ROLLOUTS, rollout_key(owner, file.number), data, file.rollout.version, owner, file.due_at)


def rollout_key(owner: str, number: int) -> str:
    """Return the key of a rollout; later ones come after."""
    return f"{owner}/{number:06d}"


def rollout_of(dossier: Dossier) -> RolloutFile:
    """Return a rollout from its dossier."""
    return msgspec.convert({**dossier.data, "due_at": dossier.due_at}, RolloutFile)
