"""From a written document of kind Strategy to a Strategy."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.errors import Location
from holdfast.manifests import options, resources
from holdfast.manifests.validation import Sheet, shown
from holdfast.model.json import Json
from holdfast.model.path import Pointer
from holdfast.policy import did_you_mean
from holdfast.policy.selectors import LabelSelector, Operator, Requirement
from holdfast.policy.settings import Level
from holdfast.policy.strategies import Strategy

_SPEC = ("selector", "priority", "defaults", "kinds")
_WITH_VALUES = (Operator.IN, Operator.NOT_IN)


def read(sheet: Sheet, top: Mapping[str, Json]) -> Strategy | None:
    """Return the strategy, or None if a mistake was noted."""
    before = len(sheet.errors)
    head = resources.metadata(sheet, top)
    body = sheet.mapping(top.get("spec"), ("spec",), _SPEC)
    if not body.get("defaults") and not body.get("kinds"):
        sheet.fail("the strategy says nothing; give it defaults: or kinds:", ("spec",))
    priority = body.get("priority", 0)
    if type(priority) is not int:
        sheet.fail("priority must be a whole number; the highest is asked first", ("spec", "priority"))
    owner = head.name or ""
    kinds = sheet.mapping(body.get("kinds"), ("spec", "kinds"))
    strategy = Strategy(
        owner,
        selector(sheet, body.get("selector")),
        priority,
        options.read(sheet, body.get("defaults"), ("spec", "defaults"), Level.STRATEGY, owner),
        {
            kind: options.read(sheet, value, ("spec", "kinds", kind), Level.STRATEGY_KIND, f"{owner}, {kind}")
            for kind, value in kinds.items()
        },
        Location(sheet.written.file, sheet.written.line),
    )
    return strategy if len(sheet.errors) == before else None


def selector(sheet: Sheet, value: Json, pointer: Pointer = ("spec", "selector")) -> LabelSelector:
    """Read which resources are meant, by their labels."""
    body = sheet.mapping(value, pointer, ("matchLabels", "matchExpressions"))
    labels = sheet.texts(body.get("matchLabels"), (*pointer, "matchLabels"))
    out = [Requirement(key, Operator.IN, frozenset({wanted})) for key, wanted in labels.items()]
    expressions = body.get("matchExpressions", [])
    if not isinstance(expressions, list):
        sheet.fail("matchExpressions needs a list", (*pointer, "matchExpressions"))
        expressions = []
    for index, expression in enumerate(expressions):
        requirement = _requirement(sheet, expression, (*pointer, "matchExpressions", index))
        if requirement is not None:
            out.append(requirement)
    return LabelSelector(tuple(out))


def _requirement(sheet: Sheet, value: Json, pointer: Pointer) -> Requirement | None:
    body = sheet.mapping(value, pointer, ("key", "operator", "values"))
    key = sheet.text(body, "key", pointer, "name the label")
    operator = sheet.text(body, "operator", pointer, f"one of {', '.join(Operator)}")
    values = body.get("values", [])
    if key is None or operator is None:
        return None
    if operator not in list(Operator):
        guess = did_you_mean.hint(operator, list(Operator))
        message = f"operator must be one of {', '.join(Operator)}, not {shown(operator)}{guess}"
        sheet.fail(message, (*pointer, "operator"))
        return None
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        sheet.fail("values must be a list of texts; put numbers in quotes", (*pointer, "values"))
        return None
    if bool(values) != (operator in _WITH_VALUES):
        needs = "needs values" if operator in _WITH_VALUES else "takes no values"
        sheet.fail(f"the operator {operator} {needs}", pointer)
        return None
    return Requirement(key, Operator(operator), frozenset(values))
