"""The comparison beside its peers: two 10 KB Deployments with three changes, with a reordered set, and unchanged.

Ours is the whole three-way comparison with a profile (keyed lists, a set, quantities, a read-only field); the peers
compare two documents and know none of that. Run by `make bench`.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from pathlib import Path

import deepdiff
import dictdiffer
import jsondiff
import jsonpatch

# Run as a script, Python would look for siblings in this folder only.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from holdfast.compare import diff, go_json, profiles
from holdfast.model.json import Json
from tests.benchmarks import compiled_side, harness, inputs

PROFILE = """
profile: bench/deployment
version: 1
rules:
  - {path: /template/spec/containers, list: {keyed: [name]}}
  - {path: /template/spec/containers/*/env, list: {keyed: [name]}}
  - {path: /template/spec/containers/*/ports, list: {keyed: [containerPort]}}
  - {path: /template/spec/containers/*/volumeMounts, list: {keyed: [mountPath]}}
  - {path: /template/spec/containers/*/args, list: ordered}
  - {path: /template/spec/tolerations, list: set}
  - {path: /template/spec/containers/*/resources/**, compare: quantity}
  - {path: /status, class: read_only}
"""
OURS, REORDERED, EQUAL = "holdfast, three changes", "holdfast, a set reordered", "holdfast, nothing changed"
COMPILED, COMPILED_REORDERED = "holdfast compiled, three changes", "holdfast compiled, a set reordered"
COMPILED_EQUAL = "holdfast compiled, nothing changed"
DICTDIFFER, DEEPDIFF, DEEPDIFF_SET = "dictdiffer", "DeepDiff", "DeepDiff, ignore_order"


def changed(document: Json) -> Json:
    """Return the document with a value changed, an element added and a key removed."""
    new = copy.deepcopy(document)
    containers = new["template"]["spec"]["containers"]
    containers[1]["image"] += "-hotfix"
    containers[2]["env"].append({"name": "ADDED_BY_HAND", "value": "1"})
    del containers[3]["readinessProbe"]
    return new


def reordered(document: Json) -> Json:
    """Return the document with the elements of a set in another order."""
    new = copy.deepcopy(document)
    new["template"]["spec"]["tolerations"].reverse()
    return new


def variants() -> dict[str, Callable[[], object]]:
    """Return everything that is measured; each side is read from text on its own, as in a check."""
    old = inputs.documents()["10 KB"]
    desired, settled, new, other, same = (
        go_json.loads(inputs.compact(doc)) for doc in (old, old, changed(old), reordered(old), old)
    )
    rules = profiles.stack(profiles.parse(PROFILE)).tree()
    baseline = diff.Baseline(desired, settled)
    if len(diff.findings(desired, new, rules, baseline)) != 3 or diff.findings(desired, other, rules, baseline):
        raise SystemExit("the comparison is wrong, so its speed means nothing")
    return {
        DEEPDIFF_SET: lambda: deepdiff.DeepDiff(settled, new, ignore_order=True),
        DEEPDIFF: lambda: deepdiff.DeepDiff(settled, new),
        "jsondiff": lambda: jsondiff.diff(settled, new),
        "jsonpatch": lambda: jsonpatch.make_patch(settled, new),
        DICTDIFFER: lambda: list(dictdiffer.diff(settled, new)),
        OURS: lambda: diff.findings(desired, new, rules, baseline),
        REORDERED: lambda: diff.findings(desired, other, rules, baseline),
        EQUAL: lambda: diff.findings(desired, same, rules, baseline),
    }


def run(rounds: int = 11) -> list[dict[str, object]]:
    """Measure; one row a variant, with how many times slower than ours it is."""
    pairs = ((COMPILED, OURS), (COMPILED_REORDERED, REORDERED), (COMPILED_EQUAL, EQUAL))
    with compiled_side.started() as compiled:
        remote = {label: (lambda count, name=name: compiled.seconds("diff", (name,), count)) for label, name in pairs}
        us = harness.medians(variants(), rounds, remote)
    return [{"variant": name, "us": us[name], "times ours": us[name] / us[OURS]} for name in us]


def bars(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return what was promised beside what was measured."""
    ratio = {str(row["variant"]): float(str(row["times ours"])) for row in rows}
    return [
        harness.bar("three-way with a profile: at least 15 times faster than dictdiffer", ratio[DICTDIFFER], least=15),
        harness.bar("at least 400 times faster than DeepDiff", ratio[DEEPDIFF], least=400),
        harness.bar(
            "compiled: at least 40 times faster than dictdiffer", ratio[DICTDIFFER] / ratio[COMPILED], least=40
        ),
        harness.bar("a reordered set: no slower than three changes", ratio[REORDERED], most=1),
    ]


def main() -> None:
    """Print both tables."""
    rows = run(int(sys.argv[1]) if len(sys.argv) > 1 else 11)
    print(harness.table(rows), harness.table(bars(rows)), sep="\n\n")


if __name__ == "__main__":
    main()
