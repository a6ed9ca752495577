"""Shipped profiles as JSON are those of the YAML files that people edit."""

from pathlib import Path

import orjson
import pytest

from holdfast.compare import profile, profiles
from holdfast.providers import builtin_profiles

FOLDERS = sorted(path.parent for path in Path(builtin_profiles.__file__).parent.glob("*/profiles"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_json_of_a_provider_says_the_same_as_its_yaml(folder):
    files = sorted(folder.joinpath("profiles").glob("*.yaml"))
    written = [profile for file in files for profile in profiles.parse(file.read_bytes(), str(file))]
    built = builtin_profiles.shipped_with(folder.name)
    assert list(built) == written, "run tools/build_profiles.py"
    assert [profile.content for profile in built] == [profile.content for profile in written]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_shipped_profile_is_applied_as_a_parsed_one(folder):
    for raw in orjson.loads(folder.joinpath(builtin_profiles.FILE).read_bytes()):
        assert profile.load(raw) == profiles.build(raw)
