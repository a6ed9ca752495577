"""Preconditions: check right before each write of a rollout that it is still allowed.

A pass records what it begins, and then sends the writes, which may take long. Every stop of a rollout in between (a
pause, a person's command, a closing window) stops the next child. A step that is stopped before its first write is
also reversed in the records. A step with a write is finished.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field

from holdfast.compare import paths
from holdfast.errors import InputError
from holdfast.manifests import secrets
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.policy import windows
from holdfast.policy.write_reasons import WriteReason
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.clock import Clock
from holdfast.reconcile.report import RunReport
from holdfast.reconcile.resolved_resource import ResolvedResource
from holdfast.rollouts import serialization
from holdfast.rollouts.core import group_rollouts, rendering
from holdfast.rollouts.core.template_groups import ChildRecord, TemplateGroup
from holdfast.rollouts.core.templates import Template
from holdfast.store.governance import Pause
from holdfast.store.protocol import RecordStore, Store


@dataclass(slots=True)
class Guard:
    """Asks for the children of one step of a pass."""

    store: Store
    clock: Clock
    group: TemplateGroup
    beginning: Collection[Address]  # children without a write so far
    held: set[Address] = field(default_factory=set)  # of these, the ones that were stopped

    async def still(self, checked: CheckResult, was_sent: bool) -> str | None:  # noqa: FBT001 - as `Guard` of the writer asks
        """Return the reason why a write must not be sent, or None. A write that may have been sent is not reversed."""
        paused = paused_by(self.group, await self.store.pauses(), self.clock.now())
        reason = None if paused is None else f"paused by {paused.who}"
        is_beginning = not was_sent and checked.address in self.beginning and _begins(self.group, checked)
        if reason is None and is_beginning:
            reason = await self._stopped()
        if reason is not None and is_beginning:
            self.held.add(checked.address)
        return reason

    async def note_held(self, report: RunReport) -> None:
        """Note what a pause held back before it came to a write.

        Only one that holds the whole rollout: what is held for another reason is waited for.
        """
        if paused_by(self.group, await self.store.pauses(), self.clock.now()) is None:
            return
        begun = {operation.address for operation in await self.store.operations()}  # perhaps sent: finished later
        for checked in (*report.checked, *(result.checked for result in report.acted)):
            decision = checked.decision
            is_paused = decision.action is Action.HOLD and decision.reasons[0].code == "paused"
            if (
                is_paused
                and checked.address not in begun
                and checked.address in self.beginning
                and _begins(self.group, checked)
            ):
                self.held.add(checked.address)

    async def _stopped(self) -> str | None:
        file = self.group.rollout
        if file is None or await has_moved(self.store, self.group):
            return "its rollout was changed meanwhile"
        closed = windows.closed_by(self.group.template.rollout.limits.windows, self.clock.now(), WriteReason.DRIFT)
        return None if closed is None else f"outside of the windows of its rollout: {closed}"


def _begins(group: TemplateGroup, checked: CheckResult) -> bool:
    """Return True if a write is the first one to a child; one that was made already is finished."""
    child, decision = group.children.get(checked.address), checked.decision
    if child is None or (decision.held or decision.action) in {Action.CREATE, Action.DELETE}:
        return True
    return child.before is not None


def beginning(group: TemplateGroup, children: Sequence[ChildRecord]) -> set[Address]:
    """Return the children that a rollout begins a step with, and that have no write so far."""
    file = group.rollout
    if file is None:
        return set()
    at = group_rollouts.places(group, {child.slot for child in children})
    return {child.address for child in children if group_rollouts.is_beginning(group, child, at, file.rollout.maker)}


async def has_moved(store: RecordStore, group: TemplateGroup) -> bool:
    """Return True if the rollout was changed by a person or another process since it was read."""
    file = group.rollout
    if file is None:
        return False
    kept = await store.record(serialization.ROLLOUTS, serialization.rollout_key(group.template.name, file.number))
    return kept is None or kept.version != file.rollout.version


def paused_by(group: TemplateGroup, pauses: Collection[Pause], now: float) -> Pause | None:
    """Return the pause of everything, or of what the children are, that holds now."""
    kind = group.template.child
    scopes = {""} if kind is None else {"", kind.connection, f"{kind.connection}/{kind.kind}"}
    return next(
        (pause for pause in pauses if pause.scope in scopes and (pause.until is None or now < pause.until)), None
    )


def refuse_clear(group: TemplateGroup, child: ChildRecord, item: ResolvedResource) -> None:
    """Raise InputError for a value of a template that is a secret by the rules of its kind, and stands in clear."""
    giving = [owner.template for owner in reversed(group.owners) if owner.template.address is None]
    _refuse(rendering.content(group, child), item, giving)


def refuse_clear_part(part: Template, item: ResolvedResource) -> None:
    """Do the same for a part that is a resource of its own: no child has it, but it is kept, too."""
    _refuse(dict(part.content), item, [part])


def _refuse(content: Json, item: ResolvedResource, giving: Sequence[Template]) -> None:
    referred = {pointer for pointer, _ in secrets.find(content)}
    for path in item.secrets.paths:
        written = paths.resolve(content, path)
        if written is ABSENT or path in referred or (isinstance(written, str) and "${" in written):
            continue
        found = (element for element in giving if paths.resolve(dict(element.content), path) is not ABSENT)
        template = next(found, giving[0])
        message = (
            f"{paths.format_path(path)} is a secret, and template {template.name} has it in clear; "
            "what a template says is kept as written, so write a secretRef"
        )
        raise InputError(message, template.place(("spec", "resource", *path)))
