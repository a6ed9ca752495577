"""The emulator as a process: `python -m holdfast_emulators.runpod --port 8900`."""

from __future__ import annotations

import argparse
import asyncio
import sys

import orjson

from holdfast_emulators.runpod.limits import Limits
from holdfast_emulators.runpod.server import TOKEN, RunPodServer
from holdfast_emulators.runpod.service import Habits, World


async def serve(server: RunPodServer) -> None:
    """Run until the process is ended; the first line of the output says where it is and how to get in, as JSON."""
    async with server:
        where = {"port": server.port, "rest": server.rest_url, "graphql": server.graphql_url, "token": server.token}
        sys.stdout.write(orjson.dumps(where).decode() + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main(arguments: list[str] | None = None) -> None:
    """Run the server from the command line."""
    parser = argparse.ArgumentParser(prog="holdfast_emulators.runpod", description="A RunPod API to test against.")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--token", default=TOKEN, help="the API key of its account")
    parser.add_argument("--lag-reads", type=int, default=0, help="reads after a write that still show what was before")
    parser.add_argument("--page-size", type=int, help="cut lists into pages of so many")
    parser.add_argument("--per-minute", type=int, help="requests a minute before it says 429")
    options = parser.parse_args(arguments)
    habits = Habits(lag_reads=options.lag_reads, page_size=options.page_size)
    limits = Limits({"minute": options.per_minute}) if options.per_minute else Limits()
    try:
        asyncio.run(serve(RunPodServer(World(habits=habits), options.port, token=options.token, limits=limits)))
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
