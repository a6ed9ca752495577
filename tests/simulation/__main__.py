"""`python -m tests.simulation`: run histories, print the table, tell the stories of those that failed."""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulation import runner, scenarios, shrink
from tests.simulation.life import live


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", type=int, default=100, help="how many histories")
    parser.add_argument("--from", dest="first", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--scenario", choices=sorted(scenarios.SCENARIOS))
    parser.add_argument("--promise", help="tell only of this one")
    parser.add_argument("--story", type=int, metavar="SEED", help="tell the story of one seed and stop")
    parser.add_argument("--shrink", action="store_true", help="shrink the first failing seed of each promise")
    options = parser.parse_args()
    if options.story is not None:
        history = scenarios.make(options.story, options.scenario)
        if options.shrink:
            history = shrink.shrunk(history, options.promise)
        life = live(history)
        print(f"seed {history.seed}, scenario {history.scenario}\n{life.story.text(history.fleet)}")
        return 1 if life.oracle.violations else 0
    began = time.monotonic()
    tally = runner.run(range(options.first, options.first + options.seeds), jobs=options.jobs, only=options.scenario)
    print("| promise | check | histories | violations |\n|---|---|---:|---:|")
    for text, name, exercised, broken in tally.rows():
        if options.promise in (None, name):
            print(f"| {text} | `{name}` | {exercised:,} | {broken:,} |")
    elapsed = time.monotonic() - began
    print(
        f"\n{tally.histories:,} histories, {elapsed:.0f} s, {tally.seconds / max(1, tally.histories):.3f} s of CPU each"
    )
    for promise, seeds in sorted(tally.seeds.items()):
        if options.promise not in (None, promise):
            continue
        shown = ", ".join(f"{seed} ({scenario})" for seed, scenario in seeds[:8])
        print(f"BROKEN {promise}: {len(seeds)} histories: {shown}")
        if options.shrink:
            history = shrink.shrunk(scenarios.make(seeds[0][0], options.scenario), promise)
            print(f"seed {history.seed}, shrunk:\n{live(history).story.text(history.fleet)}\n")
    for seed, failure in tally.failures[:3]:
        print(f"seed {seed} failed to run:\n{failure}")
    return 1 if tally.seeds or tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
