"""Detection: from the first records alone, whatever they hold; undecided inputs are held, foreign ones named."""

import unicodedata
from collections.abc import Mapping
from random import Random
from typing import Any, cast

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentv_stages.chain.lines import LineReader
from agentv_stages.chain.objects import objects
from agentv_stages.model.batch import Batch, Chunk, Record
from agentv_stages.model.fault import Fault
from agentv_stages.providers import all_providers, get_provider
from agentv_stages.session.detect import (
    MOST_GIANT,
    MOST_RECORDS,
    Detector,
    NoRecords,
    UnknownFormat,
    describe,
    rank,
    understood,
)
from support.conformance import detected
from support.decoding import FIXTURES, corpus, read, records
from support.scenarios.dialects import WRITERS

CLAUDE = (FIXTURES / "claude" / "stream.jsonl").read_bytes()
EXPECTED = {
    "acp/openhands.jsonl": "acp",
    "acp/qwen.jsonl": "acp",
    "acp/copilot.jsonl": "copilot-acp",
    "claude/stream.jsonl": "claude-stream",
    "claude/0f3c2a10-5b7e-4c1d-9a61-2d5e8f9b7c01.jsonl": "claude-session",
    "copilot/session.jsonl": "copilot-session",
    "copilot/stream.jsonl": "copilot-stream",
    "cline/stream.jsonl": "cline-stream",
    "cline/stream-team.jsonl": "cline-stream",
    "cline/session/1772443800000_orch1.messages.json": "cline-session",
    "cline/session/1772443800000_orch1.json": "cline-session",
    "continue/compacted.json": "continue-session",
    "continue/output.jsonl": "continue-output",
    "continue/session.json": "continue-session",
    "cursor/stream.jsonl": "cursor-stream",
    "cursor/transcript.jsonl": "cursor-transcript",
    "kilo/export-ses_k1.json": "kilo-export",
    "kilo/stream.jsonl": "kilo-stream",
    "kimi/session.jsonl": "kimi-session",
    "kimi/stream.jsonl": "kimi-stream",
    "mini-swe-agent/responses.traj.json": "mini-swe-agent",
    "mini-swe-agent/run.traj.json": "mini-swe-agent",
    "mini-swe-agent/v1.traj.json": "mini-swe-agent",
    "openhands/printed.jsonl": "openhands-stream",
    "openhands/session.jsonl": "openhands-session",
    "openhands/stream.jsonl": "openhands-stream",
    "opencode/export-ses_1.json": "opencode-export",
    "opencode/stream.jsonl": "opencode-stream",
    "pi/session-v3.jsonl": "pi-session",
    "pi/stream.jsonl": "pi-stream",
    "vibe/stream.jsonl": "vibe-stream",
    "vibe/session.jsonl": "vibe-session",
    "vibe/stream-old.jsonl": "vibe-stream-old",
    "vibe/session-old.jsonl": "vibe-session-old",
    "vibe/session-1.json": "vibe-session-old",
}
WILD = {
    "acp": {"acp"},
    "claude-session": {"claude-session"},
    "claude-stream": {"claude-stream"},
    "claude-stream-array": {"claude-stream"},
    "codex-exec": {"codex-exec"},
    "codex-rollout": {"codex-rollout"},
    "codex-rollout-old": {"codex-rollout-old"},
    "cursor-stream": {"cursor-stream"},
    "cursor-stream-noisy": {"cursor-stream"},
    "cursor-transcript": {"cursor-transcript"},
    "droid-session": {"droid-session"},
    "droid-stream": {"droid-stream"},
    "gemini-session": {"gemini-chat-json"},
    "gemini-session-jsonl": {"gemini-chat"},
    "gemini-stream": {"gemini-stream"},
    "opencode-export": {"opencode-export"},
    "opencode-run": {"opencode-stream"},
    "pi-events": {"pi-stream"},
    "pi-session": {"pi-session"},
    "qwen-session": {"qwen-session"},
    "vscode-chat": {"vscode-chat", "vscode-chat-jsonl"},
}


@pytest.mark.parametrize(("name", "dialect"), sorted(EXPECTED.items()))
def test_a_log_is_told_by_its_content(name: str, dialect: str) -> None:
    assert detected((FIXTURES / name).read_bytes())[1].name == dialect


@pytest.mark.parametrize("name", sorted(WILD))
def test_logs_from_everywhere_are_told(name: str) -> None:
    for path in sorted(corpus(f"wild/{name}").iterdir()):
        assert (path.name, detected(read(path))[1].name in WILD[name]) == (path.name, True)


def decided(data: bytes, size: int) -> str:
    """The dialect of a log whose records arrive `size` at a time."""
    reader, detector = LineReader(), Detector()
    for batch in (*reader.push(Chunk(data)), *reader.flush()):
        for start in range(0, len(batch.records), size):
            part = Batch("log", records=batch.records[start : start + size], document=batch.document)
            if detector.push(part):
                assert detector.dialect is not None
                return detector.dialect.name
    return detector.finish()[1].name


def one_by_one(data: bytes) -> set[str]:
    return {decided(data, size) for size in (1, 2, 3, 1000)}


@pytest.mark.parametrize(("name", "dialect"), sorted(EXPECTED.items()))
def test_it_does_not_matter_how_many_records_arrive_at_once(name: str, dialect: str) -> None:
    assert one_by_one((FIXTURES / name).read_bytes()) == {dialect}


@pytest.mark.parametrize("folder", ["clients", "samples", "wild"])
def test_nor_in_the_recordings(folder: str) -> None:
    wrong: list[tuple[str, set[str]]] = []
    for path in sorted(corpus(folder).rglob("*.jsonl*")):
        try:
            found = one_by_one(read(path)[:300_000])
        except UnknownFormat:
            continue
        if len(found) > 1:
            wrong.append((str(path), found))
    assert wrong == []


PI_HEADER = {"type": "session", "version": 3, "id": "5a", "timestamp": "2026-03-02T10:00:00.000Z", "cwd": "/w"}


def entry(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, "id": "b0", "parentId": None, "timestamp": "2026-03-02T10:00:00.000Z", **members}


@pytest.mark.parametrize("by", ["pi", "oh-my-pi"])
def test_a_stream_of_pis_family_is_told_by_its_first_message(by: str) -> None:
    prompt = {"role": "user", "content": "hello", **({"attribution": "user"} if by == "oh-my-pi" else {})}
    head = [PI_HEADER, {"type": "agent_start"}, {"type": "turn_start"}, {"type": "message_start", "message": prompt}]
    assert one_by_one(b"\n".join(map(msgspec.json.encode, head))) == {f"{by}-stream"}


@pytest.mark.parametrize("by", ["pi", "openclaw"])
def test_a_session_of_pis_family_is_told_by_what_precedes_its_first_message(by: str) -> None:
    head = [
        PI_HEADER,
        entry("model_change", provider="mock", modelId="pear-2"),
        entry("thinking_level_change", thinkingLevel="off"),
        *([entry("custom", customType="model-snapshot", data={})] if by == "openclaw" else []),
        entry("message", message={"role": "user", "content": "hello"}),
    ]
    assert one_by_one(b"\n".join(map(msgspec.json.encode, head))) == {f"{by}-session"}


def test_detection_decides_at_the_first_certain_record() -> None:
    detector = Detector()
    first = [record for record in records(CLAUDE) if b'"init"' in record.data]
    assert detector.push(Batch("log", records=first))
    assert detector.dialect is not None
    assert detector.dialect.name == "claude-stream"


def test_noise_before_the_log_is_passed_over() -> None:
    noise = b"".join(b"npm warn line %d\n" % n for n in range(40))
    assert detected(noise + CLAUDE)[1].name == "claude-stream"
    assert detected(b"[stdout] " + CLAUDE.replace(b"\n", b"\n[stdout] "))[1].name == "claude-stream"


def test_the_search_can_be_limited_to_one_provider() -> None:
    detector = Detector(get_provider("codex"))
    detector.push(Batch("log", records=records(CLAUDE)))
    with pytest.raises(UnknownFormat, match=r"looks like claude-stream; tried only codex-exec, ") as refused:
        detector.finish()
    assert all(name.startswith("codex") for name in refused.value.tried)


USE: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "a.py"}}
SAID: dict[str, Any] = {
    "type": "assistant",
    "message": {"role": "assistant", "content": [{"type": "text", "text": "Hm."}, USE]},
}
ENDED: dict[str, Any] = {"type": "result", "subtype": "success", "total_cost_usd": 0.085, "num_turns": 3, "usage": {}}
DROID: dict[str, Any] = {
    "type": "message",
    "role": "user",
    "id": "m1",
    "text": "Go.",
    "timestamp": 1,
    "session_id": "s1",
}
FEW_FIELDS: list[dict[str, Any]] = [
    {"tools": ["Bash", "Read"]},
    {"tools": ["Bash"], "model": "claude-x"},
    {"tools": ["Bash"], "model": "claude-x", "cwd": "/w", "session_id": "s1"},
    {"model": "claude-x", "session_id": "s1"},
    {"session_id": "s1"},
    {},
]


def test_the_object_that_droid_prints_at_its_end_is_not_claudes() -> None:
    """`droid exec -o json` has the members of Claude's result, but neither an id of the record nor a cost."""
    ended: dict[str, Any] = {
        "type": "result", "subtype": "success", "is_error": False, "duration_ms": 1200, "num_turns": 2,
        "result": "Done.", "session_id": "s", "usage": {"input_tokens": 10, "output_tokens": 5},
    }  # fmt: skip
    with pytest.raises(UnknownFormat):
        detected(written(ended))
    assert detected(written({**ended, "total_cost_usd": 0.1, "uuid": "u"}))[0].name == "claude"


def written(*lines: dict[str, Any]) -> bytes:
    return b"\n".join(map(msgspec.json.encode, lines)) + b"\n"


@pytest.mark.parametrize("fields", FEW_FIELDS, ids=lambda fields: "-".join(fields) or "none")
@pytest.mark.parametrize("rest", [[], [SAID], [ENDED], [SAID, ENDED], [{**SAID, "uuid": "u1"}, ENDED]])
def test_a_claude_stream_with_few_fields_is_claudes(fields: dict[str, Any], rest: list[dict[str, Any]]) -> None:
    """Wrappers, dumps of an SDK and streams made by hand look like that."""
    init = {"type": "system", "subtype": "init", **fields}
    assert one_by_one(written(init, *rest)) == {"claude-stream"}


@pytest.mark.parametrize("fields", FEW_FIELDS, ids=lambda fields: "-".join(fields) or "none")
def test_a_droid_stream_is_known_by_what_follows_the_same_init(fields: dict[str, Any]) -> None:
    assert one_by_one(written({"type": "system", "subtype": "init", **fields}, DROID)) == {"droid-stream"}


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(choice=st.data())
@pytest.mark.parametrize("name", [name for name, writer in WRITERS.items() if writer.lines and not writer.name])
def test_a_named_provider_is_never_overruled(name: str, choice: st.DataObject) -> None:
    """A log whose beginning is missing, so that it may look like any other, is read as the caller says."""
    writer = WRITERS[name]
    provider = next(one for one in all_providers() if any(d.name == writer.dialect for d in one.dialects))
    lines = writer.write(choice.draw(writer.sessions)).data.splitlines(keepends=True)
    rest = lines[choice.draw(st.integers(0, max(len(lines) - 1, 0))) :]
    detector, reader = Detector(provider), LineReader()
    for batch in (*reader.push(Chunk(b"".join(rest))), *reader.flush()):
        detector.push(batch)
    try:
        assert detector.finish()[0].name == provider.name
    except UnknownFormat as refused:
        values = [value for record in records(b"".join(rest)) for value in objects(record)][:MOST_RECORDS]
        assert refused.looks is not None or not any(understood(d, values).records for d in provider.dialects)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_silent_live_input_is_decided_as_the_whole_one(name: str) -> None:
    data = (FIXTURES / name).read_bytes()
    detector = Detector()
    for record in records(data):
        if detector.push(Batch("log", records=[record])) or detector.settle():
            break
    assert detector.finish()[1].name == EXPECTED[name]


def test_silence_decides_nothing_before_something_was_said() -> None:
    detector = Detector()
    detector.push(Batch("log", records=records(written(PI_HEADER))))
    assert not detector.settle()
    detector = Detector()
    detector.push(Batch("log", records=records(written({"type": "system", "subtype": "init"}))))
    assert not detector.settle()
    detector.push(Batch("log", records=records(written(SAID))))
    assert detector.settle()


@pytest.mark.parametrize("data", [b"hello\nworld\n", b'{"a":1}\n', b"[]\n", b"<html>\n", b"\x00\x01\xff\n", b"1\n2\n"])
def test_what_is_no_log_is_refused_with_what_stood_there(data: bytes) -> None:
    with pytest.raises(UnknownFormat) as refused:
        detected(data)
    assert "it begins with" in str(refused.value)
    assert str(refused.value).endswith(f"tried all {len(refused.value.tried)} known dialects")
    assert "claude-stream" in refused.value.tried
    detector = Detector(get_provider("codex"))
    detector.push(Batch("log", records=records(data)))
    with pytest.raises(UnknownFormat) as refused:
        detector.finish()
    assert all(name in str(refused.value) for name in refused.value.tried)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b'{\n  "type": "system",\n  "subtype": "init"\n}\n{\n  "a": 1\n}\n', "`jq -c .` puts each on one"),
        (b"one\ttwo \x1b[m\n", r"begins with 'one two \\x1b\[m'"),
        (CLAUDE.decode().encode("utf-16"), "UTF-16"),
        (CLAUDE.decode().encode("utf-16-be").join((b"\xfe\xff", b"")), "UTF-16"),
        (b"PK\x03\x04\x14\x00session.jsonl", "ZIP"),
        (b"\x1f\x8b\x08\x00\x00", "compressed with gzip"),
        (b"\x28\xb5\x2f\xfd\x04\x58", "compressed with zstd"),
        (bytes(range(128, 256)) * 2, "binary data"),
        (b"SQLite format 3\x00\x10\x00", "SQLite"),
    ],
)
def test_a_file_of_a_known_other_kind_is_called_by_its_name(data: bytes, told: str) -> None:
    with pytest.raises(UnknownFormat, match=told):
        detected(data)


def test_what_is_shown_of_an_input_cannot_act() -> None:
    shown = describe(b"\x1b[2J\x07\x9b31m\xe2\x80\xae evil \xff" + b"x" * 500)
    assert shown.isprintable()
    assert len(shown) < 200


def test_an_input_that_stays_unclear_is_not_held_for_ever() -> None:
    detector = Detector()
    unclear = msgspec.json.encode({"type": "assistant", "message": {"content": []}, "parent_tool_use_id": None,
                                   "session_id": "s"})  # fmt: skip
    decided = [detector.push(Batch("log", records=[Record(unclear, 0, row)])) for row in range(MOST_RECORDS)]
    assert any(decided)


_ODD: tuple[Any, ...] = (None, True, 0, -1, 1.5, 1e30, "", "x", [], {}, [1], {"a": 1}, [[]], "[")


def _bent(value: Any, chance: Random) -> Any:
    if chance.random() < 0.12:
        return chance.choice(_ODD)
    if isinstance(value, dict):
        return {key: _bent(inner, chance) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    if isinstance(value, list):
        return [_bent(inner, chance) for inner in value]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    return value


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_records_of_any_shape_are_ranked_without_a_crash(name: str) -> None:
    chance = Random(11)
    given = [v for r in records((FIXTURES / name).read_bytes())[:40] for v in objects(r)]
    for _ in range(60):
        values = (_bent(one, chance) for one in given)
        head: list[Mapping[str, Any]] = [cast("dict[str, Any]", value) for value in values if isinstance(value, dict)]
        for provider in all_providers():
            for dialect in provider.dialects:
                assert 0.0 <= dialect.detect(head) <= 1.0
        rank(head)


@given(st.binary(max_size=300))
def test_any_bytes_are_decided_or_refused(data: bytes) -> None:
    try:
        detected(data)
    except UnknownFormat as refused:
        assert not any(unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs") for c in describe(data[:80]))
        assert str(refused)


def test_the_path_says_nothing() -> None:
    reader = LineReader("/home/x/.codex/sessions/rollout-1.jsonl")
    detector = Detector()
    for batch in (*reader.push(Chunk(CLAUDE)), *reader.flush()):
        detector.push(batch)
    assert detector.finish()[0].name == "claude"


def test_endless_noise_is_given_up_and_a_known_log_is_not() -> None:
    detector = Detector()
    noise = Batch("f", records=[Record(b"no agent here", i * 14, i) for i in range(1000)])
    for _ in range(20):
        detector.push(noise)
    assert detector.given_up
    known = Detector()
    known.push(Batch("f", records=[Record(line, 0, i) for i, line in enumerate(CLAUDE.splitlines())]))
    assert not known.given_up


def test_giant_records_alone_are_not_held_for_ever() -> None:
    """A packed log that begins with gigabytes of brackets stood in memory as a whole."""
    detector = Detector()
    piece = MOST_GIANT // 4
    for i in range(4):
        assert not detector.given_up
        detector.push(
            Batch("f", faults=[Fault("too-large", "f", 0, i * piece, piece, "", b"[", "middle" if i else "begin")])
        )
    assert detector.given_up
    with pytest.raises(NoRecords) as caught:
        detector.finish()
    assert caught.value.over_cap
