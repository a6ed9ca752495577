"""Templates, children and rollouts as versioned records, and back; the data is plain."""

from __future__ import annotations

import dataclasses
from typing import Final

import msgspec

from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.rollouts.core import template_groups
from holdfast.rollouts.core.revisions import HashEpoch, ParentRecord, TemplateRevision
from holdfast.rollouts.core.template_groups import ChildRecord, OwnerRecord, RevisionSet, RolloutRecord
from holdfast.rollouts.core.template_schemes import Digests
from holdfast.rollouts.core.templates import Template
from holdfast.store.records import VersionedRecord

TEMPLATES: Final = "template"
CHILDREN: Final = "template-child"
ROLLOUTS: Final = "rollout"


# -- templates


def owner_record(owned: OwnerRecord) -> VersionedRecord:
    """Return an owner as its next versioned record."""
    record = owned.record
    data: dict[str, Json] = {
        "uid": record.uid,
        "current": record.current,
        "revisions": [_revision(revision) for revision in record.revisions],
        "regimes": [[regime.index, regime.scheme, regime.base] for regime in record.regimes],
        "policies": dict(owned.policies),
        "generations": [[generation.number, dict(generation.births)] for generation in owned.generations],
        "stamp": None if owned.stamp is None else list(owned.stamp),
    }
    return VersionedRecord(TEMPLATES, owned.template.name, data, owned.version, due_at=owned.due_at)


def _revision(revision: TemplateRevision) -> Json:
    digests = {scheme: list(digest) for scheme, digest in revision.digests.items()}
    return [revision.ordinal, revision.content, revision.schema, digests]


def owner_of(template: Template, stored_record: VersionedRecord) -> OwnerRecord:
    """Return an owner from its versioned record and its declaration."""
    data = stored_record.data
    record = ParentRecord(
        data["uid"],
        tuple(
            TemplateRevision(ordinal, content, schema, {scheme: Digests(*digest) for scheme, digest in digests.items()})
            for ordinal, content, schema, digests in data["revisions"]
        ),
        tuple(HashEpoch(*regime) for regime in data["regimes"]),
        data["current"],
        stored_record.version,
    )
    generations = tuple(RevisionSet(number, births) for number, births in data["generations"])
    stamp = data.get("stamp")
    return OwnerRecord(
        template,
        record,
        data["policies"],
        generations,
        None if stamp is None else (stamp[0], stamp[1]),
        stored_record.version,
        template_groups.known_schemes(data["policies"]),
        stored_record.due_at,
    )


# -- children


def child_record(child: ChildRecord, owner: str) -> VersionedRecord:
    """Return a child as its versioned record; its version is the one to be kept."""
    data: dict[str, Json] = msgspec.to_builtins(child)
    del data["address"], data["version"]
    return VersionedRecord(CHILDREN, str(child.address), data, child.version, owner)


def child_of(stored_record: VersionedRecord) -> ChildRecord:
    """Return a child from its versioned record."""
    address = dataclasses.asdict(Address.parse(stored_record.key))
    return msgspec.convert({**stored_record.data, "address": address, "version": stored_record.version}, ChildRecord)


# -- rollouts


def rollout_record(file: RolloutRecord, owner: str) -> VersionedRecord:
    """Return a rollout as its versioned record; its version is the one to be kept."""
    data = msgspec.to_builtins(file, order="deterministic")
    return VersionedRecord(ROLLOUTS, rollout_key(owner, file.number), data, file.rollout.version, owner, file.due_at)


def rollout_key(owner: str, number: int) -> str:
    """Return the key of a rollout; later ones come after."""
    return f"{owner}/{number:06d}"


def rollout_of(stored_record: VersionedRecord) -> RolloutRecord:
    """Return a rollout from its versioned record."""
    return msgspec.convert({**stored_record.data, "due_at": stored_record.due_at}, RolloutRecord)
