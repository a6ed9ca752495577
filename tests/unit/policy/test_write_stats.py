"""Evidence: writes summed up by type and path."""

from __future__ import annotations

from holdfast.policy import write_stats
from holdfast.policy.write_stats import Sign, WriteResult


def written(address: str = "a/Disk/one", type_: str = "T/disks", **data):
    return WriteResult(address, type_, data)


def test_nothing_written_is_nothing_to_say():
    assert write_stats.summed([]) == write_stats.WriteStats((), ())


def test_a_write_in_shadow_counts_as_needed_needless_or_misjudged():
    found = write_stats.summed(
        [
            written(shadow={"needed": True, "changed": ["/a"]}),
            written(shadow={"needed": False, "changed": []}),
            written(shadow={"needed": False, "changed": ["/b"]}),
            written(),  # not in shadow
        ]
    )
    (row,) = found.types
    assert (row.writes, row.shadowed, row.needed, row.needless, row.misjudged) == (4, 3, 1, 2, 1)
    assert [(path.path, path.sign) for path in found.paths] == [("/b", Sign.MISJUDGED)]


def test_what_a_write_left_is_counted_by_type_and_path_over_resources():
    found = write_stats.summed(
        [
            written(unresolved=["/x"], side_effects=["/y"]),
            written(unresolved=["/x"], address="a/Disk/two"),
            written(unresolved=["/x"], type_="T/others", address="a/Other/one"),
            written(not_removed=["/z"]),
        ]
    )
    assert [(row.type, row.writes, row.ineffective) for row in found.types] == [("T/disks", 3, 2), ("T/others", 1, 1)]
    assert [(row.type, row.path, row.sign, row.times, len(row.addresses)) for row in found.paths] == [
        ("T/disks", "/x", Sign.INEFFECTIVE, 2, 2),
        ("T/others", "/x", Sign.INEFFECTIVE, 1, 1),
        ("T/disks", "/z", Sign.NOT_REMOVED, 1, 1),
        ("T/disks", "/y", Sign.SIDE_EFFECT, 1, 1),
    ]


def test_what_a_needless_write_moved_is_told_once():
    (row,) = write_stats.summed([written(side_effects=["/y"], shadow={"needed": False, "changed": ["/y"]})]).paths
    assert row.sign is Sign.MISJUDGED
