"""Finish a write that an earlier process began, from its record and the live state."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace

from holdfast.compare import diff, paths
from holdfast.model.absent import ABSENT
from holdfast.model.address import Address
from holdfast.model.decision import Action
from holdfast.model.read_result import Found, NotFound, ReadError, ReadFailure
from holdfast.model.record import dataclass
from holdfast.model.write_result import Done
from holdfast.policy import lost_create_reasons
from holdfast.reconcile import lost_creates, settle, write_decision
from holdfast.reconcile.action_result import ActionOutcome, ActionResult
from holdfast.reconcile.check import CheckResult
from holdfast.reconcile.resolved_resource import digest_of
from holdfast.reconcile.write import ResourceWriter, Run
from holdfast.store.records import Claim, OperationStep, WriteOperation


@dataclass(frozen=True, slots=True)
class ResumeIntent:
    """Take a write from where its operation says that it came to; `checked` is a fresh check of the resource."""

    operation: WriteOperation
    checked: CheckResult
    create_again: bool = False  # a person says that a create with an unknown result may be repeated

    @property
    def address(self) -> Address:
        """The resource to claim."""
        return self.operation.address

    @property
    def turn(self) -> None:
        """Nothing is waited for before the claim: often nothing is sent."""
        return

    @property
    def takes_over(self) -> bool:
        """Claims of dead workers were released when the run began."""
        return False

    def not_begun(self, message: str) -> ActionResult:
        """Leave the resource to the other worker."""
        return ActionResult(self.checked, ActionOutcome.BUSY, message)

    def unfinished(self, message: str) -> ActionResult:
        """Leave the operation to a later run."""
        return ActionResult(self.checked, ActionOutcome.UNSETTLED, message)

    def lost(self, message: str) -> ActionResult:
        """Leave the write to the worker that has the claim now."""
        return ActionResult(self.checked, ActionOutcome.LOST, message)

    async def perform(self, writer: ResourceWriter, claim: Claim, slot: AsyncExitStack) -> ActionResult:
        """Finish the write, unless another worker has carried it on before our claim."""
        operation = self.operation
        if [element for element in await writer.store.operations(self.address) if element.id == operation.id] != [
            operation
        ]:
            return ActionResult(self.checked, ActionOutcome.OVERTAKEN, "another worker has carried it on")
        checked, item = self.checked, self.checked.prepared
        if operation.desired is not None and operation.desired != item.desired_digest:
            # What is captured at the end is what the write asked for; an edit made since is a matter of its own.
            begun = await writer.store.document(operation.desired)
            checked = checked.with_resource(replace(item, desired=begun, desired_digest=operation.desired))
        run = Run(claim, checked, operation, checked.reading, slot=slot)
        match operation.step:
            case OperationStep.INTENDED:
                return await self._intended(writer, run)
            case OperationStep.UNSURE:
                if not isinstance(run.reading, Found) and not self.create_again:
                    message = lost_create_reasons.message(operation.address, operation.token)
                    return ActionResult(checked, ActionOutcome.UNSURE, message)
                run.operation = replace(operation, step=OperationStep.INTENDED, token={})
                return await self._intended(writer, run)
            case OperationStep.SENT:
                return await write_decision.finish(writer, run, await writer.ask(run, operation.token))
            case OperationStep.SETTLING | OperationStep.DONE:
                return await settle.settle(writer, run)

    async def _intended(self, writer: ResourceWriter, run: Run) -> ActionResult:
        """Resume a write that was perhaps sent: live state tells, or the same key makes a repetition harmless."""
        checked, operation, reading = run.checked, run.operation, run.reading
        if isinstance(reading, ReadFailure) and reading.trouble is not ReadError.WITHHELD:
            return ActionResult(checked, ActionOutcome.FAILED, "it could not be read; the write that was begun waits")
        is_creation = lost_create_reasons.is_creation(operation.action, operation.phase)
        if is_creation and isinstance(reading, Found):
            return await write_decision.take_found(writer, run, reading)
        kind = run.item.kind
        is_hidden = not kind.repeats_create and not kind.finds  # a read alone cannot tell that it was not created
        if is_creation and not self.create_again and isinstance(reading, NotFound) and is_hidden:
            seen = await lost_creates.look_for(writer.checker, writer.store, run.item.without_id())
            if isinstance(seen, lost_creates.Unsure):
                return await write_decision.leave_unsure(writer, run, seen)
        if _is_deletion(operation) and isinstance(reading, NotFound):
            return await write_decision.finish(writer, run, Done(checked.state.observed.provider_id or ""))
        if digest_of(run.item.desired) != checked.state.declared.document and operation.action != Action.DELETE.value:
            return await settle.give_up(writer, run, "superseded by an edit before it was sent")
        if not is_creation and not await is_unmoved(writer, run):
            if not await _is_written(writer, run):
                return await settle.give_up(writer, run, "it moved since the write was begun")
            provider_id = checked.state.observed.provider_id
            run.operation = replace(
                operation, step=OperationStep.SETTLING, token={"id": provider_id} if provider_id else {}
            )
            return await settle.settle(writer, run)
        return await write_decision.send(writer, run)


def _is_deletion(operation: WriteOperation) -> bool:
    """Return True if the write at hand deletes something: a deletion, or the first half of a replacement."""
    return operation.action == Action.DELETE.value or operation.phase == "delete"


async def is_unmoved(writer: ResourceWriter, run: Run) -> bool:
    """Return True if live state is that of the decision to write."""
    checked, operation = run.checked, run.operation
    if checked.observed is ABSENT or operation.pre_image is None:
        return operation.action != Action.UPDATE.value
    assert checked.tree is not None
    before = await writer.store.document(operation.pre_image)
    return not diff.differences(before, checked.observed, checked.tree)


async def _is_written(writer: ResourceWriter, run: Run) -> bool:
    """Return True if all paths of an update have their values: then it was sent, and only the record is missing."""
    begun = await writer.correction(run)
    if run.operation.action != Action.UPDATE.value or begun is None or not isinstance(run.reading, Found):
        return False
    wrong = {paths.format_path(finding.path) for finding in run.checked.verdict.findings}
    return not wrong & {path.path for path in begun.paths}
