"""Scoring on labelled recordings: strict, by what a detector may remember, never by a case's id."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path as FilePath

import pytest

from holdfast.compare import profiles
from holdfast.compare.rules import FieldClass, ListKind
from holdfast.errors import DocumentError
from holdfast.model.finding import ChangedBy, Finding, FindingClass, Op
from holdfast.model.json import Json
from holdfast.testing import corpus
from holdfast.testing.corpus import Report, Row


def look(observed: Json, expect: str, cls: str = "c", *, path: str | None = None, baseline: str = "settled") -> Json:
    return {"observed": observed, "expect": expect, "class": cls, "path": path, "baseline": baseline, "note": ""}


def case(*observations: Json, **fields: Json) -> Json:
    body: dict[str, Json] = {
        "id": "case-1",
        "provider": "test",
        "kind": "Thing",
        "version": None,
        "schema": None,
        "desired": {"a": 1},
        "settled": {"a": 1, "d": 1},
    }
    return {**body, **fields, "observations": list(observations)}


def write(folder: FilePath, *lines: Json | str) -> FilePath:
    file = folder / "corpus.jsonl"
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return file


def score(folder: FilePath, *cases: Json, rules: str = "", use_schema: bool = True) -> Report:
    shipped = profiles.parse(rules) if rules else []
    return corpus.score(corpus.read(write(folder, *cases)), shipped, use_schema=use_schema)


def rows(report: Report) -> list[tuple[str, str, str, int, int, int]]:
    return [(row.cls, row.expect, row.baseline, row.n, row.wrong, row.misplaced) for row in report.rows]


# -- reading


def test_a_corpus_is_read_plain_or_gzipped_with_blank_lines_left_out(tmp_path: FilePath):
    plain = write(tmp_path, case(look({"a": 1}, "in_sync")), "", case(id="case-2"))
    zipped = tmp_path / "corpus.jsonl.gz"
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    assert list(corpus.read(plain)) == list(corpus.read(zipped))
    assert [item.id for item in corpus.read(plain)] == ["case-1", "case-2"]


@pytest.mark.parametrize(
    "line, complaint",
    [
        pytest.param("{not json", "expected an object key", id="no JSON"),
        pytest.param('"text"', "not a corpus case", id="a string"),
        pytest.param("[]", "not a corpus case", id="a list"),
        pytest.param("null", "not a corpus case", id="null"),
        pytest.param("{}", "not a corpus case: 'observations'", id="no observations"),
        pytest.param('{"observations": 3}', "not a corpus case", id="observations that are no list"),
        pytest.param('{"observations": ["x"]}', "not a corpus case", id="an observation that is no object"),
        pytest.param(json.dumps(case({"expect": "in_sync"})), "not a corpus case: 'observed'", id="a field missing"),
        pytest.param(json.dumps(case(look({}, "maybe"))), "'maybe' is not one of in_sync, drift", id="unknown label"),
        pytest.param(
            json.dumps(case(look({}, "drift", baseline="last"))), "'last' is not one of settled, first, none",
            id="unknown baseline",
        ),
    ],
)  # fmt: skip
def test_a_malformed_line_is_refused_with_file_and_line(tmp_path: FilePath, line: str, complaint: str):
    file = write(tmp_path, case(look({"a": 1}, "in_sync")), "", line)
    with pytest.raises(DocumentError, match=re.escape(complaint)) as caught:
        list(corpus.read(file))
    assert (caught.value.location.file, caught.value.location.line) == (str(file), 3)


def test_a_file_that_cannot_be_read_is_refused_with_its_name(tmp_path: FilePath):
    with pytest.raises(DocumentError, match=r"missing\.jsonl: cannot be read: No such file"):
        list(corpus.read(tmp_path / "missing.jsonl"))
    whole = gzip.compress(write(tmp_path, case(look({"a": "x" * 1000}, "in_sync"))).read_bytes())
    for content in (b"not gzip", whole[:-10], whole[:30] + b"\xff\xff\xff" + whole[33:]):
        broken = tmp_path / "broken.jsonl.gz"
        broken.write_bytes(content)
        with pytest.raises(DocumentError, match=re.escape(f"{broken}")):
            list(corpus.read(broken))


# -- scoring


def test_an_in_sync_read_that_is_flagged_is_a_false_positive(tmp_path: FilePath):
    report = score(tmp_path, case(look({"a": 1, "d": 1}, "in_sync"), look({"a": 2, "d": 1}, "in_sync")))
    assert rows(report) == [("c", "in_sync", "settled", 2, 1, 0)]
    (offender,) = report.false_positives
    assert (offender.case, offender.status, offender.paths) == ("case-1", "drifted", ("/a",))
    assert offender.rules == ("default: exact",)
    assert report.false_negatives == ()


def test_drift_that_is_not_flagged_is_a_miss(tmp_path: FilePath):
    report = score(
        tmp_path, case(look({"a": 1, "d": 1}, "drift", path="/a"), look({"a": 2, "d": 1}, "drift", path="/a"))
    )
    assert rows(report) == [("c", "drift", "settled", 2, 1, 0)]
    (offender,) = report.false_negatives
    assert (offender.label, offender.status, offender.paths) == ("/a", "in_sync", ())


def test_drift_counts_as_found_only_if_the_untouched_read_is_silent_under_the_same_baseline(tmp_path: FilePath):
    noisy = case(look({"a": 5}, "drift", baseline="none"), desired={"a": 1}, settled={"a": 2})
    assert rows(score(tmp_path, noisy)) == [("c", "drift", "none", 1, 1, 0)]
    silent = case(look({"a": 5}, "drift", baseline="settled"), desired={"a": 1}, settled={"a": 2})
    assert rows(score(tmp_path, silent)) == [("c", "drift", "settled", 1, 0, 0)]


def test_a_case_without_a_settled_read_is_untouched_in_its_first_observation(tmp_path: FilePath):
    adopted = case(
        look({"a": 1, "d": 1}, "in_sync", "recorded", baseline="none"),
        look({"a": 1, "d": 2}, "drift", "moved", baseline="first"),
        settled=None,
    )
    assert rows(score(tmp_path, adopted)) == [
        ("moved", "drift", "first", 1, 0, 0),
        ("recorded", "in_sync", "none", 1, 0, 0),
    ]
    only_drift = case(look({"a": 2}, "drift", baseline="none"), settled=None)
    assert rows(score(tmp_path, only_drift)) == [("c", "drift", "none", 1, 0, 0)]


def test_a_detector_remembers_just_what_the_observation_allows(tmp_path: FilePath):
    """An undeclared value that moved is seen with the settled read in mind, and cannot be without it."""
    moved = {"a": 1, "d": 2}
    report = score(tmp_path, case(look(moved, "drift", baseline="settled"), look(moved, "drift", baseline="none")))
    assert rows(report) == [("c", "drift", "none", 1, 1, 0), ("c", "drift", "settled", 1, 0, 0)]


def test_a_resource_that_is_gone_is_drift(tmp_path: FilePath):
    report = score(tmp_path, case(look(None, "drift", "deleted"), look(None, "in_sync", "wrong")))
    assert rows(report) == [("deleted", "drift", "settled", 1, 0, 0), ("wrong", "in_sync", "settled", 1, 1, 0)]
    assert report.false_positives[0].status == "missing"


def test_a_finding_away_from_the_labelled_path_is_counted_as_misplaced(tmp_path: FilePath):
    drifted = {"a": 1, "d": {"x": [1]}}
    report = score(
        tmp_path,
        case(
            look(drifted, "drift", "above", path="/d/x/0/deeper"),
            look(drifted, "drift", "elsewhere", path="/a"),
            look(drifted, "drift", "equal", path="/d"),
            look(drifted, "drift", "no label"),
        ),
    )
    assert [(row.cls, row.wrong, row.misplaced) for row in report.rows] == [
        ("above", 0, 0),
        ("elsewhere", 0, 1),
        ("equal", 0, 0),
        ("no label", 0, 0),
    ]


@pytest.mark.parametrize(
    "pointer, label, expected",
    [
        (("a", 0, "b"), "/a/0/b", True),
        (("a", 0), "/a/0/b", True),
        (("a", 0, "b"), "/a", True),
        (("a", 1), "/a/0", False),
        (("a/b",), "/a~1b", True),
    ],
)
def test_a_finding_is_placed_at_above_or_below_the_label(pointer: tuple[str | int, ...], label: str, expected: bool):
    found = Finding(pointer, Op.CHANGED, FindingClass.SPECIFIED, ChangedBy.LIVE, pointer=pointer)
    assert corpus.is_placed([found], label) is expected
    assert corpus.is_placed([], label)


def test_rows_are_per_provider_class_expectation_and_baseline_in_a_stable_order(tmp_path: FilePath):
    same = {"a": 1, "d": 1}
    report = score(
        tmp_path,
        case(look(same, "in_sync", "z"), look(same, "in_sync", "b"), provider="y"),
        case(look(same, "in_sync", "z"), look(same, "in_sync", "z", baseline="none"), provider="x"),
        case(look(same, "in_sync", "z"), provider="x"),
    )
    assert report.rows == (
        Row("x", "z", "in_sync", "none", 1, 0),
        Row("x", "z", "in_sync", "settled", 2, 0),
        Row("y", "b", "in_sync", "settled", 1, 0),
        Row("y", "z", "in_sync", "settled", 1, 0),
    )


# -- rules


PROFILE = """
profile: mine
version: 1
applies: {provider: test, kinds: [Thing]}
rules: [{path: /d, class: ignore, guess: true}, {path: /e, class: ignore}]
"""


def test_profiles_are_chosen_by_provider_and_kind(tmp_path: FilePath):
    moved = look({"a": 1, "d": 2}, "in_sync")
    assert rows(score(tmp_path, case(moved), rules=PROFILE))[0][4] == 0
    assert rows(score(tmp_path, case(moved, kind="Other"), rules=PROFILE))[0][4] == 1
    assert rows(score(tmp_path, case(moved, provider="other"), rules=PROFILE))[0][4] == 1


def test_a_case_s_own_schema_comes_first_makes_guesses_void_and_can_be_withheld(tmp_path: FilePath):
    moved = look({"a": 1, "d": 2}, "in_sync")
    with_schema = case(moved, schema={"read_only": []})
    assert rows(score(tmp_path, with_schema, rules=PROFILE))[0][4] == 1
    assert rows(score(tmp_path, with_schema, rules=PROFILE, use_schema=False))[0][4] == 0
    assert rows(score(tmp_path, case(moved, schema={"read_only": ["/d"]})))[0][4] == 0
    assert rows(score(tmp_path, case(moved, schema={"read_only": ["/d"]}), use_schema=False))[0][4] == 1


def test_every_word_of_a_schema_becomes_a_rule():
    rules = corpus.rules_of_schema(
        {
            "read_only": ["/r"],
            "write_only": ["/w"],
            "create_only": ["/c"],
            "unordered": ["/u/*"],
            "keyed": {"/k": ["x", "y"]},
            "defaults": {"/d": None},
        }
    )
    assert rules is not None
    assert [(rule.path.text, rule.cls) for rule in rules[:3]] == [
        ("/r", FieldClass.READ_ONLY),
        ("/w", FieldClass.WRITE_ONLY),
        ("/c", FieldClass.CREATE_ONLY),
    ]
    unordered, keyed, default = rules[3:]
    assert unordered.list_rule is not None
    assert unordered.list_rule.kind is ListKind.MULTISET
    assert keyed.list_rule is not None
    assert (keyed.list_rule.kind, keyed.list_rule.key) == (ListKind.KEYED, ("x", "y"))
    assert default.default is None
    assert {rule.source for rule in rules} == {"schema"}


def test_no_schema_is_not_an_empty_schema():
    assert corpus.rules_of_schema(None) is None
    assert corpus.rules_of_schema({}) == []


def test_the_verdict_does_not_depend_on_the_id_of_a_case(tmp_path: FilePath):
    looks = [look({"a": 2, "d": 1}, "drift"), look({"a": 1, "d": 1}, "in_sync")]
    assert score(tmp_path, case(*looks, id="x")).rows == score(tmp_path, case(*looks, id="drift")).rows
