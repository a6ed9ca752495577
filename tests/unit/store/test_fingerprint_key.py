"""The key of a store: made once, whoever comes first, and for its owner only."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast.errors import StoreError
from holdfast.store import fingerprint_key


def test_a_key_is_made_once_and_kept(tmp_path):
    first = fingerprint_key.key_in(tmp_path)
    assert len(first) == fingerprint_key.KEY_BYTES
    assert fingerprint_key.key_in(tmp_path) == first
    assert [path.name for path in tmp_path.iterdir()] == [fingerprint_key.FILE]
    assert stat.S_IMODE((tmp_path / fingerprint_key.FILE).stat().st_mode) == 0o600


def test_two_stores_have_two_keys(tmp_path):
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    assert len({fingerprint_key.key_in(folder) for folder in folders}) == 2


def test_many_that_come_at_once_agree(tmp_path):
    fingerprint_key.key_in(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: fingerprint_key.key_in(tmp_path), range(32)))) == 1


def test_where_it_cannot_be_written_it_is_said(tmp_path):
    with pytest.raises(StoreError, match="the key of the store cannot be written"):
        fingerprint_key.key_in(tmp_path / "nowhere")
