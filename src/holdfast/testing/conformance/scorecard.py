"""The score card: the result of every scenario on every kind."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from holdfast.model.json import Json

_MARKS: Final = {"passed": "✓", "failed": "✗", "not applicable": "-"}
_WIDTH: Final = 118  # of the text form


class Outcome(StrEnum):
    """The outcome of a scenario on a kind; a scenario that did not run is never shown as passed."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Result:
    """One scenario on one kind; `detail` has the summary, the failure, or the reason why it did not run."""

    scenario: str
    kind: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """All results of one provider, scenario by scenario."""

    provider: str
    results: tuple[Result, ...]

    def count(self, outcome: Outcome) -> int:
        """Return the number of results with an outcome."""
        return sum(result.outcome is outcome for result in self.results)

    @property
    def is_clean(self) -> bool:
        """True if at least one scenario passed and none failed."""
        return self.count(Outcome.FAILED) == 0 and self.count(Outcome.PASSED) > 0

    @property
    def summary(self) -> str:
        """The summary line; scenarios that did not run are in neither number."""
        passed, failed = self.count(Outcome.PASSED), self.count(Outcome.FAILED)
        apart = self.count(Outcome.NOT_APPLICABLE)
        line = f"{self.provider}: {passed} of {passed + failed} passed"
        return line + (f", {apart} not applicable" if apart else "")

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds, in the order of the run."""
        return tuple(dict.fromkeys(result.kind for result in self.results))

    def of(self, kind: str) -> tuple[Result, ...]:
        """Return the results of one kind."""
        return tuple(result for result in self.results if result.kind == kind)

    def text(self) -> str:
        """Return the card for a terminal."""
        lines = []
        for kind in self.kinds():
            lines += [kind, *(_text_line(result) for result in self.of(kind)), ""]
        return "\n".join([*lines, self.summary])

    def markdown(self) -> str:
        """Return the card for a page; reasons are below the table."""
        kinds = self.kinds()
        names = tuple(dict.fromkeys(result.scenario for result in self.results))
        found = {(result.scenario, result.kind): result for result in self.results}
        head = ["| scenario | " + " | ".join(kinds) + " |", "|---|" + "---|" * len(kinds)]
        rows = [f"| {name} | " + " | ".join(_cell(found.get((name, kind))) for kind in kinds) + " |" for name in names]
        return "\n".join([f"**{self.summary}**", "", *head, *rows, *_notes(self.results)])

    def as_json(self) -> Json:
        """Return the card for programs."""
        return {
            "provider": self.provider,
            "passed": self.count(Outcome.PASSED),
            "failed": self.count(Outcome.FAILED),
            "notApplicable": self.count(Outcome.NOT_APPLICABLE),
            "isClean": self.is_clean,
            "results": [
                {"scenario": r.scenario, "kind": r.kind, "outcome": r.outcome.value, "detail": r.detail}
                for r in self.results
            ],
        }


def _text_line(result: Result) -> str:
    head = f"  {_MARKS[result.outcome.value]} {result.scenario:<20} "
    said = f"{result.outcome.value}: {result.detail}" if result.outcome is not Outcome.PASSED else result.detail
    wrapped = textwrap.wrap(said, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
    return "\n".join(wrapped) if said else head.rstrip()


def _cell(result: Result | None) -> str:
    if result is None:
        return ""
    return {Outcome.PASSED: "passed", Outcome.FAILED: "**FAILED**", Outcome.NOT_APPLICABLE: "n/a"}[result.outcome]


def _notes(results: Iterable[Result]) -> list[str]:
    """Return one note for all kinds with the same reason."""
    told: dict[tuple[str, str, str], list[str]] = {}
    for result in results:
        if result.outcome is not Outcome.PASSED:
            told.setdefault((result.scenario, result.outcome.value, result.detail), []).append(result.kind)
    notes = [f"- {name}, {', '.join(kinds)}: {how}; {_escaped(why)}" for (name, how, why), kinds in told.items()]
    return ["", *notes] if notes else []


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
