"""Write the score cards of the conformance kit into docs/providers.md.

usage: python tools/score_cards.py [--check]

Runs every scenario on the shipped providers and on the example; with --check nothing is written, and the exit code says
whether the page is current. A card with a failure on it is never written.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/providers.md"
sys.path[:0] = [str(ROOT), str(ROOT / "examples/provider")]

from tools.replace_section import replace  # noqa: E402

from holdfast.testing import conformance
from holdfast_emulators import providers_under_test  # noqa: E402 - the path comes first

if TYPE_CHECKING:
    from holdfast.testing.conformance import Opening


def openings() -> dict[str, Opening]:
    """Return what to examine, by the name of its section."""
    import keyvalue_subject  # type: ignore[import-not-found]  # noqa: PLC0415 - an example, beside the project

    example = cast("Opening", keyvalue_subject.entries)
    shipped = {
        "file": providers_under_test.file,
        "http": providers_under_test.http,
        "memory": providers_under_test.memory,
        "azure": providers_under_test.azure,
    }
    return {"keyvalue": example, **shipped}


def current(page: str) -> str:
    """Return the page with every card as it is now."""
    for name, opening in openings().items():
        card = asyncio.run(conformance.run(opening))
        if not card.is_clean:
            raise SystemExit(card.text())
        page = replace(page, f"score-{name}", card.markdown())
    return page


def main() -> int:
    """Write the page, or check it."""
    before = PAGE.read_text(encoding="utf-8")
    after = current(before)
    if "--check" in sys.argv[1:]:
        return 0 if before == after else 1
    PAGE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
