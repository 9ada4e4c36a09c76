"""Spans of sessions that grow: every span arrives, over restarts and while the endpoint is away."""

import json
from pathlib import Path

import pytest

from agentv_stages.sinks.span_options import SpanOptions
from agentv_stream.otel.endpoint import endpoint_of
from agentv_stream.otel.follow import SpanFeed
from agentv_stream.otel.forward import Forwarder
from agentv_stream.otel.options import Export
from agentv_stream.otel.sender import Sender
from agentv_stream.otel.spool import Spool
from support.consuming import SESSION, STREAM, run
from support.following import Desk
from support.made_sessions import claude_session
from support.otlp_receiver import Answer, Receiver, receiving
from support.spans import last_of_each, spans_in, spans_of

NAME = "11111111-2222-4333-8444-555555555555.jsonl"


@pytest.mark.parametrize("source", [SESSION, STREAM])
def test_a_session_that_grows_over_restarts_has_the_spans_of_the_whole(tmp_path: Path, source: Path) -> None:
    desk, file = Desk(tmp_path), tmp_path / "spans.jsonl"
    log = desk.logs / source.name
    feed = SpanFeed(Export(SpanOptions(), file=str(file)), None)
    lines = source.read_bytes().splitlines(keepends=True)
    for at in range(0, len(lines), 3):
        with log.open("ab") as out:
            out.writelines(lines[at : at + 3])
        desk.catch_up(feed=feed)
    followed = last_of_each(spans_in(file.read_bytes()))
    whole = last_of_each(spans_of(log))
    assert {key: span.name for key, span in followed.items()} == {key: span.name for key, span in whole.items()}
    for key, span in whole.items():
        assert followed[key].parent_span_id == span.parent_span_id
        if source == SESSION and not span.name.startswith("invoke_agent"):
            assert followed[key] == span


def test_the_spans_of_a_prompt_that_is_at_work_wait_for_its_end(tmp_path: Path) -> None:
    desk, file = Desk(tmp_path), tmp_path / "spans.jsonl"
    feed = SpanFeed(Export(SpanOptions(), file=str(file)), None)
    lines = claude_session(1, 3).splitlines(keepends=True)
    (desk.logs / NAME).write_bytes(b"".join(lines[:-2]))  # a call without its result
    desk.catch_up(feed=feed)
    names = [span.name.partition(" ")[0] for span in spans_in(file.read_bytes())]
    assert "invoke_agent" not in names
    (desk.logs / NAME).write_bytes(b"".join(lines))
    desk.catch_up(feed=feed)
    desk.catch_up(feed=feed)
    names = [span.name.partition(" ")[0] for span in spans_in(file.read_bytes())]
    assert names.count("invoke_agent") == 1


def test_spans_wait_on_disk_for_an_endpoint_that_is_away(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / NAME).write_bytes(claude_session(1, 20))
    options: list[str | Path] = ["--once", "--root", tmp_path / "logs", "--out", tmp_path / "out"]
    options += ["--state", tmp_path / "state"]
    away = run(tmp_path, "tail", *options, "--otel", "http://127.0.0.1:9", OTEL_EXPORTER_OTLP_TIMEOUT="50")
    assert away.code == 0
    assert "spans wait on disk for the next run" in away.err
    with receiving() as receiver:
        assert run(tmp_path, "tail", *options, "--otel", receiver.url).code == 0
    assert receiver.ids == set(last_of_each(spans_of(tmp_path / "logs" / NAME)))
    with receiving() as receiver:
        assert run(tmp_path, "tail", *options, "--otel", receiver.url).code == 0
    assert not receiver.requests


def test_a_follower_without_files_exports_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, "tail", "--once", "--events", "--otel-file", tmp_path / "s.jsonl", "--root", tmp_path)
    assert (done.code, "--out DIR" in done.err) == (2, True)


def numbered(first: int, last: int) -> list[bytes]:
    return [b'{"n":%06d}\n' % n for n in range(first, last)]


def drained(spool: Spool) -> list[bytes]:
    found: list[bytes] = []
    while True:
        lines, position = spool.read(100)
        if not lines:
            return found
        found += lines
        spool.sent(position)


def test_a_spool_gives_its_lines_in_order_over_restarts(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", file_bytes=200)
    for line in numbered(0, 100):
        spool.append(line)
    first, position = spool.read(150)
    spool.sent(position)
    again = Spool(tmp_path / "spool", file_bytes=200)
    again.append(b"".join(numbered(100, 120)))
    assert [*first, *drained(again)] == numbered(0, 120)
    assert drained(Spool(tmp_path / "spool", file_bytes=200)) == []
    assert again.waiting == 0


def test_half_a_line_that_a_killed_process_left_is_cut_off(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    spool.append(b"".join(numbered(0, 3)))
    (file,) = (tmp_path / "spool").glob("*.otlp.jsonl")
    with file.open("ab") as out:
        out.write(b'{"half')
    again = Spool(tmp_path / "spool")
    again.append(b"".join(numbered(3, 5)))
    assert drained(again) == numbered(0, 5)


def test_a_spool_drops_the_oldest_lines_above_its_cap(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", cap=500, file_bytes=100)
    for line in numbered(0, 100):
        spool.append(line)
    left = drained(spool)
    assert left == numbered(100 - len(left), 100)
    assert sum(map(len, left)) <= 500
    assert spool.dropped == sum(map(len, numbered(0, 100 - len(left))))


async def test_an_endpoint_that_comes_back_gets_what_waited(tmp_path: Path) -> None:
    spool, messages = Spool(tmp_path / "spool"), list[str]()
    log = tmp_path / NAME
    log.write_bytes(claude_session(1, 5))
    assert run(tmp_path, "import", log, "--otel-file", tmp_path / "s.jsonl").code == 0
    for line in (tmp_path / "s.jsonl").read_bytes().splitlines(keepends=True):
        spool.append(line)
    waits: list[float] = []
    forwarder: Forwarder | None = None

    def report(event: str, **facts: object) -> None:
        messages.append(event)

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        if forwarder is not None and messages.count("the endpoint takes spans again"):
            forwarder.stop()

    async def pause(seconds: float) -> None:
        """Between the tries of one request."""

    with receiving(Receiver(answer=lambda number, body: Answer(503) if number < 8 else None)) as receiver:
        sender = Sender(endpoint_of(receiver.url, {}), tries=2, wait=pause)
        forwarder = Forwarder(spool, sender, report, wait)
        await forwarder.run()
    assert messages == ["spans are kept on disk until the endpoint takes them", "the endpoint takes spans again"]
    assert waits[:4] == [30.0] * 4
    assert receiver.ids == {span.span_id for span in spans_in((tmp_path / "s.jsonl").read_bytes())}
    assert spool.waiting == 0
    assert json.loads((tmp_path / "spool" / "position.json").read_bytes())["offset"] > 0
