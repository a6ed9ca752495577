"""A file tells its owner and when it moved, and nobody is accused of more than that."""

from __future__ import annotations

import os

import pytest

from holdfast.model.confidence import Confidence
from holdfast.providers.file import attribution as attributing
from holdfast.providers.file import file_state
from holdfast.providers.protocol import attribution
from tests.unit.providers.running import document, files, with_provider


def likely_actors(root, target):
    async def story(reader, _writer):
        asked = attribution(reader)
        assert asked is not None
        return await asked.likely_actors(target)

    return with_provider(files(root), story)


def test_our_own_file_names_us_with_little_confidence(tmp_path):
    (tmp_path / "it.yaml").write_text("a: 1")
    os.utime(tmp_path / "it.yaml", (1000.0, 2000.5))
    (one,) = likely_actors(tmp_path, document("it.yaml"))
    assert (one.who, one.confidence) == (file_state.user_name(os.geteuid()), Confidence.LOW)
    assert (one.why, one.at) == ("owner of the file", 2000.5)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_somebody_else_names_them_with_more(tmp_path):
    (tmp_path / "it.yaml").write_text("a: 1")
    os.chown(tmp_path / "it.yaml", 12_345, -1)
    (one,) = likely_actors(tmp_path, document("it.yaml"))
    assert (one.who, one.confidence) == ("12345", Confidence.MEDIUM), "a user without a name is a number"


def test_a_link_tells_of_the_file_it_leads_to(tmp_path):
    (tmp_path / "it.yaml").write_text("a: 1")
    os.utime(tmp_path / "it.yaml", (1000.0, 2000.5))
    (tmp_path / "link.yaml").symlink_to("it.yaml")
    (one,) = likely_actors(tmp_path, document("link.yaml"))
    assert one.at == 2000.5


@pytest.mark.parametrize(
    "target",
    [
        document("gone.yaml"),
        document("../outside.yaml"),
        document(""),
        document("nul\0.yaml"),
        document("it.unknown"),
        document("it.yaml", kind="Nonsense"),
    ],
)
def test_where_nothing_can_be_told_nobody_is_named_and_nothing_is_raised(tmp_path, target):
    (tmp_path / "it.yaml").write_text("a: 1")
    assert likely_actors(tmp_path, target) == ()


def test_a_root_that_is_not_there_names_nobody(tmp_path):
    assert likely_actors(tmp_path / "unmounted", document("it.yaml")) == ()


def test_the_signature_is_the_owner_by_name_however_it_is_declared():
    name = file_state.user_name(0)
    assert [attributing.owner({"owner": given}) for given in ("ada", 0, "0")] == ["ada", name, name]
    assert [attributing.owner({}), attributing.owner(None), attributing.owner([])] == [None, None, None]
