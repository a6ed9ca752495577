"""What a write must leave as it is, though the declaration says otherwise. Pure.

A provider that writes whole documents would revert more than was decided: what policy only reports, what a person
took over, what nobody is to look at. These paths go with the change, so that it can send them as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from holdfast.compare import paths
from holdfast.compare.rule_tree import Node, RuleTree
from holdfast.compare.rules import FieldClass
from holdfast.model.finding import ChangedBy
from holdfast.model.json import Json
from holdfast.model.path import Path
from holdfast.model.verdict import Verdict

_KEPT_OUT = frozenset({FieldClass.IGNORE, FieldClass.READ_ONLY})


def left_alone(
    verdict: Verdict, caused: Collection[str], unresolved: Collection[str], documents: Collection[Json], rules: RuleTree
) -> tuple[str, ...]:
    """Return the paths that a write must not touch: what drifted and was not decided on, and what is not compared.

    What an earlier write could not revert is not among them: to send it would be to declare it.
    """
    out: dict[str, None] = {}
    for finding in verdict.findings:
        path = paths.format_path(finding.path)
        if finding.changed_by is not ChangedBy.DECLARED and path not in caused and path not in unresolved:
            out[path] = None
    for document in documents:
        for hidden in _hidden(document, rules.root, ()):
            out[paths.format_path(hidden)] = None
    return tuple(out)


def _hidden(value: Json, node: Node, path: Path) -> Iterator[Path]:
    """Go through the places of a document that are kept out of comparison and write."""
    if node.cls in _KEPT_OUT:
        yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _hidden(item, node.child(key), (*path, key))
