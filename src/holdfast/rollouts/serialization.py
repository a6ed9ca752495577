"""Templates, children and rollouts as versioned records, and back; the data is plain."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from holdfast.compare.hash_schemes import StampedHash
from holdfast.model.address import Address
from holdfast.model.json import Json
from holdfast.rollouts.core import template_groups
from holdfast.rollouts.core.records import Rollout, RolloutPhase, RolloutTarget, SlotFailures
from holdfast.rollouts.core.revisions import HashEpoch, ParentRecord, TemplateRevision
from holdfast.rollouts.core.slots import ChildState
from holdfast.rollouts.core.template_findings import FindingKind, TemplateFinding
from holdfast.rollouts.core.template_groups import ChildRecord, OwnerRecord, OwnerRevision, RevisionSet, RolloutRecord
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
        "revisions": [_revision(each) for each in record.revisions],
        "regimes": [[each.index, each.scheme, each.base] for each in record.regimes],
        "policies": dict(owned.policies),
        "generations": [[each.number, dict(each.births)] for each in owned.generations],
        "stamp": None if owned.stamp is None else list(owned.stamp),
    }
    return VersionedRecord(TEMPLATES, owned.template.name, data, owned.version, due_at=owned.due_at)


def _revision(revision: TemplateRevision) -> Json:
    digests = {scheme: list(found) for scheme, found in revision.digests.items()}
    return [revision.ordinal, revision.content, revision.schema, digests]


def owner_of(template: Template, stored_record: VersionedRecord) -> OwnerRecord:
    """Return an owner from its versioned record and its declaration."""
    data = stored_record.data
    record = ParentRecord(
        data["uid"],
        tuple(
            TemplateRevision(ordinal, content, schema, {scheme: Digests(*found) for scheme, found in digests.items()})
            for ordinal, content, schema, digests in data["revisions"]
        ),
        tuple(HashEpoch(*each) for each in data["regimes"]),
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
    data: dict[str, Json] = {
        "slot": child.slot,
        "births": _births(child.births),
        "generation": child.generation,
        "state": child.state.value,
        "since": child.since,
    }
    optional = {
        "ready_since": child.ready_since,
        "made_by": child.made_by,
        "attempt": child.attempt,
        "reason": child.reason,
        "before": None if child.before is None else [child.before[0], _births(child.before[1])],
        "findings": [_finding(each) for each in child.findings],
        "note": child.note,
        "marked": child.is_marked,
        "rewriting": child.is_rewriting,
    }
    data.update({key: value for key, value in optional.items() if value})
    return VersionedRecord(CHILDREN, str(child.address), data, child.version, owner)


def _births(births: Mapping[str, OwnerRevision]) -> Json:
    return {
        owner: [
            birth.revision,
            birth.regime,
            *(() if birth.stamp is None else (birth.stamp.scheme, birth.stamp.digest)),
        ]
        for owner, birth in births.items()
    }


def _finding(finding: TemplateFinding) -> Json:
    fields = [list(keys) for keys in finding.fields]
    counted = [finding.times, finding.last_seen] if finding.last_seen else []
    return [finding.owner, finding.kind.value, finding.reason, finding.first_seen, fields, *counted]


def child_of(stored_record: VersionedRecord) -> ChildRecord:
    """Return a child from its versioned record."""
    data: Mapping[str, Any] = stored_record.data
    address = Address.parse(stored_record.key)
    before = data.get("before")
    return ChildRecord(
        address,
        data["slot"],
        _births_of(data["births"]),
        data["generation"],
        ChildState(data["state"]),
        data.get("ready_since", 0.0),
        data.get("made_by", ""),
        data.get("attempt", 0),
        data.get("reason", "spec"),
        None if before is None else (before[0], _births_of(before[1])),
        tuple(
            TemplateFinding(owner, address.name, FindingKind(kind), reason, seen, tuple(map(tuple, fields)), *counted)
            for owner, kind, reason, seen, fields, *counted in data.get("findings", ())
        ),
        data["since"],
        data.get("note", ""),
        data.get("marked", False),
        stored_record.version,
        data.get("rewriting", False),
    )


def _births_of(data: Mapping[str, Any]) -> dict[str, OwnerRevision]:
    return {
        owner: OwnerRevision(revision, regime, StampedHash(*stamp) if stamp else None)
        for owner, (revision, regime, *stamp) in data.items()
    }


# -- rollouts


def rollout_record(file: RolloutRecord, owner: str) -> VersionedRecord:
    """Return a rollout as its versioned record; its version is the one to be kept."""
    rollout = file.rollout
    plain = {each.name: getattr(rollout, each.name) for each in dataclasses.fields(Rollout)}
    data: dict[str, Json] = {
        **plain,
        "phase": rollout.phase.value,
        "resumes_to": None if rollout.resumes_to is None else rollout.resumes_to.value,
        "target": _target(rollout.target),
        "previous": None if rollout.previous is None else _target(rollout.previous),
        "failures": {slot: list(each) for slot, each in rollout.failures.items()},
        "number": file.number,
        "aim": file.aim,
        "who": file.who,
    }
    del data["version"]
    return VersionedRecord(ROLLOUTS, rollout_key(owner, file.number), data, rollout.version, owner, file.due_at)


def rollout_key(owner: str, number: int) -> str:
    """Return the key of a rollout; later ones come after."""
    return f"{owner}/{number:06d}"


def _target(target: RolloutTarget) -> Json:
    return [target.revision, sorted(target.accepts)]


def rollout_of(stored_record: VersionedRecord) -> RolloutRecord:
    """Return a rollout from its versioned record."""
    data: dict[str, Any] = dict(stored_record.data)
    number, aim, who = data.pop("number"), data.pop("aim"), data.pop("who")
    previous, resumes_to = data["previous"], data["resumes_to"]
    data["phase"] = RolloutPhase(data["phase"])
    data["resumes_to"] = None if resumes_to is None else RolloutPhase(resumes_to)
    data["target"] = _target_of(data["target"])
    data["previous"] = None if previous is None else _target_of(previous)
    data["failures"] = {slot: SlotFailures(*each) for slot, each in data["failures"].items()}
    return RolloutRecord(number, aim, Rollout(**data, version=stored_record.version), who, stored_record.due_at)


def _target_of(data: Json) -> RolloutTarget:
    return RolloutTarget(data[0], frozenset(data[1]))
