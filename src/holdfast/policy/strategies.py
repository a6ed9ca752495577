"""Strategies: policy documents that give settings to the resources they select.

Several strategies may select one resource. They are asked in order of priority, the highest number first, and by name
where priorities are equal. For each setting by itself the first strategy that says anything about it for the resource's
kind wins: its override for exactly this kind, then its overrides whose glob covers the kind (the longest glob first,
so `*` last), then its defaults; only a strategy that is silent in all three leaves the setting to the next one.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from holdfast.errors import Location
from holdfast.model.address import Address
from holdfast.model.record import dataclass
from holdfast.model.resource import Declaration
from holdfast.policy import settings
from holdfast.policy.selectors import EVERYTHING, LabelSelector
from holdfast.policy.settings import Layer, Scoped, Settings


@dataclass(frozen=True, slots=True)
class Strategy:
    """One policy document, its options already read."""

    name: str
    selector: LabelSelector = EVERYTHING
    priority: int = 0
    defaults: Layer = field(default_factory=dict)
    kinds: Mapping[str, Layer] = field(default_factory=dict)  # a kind, provider/kind, or a glob of either
    location: Location = field(default_factory=Location, compare=False)

    def selects(self, declaration: Declaration) -> bool:
        """Return True if this strategy selects the resource."""
        return self.selector.matches(declaration.labels)

    def layers(self, declaration: Declaration) -> list[Layer]:
        """Return the layers of this strategy for the kind of a resource, the most exact first."""
        names = _names(declaration)
        covering = [kind for kind in self.kinds if any(fnmatch.fnmatchcase(name, kind) for name in names)]
        covering.sort(key=lambda kind: (kind not in names, -len(kind), kind))
        return [*(self.kinds[kind] for kind in covering), self.defaults]


def _names(declaration: Declaration) -> tuple[str, ...]:
    """Return the names that a strategy may use for a kind: the declared one and that of the provider."""
    kinds = [declaration.address.kind, *([declaration.type] if declaration.type else ())]
    return (*kinds, *(f"{declaration.provider}/{kind}" for kind in kinds))


def ordered(strategies: Iterable[Strategy]) -> tuple[Strategy, ...]:
    """Return strategies in the order in which they are asked."""
    return tuple(sorted(strategies, key=lambda strategy: (-strategy.priority, strategy.name)))


def layers_for(
    declaration: Declaration, strategies: Sequence[Strategy], outer: Sequence[Layer | Scoped] = ()
) -> list[Layer]:
    """Return every level that speaks for a resource, nearest first; `outer` are flag, environment and project file."""
    chosen = [strategy for strategy in ordered(strategies) if strategy.selects(declaration)]
    inner = (layer for strategy in chosen for layer in strategy.layers(declaration))
    beyond = (item.layer if isinstance(item, Scoped) else item for item in outer if _is_heard(item, declaration))
    return [settings.of_resource(declaration), *inner, *beyond]


def _is_heard(outer: Layer | Scoped, declaration: Declaration) -> bool:
    return not isinstance(outer, Scoped) or outer.provider == declaration.provider


def settings_for(
    declaration: Declaration, strategies: Sequence[Strategy], outer: Sequence[Layer | Scoped] = ()
) -> Settings:
    """Return the settings in force for a resource."""
    if not strategies and not declaration.options and not any(outer):  # no layer sets anything
        return settings.USUAL
    return settings.resolve(layers_for(declaration, strategies, outer))


def unused(strategies: Iterable[Strategy], declarations: Sequence[Declaration]) -> list[Strategy]:
    """Return the strategies that select nothing: most often a label was mistyped."""
    return [strategy for strategy in ordered(strategies) if not any(map(strategy.selects, declarations))]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two strategies of equal priority that want different things of the same resources; the name decided."""

    setting: str
    winner: str
    loser: str
    priority: int
    example: Address
    resources: int

    def __str__(self) -> str:
        return (
            f"strategies {self.winner} and {self.loser} (both of priority {self.priority}) disagree about "
            f"{settings.BY_NAME[self.setting].spelling} for {self.resources} resources such as {self.example}; "
            f"{self.winner} wins by name: give one of them a higher priority"
        )


def conflicts(strategies: Sequence[Strategy], declarations: Iterable[Declaration]) -> list[Conflict]:
    """Return the disagreements that only the tie-break by name decides, one per pair of strategies and setting."""
    found: dict[tuple[str, str, str], list[Address]] = {}
    priorities = {strategy.name: strategy.priority for strategy in strategies}
    in_order = ordered(strategies)
    for declaration in declarations:
        own = settings.of_resource(declaration)
        says = [(element, _says(element, declaration)) for element in in_order if element.selects(declaration)]
        for name in settings.BY_NAME:
            speakers = [(element, said[name]) for element, said in says if name in said]
            if name in own or not speakers:
                continue
            winner, value = speakers[0]
            for speaker, other in speakers[1:]:
                if speaker.priority == winner.priority and other != value:
                    found.setdefault((name, winner.name, speaker.name), []).append(declaration.address)
    return [
        Conflict(name, winner, loser, priorities[winner], min(addresses, key=str), len(addresses))
        for (name, winner, loser), addresses in sorted(found.items(), key=lambda item: item[0])
    ]


def _says(strategy: Strategy, declaration: Declaration) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for layer in strategy.layers(declaration):
        for name, given in layer.items():
            out.setdefault(name, given.value)
    return out
