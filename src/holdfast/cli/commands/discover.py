"""`holdfast discover`: undeclared live resources, their number, and manifests that adopt them."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import click

from holdfast.app.options import ProjectOptions
from holdfast.app.project import Project
from holdfast.app.sources.files import find_config
from holdfast.cli import console, options
from holdfast.cli.run import open_project, run
from holdfast.errors import HoldfastError, InputError
from holdfast.manifests import file_discovery
from holdfast.manifests import project as projects
from holdfast.model.json import Json
from holdfast.model.record import dataclass
from holdfast.model.resource import ManagementPolicy
from holdfast.policy.dependency_graph import Graph
from holdfast.providers.file import formats
from holdfast.reconcile.connections import Connections
from holdfast.reconcile.discover import Coverage, Discoverer, Drafted, KindListing, Survey, coverage
from holdfast.reconcile.observe import Observer
from holdfast.reconcile.resolve import ResourceSet
from holdfast.reconcile.retry import RetryPolicy
from holdfast.schema import did_you_mean

_SHOWN: Final = 20  # strangers of a kind that the table names; -o json has all
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST: Final = 100  # characters of a file name


@dataclass(frozen=True, slots=True)
class DiscoveredFile:
    """The result for one undeclared resource: the file that was written, or the reason why there is none."""

    drafted: Drafted
    file: Path | None = None
    trouble: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Wish:
    """The options that the user gave."""

    options: ProjectOptions
    connections: tuple[str, ...]
    kinds: tuple[str, ...]
    folder: Path | None
    policy: ManagementPolicy


@click.command("discover")
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    metavar="PATH",
    help="Manifests with the declarations; by default those beside holdfast.yaml (may be repeated).",
)
@click.option("--project", metavar="FILE", help="The project file; holdfast.yaml here or above by default.")
@click.option("--store", metavar="URL", help="The store, a file or URL; .holdfast/holdfast.db by default.")
@click.option("--connection", "connections", multiple=True, metavar="NAME", help="Only this one (may be repeated).")
@click.option("--kind", "kinds", multiple=True, metavar="GLOB", help="Only kinds that match (may be repeated).")
@click.option(
    "--write", "folder", metavar="DIR", help="Write a manifest for each, to import it; no file is overwritten."
)
@click.option(
    "--policy",
    type=click.Choice([ManagementPolicy.OBSERVED.value, ManagementPolicy.MANAGED.value]),
    default=ManagementPolicy.OBSERVED.value,
    show_default=True,
    help="The managementPolicy of written manifests: compared and reported, or corrected too.",
)
@console.option(*options.FORMATS)
def discover_command(
    files: tuple[str, ...],
    project: str | None,
    store: str | None,
    connections: tuple[str, ...],
    kinds: tuple[str, ...],
    folder: str | None,
    policy: str,
    output_: str,
) -> int:
    """List live resources that no manifest declares.

    Kinds that cannot be listed are named, and never count as covered. Exit code 1 if a list fails. Nothing is written
    to live state.

    \b
    Examples:
      holdfast discover -f infra/
      holdfast discover --connection shop --kind 'Widget*'
      holdfast discover --write found/ && holdfast plan -f found/
    """
    options = ProjectOptions(files, project, store)
    wish = Wish(options, connections, kinds, Path(folder) if folder else None, ManagementPolicy(policy))

    async def main(_stop: asyncio.Event) -> int:
        async with open_project(with_manifests(options), reads="named") as opened:
            surveys, written = await _discovered(opened, wish)
        total = coverage(surveys)
        if not console.structured(output_, lambda: _as_json(surveys, written, total)):
            _show(surveys, total)
            if wish.folder is not None:
                _show_written(written, wish.folder)
        failed = any(survey.listing is KindListing.FAILED for survey in surveys)
        return 1 if failed or any(item.is_error for item in written) else 0

    return run(main)


def with_manifests(options: ProjectOptions) -> ProjectOptions:
    """Take the manifests beside the project file where none were named; a project without any declares nothing yet."""
    if options.files:
        return options
    project = find_config(options)
    if project.file is None:
        raise InputError("nothing to look at: put the connections into a holdfast.yaml, or give manifests with -f")
    found, _ = file_discovery.find((str(project.folder),), project.profiles)
    declares = any(file_discovery.may_be_manifest(file_discovery.load(source, None)) for source in found)
    return replace(options, files=(str(project.folder),)) if declares else options


# --- discovering ------------------------------------------------------------------------------------------------------


async def _discovered(project: Project, wish: Wish) -> tuple[list[Survey], list[DiscoveredFile]]:
    names = _chosen(project, wish)
    if wish.folder is not None:
        _insist_on_named(project, names)
    async with _world(project, names) as connections:
        looker = Observer(
            connections, project.clock, project.engine.random01, RetryPolicy(), project.engine.fingerprint
        )
        discoverer = Discoverer(project.resolver(connections), looker, keeps_raw=wish.folder is not None)
        surveys: list[Survey] = []
        for name in names:
            surveys += await discoverer.survey(name, lambda kind: _is_wanted(kind, wish.kinds))
        if not surveys and wish.kinds:
            raise InputError(f"no kind of {', '.join(names)} matches {', '.join(wish.kinds)}")
        return surveys, [written async for written in _writing(discoverer, surveys, wish)]


def _chosen(project: Project, wish: Wish) -> list[str]:
    """Return the connections to look through: the named ones, else the project's and those that something is in."""
    known = project.config.connections
    for name in wish.connections:
        if name not in known:
            guess = did_you_mean.hint(name, known) or f"; there are {', '.join(sorted(known)) or 'none'}"
            raise InputError(f"there is no connection {name!r}{guess}")
    used = {address.connection for address in project.resources.declarations}
    names = sorted(wish.connections or {*_of_project(project), *used} or known)
    if not names:
        raise InputError("there is no connection to look through; put one into holdfast.yaml")
    return names


def _of_project(project: Project) -> Collection[str]:
    """Return the connections that holdfast.yaml names; that to the folder of the manifests comes by itself."""
    file = project.config.file
    return projects.load(file, Path.cwd()).connections if file is not None else ()


def _is_wanted(kind: str, globs: Sequence[str]) -> bool:
    return not globs or any(fnmatchcase(kind, glob) for glob in globs)


def _insist_on_named(project: Project, names: Sequence[str]) -> None:
    """Refuse to write for a connection that only -f brought about: the written manifests would mean another folder."""
    for name in names:
        if name not in _of_project(project):
            root = project.config.connections[name].settings.get("root", ".")
            hint = f"connections: {{{name}: {{provider: file, root: {root}}}}}"
            raise InputError(f"to write manifests for {name!r}, name it in holdfast.yaml first: {hint}")


def _world(project: Project, names: Sequence[str]) -> Connections:
    """Return the chosen connections, also those without a declaration."""
    config = replace(project.config, connections={name: project.config.connections[name] for name in names})
    return replace(
        project, config=config, resources=ResourceSet({}, Graph()), opened_connections=frozenset()
    ).connections()


# --- writing ----------------------------------------------------------------------------------------------------------


async def _writing(discoverer: Discoverer, surveys: Sequence[Survey], wish: Wish) -> AsyncIterator[DiscoveredFile]:
    """Draft and write, kind by kind; each kind has a folder of its own."""
    for survey in surveys:
        if wish.folder is None or survey.listing is not KindListing.LISTED:
            continue
        place = wish.folder / file_name(survey.connection, "", set()).removesuffix(".yaml")
        place /= file_name(survey.kind, "", set()).removesuffix(".yaml")
        taken: set[str] = set()
        async for drafted in discoverer.drafts(survey, wish.policy):
            if drafted.address is None:
                yield DiscoveredFile(drafted, None, drafted.trouble)
            else:
                yield _write(place / file_name(drafted.address.name, drafted.id, taken), drafted)


def _write(file: Path, drafted: Drafted) -> DiscoveredFile:
    try:
        text = _text(drafted)
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as stream:  # never over a file, nor through a link
            stream.write(text)
    except FileExistsError:
        return DiscoveredFile(drafted, None, f"{file} is there already, and was left alone")
    except OSError as error:
        return DiscoveredFile(drafted, None, f"{file} cannot be written: {error.strerror or error}", is_error=True)
    except HoldfastError as error:
        return DiscoveredFile(drafted, None, f"it cannot be written as YAML: {error}", is_error=True)
    return DiscoveredFile(replace(drafted, manifest=None), file)  # the manifest is in the file now


def _text(drafted: Drafted) -> str:
    """Return the manifest as text, which was read back to see that it says the same."""
    head = [f"# left out: {path} ({why})" for path, why in drafted.left_out]
    return "\n".join([*head, formats.dumped("yaml", drafted.manifest)])


def file_name(text: str, ident: str, taken: set[str]) -> str:
    """Return the name of a file for a resource: safe on every system, not hidden, and not yet taken."""
    stem = _UNSAFE.sub("-", text).strip("-.") or "unnamed"
    digest = hashlib.sha256(ident.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    if len(stem) > _LONGEST:
        stem = f"{stem[:_LONGEST]}-{digest}"
    name = f"{stem}.yaml"
    if name.casefold() in taken or name == file_discovery.PROJECT_FILE:
        name = f"{stem}-{digest}.yaml"
    taken.add(name.casefold())
    return name


# --- showing ----------------------------------------------------------------------------------------------------------


def _show(surveys: Sequence[Survey], total: Coverage) -> None:
    rows = [_row(survey) for survey in surveys]
    console.table(("connection", "kind", "live", "declared", "undeclared", ""), rows, numeric=frozenset({2, 3, 4}))
    for survey in surveys:
        if survey.strangers:
            console.line()
            console.line(f"{survey.connection}/{survey.kind}, declared nowhere:", bold=True)
            for stranger in survey.strangers[:_SHOWN]:
                console.line(f"  + {stranger.id}", fg="yellow")
            more = len(survey.strangers) - _SHOWN
            if more > 0:
                console.line(f"  and {more} more; -o json lists them all")
    console.line()
    console.line(f"{total}.", bold=True)
    for survey in surveys:
        if survey.listing is not KindListing.LISTED:
            colour = "red" if survey.listing is KindListing.FAILED else "yellow"
            console.line(f"Not counted: {survey.connection}/{survey.kind}, {survey.reason}.", fg=colour)


def _row(survey: Survey) -> tuple[str, ...]:
    if survey.listing is not KindListing.LISTED:
        return (survey.connection, survey.kind, "?", "?", "?", survey.listing.value)
    counts = (survey.live, survey.declared, len(survey.strangers))
    return (survey.connection, survey.kind, *map(str, counts), "")


def _show_written(written: Sequence[DiscoveredFile], folder: Path) -> None:
    console.line()
    for element in written:
        if element.file is None:
            console.line(f"Not written: {element.drafted.kind} {element.drafted.id}: {element.trouble}", fg="yellow")
        for path, why in element.drafted.left_out:
            console.line(f"Left out of {element.file or element.drafted.id}: {path}, {why}")
    count = sum(item.file is not None for item in written)
    if count:
        console.line(f"Wrote {count} manifests; look at them with: holdfast plan -f {folder}", bold=True)
    else:
        console.line("Nothing was written.", bold=True)


def _as_json(surveys: Sequence[Survey], written: Sequence[DiscoveredFile], total: Coverage) -> Json:
    out: dict[str, Json] = {
        "kinds": [_survey_as_json(survey) for survey in surveys],
        "coverage": {
            "live": total.live,
            "declared": total.declared,
            "share": None if total.share is None else round(total.share, 4),
            "notCounted": sum(survey.listing is not KindListing.LISTED for survey in surveys),
        },
    }
    if written:
        out["written"] = [_written_as_json(item) for item in written]
    return out


def _survey_as_json(survey: Survey) -> dict[str, Json]:
    is_listed = survey.listing is KindListing.LISTED
    return {
        "connection": survey.connection,
        "kind": survey.kind,
        "listing": survey.listing.value,
        "reason": survey.reason or None,
        "live": survey.live if is_listed else None,
        "declared": survey.declared if is_listed else None,
        "undeclared": [stranger.id for stranger in survey.strangers] if is_listed else None,
    }


def _written_as_json(one: DiscoveredFile) -> dict[str, Json]:
    return {
        "kind": one.drafted.kind,
        "id": one.drafted.id,
        "address": str(one.drafted.address) if one.drafted.address is not None else None,
        "file": str(one.file) if one.file is not None else None,
        "trouble": one.trouble or None,
        "leftOut": [path for path, _ in one.drafted.left_out],
    }
