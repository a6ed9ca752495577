"""Print the table of metric families for docs/metrics.md.

usage: python tools/metrics_table.py | python tools/replace_section.py docs/metrics.md families
"""

from __future__ import annotations

from holdfast.metrics import definitions


def main() -> None:
    """Print a row a family."""
    print("| family | labels | type | what |")
    print("|---|---|---|---|")
    for family in definitions.ALL:
        labels = ", ".join(f"`{label}`" for label in family.labels)
        print(f"| `{family.name}` | {labels} | {family.sort.value} | {family.text} |")


if __name__ == "__main__":
    main()
