"""Transcript rows: valid JSON lines whatever the payloads; the totals fit into the first row's gap."""

import json
from typing import Any

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from agentv_stages.model.message import Message, PairedCall
from agentv_stages.model.tokens import Tokens
from agentv_stages.sinks.transcript import GAP, LONGEST_REASON, Identity, TranscriptRows, patch, totals_members
from support.events import at, call, result

IDENTITY = Identity("case", "claude", "claude", "s", "claude-stream", model="m", started_ms=0)


def row(message: Message) -> dict[str, Any]:
    data = TranscriptRows(IDENTITY).render([message])
    assert data.count(b"\n") == 1
    assert data.endswith(b"}\n")
    value: dict[str, Any] = json.loads(data)
    return value


def message(*content: bytes, **members: Any) -> Message:
    return Message(0, members.pop("role", "assistant"), at(0), "m1", content=[Raw(c) for c in content], **members)


TEXTS = [{"type": "text", "text": "a"}, {"type": "text", "text": "1"}]
CONTENT: list[Any] = [
    ((b'"x"',), "x"),
    ((b'"a"', b'"b"'), [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
    ((b'[{"type":"image"}]',), [{"type": "image"}]),
    ((b'"a"', b'[{"type":"image"}]'), [{"type": "text", "text": "a"}, {"type": "image"}]),
    ((b'{"type":"image"}', b'"b"'), [{"type": "image"}, {"type": "text", "text": "b"}]),
    ((), ""),
    ((b'{"type":"image"}',), [{"type": "image"}]),
    ((b"null",), ""),
    ((b"1e400",), "1e400"),
    ((b'["a",1,{"type":"image"}]',), [*TEXTS, {"type": "image"}]),
    ((b'"a"', b"1", b"[]"), [*TEXTS, {"type": "text", "text": ""}]),
]


@pytest.mark.parametrize(("blocks", "content"), CONTENT)
def test_content_is_text_or_blocks(blocks: tuple[bytes, ...], content: Any) -> None:
    assert row(message(*blocks))["content"] == content


def test_a_message_that_ends_before_it_begins_has_no_end() -> None:
    backwards = Message(0, "assistant", at(0, 5_000), "m1", content=[Raw(b'"x"')], end_ms=4_000)
    assert {"start_time", "end_time", "duration_ms"} & row(backwards).keys() == {"start_time"}


def test_payloads_stay_byte_for_byte() -> None:
    raw = b'{"b" : 1,"a":[ 1.0e5 ],"\\u00e9":"\\ud83d"}'
    paired = PairedCall(call(0, "t"), result(1, "t"))
    paired.call = type(paired.call)(at(0), "", "m1", "t", "Read", Raw(raw))
    assert raw in TranscriptRows(IDENTITY).render([message(calls=[paired])])


def test_broken_bytes_in_a_payload_become_readable() -> None:
    data = TranscriptRows(IDENTITY).render([message(b'"a\xffb"')])
    assert json.loads(data.decode())["content"] == "a\ufffdb"


@pytest.mark.parametrize(
    ("outcome", "status"),
    [("ok", "ok"), ("error", "error"), ("denied", "error"), ("cancelled", "error"), ("unpaired", "unknown")],
)
def test_outcomes_are_agentvs_statuses_and_ours_beside_them(outcome: Any, status: str) -> None:
    paired = PairedCall(call(0, "t\n\x1b"), result(1, "t", outcome, exit_code=3))
    seen = row(message(calls=[paired]))
    assert seen["tool_calls"][0]["status"] == status
    facts = seen["metadata"]["agentv_stream"]["calls"]["t\n\x1b"]
    assert facts["outcome"] == outcome


@pytest.mark.parametrize(
    ("command", "files", "told"),
    [
        ("rm a", ("a",), ["a"]),
        ("ls", (), None),
        (None, ("a",), ["a"]),
        (None, ("a", "b"), ["a", "b"]),
    ],
)
def test_files_stand_beside_every_call_that_has_some(
    command: str | None, files: tuple[str, ...], told: list[str] | None
) -> None:
    paired = PairedCall(replace(call(0, "t"), command=command, files=files), result(1, "t"))
    (facts,) = row(message(calls=[paired]))["metadata"]["agentv_stream"]["calls"].values()
    assert facts.get("files") == told


def test_an_open_call_is_unknown() -> None:
    seen = row(message(calls=[PairedCall(call(0, "t"))]))
    assert seen["tool_calls"][0]["status"] == "unknown"
    assert "output" not in seen["tool_calls"][0]


def test_the_totals_fit_into_the_gap_of_the_first_row_only() -> None:
    rows = TranscriptRows(IDENTITY)
    data = rows.render([message(b'"a"'), message(b'"b"')])
    most = Tokens(10**15, 10**15, 10**15, 10**15, 10**15, 10**15)
    members = totals_members(most, 123456.123456789, 10**15)
    end = {"status": "interrupted", "reason": "x" * (LONGEST_REASON - 2)}
    found = patch(msgspec.json.encode({**members, "agentv_stream": end})[1:-1] + b",")
    assert found is not None
    offset, patched = found
    assert len(patched) == GAP
    whole = data[:offset] + patched + data[offset + GAP :]
    first, second = [json.loads(line) for line in whole.splitlines()]
    assert first["transcript_token_usage"]["input"] == 10**15
    assert "transcript_token_usage" not in second
    assert [json.loads(line)["content"] for line in data.splitlines()] == ["a", "b"]


def test_totals_that_nobody_knows_are_absent_and_an_unsure_output_is_not_told() -> None:
    assert totals_members(Tokens(), None, None) == {"transcript_cost_usd": None}
    told = totals_members(Tokens(input=5, output=1, unsure=1), None, None)
    assert told["transcript_token_usage"] == {"input": 5}


def test_calls_under_one_id_are_told_apart() -> None:
    asked = [PairedCall(call(n, own)) for n, own in enumerate(("t", "u", "t", "t"))]
    seen = row(message(calls=asked))
    assert list(seen["metadata"]["agentv_stream"]["calls"]) == ["t", "u", "t#2", "t#3"]
    assert [one["id"] for one in seen["tool_calls"]] == ["t", "u", "t", "t"]
