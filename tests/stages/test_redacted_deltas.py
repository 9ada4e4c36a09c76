"""A secret that an agent prints in pieces is in no record, event, message or saved state, wherever it is cut."""

import json
import random
import string
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.lines import LineReader
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.provider import Dialect
from agentv_stages.providers import NAMES, get_provider
from agentv_stages.redaction.deltas import MOST_RECORDS, RedactDeltas
from agentv_stages.redaction.redactor import Redactor
from agentv_stages.redaction.vault import MARKER
from agentv_stages.session.chain import SessionChain
from agentv_stages.session.parts import Parts
from agentv_stages.sinks import raw_log

CHANCE = random.Random(3)
KEY = "sk-ant-api03-" + "".join(CHANCE.choice(string.ascii_letters + string.digits) for _ in range(93)) + "AA"
SESSION = "11111111-2222-4333-8444-555555555555"
S = {"session_id": SESSION, "uuid": "u", "parent_tool_use_id": None}
ACP = {"jsonrpc": "2.0", "method": "session/update"}


def _message(delta: dict[str, Any]) -> Any:
    return {"type": "stream_event", **S, "event": {"type": "content_block_delta", "index": 0, "delta": delta}}


def _acp(text: str) -> Any:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {**ACP, "params": {"sessionId": SESSION, "update": update}}


DELTAS: dict[str, Callable[[str], Any]] = {
    "claude-stream": lambda text: _message({"type": "text_delta", "text": text}),
    "qwen-stream": lambda text: _message({"type": "thinking_delta", "thinking": text}),
    "grok-messages": lambda text: _message({"type": "input_json_delta", "partial_json": text}),
    "gemini-stream": lambda text: {"type": "message", "role": "assistant", "content": text, "delta": True},
    "copilot-stream": lambda text: {
        "type": "assistant.message_delta", "data": {"messageId": "m", "deltaContent": text}, "id": "i",
    },
    "codex-app-server": lambda text: {
        "method": "item/agentMessage/delta", "params": {"threadId": "t", "turnId": "u", "itemId": "i", "delta": text},
    },
    "pi-stream": lambda text: {
        "type": "message_update", "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": text},
    },
    "oh-my-pi-stream": lambda text: {
        "type": "message_update", "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": text},
    },
    "grok-stream": lambda text: {"type": "text", "data": text},
    "cursor-stream": lambda text: {
        "type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]},
        "session_id": SESSION, "timestamp_ms": 1,
    },
    **dict.fromkeys(("acp", "copilot-acp", "grok-acp", "grok-session"), _acp),
}  # fmt: skip
DIALECTS = {d.name: (p, d) for p in map(get_provider, NAMES) for d in p.dialects}


def records(name: str, pieces: list[str], end: bool = False) -> list[bytes]:
    values = [DELTAS[name](piece) for piece in pieces]
    lines = [json.dumps(value, separators=(",", ":")).encode() for value in values]
    return [*lines, b'{"type":"another"}'] if end else lines


def batches(lines: list[bytes]) -> list[Batch]:
    """A batch for each line: each is a read of its own."""
    reader = LineReader("log")
    return [batch for line in lines for batch in reader.push(Chunk(line + b"\n", None, "log"))]


def stage(dialect: Dialect) -> RedactDeltas:
    return RedactDeltas(Redactor(b"k"), dialect.deltas)


def test_each_dialect_with_deltas_is_tested() -> None:
    assert {name for name, (_, dialect) in DIALECTS.items() if dialect.deltas} == set(DELTAS)


@pytest.mark.parametrize("name", DELTAS)
@pytest.mark.parametrize("size", [1, 5, 17, 60])
def test_no_piece_of_a_secret_leaves(name: str, size: int) -> None:
    text = f"Use {KEY} now, not later. "
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    deltas, lines = stage(DIALECTS[name][1]), records(name, pieces)
    out = [record for batch in batches(lines) for record in deltas.push(batch.records)]
    out += deltas.flush()
    assert [(record.row, record.length) for record in out] == [(row, len(line)) for row, line in enumerate(lines)]
    joined = "".join(_text(name, json.loads(record.data)) for record in out)
    assert MARKER.sub(b"KEY", joined.encode()) == b"Use KEY now, not later. "
    whole = Redactor(b"k").redact(text.encode())
    assert joined.encode() == whole


def _text(name: str, value: Any) -> str:
    """The piece of text in a delta: where the template has its text."""
    found: list[str] = []

    def look(template: Any, own: Any) -> None:
        if template == "TEXT":
            found.append(own)
        elif isinstance(template, dict):
            for key, inner in cast(dict[str, Any], template).items():
                look(inner, own[key])
        elif isinstance(template, list):
            items: list[Any] = template  # pyright: ignore[reportUnknownVariableType] - a template
            for inner, other in zip(items, own, strict=True):
                look(inner, other)

    look(DELTAS[name]("TEXT"), value)
    return found[0]


def test_text_that_begins_no_secret_waits_for_the_end_of_its_word_only() -> None:
    deltas = stage(DIALECTS["gemini-stream"][1])
    left = [
        len(deltas.push(batch.records)) for batch in batches(records("gemini-stream", ["All ", "is we", "ll. ", "B"]))
    ]
    assert left == [1, 0, 2, 0]
    assert len(deltas.flush()) == 1


def test_a_text_is_whole_when_another_record_follows() -> None:
    deltas = stage(DIALECTS["gemini-stream"][1])
    lines = records("gemini-stream", [KEY[:50], KEY[50:]], end=True)
    out = [record.data for batch in batches(lines) for record in deltas.push(batch.records)]
    assert len(out) == 3
    assert b"[redacted:anthropic-key:" in out[0] and b'"content":""' in out[1]


def test_a_header_and_a_key_of_several_lines_are_found() -> None:
    body = "\n".join("".join(CHANCE.choice(string.ascii_letters) for _ in range(64)) for _ in range(8))
    for text in (
        f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n",
        f"Authorization: Bearer {KEY[13:60]}0 .",
    ):
        deltas = stage(DIALECTS["gemini-stream"][1])
        lines = records("gemini-stream", [text[at : at + 7] for at in range(0, len(text), 7)])
        out = [record for batch in batches(lines) for record in deltas.push(batch.records)] + deltas.flush()
        joined = "".join(json.loads(record.data)["content"] for record in out)
        assert MARKER.search(joined.encode())
        assert body[:20] not in joined and KEY[20:40] not in joined


def test_what_waits_is_bounded() -> None:
    deltas = stage(DIALECTS["gemini-stream"][1])
    for batch in batches(records("gemini-stream", ["x"] * (MOST_RECORDS + 2))):
        deltas.push(batch.records)
    assert len(deltas.flush()) <= MOST_RECORDS


def test_saved_deltas_show_nothing_and_go_on() -> None:
    dialect = DIALECTS["gemini-stream"][1]
    lines = records("gemini-stream", ["The key ", KEY[:40], KEY[40:80], KEY[80:], " is it."])
    left: list[bytes] = []
    decode = Decode(dialect, redactor=Redactor(b"k"))
    for batch in batches(lines):
        saved = decode.save()
        assert KEY[:12].encode() not in saved
        decode = Decode(dialect, redactor=Redactor(b"k"))
        decode.load(saved)
        left += [record.data for out in decode.push(batch) for record in out.records]
    left += [record.data for out in decode.flush() for record in out.records]
    assert len(left) == len(lines)
    assert "".join(json.loads(data)["content"] for data in left).startswith("The key [redacted:anthropic-key:")


@pytest.mark.parametrize("name", ["gemini-stream", "acp", "claude-stream"])
def test_raw_log_events_and_messages_have_the_marker(name: str) -> None:
    provider, dialect = DIALECTS[name]
    text = f"Here it is: {KEY}. "
    lines = records(name, [text[at : at + 9] for at in range(0, len(text), 9)])
    chain = SessionChain(provider, dialect, file="log", parts=Parts(redactor=Redactor(b"k")))
    out = [done for batch in batches(lines) for done in chain.push(batch)] + chain.flush()
    log = b"".join(raw_log.render(batch) for batch in out)
    assert log.count(b"\n") == len(lines)
    events = msgspec.json.encode([event for batch in out for event in batch.events])
    texts = [message.text for batch in out for message in batch.messages]
    for data in (log, events, json.dumps(texts).encode()):
        assert b"[redacted:anthropic-key:" in data
        assert not [part for part in (KEY[at : at + 9].encode() for at in range(13, 100, 3)) if part in data]
