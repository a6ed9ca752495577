"""The options that commands share. A command takes those that it honours, and no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click

from holdfast.app.options import ProjectOptions
from holdfast.errors import InputError
from holdfast.policy import durations

FORMATS: Final = ("table", "json", "yaml")
Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "files": click.option(
        "-f",
        "--file",
        "files",
        multiple=True,
        metavar="PATH",
        help="Manifests: a file, a folder, a glob, or - for standard input (may be repeated).",
    ),
    "place": click.option(
        "-f",
        "--file",
        "files",
        multiple=True,
        metavar="PATH",
        help="Manifests of the project; by default the project of this folder (may be repeated).",
    ),
    "project": click.option(
        "--project", metavar="FILE", help="The project file; holdfast.yaml beside or above the manifests by default."
    ),
    "store": click.option("--store", metavar="URL", help="The store, a file or URL; .holdfast/holdfast.db by default."),
    "targets": click.option(
        "--target",
        "targets",
        multiple=True,
        metavar="GLOB",
        help="Only addresses that match (connection/Kind/name); !GLOB excludes (may be repeated).",
    ),
    "selector": click.option(
        "-l", "--selector", metavar="LABELS", help="Only resources with these labels: a=b,c!=d,e in (x,y)."
    ),
    "default_resync_period": click.option(
        "--default-resync-period",
        metavar="DURATION",
        help="Period of checks for resources that set none: 10m, 1h, 0 for no checks.",
    ),
}


def taking(*names: str) -> Callable[[Function], Function]:
    """Return a decorator that adds options of `ProjectOptions` to a command."""

    def decorate(function: Function) -> Function:
        for name in reversed(names):
            function = _OPTIONS[name](function)
        return function

    return decorate


# For commands that read manifests: all resources, a part of them, or one named by its address.
common = taking("files", "project", "store", "targets", "selector", "default_resync_period")
partly = taking("files", "project", "store", "targets", "selector")
singly = taking("files", "project", "store")
# For commands that only read the store: all of it, or a part.
stored = taking("place", "project", "store")
stored_partly = taking("place", "project", "store", "targets", "selector")

who = click.option("--who", default=None, help="Who decides; you, by default.")
detailed_exitcode = click.option(
    "--detailed-exitcode", is_flag=True, help="2 pending, 4 drifted, 6 both, 8 incomplete, 16 blocked."
)


def options_of(arguments: dict[str, Any]) -> ProjectOptions:
    """Take the options that `taking` added out of a command's arguments."""
    return ProjectOptions(
        arguments.pop("files", ()),
        arguments.pop("project", None),
        arguments.pop("store", None),
        arguments.pop("targets", ()),
        arguments.pop("selector", None),
        {"resync_period": arguments.pop("default_resync_period", None)},
    )


def person() -> str:
    """Return the user and the machine that run the command."""
    import getpass
    import socket

    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = "unknown"
    return f"{name}@{socket.gethostname()}"


def parse_duration(text: str | None, option: str) -> float | None:
    """Return the seconds that an option gives, or None; a mistake names the option."""
    try:
        return None if text is None else durations.parse(text)
    except InputError as error:
        raise click.BadParameter(error.message, param_hint=option) from None
