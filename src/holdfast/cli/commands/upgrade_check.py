"""The command `upgrade-check`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from holdfast.app.project import Project
from holdfast.cli import console, options
from holdfast.cli.run import in_project
from holdfast.compare import profiles
from holdfast.compare.profile import Profile
from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.reconcile import upgrade_check
from holdfast.reconcile.upgrade_check import UpgradeEffect
from holdfast.rollouts.repository import RolloutRepository

_MOST = 50


@click.command("upgrade-check")
@options.partly
@click.option(
    "--profile",
    "profile_files",
    multiple=True,
    metavar="FILE",
    help="As if this profile were in force, too (may be repeated).",
)
@console.option(*options.FORMATS)
def upgrade_check_command(profile_files: tuple[str, ...], output_: str, **rest: Any) -> int:
    """Check that a new release or profile changes no verdict.

    Evaluates every resource of the store with the new rules. Exit code 1 if a verdict would change. Makes no API calls
    and writes nothing. New rules take effect on a resource at its next check.

    \b
    Examples:
      holdfast upgrade-check -f infra/
      holdfast upgrade-check -f infra/ --profile new-rules.yaml -o json
    """

    async def body(project: Project) -> int:
        tried = [profile for file in profile_files for profile in _profiles(file)]
        resources = replace(project.resources, profiles=[*tried, *project.resources.profiles])
        effects, undeclared = await _evaluate(replace(project, resources=resources))
        _show(effects, undeclared, output_)
        return 1 if any(effect.is_changed for effect in effects) else 0

    return in_project(rest, body)


def _profiles(file: str) -> Sequence[Profile]:
    try:
        return profiles.parse(Path(file).read_bytes(), file)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None


async def _evaluate(project: Project) -> tuple[list[UpgradeEffect], int]:
    """Return the effect on every declared resource, and how many resources of the store are not declared."""
    async with project.connections() as connections:
        ready, _ = await project.resolver(connections).prepare(project.selected)
    found = await upgrade_check.resources(project.store, ready)
    around = {declaration.address: declaration for declaration in project.manual}
    children = await upgrade_check.children(RolloutRepository(project.store, project.clock), project.templates, around)
    chosen, is_part = (
        {str(address) for address in project.selected},
        bool(project.options.targets or project.options.selector),
    )
    found += [child for child in children if not is_part or child.subject in chosen]
    known = [state.address async for state in project.store.all_states()]
    return found, sum(address not in project.resources.declarations for address in known)


def _show(found: Sequence[UpgradeEffect], unasked: int, format_: str) -> None:
    changed = [effect for effect in found if effect.is_changed]
    newly_visible = [effect for effect in found if effect.newly_visible]
    if console.structured(format_, lambda: _as_json(found, changed, newly_visible, unasked)):
        return
    for item in changed[:_MOST]:
        console.line(f"  {item.subject}: {item.before} -> {item.after}: {item.why}", fg="red")
    if len(changed) > _MOST:
        console.line(f"  and {len(changed) - _MOST:,} more", fg="red")
    counted = Counter(path for effect in newly_visible for path in effect.newly_visible)
    for path, number in counted.most_common(_MOST):
        console.line(
            f"  newly visible: {path} of {number:,} will be seen for the first time, and does not count", fg="cyan"
        )
    for path, number in Counter(path for effect in found for path in effect.defaults).most_common(_MOST):
        console.line(f"  defaults-changed: {path} of {number:,} has another default then, and is left alone", fg="cyan")
    if unasked:
        console.line(f"  {unasked:,} resources in the store are not declared here; name their manifests too")
    verdict = f"{len(changed):,} verdicts would change" if changed else "Nothing would change"
    console.line(f"{verdict}: {len(found):,} rehearsed.", bold=True)


def _as_json(
    found: Sequence[UpgradeEffect],
    changed: Sequence[UpgradeEffect],
    newly_visible: Sequence[UpgradeEffect],
    unasked: int,
) -> Json:
    return {
        "rehearsed": len(found),
        "undeclared": unasked,
        "changed": [
            {"subject": effect.subject, "before": effect.before, "after": effect.after, "why": effect.why}
            for effect in changed
        ],
        "newly-visible": [{"subject": effect.subject, "paths": list(effect.newly_visible)} for effect in newly_visible],
        "defaults_changed": [{"subject": e.subject, "paths": list(e.defaults)} for e in found if e.defaults],
    }
