"""The schema of documents of kind Strategy, and of label selectors."""

from __future__ import annotations

from typing import Any, Final

from holdfast.errors import InputError
from holdfast.manifests import resources
from holdfast.policy import settings
from holdfast.policy.selectors import LabelSelector, Operator, Requirement
from holdfast.policy.settings import Level
from holdfast.policy.strategies import Strategy
from holdfast.schema import fields
from holdfast.schema.document import DocumentPath

_WITH_VALUES = (Operator.IN, Operator.NOT_IN)


def _requirement(key: str, operator: Operator, values: tuple[str, ...] = ()) -> Requirement:
    if bool(values) != (operator in _WITH_VALUES):
        needs = "needs values" if operator in _WITH_VALUES else "takes no values"
        raise InputError(f"the operator {operator} {needs}")
    return Requirement(key, operator, frozenset(values))


def _selector(
    match_labels: dict[str, str] | None = None, match_expressions: tuple[Requirement, ...] = ()
) -> LabelSelector:
    labels = (Requirement(key, Operator.IN, frozenset({value})) for key, value in (match_labels or {}).items())
    return LabelSelector((*labels, *match_expressions))


SELECTOR: Final = fields.record(
    _selector,
    {
        "matchLabels": fields.LABELS,
        "matchExpressions": fields.list_of(
            fields.record(
                _requirement,
                {
                    "key": fields.required(fields.STRING, "name the label"),
                    "operator": fields.required(fields.choice(Operator), f"write one of {', '.join(Operator)}"),
                    "values": fields.STRINGS,
                },
            )
        ),
    },
)


def _spec(given: dict[str, Any]) -> dict[str, Any]:
    if not given.get("defaults") and not given.get("kinds"):
        raise InputError("the strategy says nothing; give it defaults: or kinds:")
    return given


SPEC: Final = fields.plain(
    {
        "selector": SELECTOR,
        "priority": fields.whole(None),
        "defaults": settings.OPTIONS,
        "kinds": fields.mapping_of(settings.OPTIONS),
    },
).then(_spec)
SCHEMA: Final = fields.plain(
    {
        **resources.HEAD,
        "spec": fields.required(SPEC, "write spec: {defaults: {...}}"),
    },
)


def read(at: DocumentPath) -> Strategy | None:
    """Return the strategy of a document, or None if a mistake was noted."""
    before = len(at.errors)
    given = SCHEMA.read_fields(at.document.value, at)
    if len(at.errors) > before:
        return None
    spec, name = given.pop("spec"), given["metadata"].name
    place = at.below("spec")
    defaults = settings.written_layer(spec.pop("defaults", {}), place.below("defaults"), Level.STRATEGY, name)
    kinds = {
        kind: settings.written_layer(values, place.below("kinds", kind), Level.STRATEGY_KIND, f"{name}, {kind}")
        for kind, values in spec.pop("kinds", {}).items()
    }
    return Strategy(name, **spec, defaults=defaults, kinds=kinds, location=resources.start_of(at))
