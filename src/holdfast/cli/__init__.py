"""The command line: parse, call, render.

Belongs here: commands, options, colours, exit codes. Must not be here: any decision or comparison. A command's module
is imported only when the command is used, so that `holdfast --help` stays quick.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line; the console script's entry."""
    from holdfast.cli import command_group

    command_group.run()
