"""Providers are found by name, loaded when asked for, and brought along by other packages."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

from holdfast.compare import yaml_reader
from holdfast.errors import InputError, Location
from holdfast.providers import protocol, registry


@pytest.fixture
def points(monkeypatch):
    """Let a test say which entry points are installed."""
    registry.get.cache_clear()
    installed: list[metadata.EntryPoint] = []

    def entry_points(group, name=None):
        return [point for point in installed if point.group == group and name in (None, point.name)]

    monkeypatch.setattr(metadata, "entry_points", entry_points)
    yield installed
    registry.get.cache_clear()


def point(name: str, value: str) -> metadata.EntryPoint:
    return metadata.EntryPoint(name, value, registry.GROUP)


@pytest.mark.parametrize("name", ["file", "http", "runpod"])
def test_the_built_in_providers_are_found_by_name(name):
    provider: protocol.Provider = registry.get(name)
    assert provider.name == name
    assert registry.get(name) is provider


def test_a_provider_nobody_has_is_an_input_error_that_lists_those_there_are(points):
    points.append(point("theirs", "types:SimpleNamespace"))
    with pytest.raises(
        InputError,
        match="there is no provider 'ftp'; installed are azure, file, http, kubernetes, openstack, runpod, theirs",
    ):
        registry.get("ftp")


def test_a_package_brings_its_provider_with_an_entry_point(points):
    points.append(point("theirs", "types:SimpleNamespace"))
    assert isinstance(registry.get("theirs"), SimpleNamespace)


def test_a_package_cannot_take_the_name_of_a_built_in_provider(points):
    points.append(point("file", "types:SimpleNamespace"))
    assert not isinstance(registry.get("file"), SimpleNamespace)


def test_a_provider_that_does_not_load_is_named(points):
    points.append(point("broken", "no_such_module:Provider"))
    with pytest.raises(InputError, match=r"'broken'.*does not load"):
        registry.get("broken")


@pytest.mark.parametrize(
    "api_version, name",
    [("file.holdfast.dev/v1", "file"), ("http.holdfast.dev/v1beta1", "http"), ("acme.example/v1", "acme.example")],
)
def test_the_api_version_names_the_provider(api_version, name):
    assert registry.name_of(api_version) == name


def test_importing_holdfast_or_the_registry_loads_no_provider_and_no_client():
    code = """
import sys, holdfast, holdfast.providers.registry as registry
registry.names()
loaded = {name for name in sys.modules if name.split(".")[0] in ("aiohttp", "tomlkit")}
loaded |= {name for name in sys.modules if name.startswith(("holdfast.providers.file", "holdfast.providers.http"))}
assert not loaded, loaded
registry.get("file").kinds
loaded = {name for name in sys.modules if name.split(".")[0] in ("aiohttp", "tomlkit")}
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_error_about_a_connection_gets_its_line_from_the_document():
    document = yaml_reader.document(
        "connections:\n  api:\n    kinds:\n      A:\n        find:\n          by: [/a, b]\n"
    )
    error = InputError("wrong", Location(field="/connections/api/kinds/A/find/by/1"))
    assert registry.located(error, document, "holdfast.yaml").location == Location(
        "holdfast.yaml", 6, 20, "/connections/api/kinds/A/find/by/1"
    )
    missing = InputError("missing", Location(field="/connections/api/base_url"))
    assert registry.located(missing, document).location.line == 2
    assert registry.located(InputError("elsewhere", Location(field="api")), document).location == Location(field="api")
