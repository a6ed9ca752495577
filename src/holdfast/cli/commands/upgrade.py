"""The command `upgrade`: a rehearsal, on everything in the store, of what a release or a profile would change."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from holdfast.app.project import Session, opened, options_of, partly, run
from holdfast.cli import console
from holdfast.compare import profiles
from holdfast.compare.profiles import Profile
from holdfast.errors import InputError
from holdfast.model.json import Json
from holdfast.reconcile import upgrade_check
from holdfast.reconcile.upgrade_check import UpgradeEffect
from holdfast.rollouts.repository import RolloutRepository

_FORMATS = ("table", "json", "yaml")
_MOST = 50


@click.command("upgrade")
@partly
@click.option("--dry-run", is_flag=True, help="Rehearse; an upgrade itself needs no command.")
@click.option(
    "--profile",
    "profile_files",
    multiple=True,
    metavar="FILE",
    help="As if this profile were in force, too (may be repeated).",
)
@console.option(*_FORMATS)
def upgrade_command(dry_run: bool, profile_files: tuple[str, ...], output_: str, **rest: Any) -> int:
    """Say what a new scheme, profile or release would change in the verdicts of everything in the store.

    It must be nothing; if not, what and why is named, and the exit code is 1. Nothing is read from the world and
    nothing is written. Upgrading itself is installing: new rules take each resource over when it is next looked at.

    \b
    Examples:
      holdfast upgrade --dry-run -f infra/
      holdfast upgrade --dry-run -f infra/ --profile new-rules.yaml -o json
    """
    if not dry_run:
        message = "there is nothing to do but to install the new release; rehearse it with --dry-run"
        raise click.UsageError(message)
    options = options_of(rest)

    async def main(_stop: asyncio.Event) -> int:
        async with opened(options) as session:
            tried = [each for file in profile_files for each in _profiles(file)]
            session.fleet = replace(session.fleet, profiles=[*tried, *session.fleet.profiles])
            found, unasked = await _rehearse(session, is_part=bool(options.targets or options.selector))
        _show(found, unasked, output_)
        return 1 if any(each.is_changed for each in found) else 0

    return run(main)


def _profiles(file: str) -> Sequence[Profile]:
    try:
        return profiles.parse(Path(file).read_bytes(), file)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None


async def _rehearse(session: Session, *, is_part: bool) -> tuple[list[UpgradeEffect], int]:
    """Rehearse what is declared; return that, and how many resources of the store are declared nowhere."""
    async with session.world() as world:
        ready, _ = await session.preparer(world).prepare(session.chosen)
    found = await upgrade_check.resources(session.store, ready)
    around = {each.address: each for each in session.by_hand}
    children = await upgrade_check.children(RolloutRepository(session.store, session.clock), session.templates, around)
    chosen = {str(address) for address in session.chosen}
    found += [each for each in children if not is_part or each.subject in chosen]
    known = [state.address async for state in session.store.all_states()]
    return found, sum(address not in session.fleet.declarations for address in known)


def _show(found: Sequence[UpgradeEffect], unasked: int, format_: str) -> None:
    changed = [each for each in found if each.is_changed]
    newly_visible = [each for each in found if each.newly_visible]
    if console.structured(format_, _as_json(found, changed, newly_visible, unasked)):
        return
    for each in changed[:_MOST]:
        console.line(f"  {each.subject}: {each.before} -> {each.after}: {each.why}", fg="red")
    if len(changed) > _MOST:
        console.line(f"  and {len(changed) - _MOST:,} more", fg="red")
    counted = Counter(path for each in newly_visible for path in each.newly_visible)
    for path, number in counted.most_common(_MOST):
        console.line(
            f"  newly visible: {path} of {number:,} will be seen for the first time, and does not count", fg="cyan"
        )
    for path, number in Counter(path for each in found for path in each.defaults).most_common(_MOST):
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
            {"subject": each.subject, "before": each.before, "after": each.after, "why": each.why} for each in changed
        ],
        "newly-visible": [{"subject": each.subject, "paths": list(each.newly_visible)} for each in newly_visible],
        "defaults_changed": [{"subject": e.subject, "paths": list(e.defaults)} for e in found if e.defaults],
    }
