"""Reading the documents that commands are given: files or standard input, JSON or YAML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from holdfast.compare import go_json, yaml_reader
from holdfast.compare.go_json import Numbers
from holdfast.errors import DocumentError, InputError, Location
from holdfast.model.json import Json

Format = Literal["auto", "json", "yaml"]
MAX_BYTES = 256 * 1024 * 1024

_LOOKS_LIKE_JSON = (b"{", b"[", b'"')
_BOM = b"\xef\xbb\xbf"


def read_bytes(source: str) -> bytes:
    """Return the bytes of a file, or of standard input for `-`."""
    try:
        if source == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(source).open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise DocumentError(message, Location(name_of(source))) from None
    if len(data) > MAX_BYTES:
        message = f"larger than {MAX_BYTES // 2**20} MB"
        raise DocumentError(message, Location(name_of(source)))
    return data


def name_of(source: str) -> str:
    """Return the name of a source in messages."""
    return "<stdin>" if source == "-" else source


def read(source: str, format_: Format = "auto", numbers: Numbers = "float64") -> Json:
    """Read one document.

    `auto` goes by the file's ending, else by its first character: a brace, bracket or quote means JSON, read strictly.
    """
    data = read_bytes(source)
    if format_ == "auto":
        format_ = _format_of(source, data)
    try:
        if format_ == "json":
            return go_json.loads(data, numbers=numbers)
        if not data.strip():
            message = "the document is empty"
            raise DocumentError(message)
        return go_json.round_integers(yaml_reader.document(data, name_of(source)).value, numbers)
    except InputError as error:
        raise error.at(Location(name_of(source))) from None


def _format_of(source: str, data: bytes) -> Literal["json", "yaml"]:
    suffix = Path(source).suffix.lower()
    if suffix == ".json":
        return "json"
    if suffix in (".yaml", ".yml"):
        return "yaml"
    return "json" if data.removeprefix(_BOM).lstrip().startswith(_LOOKS_LIKE_JSON) or not data.strip() else "yaml"
