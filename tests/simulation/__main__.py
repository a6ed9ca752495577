"""`python -m tests.simulation`: run histories, print the table, tell the stories of those that failed."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.simulation import hunting, mutants, runner, scenarios, shrink
from tests.simulation.life import live

PAGE = Path("docs/reliability.md")


def main() -> int:
    """Run it."""
    options = _options()
    planted = mutants.planted(options.mutant) if options.mutant else contextlib.nullcontext()
    with planted:
        if options.story is not None:
            return _story(options)
        if options.mutants:
            return _mutants(options)
        return _histories(options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many histories")
    parser.add_argument("--from", dest="first", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    parser.add_argument("--scenario", choices=sorted(scenarios.SCENARIOS), help="only histories of this kind")
    parser.add_argument("--promise", help="tell only of this one")
    parser.add_argument("--story", type=int, metavar="SEED", help="tell the story of one seed and stop")
    parser.add_argument("--shrink", action="store_true", help="make what failed smaller before telling it")
    parser.add_argument("--mutant", choices=sorted(mutants.MUTANTS), help="put this fault back meanwhile")
    parser.add_argument("--mutants", action="store_true", help="put every fault back, and count until it is noticed")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    return parser.parse_args()


def _story(options: argparse.Namespace) -> int:
    history = scenarios.make(options.story, options.scenario)
    if options.shrink:
        history = shrink.shrunk(history, options.promise)
    life = live(history)
    print(f"seed {history.seed}, scenario {history.scenario}\n{life.story.text(history.fleet)}")
    return 1 if life.oracle.violations else 0


def _histories(options: argparse.Namespace) -> int:
    began = time.monotonic()
    seeds = range(options.first, options.first + options.seeds)
    done = itertools.count(1)

    def told(_outcome: runner.Outcome) -> None:
        number = next(done)
        if number % 500 == 0:
            print(f"{number:,} of {options.seeds:,}", file=sys.stderr)

    jobs = 1 if options.mutant else options.jobs
    tally = runner.run(seeds, jobs=jobs, only=options.scenario, told=told)
    lines = ["| promise | check | histories | violations |", "|---|---|---:|---:|"]
    for text, name, exercised, broken in tally.rows():
        if options.promise in (None, name):
            lines.append(f"| {text} | `{name}` | {exercised:,} | {broken:,} |")
    each = tally.seconds / max(1, tally.histories)
    minutes = (time.monotonic() - began) / 60
    lines += ["", f"{tally.histories:,} histories in {minutes:.0f} minutes, {each:.2f} seconds of CPU each."]
    print("\n".join(lines))
    for promise, broke in sorted(tally.seeds.items()):
        if options.promise in (None, promise):
            shown = ", ".join(f"{seed} ({scenario})" for seed, scenario in broke[:8])
            print(f"BROKEN {promise}: {len(broke)} histories: {shown}")
            if options.shrink:
                history = shrink.shrunk(scenarios.make(broke[0][0], options.scenario), promise)
                print(f"seed {history.seed}, shrunk:\n{live(history).story.text(history.fleet)}\n")
    for seed, failure in tally.failures[:3]:
        print(f"seed {seed} could not be lived:\n{failure}")
    if options.write:
        _write("promises", lines)
    return 1 if tally.seeds or tally.failures else 0


def _mutants(options: argparse.Namespace) -> int:
    lines = ["| fault that was reverted | noticed by | histories it took |", "|---|---|---:|"]
    missed = False
    with ProcessPoolExecutor(options.jobs) as pool:
        for caught in pool.map(hunting.hunt, mutants.MUTANTS):
            missed = missed or not caught.histories
            text = mutants.MUTANTS[caught.mutant].text
            lines.append(f"| {text} | `{caught.promise}` | {caught.histories or 'not noticed'} |")
            print(f"{caught.mutant}: {caught.histories or 'not noticed'} ({caught.promise}: {caught.seen[:120]})")
    print("\n".join(lines))
    if options.write:
        _write("mutants", lines)
    return int(missed)


def _write(section: str, lines: list[str]) -> None:
    command = [sys.executable, "tools/replace_section.py", str(PAGE), section]
    subprocess.run(command, input="\n".join(lines).encode(), check=True)


if __name__ == "__main__":
    sys.exit(main())
