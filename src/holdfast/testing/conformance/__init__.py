"""The conformance kit: what every provider must do, asked of it through the real engine, and a card with the answers.

    from holdfast.testing import conformance

    card = await conformance.run(subject)      # a Subject, or what opens one
    print(card.text())

or, from a shell, `python -m holdfast.testing.conformance my_package.subject:subject`; or under pytest, with one test
for each of `conformance.scenarios(subject)`.

Belongs here: scenarios that hold for any provider, and what its author has to bring. Must not be here: anything that
knows one provider (the shipped ones are in `holdfast_emulators.providers_under_test`), and any expectation that only the
engine could fail.
"""

from __future__ import annotations

from holdfast.testing.conformance.provider_under_test import (
    Doing,
    DriftInjector,
    Faults,
    Mistaking,
    Opening,
    Sample,
    Subject,
)
from holdfast.testing.conformance.runner import Case, run, scenarios
from holdfast.testing.conformance.scorecard import Outcome, Result, ScoreCard

__all__ = [
    "Case",
    "Doing",
    "DriftInjector",
    "Faults",
    "Mistaking",
    "Opening",
    "Outcome",
    "Result",
    "Sample",
    "ScoreCard",
    "Subject",
    "run",
    "scenarios",
]
