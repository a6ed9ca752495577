"""Ids in URLs."""

from __future__ import annotations

import pytest
from yarl import URL

from holdfast.providers import url_paths
from holdfast.providers.azure import ids
from holdfast.providers.openstack import kind_registry
from holdfast.providers.runpod.calls import quoted

HOSTILE = ["../../x?y#z", "..", ".", "", "a/b", "a?b", "a#b", "a b", "%2e%2e", "a\r\nX: y", "é", "..%2f.."]


@pytest.mark.parametrize("ident", HOSTILE)
@pytest.mark.parametrize("step", [url_paths.segment, quoted])
def test_an_id_of_a_service_is_one_step_of_a_path(ident, step):
    url = URL(f"https://h/v2/things/{step(ident)}/action")
    assert url.raw_path.split("/")[:3] == ["", "v2", "things"]
    assert len(url.raw_path.split("/")) == 5
    assert url.raw_path.endswith("/action")
    assert (url.raw_query_string, url.raw_fragment) == ("", "")


@pytest.mark.parametrize("ident", HOSTILE)
def test_an_id_stays_below_the_place_of_its_kind(ident):
    thing = kind_registry.THINGS[0]
    url = URL(f"https://h{thing.at(ident)}")
    assert url.raw_path.startswith(f"{thing.path}/")
    assert len(url.raw_path.split("/")) == len(thing.path.split("/")) + 1


@pytest.mark.parametrize("name", ["..", "../..", "a?b#c", "%2e%2e", "."])
def test_an_id_that_is_a_path_leads_nowhere_else(name):
    url = URL(f"https://h{ids.url_path(f'/subscriptions/s/resourceGroups/{name}')}")
    assert url.raw_path.startswith("/subscriptions/s/resourceGroups/")
    assert (url.raw_query_string, url.raw_fragment) == ("", "")
