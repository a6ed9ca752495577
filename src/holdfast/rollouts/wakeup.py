"""When a rollout has something to do again, from what it waits for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from holdfast.rollouts.core import group_rollouts, group_views, scheduler
from holdfast.rollouts.core.slots import ChildState
from holdfast.rollouts.core.template_groups import TemplateGroup

LOOK_AGAIN_SECONDS: Final = 30.0  # for what nobody can foresee: a gate, a window, somebody else's write
SOON_SECONDS: Final = 5.0  # for a child that is being made


def wake_at(group: TemplateGroup, now: float) -> float | None:
    """Return when to look again; None when only a person can set it going."""
    file = group.rollout
    if file is None or (group_rollouts.retired(file.rollout) and not _is_busy(group)):
        return None
    return max(now, min(_moments(group, now)))


def _is_busy(group: TemplateGroup) -> bool:
    return any(each.state in {ChildState.CREATING, ChildState.REMOVING} for each in group.children.values())


def _moments(group: TemplateGroup, now: float) -> Iterator[float]:
    yield now + LOOK_AGAIN_SECONDS
    file, limits = group.rollout, group_views.limits(group)
    assert file is not None
    rollout = file.rollout
    if _is_busy(group):
        yield now + SOON_SECONDS
    if rollout.well_since is not None:
        yield _later(rollout.well_since + limits.soak, now)
    for slot in rollout.failures:
        yield _later(scheduler.retry_at(rollout, slot, limits), now)
    if limits.min_ready:
        for child in group.children.values():
            if child.state is ChildState.READY and child.made_by == rollout.maker:
                yield _later(child.ready_since + limits.min_ready, now)
    if limits.progress_deadline is not None:
        yield _later(rollout.progressed_at + limits.progress_deadline, now)


def _later(moment: float, now: float) -> float:
    """Return a moment that is to come; one that is past says nothing."""
    return moment if moment > now else now + LOOK_AGAIN_SECONDS
