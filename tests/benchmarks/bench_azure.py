"""A day on Azure: 300 resources of 12 types, checked every 15 minutes at the published limits, in virtual time.

`get_put` is what Holdfast does: look, and write only what differs. `put_only` is what Azure Service Operator does today:
write every resource at every sync; once with our eye on the quota, once without. Run by `make bench`, or
python tests/benchmarks/bench_azure.py [hours].
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks import harness
from tests.benchmarks.azure_day import PERIOD, Run


def main() -> None:
    """Print the table, and whether the promises are kept."""
    hours = float(sys.argv[1]) if len(sys.argv) > 1 else 24.0
    runs = (Run("get_put", hours), Run("put_only", hours), Run("put_only", hours, heeds_quota=False))
    days = [run.go() for run in runs]
    print(
        f"{days[0].resources} resources of 12 types, {hours:g} virtual hours, 1,200 writes and 12,000 reads an hour:\n"
    )
    print(harness.table([day.row() for day in days]))
    print()
    ours = days[0]
    print(
        harness.table(
            [
                harness.bar("PUTs that changed nothing", ours.needless, most=0),
                harness.bar("answers that were 429", ours.refused, most=0),
                harness.bar("edits found within one period, of all", ours.found / max(ours.edits, 1), least=1.0),
                harness.bar("minutes until the slowest was found", ours.latest / 60, most=PERIOD / 60),
                harness.bar("PUTs beyond one for each edit", ours.puts - ours.edits, most=0),
            ]
        )
    )


if __name__ == "__main__":
    main()
