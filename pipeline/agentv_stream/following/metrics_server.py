"""Metrics in Prometheus' text format, and health, over HTTP on one socket; on loopback by default.

`/metrics` shows the follower's counters; `/health` (or `/healthz`) answers 200 only after it has actually read a log
and the cursors, and checked that the last round was recent, else 503. Other paths are 404, methods other than GET and
HEAD 405; on loopback, requests with another host's name are 403. Nothing can be changed through it.
"""

import os
import re
import time
from functools import partial
from ipaddress import ip_address
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import ByteStream, SocketAttribute, TaskStatus

from agentv_stream.errors import AgentvStreamError, UsageError
from agentv_stream.following.follow import Follower
from agentv_stream.following.metrics_page import metrics_text
from agentv_stream.following.running import Running
from agentv_stream.following.service_log import Say
from agentv_stream.logs import Refusals
from agentv_stream.sources.files import is_there

MOST_REQUEST = 8192
STALE_SECONDS = 60.0
_HOST = re.compile(rb"\r\nhost:([^\r\n]*)\r\n", re.IGNORECASE)
_NAME = re.compile(rb"(\[[^\]]*\]|[^:]*)(?::\d*)?")
MOST_ASKING = 16  # concurrent requests
REQUEST_SECONDS = 5


async def serve(
    follower: Follower, running: Running, say: Say, *, task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Serves until cancelled; reports its port when it listens. Raises: UsageError when the address cannot be bound."""
    assert running.metrics is not None
    host, port = running.metrics
    try:
        listener = await anyio.create_tcp_listener(local_host=host, local_port=port)
    except OSError as error:
        raise UsageError(f"--metrics {host}:{port}: {error.strerror or error}") from error
    slots = anyio.Semaphore(MOST_ASKING)
    refused = "requests for metrics were refused"
    refusals = Refusals(lambda reason, requests: say(refused, reason=reason, requests=requests))
    async with listener:
        address = listener.extra(anyio.abc.SocketAttribute.local_address)
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        say("metrics are served", address=f"http://{shown}:{address[1]}/metrics")
        task_status.started(int(address[1]))
        while True:
            try:
                await listener.serve(partial(_answer, follower, running, slots, refusals))
            except* OSError as errors:  # no descriptor is free: following continues, and serving after a pause
                say("a request for metrics could not be accepted", error=str(errors.exceptions[0]))
                await anyio.sleep(1)


async def _answer(
    follower: Follower, running: Running, slots: anyio.Semaphore, refusals: Refusals, stream: ByteStream
) -> None:
    async with stream:
        try:
            slots.acquire_nowait()
        except anyio.WouldBlock:
            refusals.note(f"{MOST_ASKING} requests at once")
            return  # descriptors are reserved for logs
        try:
            with anyio.fail_after(REQUEST_SECONDS):
                head = b""
                while b"\r\n\r\n" not in head and len(head) < MOST_REQUEST:
                    head += await stream.receive()
                if b"\r\n\r\n" not in head:  # the host may be in the unread part
                    refusals.note(f"longer than {MOST_REQUEST} bytes")
                    status, kind, body = "431 Request Header Fields Too Large", "text/plain", b""
                elif _asked_by_name(head, stream):
                    refusals.note("for another host")
                    status, kind, body = "403 Forbidden", "text/plain", b"ask for the address, or for localhost\n"
                else:
                    status, kind, body = await _respond(follower, running, head)
                reply = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                shown = b"" if head.startswith(b"HEAD ") else body
                await stream.send(reply.encode() + b"Connection: close\r\n\r\n" + shown)
        except TimeoutError:
            refusals.note(f"slower than {REQUEST_SECONDS} s")
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return  # the client has gone
        finally:
            slots.release()


def _asked_by_name(head: bytes, stream: ByteStream) -> bool:
    """Whether loopback is addressed by some other name: as in a DNS rebinding attack by a page in a browser."""
    local = str(stream.extra(SocketAttribute.local_address)[0])
    found = _HOST.search(head)
    host = _NAME.fullmatch(found[1].strip(b" \t")) if found else None
    if host is None or not host[1] or not ip_address(local.partition("%")[0]).is_loopback:
        return False
    name = host[1].decode("ascii", "replace").lower()
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return name.rstrip(".") != "localhost" and not name.rstrip(".").endswith(".localhost")
    return False


async def _respond(follower: Follower, running: Running, head: bytes) -> tuple[str, str, bytes]:
    parts = head.split(b"\r\n", 1)[0].split(b" ")
    path = parts[1].split(b"?")[0] if len(parts) == 3 else b""
    if parts[0] not in (b"GET", b"HEAD"):
        return "405 Method Not Allowed", "text/plain", b""
    if path == b"/metrics":
        text = await anyio.to_thread.run_sync(metrics_text, follower, running)
        return "200 OK", "text/plain; version=0.0.4; charset=utf-8", text.encode("utf-8", "backslashreplace")
    if path in (b"/health", b"/healthz"):
        good, facts = await anyio.to_thread.run_sync(health, follower, running)
        return ("200 OK" if good else "503 Service Unavailable"), "application/json", msgspec.json.encode(facts)
    return "404 Not Found", "text/plain", b"metrics, health\n"


def health(follower: Follower, running: Running) -> tuple[bool, dict[str, object]]:
    """Whether it works, by trying: reads the newest log, writes to the cursors, checks the time of the last round."""
    problems: list[str] = [trouble.text for trouble in list(follower.troubles.values())[:10]]
    problems += [f"{store}: {text}" for store, text in list(follower.stores.troubles.items())[:10]]
    age = time.monotonic() - running.last_round
    if age > STALE_SECONDS:
        problems.append(f"no round for {age:.0f} s")
    newest = max(list(follower.warm.items()), key=lambda item: item[1], default=None)
    if newest is not None and is_there(newest[0]):
        try:
            with Path(newest[0]).open("rb") as file:
                file.read(1)
        except OSError as error:
            problems.append(f"cannot read {newest[0]}: {error.strerror}")
    if follower.store is not None:
        try:
            follower.store.check()
        except AgentvStreamError as error:
            problems.append(str(error))
    for root in follower.plan.roots:
        if is_there(root.path) and not os.access(root.path, os.R_OK | os.X_OK):
            problems.append(f"cannot read {root.path}")
    problems = [text.encode("utf-8", "backslashreplace").decode() for text in problems]  # they contain file names
    facts: dict[str, object] = {"status": "ok" if not problems else "failing", "problems": problems}
    return not problems, facts | {"watching": running.watching, "sessions": follower.sessions_known}
