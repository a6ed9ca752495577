"""The published error rates hold on the public corpus, where it lies beside this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.providers import builtin_profiles
from holdfast.testing import corpus, corpus_views

pytestmark = pytest.mark.slow  # it judges the whole corpus

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
PROVIDERS = ("azure", "aws", "gcp", "kubernetes")
HARMLESS = ("case_only", "number_spelling", "null_empty", "key_order", "reorder_set", "converged", "read_only_change")
ADOPTION = {"azure": 0.01, "aws": 0.04, "gcp": 0.03, "kubernetes": 0.01}

if not CORPUS.is_dir():
    pytest.skip(f"no corpus at {CORPUS}", allow_module_level=True)


@pytest.fixture(scope="module", params=PROVIDERS)
def scored(request):
    cases = list(corpus.read(CORPUS / f"{request.param}_public.jsonl.gz"))
    with_schema = corpus.score(cases, builtin_profiles.shipped(), lenses=corpus_views.shipped())
    without = corpus.score(cases, builtin_profiles.shipped(), use_schema=False, lenses=corpus_views.shipped())
    return request.param, with_schema, without


def rate(report, *classes, baseline=None):
    rows = [r for r in report.rows if r.cls in classes and (baseline is None or (r.baseline == "none") != baseline)]
    n = sum(row.n for row in rows)
    return sum(row.wrong for row in rows) / n if n else 0.0


def test_real_later_reads_with_a_baseline_are_never_flagged(scored):
    _, report, _ = scored
    assert rate(report, "recorded", baseline=True) == 0


def test_without_a_schema_later_reads_are_never_flagged_either(scored):
    _, _, blind = scored
    assert rate(blind, "recorded", baseline=True) == 0


def test_adoption_is_quiet(scored):
    provider, report, _ = scored
    assert rate(report, "adoption", "recorded", baseline=False) <= ADOPTION[provider]
    assert rate(report, "adoption_change") <= ADOPTION[provider]


@pytest.mark.parametrize("cls", HARMLESS)
def test_harmless_respellings_are_not_drift(scored, cls):
    _, report, _ = scored
    assert rate(report, cls) <= 0.003


def test_drift_with_a_baseline_is_found_at_its_place(scored):
    _, report, _ = scored
    drift = [row for row in report.rows if row.expect == corpus.DRIFT and row.baseline != "none"]
    for row in drift:
        assert row.wrong / row.n <= 0.002, row
    assert rate(report, "recorded_update", "recorded_third_party", "deleted") == 0
    found = sum(row.n - row.wrong for row in report.rows if row.expect == corpus.DRIFT)
    assert sum(row.misplaced for row in report.rows) / found <= 0.01
