"""A fixed number of histories of the secrecy trial; `make secrecy HISTORIES=n` runs as many as one likes."""

from __future__ import annotations

import pytest

from tests.secrecy.histories import lived
from tests.secrecy.needles import Haystack, Needle
from tests.secrecy.service import Service

FIXED = 60
PER_TEST = 15


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, FIXED, PER_TEST))
def test_no_byte_of_a_secret_gets_out(first: int) -> None:
    with Service() as service:
        for seed in range(first, first + PER_TEST):
            history, leaks = lived(seed, service)
            assert not leaks, "\n".join([f"seed {seed}", *history.story, *leaks])


def test_the_trial_finds_what_gets_out() -> None:
    pile = Haystack()
    pile.add("a page", b'{"x":"a\\"b-0815-secret"}')
    needle = Needle("a secret", 'a"b-0815-secret')
    assert pile.found([needle]) == ["a secret in a page"]
