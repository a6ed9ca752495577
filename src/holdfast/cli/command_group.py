"""The command group, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import importlib
import keyword
import os
import signal
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, NoReturn

import click

import holdfast
from holdfast.cli import terminal_escape
from holdfast.errors import HoldfastError

ERROR: Final = 1
USAGE: Final = 64  # not click's 2, which says "pending" here
INTERRUPTED: Final = 128 + signal.SIGINT

# group -> command -> the sentence that --help shows without importing the command's module
GROUPS: Final[dict[str, dict[str, str]]] = {
    "Core": {
        "check": "Compare declared and live state (read-only).",
        "plan": "Show the writes that an apply would make (read-only).",
        "apply": "Apply manifests, within configured limits.",
        "watch": "Check and correct continuously, in the foreground.",
        "delete": "Delete or detach declared resources.",
        "status": "Show last known state; makes no API calls.",
        "explain": "Explain a verdict: values, rule, cause, next action.",
    },
    "Findings": {
        "revert": "Write the declared value over a finding.",
        "accept": "Write the live value into the manifest.",
        "baseline": "Record the live value as the new baseline.",
        "waive": "Suppress a finding until a date, with an owner.",
    },
    "Limits": {
        "approve": "Approve writes that are held.",
        "pause": "Stop writes everywhere, or in a scope.",
        "resume": "End a pause.",
        "contention": "List fields that another writer keeps changing.",
    },
    "Rollouts": {
        "rollout": "Show, pause, resume and undo rollouts of templates.",
    },
    "Remediation": {
        "remediation": "Announce and assess remediations by other tools.",
    },
    "Records": {
        "corrections": "List corrections and their outcomes.",
        "undo": "Restore the values from before a correction.",
        "write-stats": "Count writes: needed, ineffective, side effects.",
        "history": "Show decisions and audit events.",
        "events": "Show the audit trail as CloudEvents.",
        "audit": "Verify that the audit trail was not edited or cut.",
        "replay": "Recompute a stored decision from its inputs.",
        "metrics": "Print the store's contents as Prometheus metrics.",
        "forget": "Drop records of undeclared resources.",
    },
    "Tools": {
        "discover": "List live resources that no manifest declares.",
        "import": "Adopt a live resource by its provider id.",
        "doctor": "Check configuration, connections and store.",
        "store": "Copy a store to another file or database.",
        "upgrade-check": "Check that a new release changes no verdict.",
        "diff": "Compare two documents, field by field.",
        "hash": "Print the canonical hash of a document.",
        "bench": "Measure error rates on recorded traffic.",
        "demo": "Run a self-contained tour.",
    },
}
COMMANDS: Final = tuple(name for group in GROUPS.values() for name in group)


def module_of(command: str) -> str:
    """Return the module of a command: named like it, with an underscore after a Python keyword."""
    name = command.replace("-", "_")
    return f"holdfast.cli.commands.{name}{'_' if keyword.iskeyword(name) else ''}"


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is called, and not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return a command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(
            importlib.import_module(module_of(cmd_name)), f"{cmd_name.replace('-', '_')}_command"
        )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands without importing them."""
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, or suggest one with a similar name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            if not near:
                raise
            message = f"{error.message} Did you mean {near[0]!r}?"
            raise click.UsageError(message, ctx) from None


def _show_version(ctx: click.Context, _option: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from holdfast.compare import build

        click.echo(f"holdfast, version {holdfast.__version__} ({build.describe_build()})")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """Holdfast compares declared and live infrastructure, and corrects drift within limits.

    \b
    Examples:
      holdfast demo                              a self-contained tour
      holdfast plan -f infra/                    the differences and the writes that would follow
      holdfast apply -f infra/                   make these writes
      holdfast check -f infra/ --detailed-exitcode
      holdfast explain api/Widget/blue           cause, time and rule of a verdict
    """


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code; a user's mistake never shows a traceback."""
    from holdfast.cli import stdout

    sys.excepthook = _crashed
    if not stdout.install():
        click.echo("Error: standard output is closed; send it to /dev/null to discard it", err=True)
        sys.exit(ERROR)
    code, message = stdout.closing_code(_outcome(arguments))
    if message:
        click.echo(f"Error: {message}", err=True)
    sys.exit(code)


def _crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Show a crash like everything else, because its message may hold a text of a service, or a secret."""
    import traceback

    from holdfast.cli import console

    click.echo(console.safe_document("".join(traceback.format_exception(kind, error, trace))), err=True, nl=False)


def _outcome(arguments: Sequence[str] | None) -> int:
    terminal_escape.hide_with(str)  # secrets of an earlier run in this process
    try:
        result: Any = cli.main(arguments, prog_name="holdfast", standalone_mode=False)
    except click.UsageError as error:
        error.show()
        return USAGE
    except click.ClickException as error:
        error.show()
        return ERROR
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except (HoldfastError, OSError, ExceptionGroup) as error:
        lines = _messages(error)
        if os.environ.get("HOLDFAST_DEBUG") or not lines:
            raise
        from holdfast.cli import console

        console.problem(*lines)
        return ERROR
    return result if isinstance(result, int) else 0


def _messages(error: Exception) -> list[str]:
    """Return the messages of an error, each once; none for a defect of Holdfast, which shows a traceback."""
    from holdfast.schema.document import InputErrors

    if isinstance(error, ExceptionGroup):
        parts = [_messages(exception) for exception in error.exceptions]
        return list(dict.fromkeys(line for part in parts for line in part)) if all(parts) else []
    if isinstance(error, InputErrors):
        return list(error.lines)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return [f"{where}{error.strerror}"] if error.strerror else []
    return [str(error)] if isinstance(error, HoldfastError) else []
