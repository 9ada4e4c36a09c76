from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.pair import Pair
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AnyEvent,
    AssistantText,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    ToolCall,
    UserText,
)
from agentv_stages.model.provider import DecodeContext, Kept
from agentv_stages.providers.opencode import PROVIDER
from support.decoding import (
    FIXTURES,
    asked_calls,
    best,
    calls,
    check_laws,
    check_odd_shapes,
    corpus,
    decoded,
    dialect,
    document,
    events_of,
    lines,
    pushed,
    read,
    records,
    results,
    said,
    texts,
    total,
    usages,
)

STREAM = dialect(PROVIDER, "opencode-stream")
EXPORT = dialect(PROVIDER, "opencode-export")
ROWS = dialect(PROVIDER, "opencode-rows")
TOKENS = {"total": 165, "input": 100, "output": 20, "reasoning": 5, "cache": {"read": 30, "write": 10}}


def line(kind: str, part: dict[str, Any], message: str = "msg_1", at: int = 1772359200000) -> dict[str, Any]:
    whole = {"messageID": message, "sessionID": "ses_1", **part}
    return {"type": kind, "timestamp": at, "sessionID": "ses_1", "part": whole}


def tool(part_id: str, name: str, state: dict[str, Any], message: str = "msg_1") -> dict[str, Any]:
    part = {"type": "tool", "tool": name, "callID": f"call-{part_id}", "state": state, "id": part_id}
    return line("tool_use", part, message)


def done(output: str, start: int = 0, end: int = 25, **metadata: Any) -> dict[str, Any]:
    return {
        "status": "completed",
        "input": {"command": "x"},
        "output": output,
        "title": "t",
        "metadata": metadata,
        "time": {"start": 1772359200000 + start, "end": 1772359200000 + end},
    }


def failed(error: str, **metadata: Any) -> dict[str, Any]:
    time = {"start": 1772359200000, "end": 1772359200001}
    return {"status": "error", "input": {}, "error": error, "metadata": metadata, "time": time}


def finish(reason: str, message: str = "msg_1", part_id: str = "") -> dict[str, Any]:
    part = {"type": "step-finish", "id": part_id or f"prt_z{message}", "reason": reason, "tokens": TOKENS, "cost": 0.5}
    return line("step_finish", part, message)


def text(part_id: str, value: str, message: str = "msg_1", **more: Any) -> dict[str, Any]:
    time = {"start": 1772359200000, "end": 1772359200010}
    return line("text", {"type": "text", "id": part_id, "text": value, "time": time, **more}, message)


def fixture(name: str) -> list[Record]:
    data = (FIXTURES / "opencode" / name).read_bytes()
    return [Record(data, 0, 0)] if name.endswith(".json") else records(data)


@pytest.mark.parametrize("name", ["stream.jsonl", "two-steps.jsonl"])
def test_the_stream_keeps_the_laws_of_decoders(name: str) -> None:
    check_laws(STREAM, fixture(name))


def test_the_export_keeps_the_laws_of_decoders() -> None:
    check_laws(EXPORT, fixture("export-ses_1.json"))


@pytest.mark.parametrize("name", ["stream.jsonl", "two-steps.jsonl", "export-ses_1.json"])
def test_members_of_any_shape_are_taken_or_refused_whole(name: str) -> None:
    check_odd_shapes(PROVIDER, fixture(name))


def test_parallel_calls_come_in_the_order_in_which_the_model_made_them() -> None:
    given = lines(
        tool("prt_3", "bash", done("fast")),
        text("prt_1", "Both at once."),
        tool("prt_2", "read", done("slow", 0, 900)),
        finish("tool-calls"),
    )
    events = events_of(STREAM, given)
    assert [type(e) for e in events if isinstance(e, AssistantText | ToolCall)] == [AssistantText, ToolCall, ToolCall]
    assert [c.name for c in calls(events)] == ["read", "bash"]
    assert {e.message_id for e in events if isinstance(e, AssistantText | ToolCall)} == {"msg_1"}


def test_the_parts_of_a_step_come_with_its_end_or_the_next_step_or_the_end_of_input() -> None:
    begun = [text("prt_1", "a"), tool("prt_2", "bash", done("x"))]
    assert calls(pushed(STREAM, lines(*begun)).events) == []
    assert len(calls(pushed(STREAM, lines(*begun, finish("tool-calls"))).events)) == 1
    start = line("step_start", {"type": "step-start", "id": "prt_9"}, "msg_2")
    assert len(calls(pushed(STREAM, lines(*begun, start)).events)) == 1
    assert len(calls(events_of(STREAM, lines(*begun)))) == 1


def test_one_line_gives_the_call_and_its_result_with_their_own_times() -> None:
    events = events_of(STREAM, lines(tool("prt_1", "bash", done("out", 5, 30, exit=0)), finish("tool-calls")))
    [call], [result] = calls(events), results(events)
    assert call.call_id == result.call_id == "call-prt_1"
    assert (call.source.time_ms, result.source.time_ms) == (1772359200005, 1772359200030)
    assert (result.outcome, result.exit_code, result.duration_ms, result.output) == ("ok", 0, 25, "out")


@pytest.mark.parametrize(
    ("name", "state", "outcome", "code"),
    [
        ("bash", done("x", exit=0), "ok", 0),
        ("bash", done("x", exit=3), "error", 3),
        ("bash", done("x\nshell tool terminated command after exceeding timeout 120000 ms.", exit=None), "error", None),
        ("bash", done("x\nUser aborted the command", exit=None), "cancelled", None),
        ("read", done("x"), "ok", None),
        ("read", failed("File not found: /a"), "error", None),
        ("bash", failed("The user rejected permission to use this specific tool call."), "denied", None),
        ("bash", failed("The user has specified a rule which prevents you from using this tool"), "denied", None),
        ("bash", failed("Error: The user rejected permission to use this specific tool call."), "denied", None),
        ("bash", failed("Error: Tool execution aborted"), "cancelled", None),
        ("bash", failed("Error: File not found"), "error", None),
        ("bash", failed("Tool execution aborted"), "cancelled", None),
        ("bash", failed("killed", interrupted=True), "cancelled", None),
        ("invalid", {**done("x"), "input": {"tool": "read", "error": "bad"}}, "error", None),
    ],
)
def test_outcomes(name: str, state: dict[str, Any], outcome: str, code: int | None) -> None:
    [result] = results(events_of(STREAM, lines(tool("prt_1", name, state), finish("tool-calls"))))
    assert (result.outcome, result.exit_code) == (outcome, code)


@pytest.mark.parametrize(("asked", "name"), [("read", "read"), ("teleport", "teleport"), ("no_such_tool", "invalid")])
def test_an_invalid_call_bears_the_name_that_was_asked_for_unless_it_would_read_as_mcp(asked: str, name: str) -> None:
    state = {**done("x"), "input": {"tool": asked, "error": "bad"}}
    [call] = calls(events_of(STREAM, lines(tool("prt_1", "invalid", state), finish("tool-calls"))))
    assert call.name == name


def test_metadata_of_a_foreign_shape_does_no_harm() -> None:
    for metadata in ([1], "x", {"exit": "none"}, {"sessionId": 4}, None):
        state = {**done("x"), "metadata": metadata}
        [result] = results(events_of(STREAM, lines(tool("prt_1", "task", state), finish("tool-calls"))))
        assert result.outcome == "ok"


def test_tokens_gain_what_opencode_counts_apart() -> None:
    [usage] = usages(events_of(STREAM, lines(text("prt_1", "a"), finish("stop"))))
    assert (usage.input, usage.cached, usage.cache_write) == (140, 30, 10)
    assert (usage.output, usage.reasoning, usage.cost_usd) == (25, 5, 0.5)


@pytest.mark.parametrize(
    ("tokens", "output"),
    [
        ({"total": 118, "input": 5, "output": 43, "reasoning": 25, "cache": {"read": 70, "write": 0}}, 43),
        ({"total": 143, "input": 5, "output": 43, "reasoning": 25, "cache": {"read": 70, "write": 0}}, 68),
        ({"input": 5, "output": 43, "reasoning": 25, "cache": {"read": 70, "write": 0}}, 68),
        ({"total": 48, "input": 5, "output": 43, "reasoning": 25}, 43),
    ],
    ids=["1.2.27", "1.18", "no total", "no cache"],
)
def test_reasoning_that_the_output_includes_already_is_not_added(tokens: dict[str, Any], output: int) -> None:
    step = finish("stop")
    step["part"]["tokens"] = tokens
    (usage,) = usages(events_of(STREAM, lines(text("prt_1", "a"), step)))
    assert (usage.output, usage.reasoning) == (output, 25)


def test_an_input_that_cached_tokens_were_wrongly_taken_off_is_none() -> None:
    end = finish("stop")
    end["part"]["tokens"] = {**TOKENS, "input": -20}
    [usage] = usages(events_of(STREAM, lines(text("prt_1", "a"), end)))
    assert (usage.input, usage.cached, usage.output) == (None, 30, 25)


def test_two_steps_in_one_message_are_two_model_calls() -> None:
    again = finish("stop", part_id="prt_z2")
    events = events_of(STREAM, lines(text("prt_1", "a"), finish("tool-calls"), text("prt_2", "b"), again))
    whole = Batch("log", events=events)
    Pair().push(whole)
    first, second = usages(whole.events)
    assert first.key != second.key
    assert len({e.message_id for e in whole.events if isinstance(e, AssistantText)}) == 2


def test_the_end_of_a_step_that_comes_twice_counts_once() -> None:
    given = [text("prt_1", "a"), finish("tool-calls")]
    assert events_of(STREAM, lines(*given, given[-1])) == events_of(STREAM, lines(*given))
    done = [text("prt_1", "a"), finish("stop")]
    assert isinstance(events_of(STREAM, lines(*done, *done))[-1], SessionEnd)  # a log that stands twice has an end


@pytest.mark.parametrize(("reason", "status"), [("stop", "complete"), ("length", "complete"), ("error", "error")])
def test_a_final_finish_reason_ends_the_run(reason: str, status: str) -> None:
    [end] = [e for e in events_of(STREAM, lines(text("prt_1", "a"), finish(reason))) if isinstance(e, SessionEnd)]
    assert (end.status, end.reason) == (status, reason)


@pytest.mark.parametrize("reason", ["tool-calls", "unknown"])
def test_other_finish_reasons_do_not(reason: str) -> None:
    events = events_of(STREAM, lines(text("prt_1", "a"), finish(reason)))
    assert not [e for e in events if isinstance(e, SessionEnd)]


def test_an_error_line_ends_the_run_badly() -> None:
    error = {"name": "APIError", "data": {"message": "bad request", "statusCode": 400}}
    events = events_of(STREAM, lines({"type": "error", "timestamp": 1, "sessionID": "ses_1", "error": error}))
    [end] = [e for e in events if isinstance(e, SessionEnd)]
    assert (end.status, end.reason) == ("error", "APIError: bad request")
    aborted = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
    events = events_of(STREAM, lines({"type": "error", "timestamp": 1, "sessionID": "ses_1", "error": aborted}))
    assert [e.status for e in events if isinstance(e, SessionEnd)] == ["interrupted"]


def test_synthetic_text_is_marked() -> None:
    events = events_of(STREAM, lines(text("prt_1", "by the program", synthetic=True), finish("stop")))
    assert [e.synthetic for e in events if isinstance(e, AssistantText)] == [True]


def test_lines_of_another_session_are_another_runs() -> None:
    """A child session prints nothing; a wrapper that tries again lets the next run write behind the first."""
    other = {**text("prt_2", "again", "msg_c"), "sessionID": "ses_2"}
    batch = decoded(STREAM, lines(text("prt_1", "a"), finish("tool-calls"), other))
    assert [e.source.stream for e in batch.events if isinstance(e, AssistantText)] == ["main", "main"]
    assert [e.session_id for e in batch.events if isinstance(e, SessionInfo)] == ["ses_1", "ses_2"]
    assert [fault.reason for fault in batch.faults] == ["foreign-record"]


def test_unknown_lines_and_parts_are_counted() -> None:
    given = lines(line("brand_new", {"type": "newer"}), {"type": "other", "timestamp": 1, "sessionID": "ses_1"})
    assert decoded(STREAM, given).unknown == {"brand_new/newer": 1, "other": 1}


def test_an_export_tells_session_prompt_answers_and_tokens() -> None:
    events = events_of(EXPORT, fixture("export-ses_1.json"))
    info = next(e for e in events if isinstance(e, SessionInfo))
    assert (info.session_id, info.version, info.cwd, info.title) == ("ses_1", "1.18.0", "/w", "Fix it")
    assert [(e.text, e.injected) for e in events if isinstance(e, UserText)] == [("fix it", False), ("remember", True)]
    assert texts(events) == ["Starting.", "Done."]
    assert [(c.name, c.message_id) for c in calls(events)] == [("bash", "msg_2"), ("task", "msg_2"), ("read", "msg_2")]
    assert [(r.outcome, r.agent_id) for r in results(events)] == [("error", None), ("ok", "ses_2")]
    assert total(events) == {"input": 280, "cached": 60, "output": 50, "reasoning": 10}
    assert [e.status for e in events if isinstance(e, SessionEnd)] == ["complete"]


def test_a_message_without_step_finish_counts_its_own_tokens() -> None:
    info = {"id": "msg_1", "sessionID": "ses_1", "role": "assistant", "time": {"created": 1}, "tokens": TOKENS}
    assert total(events_of(ROWS, lines(info)))["input"] == 140
    assert total(events_of(ROWS, lines({"info": info, "parts": []})))["input"] == 140


def test_tokens_bear_the_time_at_which_the_answer_had_ended() -> None:
    """They stood at its beginning: a session that was killed behind its last call was too short by that call."""
    info = {"id": "msg_1", "sessionID": "ses_1", "role": "assistant", "finish": "tool-calls", "tokens": TOKENS}
    info["time"] = {"created": 1772359200000, "completed": 1772359209000}
    for parts in ([{"type": "step-finish", "tokens": TOKENS}], []):
        [used] = usages(events_of(ROWS, lines({"info": info, "parts": parts})))
        assert used.source.time_ms == 1772359209000


def test_an_answer_that_failed_says_so() -> None:
    info: dict[str, Any] = {
        "id": "msg_1",
        "sessionID": "ses_1",
        "role": "assistant",
        "error": {"name": "APIError", "data": {}},
    }
    events = events_of(ROWS, lines({"info": info, "parts": []}))
    assert [e.status for e in events if isinstance(e, SessionEnd)] == ["error"]


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        ("The user rejected permission to use this specific tool call.", ["interrupted"]),
        ("Error: The user rejected permission to use this specific tool call.", ["interrupted"]),
        ("The user dismissed this question", ["interrupted"]),
        ("The user rejected permission to use this specific tool call with the following feedback: use rg", []),
        ("The user has specified a rule which prevents you from using this specific tool call.", []),
    ],
)
def test_a_call_refused_without_a_word_stops_the_run(error: str, ends: list[str]) -> None:
    info = {"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "finish": "tool-calls", "time": {"created": 1}}
    part = {"type": "tool", "id": "prt_1", "tool": "bash", "callID": "call_1", "state": failed(error)}
    events = events_of(ROWS, lines({"info": info, "parts": [part]}))
    assert [r.outcome for r in results(events)] == ["denied"]
    assert [e.status for e in events if isinstance(e, SessionEnd)] == ends
    printed = [tool("prt_1", "bash", failed(error)), finish("tool-calls")]
    streamed = events_of(STREAM, lines(*printed))
    assert [e.status for e in streamed if isinstance(e, SessionEnd)] == ends
    check_laws(STREAM, lines(*printed))


def test_a_refusal_ends_only_its_own_step() -> None:
    refused = tool("prt_1", "bash", failed("The user rejected permission to use this specific tool call."))
    cut = [refused, text("prt_2", "Again.", "msg_2"), finish("tool-calls", "msg_2")]
    assert not [e for e in events_of(STREAM, lines(*cut)) if isinstance(e, SessionEnd)]
    went_on = [refused, finish("tool-calls"), text("prt_3", "So.", "msg_2"), finish("stop", "msg_2", "prt_4")]
    ends = [e.status for e in events_of(STREAM, lines(*went_on)) if isinstance(e, SessionEnd)]
    assert ends == ["interrupted", "complete"]


def test_what_a_fork_copied_is_told_by_its_parent() -> None:
    """The copies have ids of their own, and the times of what they are copies of."""
    (record,) = fixture("export-ses_1.json")
    value = msgspec.json.decode(record.data)
    last = value["messages"][-1]["info"]["time"]["created"]
    assert value["info"]["time"]["created"] < last
    value["info"]["time"]["created"] = last
    batch = decoded(EXPORT, document(value))
    assert batch.ignored["copied from the parent session"] == len(value["messages"]) - 1
    times = [event.source.time_ms for event in batch.events if event.source.time_ms is not None]
    assert min(times) == last
    assert len(usages(batch.events)) == 1


def test_parts_of_every_type_are_known() -> None:
    user = {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1}}
    asked = [
        {"type": "text", "text": "see"},
        {"type": "file", "mime": "image/png", "filename": "a.png", "url": "file:///a.png"},
        {"type": "agent", "name": "plan"},
        {"type": "subtask", "prompt": "do it", "description": "d", "agent": "general"},
        {"type": "compaction", "auto": True},
    ]
    assistant = {"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "summary": True, "time": {"created": 2}}
    answered: list[dict[str, Any]] = [
        {"type": "step-start"},
        {"type": "snapshot", "snapshot": "x"},
        {"type": "patch", "hash": "h", "files": []},
        {"type": "retry", "attempt": 2, "error": {}, "time": {"created": 1}},
        {"type": "reasoning", "text": "hm", "time": {"start": 1}},
        {"type": "tool", "tool": "bash", "callID": "c", "state": {"status": "pending", "input": {}, "raw": ""}},
    ]
    batch = decoded(ROWS, lines({"info": user, "parts": asked}, {"info": assistant, "parts": answered}))
    assert not batch.unknown
    assert [e.text for e in batch.events if isinstance(e, UserText)] == ["see", "", "do it"]
    assert [e.text for e in batch.events if isinstance(e, Reasoning)] == ["hm"]
    assert [e.name for e in batch.events if isinstance(e, Notification)] == [
        "compact_boundary",
        "compact_boundary",
        "retry",
    ]
    assert not calls(batch.events)


def test_rows_of_a_child_bear_their_stream_and_the_call_that_started_it() -> None:
    session = {"id": "ses_1", "directory": "/w", "version": "1.18.0"}
    child = {"id": "ses_2", "directory": "/w", "version": "1.18.0", "parentID": "ses_1"}
    state = {"status": "completed", "input": {}, "output": "x", "time": {"start": 1, "end": 2}}
    message = {"id": "msg_2", "sessionID": "ses_2", "role": "assistant", "time": {"created": 1}}
    part = {"type": "tool", "tool": "read", "callID": "c", "state": state}
    given = lines(
        {"info": session}, {"info": child, "parent_call": "t"}, {"info": message, "parts": [part], "parent_call": "t"}
    )
    assert best(PROVIDER, given) == ("opencode-rows", 1.0)
    check_laws(ROWS, given)
    events = events_of(ROWS, given)
    assert [(c.source.stream, c.parent_call) for c in calls(events)] == [("subagent:ses_2", "t")]
    assert [e.session_id for e in events if isinstance(e, SessionInfo) and e.session_id] == ["ses_1"]


def test_dialects_are_told_apart() -> None:
    assert best(PROVIDER, fixture("stream.jsonl")) == ("opencode-stream", 1.0)
    assert best(PROVIDER, fixture("export-ses_1.json")) == ("opencode-export", 1.0)
    others: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init", "session_id": "x"},
        {"type": "error", "timestamp": "2026-01-01T00:00:00Z", "message": "x"},
        {"sessionId": "x", "projectHash": "y", "messages": []},
        {"info": {"total": 1}, "messages": []},
        {"role": "assistant", "content": []},
    ]
    for other in others:
        assert best(PROVIDER, lines(other))[1] == 0.0


class Files:
    """A folder of plain values."""

    def __init__(self, **files: Any) -> None:
        self.files = {f"home/export-{name}.json": msgspec.json.encode(value) for name, value in files.items()}

    def glob(self, pattern: str) -> list[str]:
        return sorted(path for path in self.files if Path(path).match(pattern))

    def read(self, path: str, limit: int) -> bytes:
        return self.files[path][:limit]

    def remembered(self, key: str, make: Callable[[], Kept]) -> Kept:
        return make()


def session(own: str, parent: str | None = None, started: str | None = None) -> dict[str, Any]:
    info = {"id": own, "directory": "/w", **({"parentID": parent} if parent else {})}
    state = {"status": "completed", "metadata": {"sessionId": started}}
    parts = [{"type": "tool", "tool": "task", "callID": f"call-{started}", "state": state}] if started else []
    message = {"info": {"id": "msg", "role": "assistant"}, "parts": parts}
    return {"info": info, "messages": [message]}


def test_child_sessions_are_companions_with_the_call_that_started_them() -> None:
    files = Files(
        ses_1=session("ses_1", None, "ses_2"),
        ses_2=session("ses_2", "ses_1", "ses_3"),
        ses_3=session("ses_3", "ses_2"),
        ses_9=session("ses_9", "ses_8"),
    )
    found = PROVIDER.companions("home/export-ses_1.json", files)
    assert [(c.path, c.context.stream, c.context.parent_call) for c in found] == [
        ("home/export-ses_2.json", "subagent:ses_2", "call-ses_2"),
        ("home/export-ses_3.json", "subagent:ses_3", "call-ses_3"),
    ]
    assert PROVIDER.companions("home/export-ses_9.json", files) == []


def test_sessions_that_are_each_others_parents_end() -> None:
    files = Files(ses_1=session("ses_1", "ses_2", "ses_2"), ses_2=session("ses_2", "ses_1", "ses_1"))
    assert len(PROVIDER.companions("home/export-ses_1.json", files)) == 1


def whole(path: Path, given: list[Record], name: str) -> tuple[Batch, list[AnyEvent]]:
    stage = Decode(dialect(PROVIDER, name), DecodeContext(str(path)))
    batch = Batch(str(path), records=given)
    stage.push(batch)
    return batch, [*batch.events, *(e for b in stage.flush() for e in b.events)]


def check_against_truth(truth: dict[str, Any], events: list[AnyEvent], thread: str, ordered: bool) -> None:
    names = [PROVIDER.tools.resolve(c.name).tool for c in calls(events)]
    asked = asked_calls(truth, thread)
    if truth["scenario"] == "s6_sigkill_tool" or truth["scenario"] == "s6_sigint_tool":
        asked = asked[: len(names)]  # a call that was running is not printed
    assert len(names) == len(asked)
    if ordered:
        assert [n for n, c in zip(names, asked, strict=True) if c["tool"]] == [c["tool"] for c in asked if c["tool"]]
    blob = "\n".join(texts(events))
    assert [t for t in said(truth, thread) if t.strip() not in blob] == []
    if not truth["broken"] and not truth["scenario"].startswith("s6_"):
        tokens, found = truth["threads"][thread]["tokens"], total(events)
        assert {k: found[k] for k in tokens} == tokens


def test_recorded_streams_hold_what_the_model_asked_for() -> None:
    for path in sorted(corpus("clients/opencode").glob("*/stream.jsonl*")):
        if path.parent.name == "s6_pipe":
            continue  # cut by its reader
        given = records(read(path))
        assert best(PROVIDER, given[:8]) == ("opencode-stream", 1.0)
        batch, events = whole(path, given, "opencode-stream")
        assert not batch.unknown
        assert not batch.faults
        truth = msgspec.json.decode((path.parent / "truth.json").read_bytes())
        check_against_truth(truth, events, "part2" if "part2" in truth["threads"] else "main", True)


def test_recorded_exports_hold_what_the_model_asked_for() -> None:
    seen = 0
    for path in sorted(corpus("clients/opencode").glob("*/home/export-*.json")):
        given = [Record(path.read_bytes(), 0, 0)]
        try:
            info = msgspec.json.decode(given[0].data)["info"]
        except msgspec.DecodeError:
            continue  # opencode cut its own export off at 64 KiB
        seen += 1
        assert best(PROVIDER, given) == ("opencode-export", 1.0)
        batch, events = whole(path, given, "opencode-export")
        assert not batch.unknown
        assert not batch.faults
        truth = msgspec.json.decode((path.parent.parent / "truth.json").read_bytes())
        if "parentID" not in info and truth["scenario"] != "s10b":
            check_against_truth(truth, events, "main", True)
    assert seen > 15


@pytest.mark.parametrize("kind", ["opencode-run", "opencode-export", "opencode-db-dump", "opencode-storage"])
def test_wild_logs_decode_without_unknown_types_or_faults(kind: str) -> None:
    for path in sorted(corpus(f"wild/{kind}").iterdir()):
        given = [Record(path.read_bytes(), 0, 0)] if path.suffix == ".json" else records(path.read_bytes())
        name, score = best(PROVIDER, given[:8])
        assert score >= 0.9
        batch, events = whole(path, given, name)
        assert not batch.unknown
        assert not batch.faults
        assert events


def test_a_pretty_printed_export_is_one_record() -> None:
    value = msgspec.json.decode(fixture("export-ses_1.json")[0].data)
    events = events_of(EXPORT, document(value))
    assert texts(events) == ["Starting.", "Done."]
    assert b"\n" not in b"".join(bytes(c.input_json) for c in calls(events))


def test_a_tool_without_a_state_was_asked_for() -> None:
    part = {"type": "tool", "id": "prt_1", "callID": "c", "tool": "bash", "state": None}
    events = events_of(STREAM, lines(line("tool_use", part), finish("stop")))
    assert [(c.call_id, c.name) for c in calls(events)] == [("c", "bash")]
    assert not results(events)


@pytest.mark.parametrize("name", ["version2-rows.jsonl", "version2-ses_2.json"])
def test_messages_of_version_2_keep_the_laws_in_any_shape(name: str) -> None:
    given, of = fixture(name), EXPORT if name.endswith(".json") else ROWS
    assert best(PROVIDER, given) == (of.name, 1.0)
    check_laws(of, given)
    check_odd_shapes(PROVIDER, given)
