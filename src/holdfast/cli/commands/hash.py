"""`holdfast hash`: the canonical hash of a document, explained on request."""

from __future__ import annotations

import click

from holdfast.cli import console, input_files
from holdfast.compare import canonical
from holdfast.compare.go_json import Numbers
from holdfast.compat.kubernaut import fingerprint
from holdfast.compat.kubernaut.fingerprint import ConfigMapData
from holdfast.errors import InputError, Location, UnhashableError
from holdfast.model.json import Json


@click.command("hash")
@click.argument("files", nargs=-1, required=True, metavar="FILE|-...")
@click.option(
    "--numbers",
    type=click.Choice(["float64", "int64"]),
    help="How integers beyond 2^53 are read: as doubles (the seed's text; default) or exactly (as live clusters do; "
    "default with --fingerprint).",
)
@click.option(
    "--fingerprint",
    "whole",
    is_flag=True,
    help="Hash the whole object without apiVersion, kind, metadata and status, instead of a bare spec.",
)
@click.option(
    "--configmap",
    "configmaps",
    multiple=True,
    metavar="FILE",
    help="With --fingerprint: fold in the ConfigMaps that the workload refers to (may be repeated).",
)
@click.option("--explain", is_flag=True, help="Print the canonical text that is hashed.")
@click.option("--format", "format_", type=click.Choice(["auto", "json", "yaml"]), default="auto", show_default=True)
@console.option("text", "json")
def hash_command(
    files: tuple[str, ...],
    numbers: Numbers | None,
    whole: bool,
    configmaps: tuple[str, ...],
    explain: bool,
    format_: input_files.Format,
    output_: str,
) -> None:
    """Print the canonical hash of each FILE (YAML or JSON; - is standard input).

    Equal documents have equal hashes, whatever the order of their keys and list elements. The text rules are those of
    Kubernaut's canonical spec hash (Go's encoding/json), byte for byte.

    \b
    Examples:
      holdfast hash spec.json
      kubectl get deploy web -o json | holdfast hash --fingerprint -
      holdfast hash --explain spec.yaml
    """
    mode: Numbers = numbers or ("int64" if whole else "float64")
    rows = [_row(source, format_, mode, whole=whole, configmaps=configmaps) for source in files]
    if output_ == "json":
        console.json_lines([row if explain else {k: v for k, v in row.items() if k != "canonical"} for row in rows])
        return
    for row in rows:
        if explain:
            click.echo(row["canonical"])
        click.echo(row["hash"] if len(rows) == 1 else f"{row['hash']}  {row['file']}")


def _row(
    source: str, format_: input_files.Format, numbers: Numbers, *, whole: bool, configmaps: tuple[str, ...]
) -> dict[str, str]:
    value = input_files.read(source, format_, numbers)
    try:
        if whole:
            hashed: Json = fingerprint.functional_state(value)
            found = fingerprint.resource_fingerprint(
                value, numbers, _configmaps(value, configmaps) if configmaps else None
            )
        else:
            hashed = canonical.as_spec(value)
            found = canonical.canonical_spec_hash(hashed, numbers)
        return {
            "file": source,
            "hash": found,
            "numbers": numbers,
            "canonical": canonical.canonical_text(hashed, numbers),
        }
    except UnhashableError as error:
        raise InputError(error.message, Location(input_files.name_of(source), field=error.path or None)) from None


def _configmaps(workload: Json, files: tuple[str, ...]) -> dict[str, ConfigMapData | None]:
    """Read ConfigMaps by name. One that the workload refers to and no file has counts as absent."""
    kind, spec = workload.get("kind", ""), workload.get("spec", {})
    found: dict[str, ConfigMapData | None] = dict.fromkeys(fingerprint.configmap_references(kind, spec))
    for file in files:
        body = input_files.read(file)
        name = body.get("metadata", {}).get("name") if isinstance(body, dict) else None
        if not isinstance(name, str):
            message = "not a ConfigMap with a name"
            raise InputError(message, Location(file, field="/metadata/name"))
        found[name] = ConfigMapData.of(body)
    return found
