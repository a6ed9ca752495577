"""kill -9 at any moment leaves the last finished transaction, whole, and a store that opens."""

from __future__ import annotations

import random
from pathlib import Path

from holdfast.store import blobs
from holdfast.store.sqlite.store import SqliteStore
from tests.integration.store import worker
from tests.integration.store.test_processes import looked_at, started
from tests.unit.store.examples import listed

KILLS = 10


async def last_batch(store: SqliteStore) -> int:
    """Return the number of the last batch kept, having checked that it is kept whole and nothing else is."""
    revisions = await store.revisions(worker.account("p"))
    numbers = [revision.number for revision in revisions]
    last = max(numbers, default=0)
    assert numbers == list(range(last, 0, -1))
    states = await listed(store.all_states())
    assert {state.declared.generation for state in states} == ({last} if last else set())
    assert len(states) == (worker.BATCH if last else 0)
    assert await store.verify_chain() == last * worker.BATCH
    kept = await store.documents([revision.document for revision in revisions])
    assert len(kept) == last
    unfinished, _ = blobs.digest_of({"owner": "p", "batch": last + 1, "text": "x" * 300})
    assert await store.documents([unfinished]) == {}
    return last


def test_a_process_killed_while_committing_leaves_whole_transactions(tmp_path):
    """The moment is left to chance: after some commits, somewhere in the next one."""
    path, chance, last = tmp_path / "s.db", random.Random(5), 0
    for _ in range(KILLS):
        with started("commit_for_ever", path, "p", last + 1) as process:
            assert process.stdout is not None
            for _ in range(chance.randrange(1, 8)):
                begun = int(process.stdout.readline())
            process.kill()
            begun = max([begun, *map(int, process.stdout.read().split())])
        last = looked_at(path, last_batch)
        assert last in (begun - 1, begun)
    assert last >= KILLS / 2


def test_a_process_killed_at_each_statement_of_a_commit_leaves_it_undone_or_done(tmp_path):
    path = tmp_path / "s.db"
    looked_at(path, last_batch)
    outcomes = killed_everywhere(path)
    assert outcomes[0] == "undone"
    assert outcomes[-1] == "done"
    assert outcomes.count("done") == 1  # only the one that was not killed: the last statement is COMMIT
    assert len(outcomes) > 15


def killed_everywhere(path: Path) -> list[str]:
    """Kill a commit at its first statement, at its second, ... until it survives; return what came of each."""
    outcomes: list[str] = []
    with started("killed_at_every_statement", path, "p", 1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            word, _ = line.split()

            async def is_done(store: SqliteStore) -> bool:
                return await store.verify_chain() > 0

            done = looked_at(path, is_done)
            outcomes.append("done" if done else "undone")
            if word == "survived":
                assert done
                break
            process.stdin.write("go on\n")
            process.stdin.flush()
    return outcomes
