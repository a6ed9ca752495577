"""Make the facts about Kubernetes' built-in kinds from a server's OpenAPI document and the Go types of its release.

    kubectl get --raw /openapi/v2 > openapi.json
    python tools/kubernetes_facts.py openapi.json kubernetes-1.20.2/staging/src/k8s.io

Writes src/holdfast/providers/kubernetes/data/kubernetes_types.json.gz. Descriptions and everything that makes no rule
are left out. From the Go types comes one fact that OpenAPI does not have: a scalar behind a pointer, whose zero the
server keeps.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path("src/holdfast/providers/kubernetes/data/kubernetes_types.json.gz")
KEPT = (
    "$ref", "type", "format", "items", "additionalProperties", "properties", "default",
    "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy", "x-kubernetes-map-type", "x-kubernetes-group-version-kind",
)  # fmt: skip
KEEPS_ZERO = "x-holdfast-keeps-zero"
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_POINTER = re.compile(r"^\s+\w+\s+\*(bool|string|u?int\d*|\w+)\s+`json:\"(\w+)", re.MULTILINE)
_WORD = re.compile(r"^type (\w+) (?:string|bool|int\d*)$", re.MULTILINE)  # a named scalar


def reduced(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without what makes no rule."""
    kept = {key: schema[key] for key in KEPT if key in schema}
    if "properties" in kept:
        kept["properties"] = {name: reduced(field) for name, field in kept["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in kept:
            kept[key] = reduced(kept[key])
    return kept


def kept_zeros(sources: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the Go structs, by the names that their definitions have, with their scalar fields behind pointers."""
    for file in sorted(sources.rglob("types*.go")):
        text = file.read_text(encoding="utf-8")
        scalars = {"bool", "string", *(f"int{bits}" for bits in ("", 32, 64)), *_WORD.findall(text)}
        package = ".".join(file.parent.relative_to(sources).parts)
        for name, body in _STRUCT.findall(text):
            fields = [field for type_, field in _POINTER.findall(body) if type_ in scalars]
            if fields:
                yield f"io.k8s.{package}.{name}", fields


def main(document: str, sources: str) -> None:
    """Write the facts."""
    definitions = json.loads(Path(document).read_text(encoding="utf-8"))["definitions"]
    facts = {
        name: reduced(schema)
        for name, schema in sorted(definitions.items())
        if name.startswith("io.k8s.") and not name.endswith("List")
    }
    pointers = dict(kept_zeros(Path(sources)))
    for name, fields in pointers.items():
        if name in facts:
            facts[name][KEEPS_ZERO] = fields
    text = json.dumps({"definitions": facts}, separators=(",", ":"), sort_keys=True)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{len(facts)} schemas, {sum(KEEPS_ZERO in schema for schema in facts.values())} that keep a zero")


if __name__ == "__main__":
    main(*sys.argv[1:])
