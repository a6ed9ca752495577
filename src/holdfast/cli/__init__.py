"""The command line: parse, call, render.

Belongs here: commands, options, colours, exit codes. Must not be here: any decision or comparison. A command's module
is imported only when the command is used, so that `holdfast --help` stays quick.
"""

from __future__ import annotations

import gc
from typing import Final

# A command makes many objects and few cycles. A full collection walks them all, and several fell into the imports.
GARBAGE: Final = (100_000, 50, 100)


def main() -> None:
    """Run the command line; the console script's entry."""
    gc.set_threshold(*GARBAGE)
    from holdfast.cli import command_group

    command_group.run()
