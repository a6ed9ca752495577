"""Resuming: finish a write that an earlier process began, from what is recorded of it and what is there now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from holdfast.compare import diff, paths
from holdfast.model.absent import ABSENT
from holdfast.model.decision import Action
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure, Reading
from holdfast.model.write_result import Done
from holdfast.policy import lost_create_reasons
from holdfast.providers.protocol import Unchanged
from holdfast.reconcile import lost_creates
from holdfast.reconcile.action_result import ActionOutcome, ActionResult
from holdfast.reconcile.check import Checker, CheckResult
from holdfast.reconcile.resolved_resource import digest_of
from holdfast.reconcile.settle import Settler
from holdfast.store.protocol import Store
from holdfast.store.records import Claim, OperationStep, WriteOperation

if TYPE_CHECKING:
    from holdfast.reconcile.write import ResourceWriter


@dataclass(frozen=True, slots=True)
class Resumer:
    """Takes a write from where its operation says that it came to."""

    actor: ResourceWriter
    store: Store
    checker: Checker
    settler: Settler

    async def resume(
        self, operation: WriteOperation, checked: CheckResult, claim: Claim, *, create_again: bool
    ) -> ActionResult:
        """Finish a write under a claim."""
        # It may have been finished, or carried on, between our finding it and our claim.
        found = [each for each in await self.store.operations(operation.address) if each.id == operation.id]
        if found != [operation]:
            return ActionResult(checked, ActionOutcome.OVERTAKEN, "another worker has carried it on")
        checked = await self._as_begun(operation, checked)
        match operation.step:
            case OperationStep.INTENDED:
                return await self._intended(operation, checked, claim, create_again=create_again)
            case OperationStep.UNSURE:
                return await self._unsure(operation, checked, claim, create_again=create_again)
            case OperationStep.SENT:
                return await self.actor.polled(operation, checked, claim)
            case OperationStep.SETTLING | OperationStep.DONE:
                return await self.settler.settle(checked, operation, claim)

    async def _as_begun(self, operation: WriteOperation, checked: CheckResult) -> CheckResult:
        """Return the check with the declaration that the write was begun with, which may have been edited since.

        What is captured at the end of a write is what that write asked for; an edit made since is a matter of its own.
        """
        item = checked.prepared
        if operation.desired is None or operation.desired == item.desired_digest:
            return checked
        begun = await self.store.document(operation.desired)
        return replace(checked, prepared=replace(item, desired=begun, desired_digest=operation.desired))

    async def _intended(
        self, operation: WriteOperation, checked: CheckResult, claim: Claim, *, create_again: bool
    ) -> ActionResult:
        """Nobody knows whether the provider was asked: the world tells, or the same key makes asking again harmless."""
        reading = checked.reading
        if isinstance(reading, ReadFailure) and reading.trouble is not ReadError.WITHHELD:
            return ActionResult(checked, ActionOutcome.FAILED, "it could not be read; the write that was begun waits")
        is_creation = lost_create_reasons.is_creation(operation.action, operation.phase)
        if is_creation and isinstance(reading, Found):
            return await self.actor.found(checked, operation, claim, reading)
        if is_creation and not create_again:
            seen = await self._looked_for(checked, reading)
            if isinstance(seen, lost_creates.Unsure):
                return await self.actor.unsure(checked, operation, claim, seen)
        if _is_deletion(operation) and isinstance(reading, NotFound):
            return await self.actor.ended(checked, operation, claim, Done(checked.state.observed.provider_id or ""))
        if (
            digest_of(checked.prepared.desired) != checked.state.declared.document
            and operation.action != Action.DELETE.value
        ):
            return await self.settler.given_up(checked, operation, claim, "superseded by an edit before it was sent")
        if not is_creation and not await self._is_unmoved(operation, checked):
            if await self._is_written(operation, checked):
                assert isinstance(reading, Found)
                return await self._settled(checked, operation, claim)
            return await self.settler.given_up(checked, operation, claim, "it moved since the write was begun")
        etag = reading.etag if isinstance(reading, Found) else None
        return await self.actor.send(checked, operation, claim, etag)

    async def _looked_for(
        self, checked: CheckResult, reading: Reading | Unchanged
    ) -> Reading | Unchanged | lost_creates.Unsure:
        """Look closer for what a create may have made, where a read alone cannot tell that it did not."""
        item = checked.prepared
        if item.kind.repeats_create or item.kind.finds or not isinstance(reading, NotFound):
            return reading
        return await lost_creates.look_for(self.checker, self.store, item.without_id())

    async def _unsure(
        self, operation: WriteOperation, checked: CheckResult, claim: Claim, *, create_again: bool
    ) -> ActionResult:
        """Go on where nobody knew whether it was made: it is found by now, or a person says to make it again."""
        if isinstance(checked.reading, Found) or create_again:
            begun = replace(operation, step=OperationStep.INTENDED, token={})
            return await self._intended(begun, checked, claim, create_again=create_again)
        return ActionResult(
            checked, ActionOutcome.UNSURE, lost_create_reasons.message(operation.address, operation.token)
        )

    async def _settled(self, checked: CheckResult, operation: WriteOperation, claim: Claim) -> ActionResult:
        provider_id = checked.state.observed.provider_id
        operation = replace(operation, step=OperationStep.SETTLING, token={"id": provider_id} if provider_id else {})
        return await self.settler.settle(checked, operation, claim)

    async def _is_unmoved(self, operation: WriteOperation, checked: CheckResult) -> bool:
        """Tell whether what is there is what a write was decided on."""
        if checked.observed is ABSENT or operation.pre_image is None:
            return operation.action != Action.UPDATE.value
        assert checked.tree is not None
        before = await self.store.document(operation.pre_image)
        return not diff.differences(before, checked.observed, checked.tree)

    async def _is_written(self, operation: WriteOperation, checked: CheckResult) -> bool:
        """Tell whether what an update was to put right is right: then it was sent, and only the record is missing."""
        begun = await self.settler.correction(operation)
        if operation.action != Action.UPDATE.value or begun is None or not isinstance(checked.reading, Found):
            return False
        wrong = {paths.format_path(finding.path) for finding in checked.verdict.findings}
        return not wrong & {each.path for each in begun.paths}


def _is_deletion(operation: WriteOperation) -> bool:
    """Tell whether the write at hand removes something: a deletion, or the first half of a replacement."""
    return operation.action == Action.DELETE.value or operation.phase == "delete"
