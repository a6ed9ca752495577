"""Reading options where they stand: in a resource's managedOptions and in a strategy."""

from __future__ import annotations

from holdfast.errors import InputError
from holdfast.manifests.validation import Sheet
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.policy import settings, source_location
from holdfast.policy.settings import Given, Level


def read(sheet: Sheet, value: Json, pointer: Pointer, level: Level, owner: str = "") -> dict[str, Given]:
    """Return the options as a level of settings, noting those that are unknown or cannot have their value."""
    out = {}
    for spelling, item in sheet.mapping(value, pointer).items():
        place = (*pointer, spelling)
        try:
            setting, parsed = settings.parse_option(spelling, item)
        except InputError as error:
            sheet.note(error, place)
            continue
        where = source_location.text(sheet.written.location(place))
        out[setting.name] = Given(parsed, level, f"{owner} {where}" if owner else where)
    return out
