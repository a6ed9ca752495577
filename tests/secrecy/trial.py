"""Run many histories: `python -m tests.secrecy 10000`; every leak is printed with its seed and its story."""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import functools
import multiprocessing
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata

from tests.secrecy.histories import lived
from tests.secrecy.service import Service

PIECE = 25  # histories that one process runs at a time

# What is installed does not change while histories run; each command would ask for it again.
setattr(metadata, "entry_points", functools.cache(metadata.entry_points))  # noqa: B010 - mypy knows it as a function


@dataclass(frozen=True, slots=True)
class Lived:
    """What came of one history."""

    seed: int
    leaks: list[str]
    story: list[str] = field(default_factory=list)
    codes: list[tuple[str, int | str]] = field(default_factory=list)
    failed: bool = False  # the trial itself went wrong: nothing is known of this history


def some(first: int, last: int) -> list[Lived]:
    """Live through the histories of some seeds."""
    with Service() as service:
        return [_one(seed, service) for seed in range(first, last)]


def _one(seed: int, service: Service) -> Lived:
    try:
        history, leaks = lived(seed, service)
    except Exception:  # noqa: BLE001 - told with its seed, and counted
        return Lived(seed, ["the trial itself failed"], traceback.format_exc().splitlines(), failed=True)
    return Lived(seed, leaks, history.story if leaks else [], list(history.codes))


def _all(first: int, last: int, workers: int) -> Iterator[Lived]:
    pieces = [(start, min(start + PIECE, last)) for start in range(first, last, PIECE)]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
        for done in concurrent.futures.as_completed([pool.submit(some, *piece) for piece in pieces]):
            yield from done.result()


def main() -> int:
    """Run them on as many processes as are given; return 1 if anything got out."""
    parser = argparse.ArgumentParser(prog="python -m tests.secrecy", description=__doc__)
    parser.add_argument("histories", type=int, nargs="?", default=100)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--codes", action="store_true", help="count how the commands ended")
    given = parser.parse_args()
    began = time.monotonic()
    leaking: list[Lived] = []
    codes: collections.Counter[tuple[str, int | str]] = collections.Counter()
    for done, entry in enumerate(_all(given.first, given.first + given.histories, given.workers), 1):
        codes.update(entry.codes)
        if entry.leaks:
            leaking.append(entry)
            if len(leaking) <= 5:
                print(f"seed {entry.seed}:", *entry.story, *(f"  LEAK: {item}" for item in entry.leaks), sep="\n  ")
        if done % PIECE == 0:
            print(f"{done} histories, {len(leaking)} with leaks, {time.monotonic() - began:.0f} s", file=sys.stderr)
    for leak, count in collections.Counter(element for item in leaking for element in item.leaks).most_common():
        print(f"{count:6}  {leak}")
    if given.codes:
        for (command, code), count in sorted(codes.items(), key=str):
            print(f"{count:6}  {command} -> {code}")
    seeds = ", ".join(map(str, sorted(item.seed for item in leaking)[:20]))
    print(f"{given.histories} histories: {len(leaking)} with a leak" + (f" (seeds {seeds})" if leaking else ""))
    return 1 if leaking else 0
