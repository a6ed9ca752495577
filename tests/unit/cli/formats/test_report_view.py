"""What every rendering is made of: order, coverage, and where things are declared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.cli.render import report_view
from holdfast.compare import paths
from holdfast.errors import Location
from holdfast.model.path import Selector
from holdfast.model.verdict import Status
from tests.unit.cli.formats import reporting

SSH = Selector((("name", "ssh"),))
NEW = Selector((("name", "new"),))


@pytest.mark.parametrize(
    "path, line",
    [
        ((), 6),
        (("colour",), 7),
        (("rules", SSH), 10),
        (("rules", SSH, "port"), 11),
        (("rules", 1, "port"), 13),
        (("rules", NEW, "port"), 9),
        (("rules", 7), 9),
        (("nowhere", "at", "all"), 6),
        (("colour", "below"), 7),
        ((SSH,), 6),
    ],
)
def test_a_field_is_declared_at_its_key_or_at_the_nearest_one_above(tmp_path, path, line):
    assert report_view.line_of(reporting.declared(tmp_path)["drifted"], path) == line


def test_a_declaration_without_places_is_at_its_own_line(tmp_path):
    bare = replace(reporting.declared(tmp_path)["sound"], places={})
    assert report_view.line_of(bare, ("colour",)) == 30
    assert report_view.line_of(replace(bare, location=Location()), ("colour",)) == 1


def test_files_are_named_from_the_top_of_the_repository(tmp_path):
    found = reporting.declared(tmp_path)["drifted"]
    around = reporting.around(tmp_path)
    assert str(report_view.place_of(found, around)) == "infra/all.yaml:1"
    below = replace(around, cwd=tmp_path / "infra")
    assert str(report_view.place_of(_named(found, "all.yaml"), below)) == "infra/all.yaml:1"
    assert str(report_view.place_of(_named(found, "../infra/./all.yaml"), below)) == "infra/all.yaml:1"
    assert str(report_view.place_of(_named(found, str(tmp_path / "infra/all.yaml")), below)) == "infra/all.yaml:1"


def test_a_link_to_the_repository_leads_to_the_same_names(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    found = reporting.declared(tmp_path / "real")["drifted"]
    place = report_view.place_of(found, report_view.Around("1", tmp_path / "real", tmp_path / "link", ""))
    assert place == report_view.SourcePlace("infra/all.yaml", 1, is_below_root=True)


def test_what_lies_outside_of_the_repository_has_an_absolute_name_and_standard_input_none(tmp_path):
    found = reporting.declared(tmp_path)["drifted"]
    inside = replace(reporting.around(tmp_path), root=tmp_path / "other")
    place = report_view.place_of(found, inside)
    assert place is not None
    assert not place.is_below_root
    assert Path(place.uri).is_absolute()
    assert report_view.place_of(_named(found, "<stdin>"), inside) is None
    assert report_view.place_of(_named(found, None), inside) is None


def _named(declaration, file):
    return replace(declaration, location=replace(declaration.location, file=file))


def test_the_worst_comes_first_and_everything_is_counted(tmp_path):
    report = reporting.troubled(tmp_path)
    assert [item.address.name for item in report_view.by_weight(report)] == [
        "missing",
        "drifted",
        "unknown",
        "pending",
        "sound",
    ]
    assert report_view.headline(report) == "1 missing, 1 drifted, 1 unknown, 1 pending, 1 in sync"
    assert report_view.counts(report)[Status.MISSING] == 1


def test_coverage_says_what_became_of_everything_declared(tmp_path):
    report = reporting.troubled(tmp_path)
    covered = report_view.coverage(report)
    assert str(covered) == ("Checked 4 of 7; 1 could not be read; 1 waits for what is not there yet; 1 not reached.")
    assert not covered.is_complete
    whole = report_view.coverage(replace(report, checked=report.checked[:1], waiting=[], not_reached=[]))
    assert str(whole) == "Checked 1 of 1."
    assert whole.is_complete


def test_a_pattern_is_no_place_and_a_path_is_one():
    assert report_view.path_of(reporting.ignored("/status/**")) is None
    assert report_view.path_of(reporting.ignored("/a/0")) == ("a", "0")
    assert report_view.path_of(reporting.waived("/a")) == paths.parse_path("/a")


def test_a_check_goes_from_declared_to_live_and_a_write_back(tmp_path):
    finding = reporting.troubled(tmp_path).checked[0].verdict.findings[0]
    assert report_view.before_and_after(finding, write=False) == ("red", "blue")
    assert report_view.before_and_after(finding, write=True) == ("blue", "red")
