"""Files of waivers, which are reviewed like code: a waiver names a tolerated difference, its owner and its end.

    waivers:
      - resource: api/Widget/*        # a glob on addresses, as in --target
        path: /size                   # a path pattern, as in profiles; it covers everything below too
        owner: ada@example.org
        reason: load test until Friday
        expires: 2026-12-01           # a day (with all of it, UTC) or a time; over a year ahead only with a ticket
        ticket: OPS-123               # optional

The default file is `waivers.yaml` beside the project file, and `waivers` there names others. Entries are added and
removed by `manifests.edit.waiver_edit`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from holdfast.compare import paths, yaml_reader
from holdfast.errors import InputError, Location
from holdfast.manifests import file_discovery
from holdfast.policy import selectors, time_parsing
from holdfast.policy.waivers import Waiver
from holdfast.schema import fields
from holdfast.schema.document import Document, raise_all
from holdfast.schema.fields import FieldType, shown

SECTION: Final = "waivers"
LONGEST: Final = 366 * 86_400.0  # seconds; a longer waiver is a decision, and decisions have tickets


def _resource(text: str) -> str:
    if text.startswith("!"):
        raise InputError(f"{shown(text)} would waive everything else; name the resources to waive")
    selectors.parse_targets([text])
    return text


def _path(text: str) -> str:
    paths.parse_pattern(text)
    return text


WAIVER: Final = fields.plain(
    {
        "resource": fields.required(fields.STRING.then(_resource), "name the resources, such as api/Widget/*"),
        "path": fields.required(fields.STRING.then(_path), "name the field, such as /size; /** is all of them"),
        "owner": fields.required(fields.STRING, "a person must answer for it"),
        "reason": fields.required(fields.STRING, "give the reason why the difference is tolerated"),
        "expires": fields.required(
            fields.parsed(time_parsing.end, type="string"), "every waiver ends; give its last day, such as 2026-12-01"
        ),
        "ticket": fields.STRING,
    },
).then_at(lambda given, at: Waiver(**given, location=at.location))
SCHEMA: Final[FieldType[tuple[Waiver, ...]]] = fields.record(
    lambda waivers=(): waivers, {SECTION: fields.list_of(WAIVER)}
)


def load(files: Iterable[Path], now: float, cwd: Path | None = None) -> tuple[Waiver, ...]:
    """Read the waivers of all files, in order; a file that is not there has none. Messages name files as from `cwd`.

    Raise InputError or InputErrors with everything that is wrong in any of them.
    """
    out: list[Waiver] = []
    errors: list[InputError] = []
    here = cwd or Path.cwd()
    for file in files:
        if file.exists():
            name = str(file.relative_to(here)) if file.is_relative_to(here) else str(file)
            try:
                out.extend(
                    read(file_discovery.load(file_discovery.Source(name, file, was_named=True), None), name, now)
                )
            except InputError as error:
                errors.append(error)
    raise_all(errors)
    return tuple(out)


def read(data: bytes, name: str, now: float) -> tuple[Waiver, ...]:
    """Return the waivers of a file; raise InputError or InputErrors with everything that is wrong."""
    documents = yaml_reader.documents(data, name)
    if len(documents) > 1:
        message = "a file of waivers is one document; put them all into one list"
        raise InputError(message, Location(name, documents[1].line))
    if not documents:
        return ()
    document = Document(documents[0].value, name, documents[0].line, documents[0].places)
    found = fields.read(SCHEMA, document)
    raise_all(
        InputError(
            "more than a year ahead; choose an earlier day, or name the ticket that allows it",
            document.location((SECTION, index, "expires")),
        )
        for index, waiver in enumerate(found)
        if waiver.expires > now + LONGEST and not waiver.ticket
    )
    return found
