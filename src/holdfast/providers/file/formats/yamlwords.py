"""How values are spelt in YAML: quoted wherever a reader of YAML 1.1 or 1.2 could take a string for something else."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import yaml

from holdfast.model.json import Json

WIDTH: Final = 2**20  # columns: never fold a line


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
    # What only YAML 1.2 takes for a number must be quoted too.
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


def scalar(value: Json, quote: str | None) -> str:
    """Write a scalar within a line, with the quotes that stood there before if it is a string."""
    if not isinstance(value, str):
        return flow(value)
    if quote == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if quote == '"' or not value.isprintable():
        return json.dumps(value, ensure_ascii=not value.replace("\n", "").replace("\t", "").isprintable())
    return flow(value)


def _dump(value: Json, dumper: type[yaml.SafeDumper], **options: Any) -> str:  # noqa: ANN401 - passed on
    return str(yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, width=WIDTH, **options))
