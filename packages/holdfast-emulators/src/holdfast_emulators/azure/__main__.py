"""The emulator as a process: `python -m holdfast_emulators.azure --port 8943`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

import orjson

from holdfast_emulators.azure.limits import Limits
from holdfast_emulators.azure.server import ArmServer
from holdfast_emulators.azure.service import World


async def serve(server: ArmServer) -> None:
    """Run until the process is ended; the first line of the output says where it is and how to get in, as JSON."""
    async with server:
        where = {"url": server.url, "port": server.port, "ca_bundle": server.ca_bundle, "token": server.world.token}
        sys.stdout.write(orjson.dumps({**where, "environ": server.environ}).decode() + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main(arguments: list[str] | None = None) -> None:
    """Run the server from the command line."""
    parser = argparse.ArgumentParser(
        prog="holdfast_emulators.azure", description="An Azure Resource Manager to test against."
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--certificates", type=Path, metavar="FOLDER", help="where to write them; a temporary folder")
    parser.add_argument("--no-tls", action="store_true", help="plain HTTP")
    parser.add_argument("--pace", type=float, default=0.05, help="1: operations take as long as in Azure")
    parser.add_argument("--group", action="append", default=[], metavar="NAME", help="a resource group to begin with")
    parser.add_argument("--writes-an-hour", type=int, help="limits as published: 1200; without, there are none")
    parser.add_argument("--reads-an-hour", type=int, default=12_000)
    options = parser.parse_args(arguments)
    hourly = options.writes_an_hour
    limits = Limits.hourly(options.reads_an_hour, hourly) if hourly is not None else Limits()
    world = World(limits=limits, pace=options.pace)
    for name in options.group:
        world.add_group(name)
    if options.certificates is not None:
        options.certificates.mkdir(parents=True, exist_ok=True)
    try:
        asyncio.run(serve(ArmServer(world, options.port, tls=not options.no_tls, folder=options.certificates)))
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
