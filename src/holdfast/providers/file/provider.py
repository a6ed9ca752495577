"""The file provider as the registry finds it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Final

from holdfast.provider import Connection, Declaration, InputError, Kind, Reader, Writer
from holdfast.providers import builtin_profiles, connection_settings
from holdfast.providers.file import spec
from holdfast.providers.file.reader import FileReader
from holdfast.providers.file.safe_path import Root
from holdfast.schema import fields

_SETTINGS: Final = fields.plain({"root": fields.STRING, "include": fields.STRINGS})


class FileProvider:
    """Files below the `root` of a connection; `include` says which of them a list brings."""

    name = "file"

    def validate(self, declaration: Declaration) -> list[InputError]:
        """Return the mistakes in a declaration, each with its field."""
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
        rules = builtin_profiles.shipped_with(self.name)
        return {
            name: Kind(
                name,
                patches=True,
                conditional=True,
                fills_in=False,
                profiles=rules,
                schema=spec.SCHEMAS[name],
                discovers=True,
                pool="files",  # a file may be declared as a Document or as a Text
            )
            for name in (spec.DOCUMENT, spec.TEXT)
        }

    def reader(self, connection: Connection) -> AbstractAsyncContextManager[Reader]:
        """Open the reading half."""
        root, include = _settings(connection)
        return nullcontext(FileReader(root, self.kinds, include))

    def writer(self, connection: Connection) -> AbstractAsyncContextManager[Writer]:
        """Open the writing half."""
        from holdfast.providers.file.writer import FileWriter  # noqa: PLC0415 - a check never loads it

        return nullcontext(FileWriter(_settings(connection)[0]))


def _settings(connection: Connection) -> tuple[Root, Sequence[str]]:
    given = dict(connection.settings)
    if given.keys() != {"root"} or not isinstance(given["root"], str) or not given["root"]:  # not plainly right
        given = connection_settings.read(_SETTINGS, connection)
    root = Root(Path(connection.base_dir, Path(given.get("root", ".")).expanduser()).absolute())
    return root, given.get("include", ("**/*",))
