"""The conformance kit: scenarios that every provider must pass, run through the real engine, and a score card.

    from holdfast.testing import conformance

    card = await conformance.run(under_test)      # a ProviderUnderTest, or a function that opens one
    print(card.text())

From a shell: `python -m holdfast.testing.conformance my_module:under_test`. Under pytest: one test for each of
`conformance.scenarios(under_test)`.

Belongs here: scenarios that hold for any provider, and the input that its author supplies. Must not be here: code that
knows one provider, and expectations that only the engine could fail.
"""

from __future__ import annotations

from holdfast.compare.apply_patch import put as set_field
from holdfast.testing.conformance.default_drift import ProviderDriftInjector
from holdfast.testing.conformance.provider_under_test import (
    CallType,
    DriftInjector,
    Faults,
    OpenProvider,
    ProviderUnderTest,
    Sample,
    SupportsWrongAnswers,
)
from holdfast.testing.conformance.runner import ScenarioCase, run, scenarios
from holdfast.testing.conformance.scorecard import Outcome, Result, ScoreCard

__all__ = [
    "CallType",
    "DriftInjector",
    "Faults",
    "OpenProvider",
    "Outcome",
    "ProviderDriftInjector",
    "ProviderUnderTest",
    "Result",
    "Sample",
    "ScenarioCase",
    "ScoreCard",
    "SupportsWrongAnswers",
    "run",
    "scenarios",
    "set_field",
]
