"""YAML spellings of values: quoted if a reader of YAML 1.1 or 1.2 could take a string for another type."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from holdfast.model.json import Json

WIDTH: Final = 2**20  # columns: never fold a line

_SHORT_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


class _Dumper(yaml.SafeDumper):
    """Never writes aliases, and indents the elements of a list unless told otherwise."""

    indentless = False

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002 - the library's signature
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: FBT001, FBT002
        super().increase_indent(flow, indentless and self.indentless)


class _IndentlessDumper(_Dumper):
    indentless = True


def _string(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    if not value.replace("\n", "").isprintable():
        style: str | None = '"'
    else:
        style = "|" if "\n" in value and not re.search(r" \n|\A\s", value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style)


for _dumper in (_Dumper, _IndentlessDumper):
    _dumper.add_representer(str, _string)
    # PyYAML omits these booleans of YAML 1.1; other readers do not.
    _dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"[yYnN]\Z"), list("yYnN"))
    # Numbers of YAML 1.2 only must be quoted, too.
    _dumper.add_implicit_resolver(
        "tag:yaml.org,2002:int", re.compile(r"0o[0-7]+\Z|[-+]?[0-9]+\Z"), list("-+0123456789")
    )
    _dumper.add_implicit_resolver(
        "tag:yaml.org,2002:float",
        re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z"),
        list("-+.0123456789"),
    )


def block(value: Json, *, indent: int = 2, indentless: bool = False) -> str:
    """Write a value in block style, ending with a line break."""
    dumper = _IndentlessDumper if indentless else _Dumper
    written = _dump(value, dumper, default_flow_style=False, indent=max(indent, 2))
    return written.removesuffix("...\n")


def flow(value: Json) -> str:
    """Write a value within a line."""
    return _dump([value], _Dumper, default_flow_style=True)[1:].rstrip("\n").removesuffix("]")


def scalar(value: Json, quote: str = "", *, in_flow: bool = False, otherwise: str = "'") -> str:
    """Return a scalar within a line; a string without a given quote is plain if every reader takes it for a string.

    `otherwise` is the quote for a string that cannot be plain. Text that single quotes cannot hold is double-quoted.
    """
    if not isinstance(value, str):
        return flow(value)
    if not quote and not is_plain(value, in_flow=in_flow):
        quote = otherwise
    if quote == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return double(value) if quote else value


def is_plain(value: str, *, in_flow: bool) -> bool:
    """Return True if a string needs no quotes."""
    return (flow(value) if in_flow else _dump(value, _Dumper).removesuffix("...\n").rstrip("\n")) == value


def double(value: str) -> str:
    """Write a string in double quotes, with escapes for all that cannot be seen."""
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(character: str) -> str:
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _dump(value: Json, dumper: type[yaml.SafeDumper], **options: Any) -> str:  # noqa: ANN401 - passed on
    return str(yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, width=WIDTH, **options))
