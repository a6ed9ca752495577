"""The file provider as the registry finds it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Final

from holdfast.compare import profiles
from holdfast.errors import InputError, Location
from holdfast.model.json import Json
from holdfast.model.resource import Declaration
from holdfast.providers import unknown_fields
from holdfast.providers.file import spec
from holdfast.providers.file.reader import FileReader
from holdfast.providers.file.safe_path import Root
from holdfast.providers.file.writer import FileWriter
from holdfast.providers.protocol import Connection, Kind, Reader, Writer

_SETTINGS: Final = ("root", "include")


class FileProvider:
    """Files below the `root` of a connection; `include` says which of them a list brings."""

    name = "file"

    def validate(self, declaration: Declaration) -> list[InputError]:
        """Return what is wrong with a declaration, each with its field."""
        return spec.mistakes(declaration)

    def identity(self, connection: Connection, declaration: Declaration) -> str | None:
        """Return the file that a declaration means, by whichever connection or kind; None while it is not known."""
        given = declaration.import_from.id if declaration.import_from is not None else None
        path = given or declaration.desired.get("path")
        if not isinstance(path, str) or "${" in path:
            return None
        root = connection.settings.get("root", ".")
        if not isinstance(root, str):
            return None
        return os.path.abspath(os.path.join(connection.base_dir, os.path.expanduser(root), path))  # noqa: PTH100, PTH111, PTH118 - of every declaration of a fleet

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """The two kinds; lists serve discovery only, as one call costs as much as reading each."""
        text = resources.files(__package__).joinpath("profiles/file.yaml").read_bytes()
        rules = tuple(profiles.parse(text, "file/profiles/file.yaml"))
        return {
            name: Kind(
                name,
                patches=True,
                conditional=True,
                fills_in=False,
                profiles=rules,
                schema=spec.schema(name),
                discovers=True,
                pool="files",  # a file may be declared as a Document or as a Text
            )
            for name in (spec.DOCUMENT, spec.TEXT)
        }

    @asynccontextmanager
    async def reader(self, connection: Connection) -> AsyncIterator[Reader]:
        """Open the reading half."""
        unknown_fields.refuse_unknown(connection, _SETTINGS)
        include = connection.settings.get("include", ["**/*"])
        if not isinstance(include, list) or not all(isinstance(glob, str) for glob in include):
            raise _wrong(connection, "include", 'a list of globs is needed, such as ["conf.d/**/*.yaml"]')
        yield FileReader(_root(connection), self.kinds, include)

    @asynccontextmanager
    async def writer(self, connection: Connection) -> AsyncIterator[Writer]:
        """Open the writing half."""
        unknown_fields.refuse_unknown(connection, _SETTINGS)
        yield FileWriter(_root(connection))


def _root(connection: Connection) -> Root:
    given: Json = connection.settings.get("root", ".")
    if not isinstance(given, str) or not given:
        raise _wrong(connection, "root", "the folder that all files are below is needed")
    return Root(Path(connection.base_dir, Path(given).expanduser()).absolute())


def _wrong(connection: Connection, field: str, message: str) -> InputError:
    return InputError(message, Location(field=f"/connections/{connection.name}/{field}"))
