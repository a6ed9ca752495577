"""The command group, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import importlib
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

# command -> (module, the sentence --help shows without importing the module)
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "plan": ("reconcile", "Show what differs and what would be done; touches nothing."),
    "apply": ("reconcile", "Make it so, within the limits."),
    "check": ("reconcile", "Say what is true; read-only, with exit codes for CI."),
    "watch": ("watch", "Run the resync loop in the foreground."),
    "explain": ("explain", "Say why: values, rule, cause, since when, what happens next."),
    "revert": ("answers", "Put a finding back as declared."),
    "accept": ("answers", "Write the live value into the manifest."),
    "baseline": ("answers", "Take the live value as the new normal; stays watched."),
    "waive": ("answers", "Let a difference be until a date, with an owner."),
    "approve": ("limits", "Say yes to what is held for approval."),
    "pause": ("limits", "Stop writes: everywhere, or for a scope."),
    "resume": ("limits", "End a pause."),
    "contention": ("limits", "List the fields that somebody keeps reverting."),
    "corrections": ("limits", "List our writes and how they ended."),
    "evidence": ("write_stats", "Sum up our writes by type and path: needed, ineffective, side effects."),
    "rollout": ("rollout", "Show and steer rollouts of templates: status, pause, resume, undo, history."),
    "undo": ("limits", "Revert what was there before a correction."),
    "remediation": ("remediation", "Announce a remediation, and assess whether it held and helped."),
    "remediations": ("remediation", "Show what was tried on a target, and what came of it."),
    "status": ("records", "Say how everything stands, without asking the world."),
    "metrics": ("metrics", "Print what the store knows for Prometheus, without asking the world."),
    "history": ("records", "Show decisions and audit events."),
    "events": ("events", "Show the audit trail as CloudEvents, by type, target and time."),
    "discover": ("discover", "Say what is live and declared nowhere; write manifests to import it."),
    "import": ("records", "Take over a live thing by its id."),
    "delete": ("delete", "Delete or detach what the manifests declare."),
    "forget": ("forget", "Drop the record of what is no longer declared."),
    "audit": ("audit", "Prove that the audit trail was not edited or cut."),
    "replay": ("records", "Recompute a stored decision from its inputs."),
    "upgrade": ("upgrade", "Rehearse what a new release or profile would change: it must be nothing."),
    "doctor": ("doctor", "Look for what would go wrong."),
    "hash": ("hash", "Print the canonical hash of a document."),
    "diff": ("diff", "Compare a declaration with an observation, field by field."),
    "bench": ("bench", "Measure error rates on recorded traffic."),
    "demo": ("demo", "Take a self-contained tour."),
}


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is called, and not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return a command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"holdfast.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest one that is spelt nearly so."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            if not near:
                raise
            message = f"{error.message} Did you mean {near[0]!r}?"
            raise click.UsageError(message, ctx) from None


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(holdfast.__version__, prog_name="holdfast")
def cli() -> None:
    """Holdfast tells the truth about declared resources versus the live world.

    \b
    Examples:
      holdfast demo                              a self-contained tour
      holdfast plan -f infra/                    what differs and what would be done
      holdfast apply -f infra/                   make it so
      holdfast check -f infra/ --detailed-exitcode
      holdfast explain api/Widget/blue           why, since when, by which rule
    """


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code; a user's mistake never shows a traceback."""
    from holdfast.cli import stdout

    sys.excepthook = _crashed
    if not stdout.install():
        click.echo("Error: standard output is closed; send it to /dev/null if nobody reads it", err=True)
        sys.exit(ERROR)
    code, message = stdout.closing_code(_outcome(arguments))
    if message:
        click.echo(f"Error: {message}", err=True)
    sys.exit(code)


def _crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Show a crash like everything else: a message in it may hold what a service said, or a secret."""
    import traceback

    from holdfast.cli import console

    click.echo(console.safe_document("".join(traceback.format_exception(kind, error, trace))), err=True, nl=False)


def _outcome(arguments: Sequence[str] | None) -> int:
    terminal_escape.hide_with(str)  # what an earlier run in this process knew is no matter of this one
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
        lines = _told(error)
        if os.environ.get("HOLDFAST_DEBUG") or not lines:
            raise
        from holdfast.cli import console

        console.problem(*lines)
        return ERROR
    return result if isinstance(result, int) else 0


def _told(error: Exception) -> list[str]:
    """Return what to say of an error, each thing once, however many tasks met it; nothing for what is a fault of ours.

    What the operating system refuses (a full disk, a folder that may not be written) is nobody's fault but has a name.
    """
    from holdfast.manifests.validation import InputErrors

    if isinstance(error, ExceptionGroup):
        parts = [_told(each) for each in error.exceptions]
        return list(dict.fromkeys(line for part in parts for line in part)) if all(parts) else []
    if isinstance(error, InputErrors):
        return list(error.lines)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return [f"{where}{error.strerror}"] if error.strerror else []
    return [str(error)] if isinstance(error, HoldfastError) else []
