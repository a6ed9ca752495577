"""Last known state of children: stamps, existence, readiness, and the predicates they break.

Only successful reads count. A child that could not be read breaks no predicate and is not unhealthy. An empty list of
offers proves nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from holdfast.compare import paths
from holdfast.compat.karpenter.hash_annotations import Stamp
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.verdict import Status
from holdfast.reconcile.action_result import ActionOutcome
from holdfast.reconcile.report import RunReport
from holdfast.rollouts.core import rendering, requirements
from holdfast.rollouts.core.group_findings import Breach
from holdfast.rollouts.core.requirements import Predicate, Supply
from holdfast.rollouts.core.rollout_limits import Health
from holdfast.rollouts.core.slots import ChildState
from holdfast.rollouts.core.template_groups import TemplateGroup
from holdfast.store.protocol import StateStore, Store


async def observed(store: Store, addresses: Sequence[Address]) -> dict[Address, Json]:
    """Return the last observed documents of resources that existed at their last check."""
    states = await store.states(addresses) if addresses else {}
    there = {
        a: s.observed.document
        for a, s in states.items()
        if s.observed.document is not None and s.observed.status is not Status.MISSING
    }
    documents = await store.documents(sorted(set(there.values())))
    return {address: documents[digest] for address, digest in there.items() if digest in documents}


@dataclass(frozen=True, slots=True)
class SelectionScan:
    """Result of a selection scan: the stamps on resources that exist, and the resources that are absent."""

    there: Mapping[Address, Mapping[str, Stamp]]  # a resource that exists without a stamp has an empty entry
    absent: Collection[Address]


async def sighted(store: Store, group: TemplateGroup, addresses: Sequence[Address]) -> SelectionScan:
    """Return the stored state of resources. Resources that could not be read are neither present nor absent."""
    states = await store.states(addresses) if addresses else {}
    seen = await observed(store, list(states))
    there = {address for address, state in states.items() if state.applied.document is not None} | seen.keys()
    out: dict[Address, dict[str, Stamp]] = {}
    for address in there:
        found = ((owner.uid, rendering.stamp_on(owner, seen.get(address, ABSENT))) for owner in group.owners)
        out[address] = {uid: stamp for uid, stamp in found if stamp is not None}
    absent = {
        a for a, state in states.items() if a not in there and state.observed.status not in (None, Status.UNKNOWN)
    }
    return SelectionScan(out, absent)


async def broken(store: Store, group: TemplateGroup) -> dict[Address, tuple[Breach, ...]]:
    """Return the predicates, by owner, that each ready child certainly breaks."""
    asked = [owner for owner in group.owners if owner.template.checks.requirements]
    if not asked:
        return {}
    ready = [
        child.address for child in group.children.values() if child.state in {ChildState.READY, ChildState.UNHEALTHY}
    ]
    documents = await observed(store, ready)
    out: dict[Address, tuple[Breach, ...]] = {}
    for owner in asked:
        rules = owner.template.checks.requirements
        offers = await _offers(store, rules)
        for address, document in documents.items():
            found = requirements.broken(rules, document, offers)
            if found:
                out[address] = (*out.get(address, ()), *(Breach(owner.uid, predicate) for predicate in found))
    return await _dated(store, out)


async def _dated(store: StateStore, found: Mapping[Address, tuple[Breach, ...]]) -> dict[Address, tuple[Breach, ...]]:
    """Return breaches with the time their evidence was read: the child, or the resource that lists the offers."""
    shown = {item.predicate.offer.resource for pair in found.values() for item in pair if item.predicate.offer}
    states = await store.states([*found, *shown]) if found else {}
    read_at = {address: state.schedule.good_at or 0.0 for address, state in states.items()}

    def dated(address: Address, breach: Breach) -> Breach:
        offer = breach.predicate.offer
        return breach._replace(seen_at=read_at.get(address if offer is None else offer.resource, 0.0))

    return {address: tuple(dated(address, pair) for pair in item) for address, item in found.items()}


async def _offers(store: Store, rules: Sequence[Predicate]) -> list[Json]:
    return [ABSENT if rule.offer is None else await _at(store, rule.offer) for rule in rules]


async def _at(store: Store, offer: Supply) -> Json:
    documents = await observed(store, [offer.resource])
    found = documents.get(offer.resource, ABSENT)
    return ABSENT if found is ABSENT else paths.resolve(found, offer.path)


async def gates(store: Store, group: TemplateGroup) -> dict[str, Health]:
    """Return the current result of each health gate of a rollout."""
    out = {}
    for gate in group.template.rollout.gates:
        assert gate.predicate.offer is not None
        document = await _at(store, gate.predicate.offer)
        verdict = gate.predicate.holds(document)
        out[gate.name] = Health.UNKNOWN if verdict is None else Health.PASS if verdict else Health.FAIL
    return out


async def unready_parts(store: StateStore, group: TemplateGroup) -> list[Address]:
    """Return the resource parts that are not confirmed in sync. No child is created with such a part."""
    wanted = [owner.template.address for owner in group.owners if owner.template.address is not None]
    states = await store.states(wanted) if wanted else {}
    return [
        address for address in wanted if address not in states or states[address].observed.status is not Status.IN_SYNC
    ]


@dataclass(frozen=True, slots=True)
class ChildCondition:
    """Last known condition of the children of a template group."""

    unwell: Collection[Address] = ()
    idle: Collection[Address] = ()


async def condition(store: Store, group: TemplateGroup) -> ChildCondition:
    """Return the children that are missing or no longer ready, and the children that are idle."""
    template = group.template
    unwell = set(await store.addresses_with_status(Status.MISSING)) & group.children.keys()
    if not template.checks.ready_when and not template.checks.idle_when:
        return ChildCondition(unwell)
    documents = await observed(store, list(group.children))
    unwell |= {
        address for address, document in documents.items() if is_ready(template.checks.ready_when, document) is False
    }
    return ChildCondition(unwell, set(_all(documents, template.checks.idle_when)))


def _all(documents: Mapping[Address, Json], rules: Sequence[Predicate]) -> Iterable[Address]:
    return (a for a, d in documents.items() if rules and all(rule.holds(d) is True for rule in rules))


def is_ready(rules: Sequence[Predicate], document: Json) -> bool | None:
    """Return True if every readiness rule holds for a child, or None if that is unknown."""
    verdicts = [rule.holds(document) for rule in rules]
    if False in verdicts:
        return False
    return None if None in verdicts else True


FAILED: Final = frozenset({ActionOutcome.FAILED, ActionOutcome.TERMINAL, ActionOutcome.UNDONE, ActionOutcome.UNSURE})


def well(report: RunReport) -> set[Address]:
    """Return the resources that a run left in sync, because they were written and settled or needed no write."""
    fine = {result.address for result in report.checked if result.verdict.status is Status.IN_SYNC}
    for item in report.acted:
        status = item.checked.state.observed.status
        if item.result is ActionOutcome.DONE and status is Status.IN_SYNC:
            fine.add(item.checked.address)
        else:
            fine.discard(item.checked.address)
    return fine


def unwell(report: RunReport) -> dict[Address, str]:
    """Return the resources that a run could not handle and that a retry alone will not fix, with the reason."""
    refused = {result.address: result for result in report.checked if result.decision.action is Action.BLOCK}
    out = {address: result.decision.reasons[0].message for address, result in refused.items()}
    return out | {result.checked.address: result.message for result in report.acted if result.result in FAILED}


def serves(group: TemplateGroup, document: Json) -> bool:
    """Return True if a child that is in sync also passes the readiness rules of its template."""
    rules = group.template.checks.ready_when
    return not rules or (document is not None and is_ready(rules, document) is True)
