from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.figures.result import Result
from agentv_stages.figures.totals import Totals
from agentv_stages.model.batch import Batch
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
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.cursor import PROVIDER
from agentv_stream import summarize
from support.decoding import (
    FIXTURES,
    best,
    calls,
    check_laws,
    check_odd_shapes,
    corpus,
    decoded,
    dialect,
    events_of,
    lines,
    read,
    records,
    results,
    texts,
    usages,
)

STREAM = dialect(PROVIDER, "cursor-stream")
TRANSCRIPT = dialect(PROVIDER, "cursor-transcript")
TIME = 1772596642697
INIT = {
    "type": "system",
    "subtype": "init",
    "apiKeySource": "login",
    "cwd": "/w",
    "session_id": "s-1",
    "model": "Auto",
    "permissionMode": "default",
}


def said(text: str, *, time: bool = False, model_call: str | None = None) -> dict[str, Any]:
    line: dict[str, Any] = {"type": "assistant", "session_id": "s-1"}
    line["message"] = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    if time:
        line["timestamp_ms"] = TIME
    if model_call:
        line["model_call_id"] = model_call
    return line


def tool(subtype: str, call_id: str = "c1", model_call: str | None = None, **body: Any) -> dict[str, Any]:
    line: dict[str, Any] = {"type": "tool_call", "subtype": subtype, "call_id": call_id, "session_id": "s-1"}
    line["tool_call"] = body
    if model_call:
        line["model_call_id"] = model_call
    return line


def shell(subtype: str, call_id: str = "c1", model_call: str | None = None, **result: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"args": {"command": "ls"}}
    if result:
        body["result"] = result
    return tool(subtype, call_id, model_call, shellToolCall=body)


def thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "subtype": "delta", "text": text, "session_id": "s-1", "timestamp_ms": TIME}


def ids(events: list[AnyEvent]) -> list[str]:
    return [e.message_id for e in events if isinstance(e, (Reasoning, AssistantText, ToolCall))]


@pytest.mark.parametrize("path", sorted((FIXTURES / "cursor").glob("*.jsonl")), ids=lambda p: p.stem)
def test_prefixes_and_restored_decoders_give_the_same_events(path: Path) -> None:
    given = records(path.read_bytes())
    found, score = best(PROVIDER, given)
    assert (found, score) == ("cursor-transcript" if "transcript" in path.stem else "cursor-stream", 1.0)
    check_laws(dialect(PROVIDER, found), given)


def test_a_run_from_its_beginning_to_its_end() -> None:
    events = events_of(STREAM, records((FIXTURES / "cursor" / "stream.jsonl").read_bytes()))
    assert [(e.session_id, e.model, e.cwd) for e in events if isinstance(e, SessionInfo)] == [("s-1", "Auto", "/w")]
    assert [e.text for e in events if isinstance(e, UserText)] == ["Fix it."]
    assert texts(events) == ["Looking.", "Done."]
    assert [c.name for c in calls(events)] == ["readToolCall", "shellToolCall", "editToolCall"]
    assert [(r.outcome, r.exit_code) for r in results(events)] == [("ok", None), ("error", 3), ("denied", None)]
    end = events[-1]
    assert isinstance(end, SessionEnd)
    assert (end.status, end.duration_ms) == ("complete", 4200)


def test_deltas_count_and_the_lines_that_repeat_them_do_not() -> None:
    given = lines(
        said("Look", time=True),
        said("ing.", time=True),
        said("Looking.", time=True, model_call="k1"),
        shell("started", model_call="k1"),
        shell("completed", model_call="k1", success={"exitCode": 0}),
        said("Do", time=True),
        said("ne.", time=True),
        said("Looking.Done."),
    )
    batch = decoded(STREAM, given)
    assert texts(batch.events) == ["Look", "ing.", "Do", "ne."]
    assert batch.ignored["assistant/repeated"] == 2
    assert all(e.delta for e in batch.events if isinstance(e, AssistantText))


def test_the_text_of_a_whole_run_repeats_its_deltas_even_behind_a_call() -> None:
    given = lines(
        said("Looking.", time=True),
        said("Looking.", time=True, model_call="k1"),
        shell("started", model_call="k1"),
        shell("completed", model_call="k1", success={"exitCode": 0}),
        said("Looking."),
    )
    batch = decoded(STREAM, given)
    assert texts(batch.events) == ["Looking."]
    assert batch.ignored["assistant/repeated"] == 2
    check_laws(STREAM, given)


def test_a_thought_is_told_once_by_its_deltas_or_as_a_whole() -> None:
    whole = {**thinking("Hm, so."), "subtype": "completed"}
    told = decoded(STREAM, lines(thinking("Hm"), thinking(", so."), whole, whole, thinking("Yes."))).events
    assert [(e.text, e.delta) for e in told if isinstance(e, Reasoning)] == [
        ("Hm", True),
        (", so.", True),
        ("Hm, so.", False),
        ("Yes.", True),
    ]


def test_a_result_without_a_time_tells_how_long_its_command_ran() -> None:
    def took(time: int | None, **result: Any) -> list[int | None]:
        ended = {**shell("completed", success=result), **({} if time is None else {"timestamp_ms": time})}
        return [e.duration_ms for e in results(events_of(STREAM, lines(shell("started"), ended)))]

    assert took(None, exitCode=0, executionTime=1234) == [1234]
    assert took(None, exitCode=0, executionTime=1234, localExecutionTimeMs=1200.4) == [1200]
    assert took(TIME, exitCode=0, executionTime=1234) == [None]
    assert took(None, exitCode=0) == [None]


def test_segments_count_where_no_deltas_were_printed() -> None:
    given = lines(
        said("Looking.", time=True, model_call="k1"),
        shell("started", model_call="k1"),
        shell("completed", model_call="k1", success={"exitCode": 0}),
        said("Done."),
    )
    events = events_of(STREAM, given)
    assert texts(events) == ["Looking.", "Done."]
    assert not any(e.delta for e in events if isinstance(e, AssistantText))


def test_the_model_call_tells_which_calls_are_one_answer() -> None:
    given = lines(
        thinking("Hm."),
        said("Looking.", time=True, model_call="k1"),
        shell("started", "c1", "k1"),
        shell("completed", "c1", "k1", success={"exitCode": 0}),
        shell("started", "c2", "k1"),
        shell("completed", "c2", "k1", success={"exitCode": 0}),
        thinking("Hm again."),
        shell("started", "c3", "k2"),
    )
    assert ids(events_of(STREAM, given)) == ["m0", "m0", "m0", "m0", "m6", "m6"]


def test_the_last_segment_is_an_answer_of_its_own_though_a_call_got_no_result() -> None:
    """A segment before a call names its model call, as the call does; the last segment does not."""
    asked = (said("Looking.", time=True, model_call="k1"), shell("started", "c1", "k1"))
    assert ids(events_of(STREAM, lines(*asked, said("Done.")))) == ["m0", "m0", "m2"]
    between = said("And this.", time=True, model_call="k1")
    assert ids(events_of(STREAM, lines(*asked, between, shell("started", "c2", "k1")))) == ["m0"] * 4


def test_a_result_that_stands_alone_tells_the_answer() -> None:
    """`--output-format json` prints one object."""
    ended = {"type": "result", "subtype": "success", "is_error": False, "duration_ms": 5, "result": "All done.",
             "session_id": "s-1", "request_id": "r-1"}  # fmt: skip
    assert texts(events_of(STREAM, lines(ended))) == ["All done."]
    assert texts(events_of(STREAM, lines(said("All done."), ended))) == ["All done."]


def test_without_model_calls_an_answer_ends_with_a_result() -> None:
    ok = {"exitCode": 0}
    given = lines(
        said("A.", time=True),
        shell("started", "c1"),
        shell("started", "c2"),
        shell("completed", "c2", success=ok),
        shell("completed", "c1", success=ok),
        said("B.", time=True),
    )
    assert ids(events_of(STREAM, given)) == ["m0", "m0", "m0", "m5"]


def test_a_completed_call_that_was_never_started_is_a_call_all_the_same() -> None:
    events = events_of(STREAM, lines(shell("completed", success={"exitCode": 0}), shell("completed", success={})))
    assert (len(calls(events)), len(results(events))) == (1, 1)


@pytest.mark.parametrize(
    ("result", "outcome", "code"),
    [
        ({"success": {"exitCode": 0, "stdout": "x"}, "isBackground": False}, "ok", 0),
        ({"success": {"exitCode": 2}}, "error", 2),
        ({"isBackground": False, "failure": {"exitCode": 254, "aborted": False}}, "error", 254),
        ({"failure": {"exitCode": 1, "aborted": True}}, "cancelled", 1),
        ({"error": {"errorMessage": "gone"}}, "error", None),
        ({"rejected": {"reason": "no"}}, "denied", None),
        ({"timeout": {}}, "error", None),
        ({"brandNew": {"x": 1}}, None, None),
    ],
)
def test_outcome_and_exit_code(result: dict[str, Any], outcome: str | None, code: int | None) -> None:
    (found,) = results(events_of(STREAM, lines(shell("completed", **result))))
    assert (found.outcome, found.exit_code) == (outcome, code)
    assert found.output is not None


@pytest.mark.parametrize(
    ("body", "name", "given"),
    [
        ({"readToolCall": {"args": {"path": "a"}}}, "readToolCall", {"path": "a"}),
        ({"function": {"name": "f", "arguments": '{"a": 1}'}}, "f", {"a": 1}),
        ({"function": {"name": "f", "arguments": "not json"}}, "f", "not json"),
        (
            {"mcpToolCall": {"args": {"providerIdentifier": "demo", "toolName": "lookup", "args": {"k": 1}}}},
            "mcp__demo__lookup",
            {"k": 1},
        ),
        ({"toolCallId": "x", "lsToolCall": {"args": {"path": "."}}}, "lsToolCall", {"path": "."}),
        ({"newToolCall": {}}, "newToolCall", {}),
    ],
)
def test_name_and_arguments_of_a_call(body: dict[str, Any], name: str, given: Any) -> None:
    (found,) = calls(events_of(STREAM, lines(tool("started", **body))))
    assert (found.name, found.input) == (name, given)


def test_tokens_of_a_run_hold_the_cached_ones_and_count_once() -> None:
    usage = {"inputTokens": 40, "outputTokens": 9, "cacheReadTokens": 60, "cacheWriteTokens": 5}
    end = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "request_id": "q",
        "usage": usage,
        "duration_ms": 7,
    }
    events = events_of(STREAM, lines(end, end))
    (used,) = usages(events)
    assert (used.input, used.cached, used.cache_write, used.output) == (105, 60, 5, 9)
    # a log that was printed twice ends twice; the time counts once
    assert [e.duration_ms for e in events if isinstance(e, SessionEnd)] == [7, None]


def test_costs_of_runs_in_one_stream_add_up_as_their_tokens_do() -> None:
    def end(request: str, **usage: float) -> dict[str, Any]:
        return {"type": "result", "subtype": "success", "request_id": request, "usage": usage}

    totals = Totals()
    ends = end("q1", inputTokens=40, outputTokens=9, totalCost=0.25), end("q2", totalCost=0.5)
    totals.observe(decoded(STREAM, lines(*ends, ends[1])))
    assert (totals.cost_usd, totals.tokens().input) == (0.75, 40)


def test_a_failed_run() -> None:
    line = {"type": "result", "subtype": "error", "is_error": True, "result": "No more credits."}
    (end,) = [e for e in events_of(STREAM, lines(line)) if isinstance(e, SessionEnd)]
    assert (end.status, end.reason) == ("error", "No more credits.")


def test_a_question_to_the_user_and_a_new_type() -> None:
    ask = {"type": "interaction_query", "subtype": "request", "query_type": "webSearch", "session_id": "s-1"}
    batch = decoded(STREAM, lines(ask, {"type": "brand_new"}))
    assert [e.name for e in batch.events if isinstance(e, Notification)] == ["permission_request"]
    assert batch.unknown == {"brand_new": 1}


def test_look_alikes_are_not_cursors() -> None:
    others: list[dict[str, Any]] = [
        INIT | {"tools": ["Read"], "apiKeySource": "none"},
        {"type": "assistant", "message": {"content": []}, "uuid": "u", "session_id": "s"},
        {"type": "tool_call", "name": "read", "input": {}},
        {"role": "user", "content": "plain"},
        {"type": "user", "message": {"role": "user", "content": "x"}, "sessionId": "s"},
    ]
    for other in others:
        assert best(PROVIDER, lines(other))[1] == 0.0
    assert best(PROVIDER, lines(INIT)) == ("cursor-stream", 1.0)


def test_a_transcript_gives_texts_calls_and_what_results_it_has() -> None:
    batch = decoded(TRANSCRIPT, records((FIXTURES / "cursor" / "transcript.jsonl").read_bytes()))
    assert [e.text for e in batch.events if isinstance(e, UserText)] == ["Show it.", "And?"]
    assert texts(batch.events) == ["Reading.", "Plain."]
    assert [(c.call_id, c.name) for c in calls(batch.events)] == [("2-1", "Shell"), ("t1", "Read")]
    assert [(r.call_id, r.outcome) for r in results(batch.events)] == [("t1", "error")]
    assert batch.unknown == {"assistant/future": 1}


def test_logs_from_the_wild_decode_without_new_types() -> None:
    for folder in ("cursor-stream", "cursor-stream-noisy", "cursor-transcript"):
        for path in sorted(corpus(f"wild/{folder}").iterdir()):
            given = records(read(path))
            name = "cursor-transcript" if "transcript" in folder else "cursor-stream"
            good = [r for r in given if r.data.startswith((b'{"type"', b'{"role"', b'{"id"'))]
            assert best(PROVIDER, good) == (name, 1.0), path
            stage, batch = Decode(dialect(PROVIDER, name), DecodeContext("log")), Batch("log", records=given)
            stage.push(batch)
            named = {kind for kind in batch.unknown if kind not in ("(no type)", "assistant/future-block")}
            assert not named, path
            assert calls(batch.events), path
            if "noisy" not in folder:
                assert {f.reason for f in batch.faults} <= {"torn-middle"}, path
            ended = [r.call_id for r in results(batch.events)]
            assert len(ended) == len(set(ended)), path


def test_a_transcript_ends_with_an_answer_that_asks_for_nothing() -> None:
    def ends(*contents: Any) -> list[str]:
        given = lines(*({"role": role, "message": {"content": content}} for role, content in contents))
        return [e.status for e in events_of(TRANSCRIPT, given) if isinstance(e, SessionEnd)]

    said_: dict[str, Any] = {"type": "text", "text": "Done."}
    asked: dict[str, Any] = {"type": "tool_use", "name": "read", "input": {}}
    assert ends(("user", "Go."), ("assistant", [said_])) == ["complete"]
    assert ends(("user", "Go."), ("assistant", "Done.")) == ["complete"]
    assert ends(("user", "Go."), ("assistant", [said_, asked])) == []
    assert ends(("user", "Go.")) == []


def test_a_member_of_a_block_that_does_not_fit_costs_itself_alone() -> None:
    blocks: list[Any] = [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": 7, "name": "Read", "input": {}},
    ]
    given = lines({"role": "assistant", "message": {"content": blocks}})
    batch = Decode(TRANSCRIPT).push(Batch("log", records=given))[0]
    assert [f.reason for f in batch.faults] == ["schema"]
    assert [type(e).__name__ for e in batch.events] == ["AssistantText", "ToolCall"]


def test_a_role_of_a_later_version_leaves_a_transcript_one() -> None:
    asked = {"role": "user", "message": {"content": "Go."}}
    later: dict[str, Any] = {"role": "later", "message": {"content": []}}
    given = lines(asked, later, later)
    assert best(PROVIDER, given) == ("cursor-transcript", 0.9)
    assert best(PROVIDER, lines(asked, {"message": {"content": "no role"}}))[1] == 0.0
    assert decoded(TRANSCRIPT, given).unknown == {"later": 2}


def test_a_call_without_a_name_is_one_of_an_unknown_tool() -> None:
    given = lines({"role": "assistant", "message": {"content": [{"type": "tool_use"}]}})
    assert [c.name for c in calls(events_of(TRANSCRIPT, given))] == ["unknown"]


TURN: tuple[dict[str, Any], ...] = (
    {"role": "user", "message": {"content": "Go."}},
    {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "Shell", "input": {"command": "ls"}}]}},
)


def ended(**more: Any) -> dict[str, Any]:
    return {"type": "turn_ended", **more}


def summarized(*given: dict[str, Any]) -> Result:
    return summarize(b"".join(msgspec.json.encode(line) + b"\n" for line in given), provider="cursor")


@pytest.mark.parametrize(
    ("last", "status"),
    [
        (ended(status="success"), "complete"),
        (ended(status="completed"), "complete"),
        (ended(status="error", error="The model is overloaded"), "error"),
        (ended(status="error", error={"message": "User aborted request"}), "interrupted"),
        (ended(status="aborted", error="User aborted/interrupted manually."), "interrupted"),
        (ended(status="aborted"), "interrupted"),
        (ended(status="later"), "unknown"),
        (ended(status=7), "unknown"),
        (ended(), "unknown"),
    ],
)
def test_the_end_of_a_turn_says_how_a_transcript_ended(last: dict[str, Any], status: str) -> None:
    result = summarized(*TURN, last)
    assert (result.status, result.tool_use_summary["turns"]) == (status, 1)
    assert summarized(*TURN, last, TURN[0]).status == "unknown"  # another turn has begun


def test_the_fixture_of_two_turns_was_interrupted_in_the_second() -> None:
    result = summarize((FIXTURES / "cursor" / "transcript-turns.jsonl").read_bytes())
    assert (result.session.dialect, result.status, result.evidence.reason) == (
        "cursor-transcript",
        "interrupted",
        "User aborted request",
    )
    assert (result.tool_use_summary["turns"], result.unknown, dict(result.faults)) == (3, {}, {})


@pytest.mark.parametrize("count", range(1, len(TURN) + 2))
def test_a_transcript_with_ends_of_turns_is_recognised_however_short_it_is(count: int) -> None:
    given = (*TURN, ended(status="success"))[-count:]
    name, score = best(PROVIDER, lines(*given))
    assert name == "cursor-transcript" and score >= 0.9
    assert best(PROVIDER, lines(*TURN, {"type": "turn_paused"})) == ("cursor-transcript", 0.9)


def test_another_agents_end_of_a_turn_is_no_transcript() -> None:
    assert best(PROVIDER, lines({"type": "turn_ended", "stopReason": "end_turn"}))[1] == 0.0
    assert best(PROVIDER, lines({**ended(status="success"), "timestamp": 1}))[1] == 0.0


def test_a_transcript_with_ends_of_turns_keeps_the_laws_in_any_shape() -> None:
    given = records((FIXTURES / "cursor" / "transcript-turns.jsonl").read_bytes())
    check_laws(TRANSCRIPT, given)
    check_odd_shapes(PROVIDER, given)
