from __future__ import annotations

import random

import pytest

from holdfast.providers.azure import quota
from holdfast.providers.azure.quota import Bucket, Quota
from holdfast_emulators.azure.limits import Limits

START = 1_800_000_000.0


def test_checks_stop_at_the_reserve_and_changes_go_on():
    bucket = Bucket(100.0)
    bucket.learn(19.0, START)
    assert bucket.wait(START, urgent=False) > 0
    assert bucket.wait(START, urgent=True) == 0
    bucket.learn(1.0, START)
    assert bucket.wait(START, urgent=True) > 0


def test_what_an_answer_says_is_believed_over_what_was_reckoned():
    bucket = Bucket(200.0)
    bucket.learn(1_199.0, START)
    assert bucket.capacity == 1_199
    assert bucket.estimate(START) == 1_199
    bucket.learn(7.0, START)
    assert bucket.estimate(START) == 7


def test_a_429_closes_for_as_long_as_it_says_and_longer_each_time_if_it_does_not():
    bucket = Bucket(200.0)
    assert bucket.refuse(17.0, START) == 17
    assert bucket.wait(START + 16, urgent=True) == pytest.approx(1.0)
    pauses = [bucket.refuse(None, START) for _ in range(10)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 300
    bucket.learn(50.0, START + 1_000)
    assert bucket.refused == 0


def test_reads_writes_and_deletes_are_counted_apart():
    found = Quota()
    found.wait("read", START, urgent=True)
    found.learn("GET", 200, {"x-ms-ratelimit-remaining-subscription-reads": "3"}, None)
    found.learn("PUT", 429, {}, 30.0)
    assert found.buckets["read"].left == 3
    assert found.wait("write", START, urgent=True) == 30
    assert found.wait("delete", START, urgent=True) == 0


def test_the_tightest_count_holds_and_nonsense_is_not_believed():
    name = "x-ms-ratelimit-remaining-subscription-"
    headers = {f"{name}writes": "199", f"{name}global-writes": "5", f"{name}reads": "many"}
    assert quota.remaining_in(headers, "write") == 5
    assert quota.remaining_in(headers, "read") is None
    assert quota.remaining_in({}, "delete") is None


def test_what_comes_back_is_learnt():
    bucket = Bucket(200.0)
    left = 1_200.0
    bucket.learn(left, START)
    for second in range(600):  # a bucket of 1,200 that gains a third of a token a second
        now = START + second
        left = min(1_200.0, left + 1 / 3)
        if bucket.wait(now, urgent=True) == 0:
            left -= 1
            bucket.learn(float(int(left)), now)
    assert bucket.refill == pytest.approx(1 / 3, rel=0.3)


@pytest.mark.parametrize("model", [Limits.hourly, Limits.buckets])
@pytest.mark.parametrize("urgent", [True, False])
def test_however_many_want_to_write_nobody_is_ever_refused(model, urgent):
    """Six hours of as many writes as go through, against both of Azure's models: not one 429."""
    limits, mine = model(), Quota()
    now, refused, sent = START + random.Random(4).random() * 3_600, 0, 0
    end = now + 6 * 3_600
    while now < end and sent < 30_000:
        wait = mine.wait("write", now, urgent=urgent)
        if wait > 0:
            now += wait
            continue
        headers, is_refused = limits.spend("s", "p", "PUT", now)
        mine.learn("PUT", 429 if is_refused else 200, headers, None)
        refused += is_refused
        sent += 1
    assert refused == 0
    assert sent >= (3_000 if model == Limits.hourly else 25_000)
