"""What the owners of a brood have to say of its children, and what of that a rollout is for.

Most children of a brood were made from the same few revisions, so each of these is judged once and not once a child.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from holdfast.model.address import Address
from holdfast.plan.rolling_out import option1, template_findings
from holdfast.plan.rolling_out.broods import Birth, Brood, ChildFile, Owned
from holdfast.plan.rolling_out.fleets import State
from holdfast.plan.rolling_out.option1 import Stamp
from holdfast.plan.rolling_out.template_findings import FindingKind, Look, TemplateFinding
from holdfast.plan.rolling_out.templates import Compatibility, Mode

Broken = Mapping[Address, tuple[tuple[str, str], ...]]  # owner and predicate, on fresh evidence
_LIVING = frozenset({State.READY, State.UNHEALTHY, State.CREATING})


@dataclass(slots=True)
class _Judge:
    """Judges births once each."""

    brood: Brood
    now: float
    _seen: dict[tuple[str, Birth], tuple[TemplateFinding, ...]] = field(default_factory=dict)

    def static(self, owner: Owned, child: ChildFile) -> tuple[TemplateFinding, ...]:
        if owner.uid not in child.births and self.brood.lead.uid in child.births:
            return ()  # a part that was put in since; see below
        if owner.template.compatibility is Compatibility.OPTION1:
            return self._of_option1(owner, child)
        birth = child.births.get(owner.uid, Birth())
        found = self._seen.get((owner.uid, birth))
        if found is None:
            look = Look(owner.known, self.now, owner.template.unstamped)
            found = template_findings.findings(owner.record, child.record_of(owner.uid), look)
            self._seen[owner.uid, birth] = found
        return found

    def _of_option1(self, owner: Owned, child: ChildFile) -> tuple[TemplateFinding, ...]:
        birth = child.births.get(owner.uid, Birth())
        mine = None if birth.stamp is None else Stamp(birth.stamp.digest, birth.stamp.scheme)
        theirs = None if owner.stamp is None else Stamp(*owner.stamp)
        if not option1.is_drifted(theirs, mine):
            return ()
        return (TemplateFinding(owner.uid, child.name, FindingKind.SPEC, "edited", self.now),)


def changed(brood: Brood, now: float, broken: Broken | None = None) -> Iterator[ChildFile]:
    """Yield the children whose findings are not those that are kept, with the new ones; first_seen stays."""
    judge = _Judge(brood, now)
    for child in brood.children.values():
        if child.state not in _LIVING:
            continue
        found = _of_child(judge, child, () if broken is None else broken.get(child.address, ()))
        if found != child.findings:
            yield dataclasses.replace(child, findings=found)


def _of_child(judge: _Judge, child: ChildFile, broken: tuple[tuple[str, str], ...]) -> tuple[TemplateFinding, ...]:
    found = [each for owner in judge.brood.owners for each in judge.static(owner, child)]
    found += _other_owners(judge, child)
    dynamic = (TemplateFinding(owner, child.name, FindingKind.DYNAMIC, name, judge.now) for owner, name in broken)
    seen = {each.identity: each.first_seen for each in child.findings}
    named = (dataclasses.replace(each, child=child.name) for each in (*found, *dynamic))
    out = {
        each.identity: dataclasses.replace(each, first_seen=seen.get(each.identity, each.first_seen)) for each in named
    }
    unsure = {each.owner for each in found if each.kind is FindingKind.UNKNOWN}
    for each in child.findings:  # what was known of an owner that does not know now is kept, and not acted on
        if each.owner in unsure and each.kind is not FindingKind.UNKNOWN:
            out.setdefault(each.identity, each)
    return tuple(out.values())


def _other_owners(judge: _Judge, child: ChildFile) -> Iterator[TemplateFinding]:
    """Yield what is wrong with the owners themselves: a part was put in, or taken out, since the child was made."""
    uids = {owner.uid for owner in judge.brood.owners}
    if judge.brood.lead.uid not in child.births:
        return
    for owner in sorted(uids ^ child.births.keys()):
        reason = "part-added" if owner in uids else "part-removed"
        yield TemplateFinding(owner, child.name, FindingKind.SPEC, reason, judge.now)


def asking(brood: Brood, child: ChildFile) -> tuple[TemplateFinding, ...]:
    """Return the findings of a child that a rollout is for.

    One that was made for a broken predicate, from what is still current, and breaks it again is left: making it once
    more would bring no other.
    """
    if brood.template.mode is Mode.NOTIFY or not child.findings:
        return ()
    promoted = frozenset().union(*(owner.template.promoted for owner in brood.owners))
    found = template_findings.asks_for_action(child.findings, promoted)
    was_for_it = child.reason == FindingKind.DYNAMIC.value and child.generation == brood.current.number
    return tuple(each for each in found if not (was_for_it and child.made_by and each.kind is FindingKind.DYNAMIC))
