"""Spans to files and to endpoints: the spans of a collector in the end, and the message if it takes none."""

import gzip
import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentv_stages.model.otlp import line_of, request_of
from agentv_stream.errors import UsageError
from agentv_stream.otel.endpoint import Endpoint, endpoint_of
from agentv_stream.otel.sender import MOST_SPANS, TRIES, NotTaken, Sender, gathered, spans_of
from support.consuming import SESSION, STREAM, consume, run
from support.made_sessions import claude_session, make_folder
from support.otlp_receiver import Answer, Receiver, receiving
from support.spans import attributes, spans_in


def ids_in(path: Path) -> set[str]:
    return {span.span_id for span in spans_in(path.read_bytes())}


def lines_for(folder: Path, calls: int = 40) -> list[bytes]:
    """Lines of OTLP JSON as the program writes them."""
    log, out = folder / "11111111-2222-4333-8444-555555555555.jsonl", folder / "spans.jsonl"
    log.write_bytes(claude_session(1, calls))
    assert consume(folder, log, "--out", folder / "out", "--otel-file", out, "--otel-content").code == 0
    return out.read_bytes().splitlines(keepends=True)


class Waits:
    """Waits for nothing, and notes for how long it should have."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def test_a_file_has_the_spans_that_an_endpoint_gets(tmp_path: Path) -> None:
    with receiving() as receiver:
        options: list[str | Path] = ["--otel-file", tmp_path / "a.jsonl", "--otel", receiver.url]
        assert consume(tmp_path, SESSION, "--out", tmp_path / "o", *options).code == 0
    assert len(receiver.ids) == 14
    assert ids_in(tmp_path / "a.jsonl") == receiver.ids


def test_live_and_finished_readings_give_the_same_ids(tmp_path: Path) -> None:
    data = STREAM.read_bytes()
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    assert consume(tmp_path, STREAM, "--out", tmp_path / "o", "--otel-file", first).code == 0
    assert consume(tmp_path, "--out", tmp_path / "p", "--otel-file", second, given=data).code == 0
    assert ids_in(first) == ids_in(second) != set()


def test_run_exports_what_the_agent_does(tmp_path: Path) -> None:
    agent = ["--", "cat", str(STREAM)]
    with receiving() as receiver:
        assert run(tmp_path, "run", "--out", tmp_path / "r", "--task", "t", "--otel", receiver.url, *agent).code == 0
    assert {span.name.partition(" ")[0] for span in receiver.spans} == {"invoke_agent", "chat", "execute_tool"}


def test_the_variables_of_opentelemetry_are_obeyed(tmp_path: Path) -> None:
    with receiving() as receiver:
        done = consume(
            tmp_path, SESSION, "--out", tmp_path / "o", "--otel", "--machine", "box",
            OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url + "/base", OTEL_EXPORTER_OTLP_HEADERS="x-key=a%20b",
            OTEL_EXPORTER_OTLP_COMPRESSION="gzip", OTEL_EXPORTER_OTLP_PROTOCOL="http/json",
            OTEL_SERVICE_NAME="mine", OTEL_RESOURCE_ATTRIBUTES="team=a,service.name=other",
        )  # fmt: skip
    assert done.code == 0, done.err
    request = receiver.requests[0]
    assert (request["path"], request["x-key"], request["content-encoding"]) == ("/base/v1/traces", "a b", "gzip")
    assert request["content-type"] == "application/json"
    known = receiver.resources[0]
    assert (known["service.name"], known["team"], known["host.name"]) == ("mine", "a", "box")
    assert len(receiver.ids) == 14


def test_an_endpoint_that_is_away_does_not_fail_the_run(tmp_path: Path) -> None:
    done = consume(
        tmp_path, "--out", tmp_path / "o", "--otel", "http://127.0.0.1:9", given=STREAM.read_bytes(),
        OTEL_EXPORTER_OTLP_TIMEOUT="50",
    )  # fmt: skip
    assert done.code == 0
    assert "OpenTelemetry was given up: cannot write http://127.0.0.1:9/v1/traces: cannot be reached" in done.err
    assert len(done.rows()) > 2


@pytest.mark.parametrize(
    ("status", "setting"),
    [
        (401, "OTLP_HEADERS"),
        (404, "--otel"),
        (415, "OTLP_PROTOCOL"),
        (413, "--otel-content"),
    ],
)
def test_a_refusal_is_one_line_with_the_setting_to_change(tmp_path: Path, status: int, setting: str) -> None:
    with receiving(Receiver(answer=lambda number, body: Answer(status))) as receiver:
        done = consume(tmp_path, SESSION, "--out", tmp_path / "o", "--otel", receiver.url, "-q")
    assert done.code == 0
    (line,) = done.err.splitlines()
    assert setting in line
    assert status == 413 or str(status) in line


def test_a_partial_success_is_reported(tmp_path: Path) -> None:
    with receiving(Receiver(rejected=3)) as receiver:
        done = consume(tmp_path, SESSION, "--out", tmp_path / "o", "--otel", receiver.url, "-q")
    assert f"the endpoint did not keep {3 * len(receiver.requests)} spans: too old" in done.err


@pytest.mark.parametrize("protocol", ["http/protobuf", "http/json"])
async def test_a_receiver_that_fails_at_random_has_every_span_in_the_end(tmp_path: Path, protocol: str) -> None:
    lines = lines_for(tmp_path, 300)
    chance = random.Random(7)
    failures = [Answer(503), Answer(429, {"retry-after": "3"}), Answer(drop=True), Answer(502), Answer(504)]

    def answer(number: int, body: bytes) -> Answer | None:
        return chance.choice(failures) if chance.random() < 0.6 else None

    waits = Waits()
    with receiving(Receiver(answer=answer)) as receiver:
        environment = {"OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
        async with Sender(endpoint_of(receiver.url, environment), tries=60, wait=waits) as sender:
            for line in lines:
                await sender.send([line])
                await sender.send([line])  # as after a restart
    assert receiver.ids == {span.span_id for span in spans_in(lines)}
    assert len(receiver.ids) > 600
    assert 3.0 in waits.seconds
    assert sender.sent.retries == len(waits.seconds) > 0


async def test_tries_are_further_and_further_apart_and_bounded(tmp_path: Path) -> None:
    waits = Waits()
    with receiving(Receiver(answer=lambda number, body: Answer(503))) as receiver:
        async with Sender(endpoint_of(receiver.url, {}), wait=waits) as sender:
            with pytest.raises(NotTaken, match="answered 503") as caught:
                await sender.send(lines_for(tmp_path)[:1])
    assert waits.seconds == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert len(receiver.requests) == TRIES
    assert not caught.value.final


async def test_a_request_that_is_too_large_is_sent_in_parts(tmp_path: Path) -> None:
    def answer(number: int, body: bytes) -> Answer | None:
        return Answer(413) if len(body) > 3_000 else None

    lines = lines_for(tmp_path)
    with receiving(Receiver(answer=answer)) as receiver:
        async with Sender(endpoint_of(receiver.url, {}), wait=Waits()) as sender:
            await sender.send(lines)
    assert receiver.ids == {span.span_id for span in spans_in(lines)}
    assert max(int(request["content-length"]) for request in receiver.requests) > 3_000


def test_requests_are_of_a_suitable_size(tmp_path: Path) -> None:
    lines = lines_for(tmp_path, 600) * 2
    requests = gathered(lines)
    assert all(len(spans_of(request)) <= MOST_SPANS for request in requests)
    assert len(requests) < len(lines) < 20
    assert [i for r in requests for i in spans_of(r)] == [i for line in lines for i in spans_of(request_of(line))]


async def test_protobuf_says_what_json_says(tmp_path: Path) -> None:
    lines = lines_for(tmp_path)
    with receiving() as receiver:
        async with Sender(endpoint_of(receiver.url, {})) as sender:
            await sender.send(lines)
    for ours, theirs in zip(spans_in(lines), receiver.spans, strict=True):
        assert (ours.trace_id, ours.span_id, ours.parent_span_id) == (
            theirs.trace_id.hex(), theirs.span_id.hex(), theirs.parent_span_id.hex(),
        )  # fmt: skip
        assert (ours.name, ours.kind, ours.status.code) == (theirs.name, theirs.kind, theirs.status.code)
        times = (int(ours.start_time_unix_nano), int(ours.end_time_unix_nano))
        assert times == (theirs.start_time_unix_nano, theirs.end_time_unix_nano)
        found = attributes(ours)
        assert list(found) == [pair.key for pair in theirs.attributes]
        assert {p.key: p.value.string_value for p in theirs.attributes if p.value.HasField("string_value")} == {
            name: value for name, value in found.items() if isinstance(value, str)
        }
        assert {p.key: p.value.int_value for p in theirs.attributes if p.value.HasField("int_value")} == {
            name: value for name, value in found.items() if type(value) is int
        }


@pytest.mark.parametrize(
    ("option", "environment", "url"),
    [
        ("env", {}, "http://localhost:4318/v1/traces"),
        ("env", {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://a/api/otel/"}, "https://a/api/otel/v1/traces"),
        ("env", {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://a/x"}, "https://a/x"),
        ("http://b:1/v1/traces", {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://a"}, "http://b:1/v1/traces"),
        ("http://b:1", {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://a/x"}, "http://b:1/v1/traces"),
    ],
)
def test_the_endpoint_is_that_of_the_specification(option: str, environment: Mapping[str, str], url: str) -> None:
    assert endpoint_of(option, environment).urls["traces"] == url


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("PROTOCOL", "grpc", "only http/protobuf and http/json"),
        ("COMPRESSION", "zstd", "expected none, gzip or deflate"),
        ("TIMEOUT", "soon", "expected milliseconds"),
        ("HEADERS", "key", "expected NAME=VALUE"),
        ("HEADERS", "key=a%0Ab", "is no value of a header"),
        ("ENDPOINT", "localhost:4318", "expected a URL"),
    ],
)
def test_a_variable_that_is_wrong_is_named(name: str, value: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        endpoint_of("env", {f"OTEL_EXPORTER_OTLP_{name}": value})
    assert f"OTEL_EXPORTER_OTLP_{name}" in str(caught.value)


def test_wrong_options_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    for options, message in (
        (["--otel", "ftp://a"], "expected a URL"),
        (["--otel-file", "-"], "need a file of their own"),
        (["--otel-content"], "need --otel or --otel-file"),
        (["--otel-file", SESSION], "is the input itself"),
    ):
        done = consume(tmp_path, SESSION, "--out", tmp_path / "o", *options)
        assert (done.code, message in done.err) == (2, True), done.err
    assert not (tmp_path / "o").exists()


def test_compression_is_that_of_the_standard_library(tmp_path: Path) -> None:
    bodies: list[bytes] = []
    keep = Receiver(answer=lambda number, body: bodies.append(body))
    with receiving(keep):
        consume(tmp_path, SESSION, "--out", tmp_path / "o", "--otel", keep.url, OTEL_EXPORTER_OTLP_COMPRESSION="gzip")
    assert gzip.decompress(bodies[0])
    assert Endpoint({"traces": "", "logs": ""}).compression == "none"
    assert line_of(request_of(b"{}")) == b"{}\n"


def test_an_import_exports_every_session_once(tmp_path: Path) -> None:
    make_folder(tmp_path / "logs")
    file = tmp_path / "all.jsonl"
    with receiving() as receiver:
        options: list[str | Path] = ["--otel-file", file, "--otel", receiver.url, "--engine", "process"]
        done = run(tmp_path, "import", tmp_path / "logs", *options, "--workers", "2")
        assert done.code == 0, done.err
        first = len(receiver.spans)
        assert f"{first:,} spans sent" in done.err
        assert receiver.ids == ids_in(file)
        assert run(tmp_path, "import", tmp_path / "logs", *options, "--resume", "-q").code == 0
        assert len(receiver.spans) == first
    serial = tmp_path / "serial.jsonl"
    run(tmp_path, "import", tmp_path / "logs", "--otel-file", serial, "--engine", "serial")
    assert serial.read_bytes() == file.read_bytes()


def test_an_import_and_a_live_reading_give_the_same_ids(tmp_path: Path) -> None:
    live, bulk = tmp_path / "live.jsonl", tmp_path / "bulk.jsonl"
    assert consume(tmp_path, SESSION, "--out", tmp_path / "o", "--otel-file", live).code == 0
    assert run(tmp_path, "import", SESSION, "--otel-file", bulk).code == 0
    assert ids_in(live) == ids_in(bulk)


def test_an_import_sends_after_a_failure_what_it_did_not_send(tmp_path: Path) -> None:
    make_folder(tmp_path / "logs", 3)
    options: list[str | Path] = ["--jsonl", tmp_path / "r.jsonl"]
    with receiving(Receiver(answer=lambda number, body: Answer(401))) as refusing:
        done = run(tmp_path, "import", tmp_path / "logs", *options, "--otel", refusing.url)
    assert done.code == 4
    assert "answered 401 Unauthorized; check the key in OTEL_EXPORTER_OTLP_HEADERS" in done.err
    with receiving() as receiver:
        refusing.answer = lambda number, body: None
        assert run(tmp_path, "import", tmp_path / "logs", *options, "--otel", receiver.url, "--resume").code == 0
    assert len({span.trace_id for span in receiver.spans}) == 3


def test_results_can_be_printed(tmp_path: Path) -> None:
    make_folder(tmp_path / "logs", 3)
    printed = run(tmp_path, "import", tmp_path / "logs", "--jsonl", "-")
    assert run(tmp_path, "import", tmp_path / "logs", "--jsonl", tmp_path / "r.jsonl").code == printed.code == 0
    assert printed.out == (tmp_path / "r.jsonl").read_bytes()
    assert len(printed.out.splitlines()) == 3
    refused = run(tmp_path, "import", tmp_path / "logs", "--jsonl", "-", "--resume")
    assert (refused.code, "--resume needs an output" in refused.err) == (2, True)


SPEC = """
target: claude
tests:
  - id: good
    assertions: [{type: tool-trajectory, mode: superset, expected: [{tool: Edit}]}]
  - id: bad
    assertions: [{type: forbid, calls: [Edit]}]
"""


def verdicts(receiver: Receiver) -> dict[str, tuple[str, float]]:
    known = [{pair.key: pair.value for pair in event.attributes} for event in receiver.events]
    return {
        event["gen_ai.evaluation.name"].string_value: (
            event["gen_ai.evaluation.score.label"].string_value,
            event["gen_ai.evaluation.score.value"].double_value,
        )
        for event in known
    }


def test_verdicts_are_events_about_the_last_prompt(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC)
    with receiving() as receiver:
        options: list[str | Path] = ["--check", spec, "--otel", receiver.url, "--otel-file", tmp_path / "s.jsonl"]
        assert consume(tmp_path, SESSION, "--out", tmp_path / "o", *options).code == 1
    found = verdicts(receiver)
    assert found["good"] == ("pass", 1.0)
    assert found["bad"] == ("fail", 0.0)
    assert len(found) == 4  # and the evaluator of each
    (root,) = [span for span in receiver.spans if not span.parent_span_id]
    assert {event.span_id for event in receiver.events} == {root.span_id}
    assert {event.event_name for event in receiver.events} == {"gen_ai.evaluation.result"}
    last = request_of((tmp_path / "s.jsonl").read_bytes().splitlines()[-1])
    assert len(last.resource_logs[0].scope_logs[0].log_records) == 4


def test_a_follower_sends_verdicts_once_the_session_has_ended(tmp_path: Path) -> None:
    spec, logs = tmp_path / "spec.yaml", tmp_path / "logs"
    spec.write_text(SPEC)
    logs.mkdir()
    (logs / SESSION.name).write_bytes(SESSION.read_bytes())
    with receiving() as receiver:
        options: list[str | Path] = ["--root", logs, "--out", tmp_path / "o", "--state", tmp_path / "state"]
        done = run(tmp_path, "tail", "--once", *options, "--check", spec, "--otel", receiver.url)
    assert done.code == 0, done.err
    assert verdicts(receiver)["bad"] == ("fail", 0.0)
    assert len(receiver.events) == 4
