"""Sinks: real files, real programs, a real HTTP server; an event arrives or it is said why not."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from holdfast.manifests import notify_spec
from holdfast.manifests.notify_spec import ToCommand, ToFile, ToWebhook
from holdfast.manifests.secrets import FromEnvironment, Resolver
from holdfast.notify import sinks, webhook
from holdfast.notify.cloudevents import CloudEvent, CloudEventType
from holdfast.notify.sinks import CommandSink, FileSink, SinkContext, Undelivered
from holdfast.reconcile.retry import RetryPolicy
from holdfast.testing.clock import FakeClock

EVENT = CloudEvent(
    "0123abcd", CloudEventType.DRIFT_DETECTED, "/holdfast/test", 1_800_000_000.0, {"count": 1}, "mem/Thing/a"
)
SECRET = "whsec_" + base64.b64encode(b"a key of some length").decode()


def means(environ: dict[str, str] | None = None, **fields: Any) -> SinkContext:
    patience = fields.pop("patience", RetryPolicy(attempts=3))
    return SinkContext(FakeClock(), lambda: 0.5, Resolver(environ or {}), patience, **fields)


def send(target: notify_spec.Target, using: SinkContext | None = None) -> None:
    spec = notify_spec.SinkSpec("it", target)

    async def main() -> None:
        await sinks.open_sink(spec, using or means()).send(EVENT)

    asyncio.run(main())


# -- files


def test_a_file_gets_a_line_an_event(tmp_path):
    file = tmp_path / "events.jsonl"
    send(ToFile(file))
    send(ToFile(file))
    assert [json.loads(line)["id"] for line in file.read_text().splitlines()] == ["0123abcd"] * 2


def test_lines_of_several_writers_do_not_mix(tmp_path):
    async def main() -> None:
        await asyncio.gather(*(FileSink(tmp_path / "events").send(EVENT) for _ in range(50)))

    asyncio.run(main())
    assert {json.loads(line)["id"] for line in (tmp_path / "events").read_text().splitlines()} == {"0123abcd"}


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(Undelivered, match=r"nowhere/events cannot be written: No such file or directory"):
        send(ToFile(tmp_path / "nowhere/events"))


# -- programs


def program(folder: Path, text: str) -> tuple[str, ...]:
    file = folder / "program"
    file.write_text(f"#!{sys.executable}\n{text}\n")
    file.chmod(0o755)
    return ("./program", "--quiet")


def test_a_program_has_the_event_on_its_standard_input_in_its_folder(tmp_path):
    words = program(tmp_path, "import sys; open('got', 'w').write(sys.argv[1] + ' ' + sys.stdin.read())")
    send(ToCommand(words, tmp_path))
    word, _, text = (tmp_path / "got").read_text().partition(" ")
    assert word == "--quiet"
    assert json.loads(text) == EVENT.as_json()


def test_a_program_that_does_not_read_may_still_have_it(tmp_path):
    big = CloudEvent("1", CloudEventType.DRIFT_DETECTED, "/", 0.0, {"big": "x" * 1_000_000})

    async def main() -> None:
        await CommandSink(program(tmp_path, "pass"), tmp_path).send(big)

    asyncio.run(main())


def test_a_program_that_fails_is_named_with_its_exit_code_and_not_with_what_it_printed(tmp_path):
    words = program(tmp_path, "import sys; print('s3cret', file=sys.stderr); sys.exit(3)")
    with pytest.raises(Undelivered, match=r"^\./program failed with exit code 3$"):
        send(ToCommand(words, tmp_path))


def test_a_program_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(Undelivered, match=r"^\./none cannot be run: No such file or directory$"):
        send(ToCommand(("./none",), tmp_path))


def test_a_program_that_takes_too_long_is_ended_with_its_children(tmp_path):
    child = "import os, time; open('child', 'w').write(str(os.getpid())); time.sleep(3600)"
    words = program(tmp_path, f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])")

    async def main() -> None:
        sink = CommandSink(words, tmp_path, seconds=3600.0)
        task = asyncio.ensure_future(sink.send(EVENT))
        while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert _is_gone(int((tmp_path / "child").read_text()))
    with pytest.raises(Undelivered, match=r"program took longer than 0\.2 seconds"):
        asyncio.run(CommandSink(words, tmp_path, seconds=0.2).send(EVENT))


def _is_gone(pid: int) -> bool:
    for _ in range(12_000):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            return True
        time.sleep(0.01)
    return False


# -- webhooks


@dataclass
class Receiver:
    """A server that answers as told, and remembers what it was sent."""

    answers: list[Callable[[], web.Response]] = field(default_factory=list)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""

    async def handle(self, request: web.Request) -> web.Response:
        self.got.append(({key.lower(): value for key, value in request.headers.items()}, await request.read()))
        return self.answers.pop(0)() if self.answers else web.Response(status=204)


@asynccontextmanager
async def receiver(answers: Sequence[Callable[[], web.Response]] = ()) -> AsyncIterator[Receiver]:
    one = Receiver(list(answers))
    app = web.Application()
    app.router.add_post("/hook", one.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    one.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook?token=t0ken"
    try:
        yield one
    finally:
        await runner.cleanup()


def posted(
    answers: Sequence[Callable[[], web.Response]] = (), *, secret: str | None = SECRET, using: SinkContext | None = None
) -> Receiver:
    """Send the event to a receiver; return what it got."""

    async def main() -> Receiver:
        async with receiver(answers) as one:
            environ = {"URL": one.url} | ({"KEY": secret} if secret is not None else {})
            reference = FromEnvironment("KEY") if secret is not None else None
            chosen = using or means(environ)
            spec = notify_spec.SinkSpec("hook", ToWebhook(one.url, reference))
            try:
                await sinks.open_sink(spec, chosen).send(EVENT)
            except Undelivered as error:
                error.add_note(str(len(one.got)))
                raise
            return one

    return asyncio.run(main())


def status(code: int, **headers: str) -> Callable[[], web.Response]:
    return lambda: web.Response(status=code, headers=headers)


def test_a_webhook_is_posted_in_structured_mode_and_signed():
    ((headers, body),) = posted().got
    assert headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert headers["user-agent"].startswith("holdfast/")
    assert json.loads(body) == EVENT.as_json()
    assert headers["webhook-id"] == EVENT.id
    assert headers["webhook-timestamp"] == "1800000000"
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(b"a key of some length", signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"


def test_the_signature_is_that_of_the_convention():
    key = webhook.key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    found = webhook.sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}')
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_secret_without_the_prefix_is_its_bytes_and_a_broken_one_is_refused():
    assert webhook.key_of("plain é") == "plain é".encode()
    with pytest.raises(Undelivered, match="is not base64"):
        webhook.key_of("whsec_not base64!")


def test_without_a_secret_there_is_no_signature():
    ((headers, _),) = posted(secret=None).got
    assert "webhook-signature" not in headers
    assert headers["webhook-id"] == EVENT.id


def test_passing_troubles_are_retried_with_the_same_id_and_a_new_time():
    got = posted([status(503), status(429, **{"Retry-After": "7"})]).got
    assert [headers["webhook-id"] for headers, _ in got] == [EVENT.id] * 3
    first, second, third = (int(headers["webhook-timestamp"]) for headers, _ in got)
    assert first <= second < third
    assert third - second >= 7
    assert len({headers["webhook-signature"] for headers, _ in got}) >= 2


@pytest.mark.parametrize("code", [400, 401, 404, 410, 302])
def test_a_no_is_not_retried_and_a_redirect_is_not_followed(code):
    with pytest.raises(Undelivered, match=rf"127\.0\.0\.1 \(\w{{6}}\) answered {code}") as caught:
        posted([status(code, Location="/elsewhere")])
    assert caught.value.__notes__ == ["1"]


def test_patience_ends_and_the_address_is_not_shown():
    with pytest.raises(Undelivered, match=r"answered 500 \(3 attempts\)") as caught:
        posted([status(500)] * 5)
    assert caught.value.__notes__ == ["3"]
    assert "t0ken" not in str(caught.value)


def test_nobody_there_is_said_without_the_address():
    with pytest.raises(Undelivered, match=r"could not be reached \(\w+\) \(3 attempts\)") as caught:
        send(ToWebhook("http://127.0.0.1:1/t0ken"))
    assert "t0ken" not in str(caught.value)


def test_an_answer_that_does_not_come_is_a_time_out():
    async def main() -> None:
        over = asyncio.Event()

        async def hang(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await over.wait()
            writer.close()
            await writer.wait_closed()

        hanging = await asyncio.start_server(hang, "127.0.0.1", 0)
        port = hanging.sockets[0].getsockname()[1]
        using = means(patience=RetryPolicy(attempts=1), attempt_seconds=0.1)
        spec = notify_spec.SinkSpec("hook", ToWebhook(f"http://127.0.0.1:{port}/"))
        with pytest.raises(Undelivered, match="did not answer in time"):
            await sinks.open_sink(spec, using).send(EVENT)
        over.set()
        hanging.close()
        await asyncio.sleep(0.01)

    asyncio.run(main())


def test_the_address_may_be_a_secret():
    async def main() -> Receiver:
        async with receiver() as one:
            spec = notify_spec.SinkSpec("hook", ToWebhook(FromEnvironment("URL")))
            await sinks.open_sink(spec, means({"URL": one.url})).send(EVENT)
            return one

    assert len(asyncio.run(main()).got) == 1


@pytest.mark.parametrize(
    "environ, message",
    [
        ({}, "the environment variable URL, which should hold a secret, is not set"),
        ({"URL": "ftp://x/s3cret"}, "its address is not a URL; write https://host/path"),
        ({"URL": "https://x/y"}, "the environment variable KEY, which should hold a secret, is not set"),
        ({"URL": "https://x/y", "KEY": "whsec_!"}, "its secret begins with whsec_ and is not base64 after that"),
    ],
)
def test_a_secret_that_cannot_be_had_is_said_without_it(environ, message):
    with pytest.raises(Undelivered) as caught:
        send(ToWebhook(FromEnvironment("URL"), FromEnvironment("KEY")), means(environ))
    assert str(caught.value) == message


def test_a_dead_letter_holds_the_event_and_why(tmp_path):
    sinks.keep_letter(tmp_path / "dead", "hook", EVENT, "it answered 500", 1_800_000_001.0)
    assert json.loads((tmp_path / "dead").read_text()) == {
        "at": "2027-01-15T08:00:01.000Z",
        "sink": "hook",
        "why": "it answered 500",
        "event": EVENT.as_json(),
    }
