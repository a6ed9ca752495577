"""Run many histories: `python -m tests.secrecy 10000`; every leak is printed with its seed and its story."""

from __future__ import annotations

import argparse
import collections
import functools
import multiprocessing
import sys
import time
from importlib import metadata

from tests.secrecy.histories import lived
from tests.secrecy.service import Service

# What is installed does not change while histories run; each command would ask for it again.
metadata.entry_points = functools.cache(metadata.entry_points)


def _some(given: tuple[int, int, int]) -> list[tuple[int, list[str], list[str], list[tuple[str, object]]]]:
    first, last, step = given
    with Service() as service:
        out = []
        for seed in range(first, last, step):
            history, leaks = lived(seed, service)
            out.append((seed, leaks, history.story if leaks else [], list(history.codes)))
        return out


def main() -> int:
    """Run them on all cores given; return 1 if anything got out."""
    parser = argparse.ArgumentParser(prog="python -m tests.secrecy", description=__doc__)
    parser.add_argument("histories", type=int, nargs="?", default=100)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--codes", action="store_true", help="count how the commands ended")
    given = parser.parse_args()
    began = time.monotonic()
    last = given.first + given.histories
    pieces = [(start, min(start + 50, last), 1) for start in range(given.first, last, 50)]
    leaking: dict[int, list[str]] = {}
    sorts: collections.Counter[str] = collections.Counter()
    codes: collections.Counter[tuple[str, object]] = collections.Counter()
    done = 0
    with multiprocessing.get_context("spawn").Pool(given.workers) as pool:
        for found in pool.imap_unordered(_some, pieces):
            done += len(found)
            for seed, leaks, story, ended in found:
                codes.update(ended)
                if leaks:
                    leaking[seed] = leaks
                    sorts.update(leaks)
                    if len(leaking) <= 5:
                        print(f"seed {seed}:", *story, *(f"  LEAK: {each}" for each in leaks), sep="\n  ")
            print(f"{done} histories, {len(leaking)} with leaks, {time.monotonic() - began:.0f} s", file=sys.stderr)
    for leak, count in sorts.most_common():
        print(f"{count:6}  {leak}")
    if given.codes:
        for (command, code), count in sorted(codes.items(), key=str):
            print(f"{count:6}  {command} -> {code}")
    seeds = ", ".join(map(str, sorted(leaking)[:20]))
    print(f"{given.histories} histories: {len(leaking)} with a leak" + (f" (seeds {seeds})" if leaking else ""))
    return 1 if leaking else 0
