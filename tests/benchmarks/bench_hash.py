"""The canonical hash beside the naive way to compute it, DeepHash, and the bare digest.

python tests/benchmarks/bench_hash.py [rounds]
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import deepdiff

# Run as a script, Python would look for siblings in this folder only.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from holdfast.compare import canonical, go_json, hash_schemes
from holdfast.model.json import Json
from tests.benchmarks import compiled_side, harness, inputs

OURS = "holdfast, parsed document to digest"
NAIVE = "naive: json.dumps, sort by json.dumps"
DEEP_HASH = "deepdiff.DeepHash"
RAW = "holdfast raw-sha256, bytes to digest"
FLOOR = "floor: sha256 of the bytes"
COMPILED = "holdfast compiled, parsed document to digest"
COMPILED_ORDERED = "holdfast compiled, lists in order"
COMPILED_LEAST = {"2 KB": 10, "4 KB": 10, "10 KB": 15}


def naive(value: Json) -> Json:
    """Normalise as the seed's document describes it, in the obvious Python."""
    if isinstance(value, dict):
        return {key: naive(value[key]) for key in sorted(value)}
    return sorted(map(naive, value), key=_dumps) if isinstance(value, list) else value


def naive_bytes(value: Json) -> bytes:
    """Return the reference's canonical text; for these documents it equals ours."""
    return _dumps(naive(value)).encode()


def _dumps(value: Json) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def variants(document: Json) -> dict[str, Callable[[], object]]:
    """Return everything that is measured on one document."""
    raw = inputs.compact(document)
    if naive_bytes(document) != canonical.canonical_bytes(document):
        raise SystemExit("the reference and Holdfast disagree: the comparison would mean nothing")
    return {
        DEEP_HASH: lambda: deepdiff.DeepHash(document)[document],
        NAIVE: lambda: hashlib.sha256(naive_bytes(document)).hexdigest(),
        "holdfast, text to digest": lambda: canonical.canonical_spec_hash(go_json.loads(raw)),
        OURS: lambda: canonical.canonical_spec_hash(document),
        "holdfast, lists in order": lambda: hash_schemes.ORDERED.digest(document),
        "holdfast, reading only": lambda: go_json.loads(raw),
        RAW: lambda: hash_schemes.RAW.digest(raw),
        FLOOR: lambda: hashlib.sha256(raw).hexdigest(),
    }


def run(rounds: int = 15) -> list[dict[str, object]]:
    """Measure; one row for each document and variant, with its speed relative to the naive reference."""
    calls = {(name, label): call for name, doc in inputs.documents().items() for label, call in variants(doc).items()}
    with compiled_side.started() as compiled:
        remote = {
            (name, label): (lambda count, name=name, work=work: compiled.seconds("hash", (name, work), count))
            for name in inputs.documents()
            for label, work in ((COMPILED, "sorted"), (COMPILED_ORDERED, "ordered"))
        }
        us = harness.medians(calls, rounds, remote)
    return [
        {"document": name, "variant": label, "us": us[name, label], "times naive": us[name, NAIVE] / us[name, label]}
        for name, label in us
    ]


def bars(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return what was promised beside what was measured."""
    us = {(str(row["document"]), str(row["variant"])): float(str(row["us"])) for row in rows}
    out: list[dict[str, object]] = []
    for size in ("2 KB", "4 KB", "10 KB"):
        for peer, least in ((NAIVE, 3), (DEEP_HASH, 25)):
            ratio = us[size, peer] / us[size, OURS]
            out.append(harness.bar(f"{size}: at least {least} times {peer}", ratio, least=least))
        least = COMPILED_LEAST[size]
        out.append(
            harness.bar(
                f"{size} compiled: at least {least} times naive", us[size, NAIVE] / us[size, COMPILED], least=least
            )
        )
        ratio = us[size, RAW] / us[size, FLOOR]
        out.append(harness.bar(f"{size}: raw digest at most 1.5 times the bare sha256", ratio, most=1.5))
    ratio = us["100 KB lists", OURS] / us["10 KB", OURS]
    out.append(harness.bar("100 KB of lists: at most 20 times 10 KB", ratio, most=20))
    return out


def main() -> None:
    """Print both tables."""
    rows = run(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
    print(harness.table(rows), harness.table(bars(rows)), sep="\n\n")


if __name__ == "__main__":
    main()
