"""Files of waivers: reviewed like code, because they say what is tolerated, by whom and until when.

    waivers:
      - resource: api/Widget/*        # a glob on addresses, as in --target
        path: /size                   # a path pattern, as in profiles; it covers everything below too
        owner: ada@example.org
        reason: load test until Friday
        expires: 2026-12-01           # a day (with all of it, UTC) or a time; over a year ahead only with a ticket
        ticket: OPS-123               # optional

The usual file is `waivers.yaml` beside the project file; `waivers` there names others. Adding and removing entries is
`manifests.waiving`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from holdfast.compare import paths, yaml_reader
from holdfast.errors import InputError, Location
from holdfast.manifests import file_discovery
from holdfast.manifests.validation import Sheet, Written, named, raise_all, shown
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.policy import selectors, time_parsing
from holdfast.policy.waivers import Waiver

SECTION: Final = "waivers"
FIELDS: Final = ("resource", "path", "owner", "reason", "expires", "ticket")
LONGEST: Final = 366 * 86_400.0  # seconds; what lasts longer is a decision, and decisions have tickets

_NEEDED: Final = {
    "resource": "name the resources, such as api/Widget/*",
    "path": "name the field, such as /size; /** is all of them",
    "owner": "somebody must answer for it",
    "reason": "say why the difference is tolerated",
}


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
    """Read the text of a file of waivers; raise InputError or InputErrors with everything that is wrong."""
    found = yaml_reader.documents(data, name)
    if len(found) > 1:
        raise InputError("a file of waivers is one document; put them all into one list", Location(name, found[1].line))
    if not found:
        return ()
    errors: list[InputError] = []
    sheet = Sheet(Written(found[0].value, name, found[0].line, found[0].places), errors)
    listed = sheet.mapping(found[0].value, (), (SECTION,)).get(SECTION, [])
    if not isinstance(listed, list):
        sheet.fail(f"a list is needed here, not {named(listed)}", (SECTION,))
        listed = []
    out = [_waiver(sheet, item, (SECTION, index), now) for index, item in enumerate(listed)]
    raise_all(errors)
    return tuple(each for each in out if each is not None)


def _waiver(sheet: Sheet, value: Json, pointer: Pointer, now: float) -> Waiver | None:
    before = len(sheet.errors)
    if value is None:
        sheet.fail("a waiver is needed here, with resource, path, owner, reason and expires", pointer)
        return None
    body = sheet.mapping(value, pointer, FIELDS)
    if not isinstance(value, dict):
        return None
    texts = {key: sheet.text(body, key, pointer, needed) or "" for key, needed in _NEEDED.items()}
    ticket = sheet.text(body, "ticket", pointer) or ""
    _check_globs(sheet, texts, pointer)
    expires = _expires(sheet, body, pointer)
    if expires is not None and expires > now + LONGEST and not ticket:
        sheet.fail(
            "more than a year ahead; choose an earlier day, or name the ticket: that allows it", (*pointer, "expires")
        )
    if expires is None or len(sheet.errors) > before:
        return None
    return Waiver(**texts, expires=expires, ticket=ticket, location=sheet.written.location(pointer))


def _check_globs(sheet: Sheet, texts: Mapping[str, str], pointer: Pointer) -> None:
    resource = texts["resource"]
    if resource.startswith("!"):
        sheet.fail(f"{shown(resource)} would waive everything else; name what is waived", (*pointer, "resource"))
    elif resource:
        try:
            selectors.parse_targets([resource])
        except InputError as error:
            sheet.note(error, (*pointer, "resource"))
    try:
        paths.parse_pattern(texts["path"])
    except InputError as error:
        sheet.note(error, (*pointer, "path"))


def _expires(sheet: Sheet, body: Mapping[str, Json], pointer: Pointer) -> float | None:
    if "expires" not in body:
        sheet.missing("expires", pointer, "every waiver ends; give its last day, such as 2026-12-01")
        return None
    try:
        return time_parsing.end(body["expires"])
    except InputError as error:
        sheet.note(error, (*pointer, "expires"))
        return None
