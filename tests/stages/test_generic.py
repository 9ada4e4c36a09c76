from typing import Any

import msgspec
import pytest

from agentv_stages.chain.consolidate import Consolidate
from agentv_stages.chain.decode import Decode
from agentv_stages.chain.normalize import Normalize
from agentv_stages.chain.pair import Pair
from agentv_stages.figures.totals import Totals
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AnyEvent,
    AssistantText,
    Notification,
    Reasoning,
    Retract,
    SessionEnd,
    SessionInfo,
    Source,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.stage import Chain
from agentv_stages.providers.generic import PROVIDER
from agentv_stages.sinks.transcript import Identity, TranscriptRows
from agentv_stages.trajectory.trace_events import render
from agentv_stream.summary import summarize
from support.decoding import (
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
    records,
    results,
    texts,
    usages,
)
from support.events import call, result, user

TRACE = dialect(PROVIDER, "agentv-trace")
TRANSCRIPT = dialect(PROVIDER, "agentv-transcript")
ATIF = dialect(PROVIDER, "atif")
T0 = "2026-03-01T10:00:00.000Z"
T1 = "2026-03-01T10:00:01.500Z"

OLD_TRACE: list[dict[str, Any]] = [
    {"type": "message", "timestamp": T0, "text": "Let me look."},
    {"type": "tool_call", "timestamp": T0, "id": "call_1", "name": "search", "input": {"q": "a"}},
    {"type": "tool_result", "timestamp": T1, "id": "call_1", "name": "search", "output": {"hits": 2}},
    {"type": "model_step", "timestamp": T1, "name": "step"},
    {"type": "tool_call", "timestamp": T1, "name": "fetch", "input": {"url": "u"}},
    {"type": "tool_call", "timestamp": T1, "name": "fetch", "input": {"url": "v"}},
    {"type": "tool_result", "timestamp": T1, "name": "fetch", "output": "first"},
    {"type": "tool_result", "timestamp": T1, "name": "fetch", "output": "second"},
    {"type": "error", "timestamp": T1, "text": "something"},
    {"type": "message", "timestamp": T1, "text": "Found."},
]


def new(ordinal: int, kind: str, **members: Any) -> dict[str, Any]:
    return {"event_id": f"e-{ordinal}", "ordinal": ordinal, "type": kind, "timestamp": T0, **members}


NEW_TRACE: list[dict[str, Any]] = [
    new(0, "message", message={"role": "user", "content": "go"}),
    new(1, "model_turn", turn_index=1, model={"name": "m-1", "token_usage": {"input": 9, "output": 3, "cached": 4}}),
    new(2, "message", turn_index=1, message={"role": "assistant", "content": "Going."}),
    new(3, "tool_call", tool={"name": "Read", "call_id": "c1", "input": {"path": "a"}, "status": "ok"}, duration_ms=12),
    new(4, "tool_result", tool={"name": "Read", "call_id": "c1", "output": "text", "status": "ok"}),
    new(5, "tool_call", tool={"name": "Bash", "call_id": "c2", "input": {"command": "x"}, "status": "timeout"}),
    new(6, "tool_call", tool={"name": "Bash", "call_id": "c3", "input": {}, "status": "unknown"}),
    new(7, "message", message={"role": "assistant", "content": "Gone."}),
    new(8, "final_response", message={"role": "assistant", "content": "Gone."}),
]


def row(index: int, role: str, **members: Any) -> dict[str, Any]:
    return {
        "schema_version": "agentv.transcript.v1",
        "test_id": "t-1",
        "target": "claude",
        "message_index": index,
        "role": role,
        "source": {"provider": "claude", "session_id": "s-1", "model": "m-1", "timestamp": T0, "cwd": "/w"},
        **members,
    }


TOTALS = {"transcript_token_usage": {"input": 900, "output": 40, "cached": 100}, "transcript_duration_ms": 4100}
ROWS: list[dict[str, Any]] = [
    row(0, "user", content="fix it", **TOTALS, transcript_cost_usd=0.5),
    row(
        1,
        "assistant",
        content="Reading.",
        start_time=T0,
        tool_calls=[
            {"tool": "Read", "input": {"file_path": "a"}, "id": "c1", "output": "x", "status": "ok", "duration_ms": 12},
            {"tool": "Bash", "input": {"command": "x"}, "id": "c2", "output": "no", "status": "error"},
            {"tool": "Bash", "input": {}, "id": "c3", "output": "cut", "status": "cancelled"},
            {"input": {}, "id": "c4"},
        ],
        **TOTALS,
        transcript_cost_usd=0.5,
    ),
    row(2, "assistant", content=[{"type": "text", "text": "All "}, {"type": "text", "text": "done."}], **TOTALS),
]


def transcript_events(*rows: dict[str, Any]) -> list[AnyEvent]:
    return events_of(TRANSCRIPT, lines(*rows))


def ends(events: list[AnyEvent]) -> list[tuple[str, int | None]]:
    return [(e.status, e.duration_ms) for e in events if isinstance(e, SessionEnd)]


@pytest.mark.parametrize("given", [OLD_TRACE, NEW_TRACE])
def test_traces_keep_the_laws_of_decoders(given: list[dict[str, Any]]) -> None:
    check_laws(TRACE, lines(*given))


def test_the_old_trace_pairs_by_id_and_without_one_by_name_in_order() -> None:
    events = events_of(TRACE, lines(*OLD_TRACE))
    assert [(c.name, c.input) for c in calls(events)] == [
        ("search", {"q": "a"}),
        ("fetch", {"url": "u"}),
        ("fetch", {"url": "v"}),
    ]
    by_id = {c.call_id: c.input for c in calls(events)}
    assert [(by_id[r.call_id], r.output) for r in results(events)] == [
        ({"q": "a"}, {"hits": 2}),
        ({"url": "u"}, "first"),
        ({"url": "v"}, "second"),
    ]
    assert {r.outcome for r in results(events)} == {None}


def test_a_new_answer_begins_after_a_result() -> None:
    events = events_of(TRACE, lines(*OLD_TRACE))
    first = next(e for e in events if isinstance(e, AssistantText)).message_id
    ids = [c.message_id for c in calls(events)]
    assert ids[0] == first
    assert ids[1] == ids[2] != first


def test_an_array_and_a_document_give_the_same_calls() -> None:
    stage = Decode(TRACE, DecodeContext("log"))
    batch = Batch("log", records=document(OLD_TRACE))
    stage.push(batch)
    assert [c.name for c in calls(batch.events)] == ["search", "fetch", "fetch"]
    given = document(
        {"text": "The answer.", "trace": [{**e, "startTime": e.pop("timestamp")} for e in map(dict, OLD_TRACE)]}
    )
    assert best(PROVIDER, given) == ("agentv-trace", 0.9)
    events = events_of(TRACE, given)
    assert [c.name for c in calls(events)] == ["search", "fetch", "fetch"]
    assert calls(events)[0].source.time_ms == 1772359200000
    assert texts(events)[-1] == "The answer."


def test_the_read_model_tells_outcomes_durations_and_tokens() -> None:
    events = events_of(TRACE, lines(*NEW_TRACE))
    assert [(c.name, c.call_id) for c in calls(events)] == [("Read", "c1"), ("Bash", "c2"), ("Bash", "c3")]
    assert [(r.call_id, r.outcome, r.duration_ms) for r in results(events)] == [("c1", "ok", 12), ("c2", "error", None)]
    assert [(u.input, u.output, u.cached, u.model) for u in usages(events)] == [(9, 3, 4, "m-1")]
    assert [e.text for e in events if isinstance(e, UserText)] == ["go"]


def test_the_final_response_repeats_nothing_and_ends_the_run() -> None:
    events = events_of(TRACE, lines(*NEW_TRACE))
    assert texts(events) == ["Going.", "Gone."]
    assert ends(events) == [("complete", None)]


def test_an_error_of_the_read_model_ends_the_run_badly_one_of_the_list_does_not() -> None:
    events = events_of(TRACE, lines(new(0, "error", error={"message": "boom", "name": "E"})))
    assert ends(events) == [("error", None)]
    assert [e.message for e in events if isinstance(e, Notification)] == ["boom"]
    assert ends(events_of(TRACE, lines(*OLD_TRACE))) == []


def test_our_own_trace_read_back_has_streams_roles_outcomes_and_durations() -> None:
    """Calls of two sub-agents under one id were one, a failed one was well, and a prompt was an answer."""
    one, other = "sidechain:a", "subagent:b"
    told: list[AnyEvent] = [user(0, "go")]
    told += [call(1, "call_0", "Task"), call(2, "call_0", stream=one), call(3, "call_0", stream=other)]
    told += [result(4, "call_0", "error", stream=other, duration_ms=7), result(5, "call_0", "denied", stream=one)]
    written = Batch("log", events=told)
    Pair().push(written)
    left = ToolResult(told[1].source, "", "call_0", None, "unpaired")
    events = events_of(TRACE, records(render(written) + render(Batch("log", events=[left]))))
    assert [e.text for e in events if isinstance(e, UserText)] == ["go"]
    assert [(c.source.stream, c.name) for c in calls(events)] == [("main", "Task"), (one, "Read"), (other, "Read")]
    assert [(r.source.stream, r.outcome, r.duration_ms) for r in results(events)] == [
        (other, "error", 7),
        (one, "denied", None),
    ]


@pytest.mark.parametrize("metadata", [{"stream": "stdout", "status": "fine"}, {"stream": 3}, ["x"], "x"])
def test_what_others_put_into_a_traces_metadata_changes_nothing(metadata: Any) -> None:
    plain = events_of(TRACE, lines(*OLD_TRACE))
    more = events_of(TRACE, lines(*({**event, "metadata": metadata} for event in OLD_TRACE)))
    assert [(e.source.stream, type(e)) for e in more] == [(e.source.stream, type(e)) for e in plain]
    assert {r.outcome for r in results(more)} == {None}


def test_unknown_trace_types_are_counted() -> None:
    assert decoded(TRACE, lines({"type": "brand_new", "timestamp": T0})).unknown == {"brand_new": 1}


def test_transcripts_keep_the_laws_of_decoders() -> None:
    check_laws(TRANSCRIPT, lines(*ROWS))
    check_laws(TRANSCRIPT, lines(ROWS[2], ROWS[0], ROWS[1]))


def test_rows_give_messages_calls_outcomes_and_durations() -> None:
    events = transcript_events(*ROWS)
    assert [e.text for e in events if isinstance(e, UserText)] == ["fix it"]
    assert texts(events) == ["Reading.", "All ", "done."]
    assert [(c.name, c.input, c.call_id) for c in calls(events)] == [
        ("Read", {"file_path": "a"}, "c1"),
        ("Bash", {"command": "x"}, "c2"),
        ("Bash", {}, "c3"),
    ]
    assert [(r.outcome, r.duration_ms) for r in results(events)] == [("ok", 12), ("error", None), ("cancelled", None)]
    info = next(e for e in events if isinstance(e, SessionInfo))
    assert (info.session_id, info.model, info.cwd) == ("s-1", "m-1", "/w")


def test_totals_that_stand_in_every_row_count_once_for_the_session() -> None:
    events = transcript_events(*({**r, "transcript_cost_usd": 0.5} for r in ROWS))
    assert [(u.scope, u.input, u.output, u.cached, u.cost_usd) for u in usages(events)] == [
        ("session", 900, 40, 100, 0.5)
    ]
    assert ends(events) == [("complete", 4100)]


def test_totals_that_stand_in_the_last_row_only_are_found() -> None:
    plain = [{k: v for k, v in r.items() if not k.startswith("transcript_")} for r in ROWS]
    events = transcript_events(*plain[:2], {**plain[2], **TOTALS})
    assert [(u.scope, u.input) for u in usages(events)] == [("session", 900)]


@pytest.mark.parametrize(("second", "count"), [("a2", 2), ("a1", 1)])
def test_rows_with_equal_texts_and_times_are_copies_only_under_one_message_id(second: str, count: int) -> None:
    usage = {"input": 900, "output": 40}
    answers = [
        row(i, "assistant", content="Done.", start_time="2026-03-02T09:30:00.000Z", token_usage=usage)
        | {"metadata": {"agentv_stream": {"message_id": message_id}}}
        for i, message_id in enumerate(("a1", second))
    ]
    assert summarize(b"\n".join(map(msgspec.json.encode, answers))).tool_use_summary["turns"] == count


def test_rows_are_read_in_the_order_of_their_index() -> None:
    events = transcript_events(ROWS[0], ROWS[2], ROWS[1])
    assert texts(events) == ["Reading.", "All ", "done."]
    assert texts(transcript_events(ROWS[0], ROWS[2])) == ["All ", "done."]


def test_two_sessions_in_one_file_keep_their_calls_apart_and_add_up() -> None:
    other = [{**r, "test_id": "t-2"} for r in ROWS]
    events = transcript_events(*ROWS, *other)
    ids = [c.call_id for c in calls(events)]
    assert len(ids) == len(set(ids)) == 6
    totals = Totals()
    totals.observe(
        Batch("log", events=transcript_events(*({**r, "transcript_cost_usd": 0.5} for r in (*ROWS, *other))))
    )
    assert (totals.tokens().input, totals.tokens().output, totals.cost_usd) == (1800, 80, 1.0)
    assert (totals.by_stream(), totals.duration_ms) == ({}, 8200)


def test_a_call_without_status_and_output_has_no_result_and_leaves_the_end_open() -> None:
    call: dict[str, Any] = {"tool": "Bash", "input": {}, "id": "c1", "status": "unknown"}
    events = transcript_events(row(0, "assistant", content="", tool_calls=[call]))
    assert len(calls(events)) == 1
    assert not results(events)
    assert ends(events) == [("unknown", None)]


def test_the_kind_that_our_row_tells_of_a_call_of_no_known_tool_is_kept() -> None:
    given: list[dict[str, Any]] = [
        {"tool": "report_intent", "input": {}, "id": call_id, "output": "x"} for call_id in ("c1", "c2")
    ]
    facts = {"agentv_stream": {"calls": {"c1": {"kind": "plan", "outcome": "ok"}}}}
    events = transcript_events(row(0, "assistant", content="", tool_calls=given, metadata=facts))
    batch = Batch("log", events=events)
    Normalize(PROVIDER.tools).push(batch)
    assert [c.kind for c in calls(batch.events)] == ["plan", "other"]


def test_the_kind_that_we_told_is_kept_whatever_the_words_of_the_name_suggest() -> None:
    """`task_complete` of Copilot and Gemini, `write_stdin` of Codex: neither plans nor writes."""
    told = {"task_complete": "other", "write_stdin": "execute", "mcp__s__t": "other"}
    tool_calls: list[dict[str, Any]] = [{"tool": name, "input": {}, "id": name, "output": "x"} for name in told]
    facts = {"agentv_stream": {"calls": {name: {"kind": kind, "outcome": "ok"} for name, kind in told.items()}}}
    rows = transcript_events(row(0, "assistant", content="", tool_calls=tool_calls, metadata=facts))
    extras: list[dict[str, Any]] = [
        {"tool_call_id": n, "function_name": n, "arguments": {}, "extra": {"kind": k}} for n, k in told.items()
    ]
    step = {"step_id": 1, "source": "agent", "message": "", "tool_calls": extras}
    steps = events_of(ATIF, document({"schema_version": "ATIF-v1.7", "agent": {"name": "a"}, "steps": [step]}))
    for events in (rows, steps):
        batch = Batch("log", events=events)
        Normalize(PROVIDER.tools).push(batch)
        assert {c.tool: c.kind for c in calls(batch.events)} == told


def test_shape_b_has_no_schema_version_and_is_known() -> None:
    given = [{k: v for k, v in r.items() if k != "schema_version"} for r in ROWS]
    assert best(PROVIDER, lines(*given)) == ("agentv-transcript", 1.0)
    assert len(calls(transcript_events(*given))) == 3


def test_shape_a_holds_a_case_in_one_line_with_camel_case_inside() -> None:
    case = {
        "input": "Fix the typo",
        "output": [
            {
                "role": "assistant",
                "content": "Done",
                "toolCalls": [{"tool": "Edit", "input": {"filePath": "a"}, "output": "ok", "durationMs": 12}],
            }
        ],
        "token_usage": {"input": 900, "output": 40, "cached": 0},
        "duration_ms": 4100,
        "cost_usd": None,
        "source": {"provider": "claude", "session_id": "s-a", "model": "m", "timestamp": T0},
    }
    assert best(PROVIDER, lines(case)) == ("agentv-transcript", 1.0)
    check_laws(TRANSCRIPT, lines(case, {**case, "source": {"session_id": "s-b"}}))
    events = transcript_events(case)
    assert [e.text for e in events if isinstance(e, UserText)] == ["Fix the typo"]
    assert [(c.name, c.input) for c in calls(events)] == [("Edit", {"filePath": "a"})]
    assert [(r.outcome, r.duration_ms) for r in results(events)] == [(None, 12)]
    assert [(u.scope, u.input) for u in usages(events)] == [("session", 900)]


def test_a_normalised_transcript_is_read() -> None:
    value = {
        "schema_version": "agentv.normalized_transcript.v1",
        "provider_id": "claude",
        "target": "claude",
        "transcript_summary": {"total_turns": 2},
        "turns": [
            {"v": 1, "agent": "x", "type": "user", "content": [{"type": "text", "text": "go"}]},
            {
                "v": 1,
                "agent": "x",
                "type": "assistant",
                "ts": T0,
                "model": "m",
                "input_tokens": 5,
                "output_tokens": 2,
                "content": [
                    {"type": "thinking", "text": "hm"},
                    {"type": "text", "text": "Going"},
                    {
                        "type": "tool_use",
                        "id": "c",
                        "tool_name": "file_read",
                        "name": "Read",
                        "input": {"path": "a"},
                        "result": {"status": "success", "output": "x", "duration_ms": 3},
                    },
                ],
            },
        ],
    }
    given = document(value)
    assert best(PROVIDER, given) == ("agentv-transcript", 1.0)
    events = events_of(TRANSCRIPT, given)
    assert texts(events) == ["Going"]
    assert [e.text for e in events if isinstance(e, Reasoning)] == ["hm"]
    assert [(c.name, c.call_id) for c in calls(events)] == [("Read", "c")]
    assert [(r.outcome, r.duration_ms) for r in results(events)] == [("ok", 3)]
    assert [(u.scope, u.input, u.output) for u in usages(events)] == [("call", 5, 2)]


def test_our_own_facts_are_read_back() -> None:
    facts = {
        "stream": "subagent:a",
        "message_id": "msg_7",
        "model": "m-9",
        "thinking": ["hm"],
        "parent_call": "task-1",
        "retracted": True,
        "calls": {"c1": {"name": "read_file", "kind": "read", "origin": "system", "outcome": "denied", "exit_code": 4}},
    }
    call: dict[str, Any] = {"tool": "Read", "input": {}, "id": "c1", "output": "no", "status": "error"}
    events = transcript_events(row(0, "assistant", content="", tool_calls=[call], metadata={"agentv_stream": facts}))
    [one], [result] = calls(events), results(events)
    assert (one.source.stream, one.message_id, one.model, one.parent_call) == ("subagent:a", "msg_7", "m-9", "task-1")
    assert (result.outcome, result.exit_code) == ("denied", 4)
    assert [e.text for e in events if isinstance(e, Reasoning)] == ["hm"]
    assert [e.message_ids for e in events if isinstance(e, Retract)] == [("msg_7",)]


@pytest.mark.parametrize(
    ("metadata", "status"), [({"agentv_stream": {"message_id": "msg_7"}}, "unknown"), ({}, "complete")]
)
def test_a_transcript_of_ours_that_ends_with_calls_was_broken_off(metadata: dict[str, Any], status: str) -> None:
    """AgentV may have all answers of a run in one row, and ends with that."""
    call: dict[str, Any] = {"tool": "Read", "input": {}, "id": "c1", "output": "text", "status": "ok"}
    given = row(0, "assistant", content="Reading it.", tool_calls=[call], metadata=metadata)
    (end,) = [event for event in transcript_events(given) if isinstance(event, SessionEnd)]
    assert end.status == status


@pytest.mark.parametrize("at", [0, 1])
def test_a_transcript_of_ours_says_how_the_session_ended(at: int) -> None:
    """In its first row, or in its last where it went through a pipe."""
    rows = [row(0, "user", content="fix it"), row(1, "assistant", content="done")]
    rows[at]["agentv_stream"] = {"status": "error", "reason": "error_max_turns"}
    (end,) = [event for event in transcript_events(*rows) if isinstance(event, SessionEnd)]
    assert (end.status, end.reason) == ("error", "error_max_turns")


@pytest.mark.parametrize("foreign", [{"status": "done"}, {"status": 4}, {}, [], "x", None])
def test_an_end_that_is_none_of_ours_says_nothing(foreign: Any) -> None:
    rows = [row(0, "user", content="fix it", agentv_stream=foreign), row(1, "assistant", content="done")]
    (end,) = [event for event in transcript_events(*rows) if isinstance(event, SessionEnd)]
    assert (end.status, end.reason) == ("complete", None)


def test_an_end_is_that_of_its_own_session() -> None:
    rows = [row(0, "user", content="fix it", agentv_stream={"status": "error"}), row(1, "assistant", content="no")]
    other = [{**one, "test_id": "another", "agentv_stream": None} for one in rows]
    (end,) = [event for event in transcript_events(*rows, *other) if isinstance(event, SessionEnd)]
    assert end.status == "complete"


def test_foreign_metadata_does_no_harm() -> None:
    for metadata in ({"agentv_stream": 4}, [1], "x", None, {"model": {"a": 1}}):
        assert texts(transcript_events(row(0, "assistant", content="a", metadata=metadata))) == ["a"]


def test_a_late_result_joins_its_call() -> None:
    call: dict[str, Any] = {"tool": "Bash", "input": {}, "id": "c1"}
    late = {"agentv_stream": {"late": True, "calls": {"c1": {"outcome": "ok"}}}}
    events = transcript_events(
        row(0, "assistant", content="", tool_calls=[{**call, "status": "unknown"}]),
        row(1, "tool", tool_calls=[{**call, "output": "x", "status": "ok"}], metadata=late),
    )
    assert len(calls(events)) == 1
    assert [(r.call_id, r.outcome) for r in results(events)] == [("c1", "ok")]


def rendered(events: list[AnyEvent]) -> list[Record]:
    """The rows that our own sink writes of the events."""
    batch = Batch("log", events=list(events))
    out = Chain(Normalize(PROVIDER.tools), Pair(), Consolidate())
    sink = TranscriptRows(Identity("t-1", "claude", "claude", "s-1", "x"))
    messages = [m for b in (*out.push(batch), *out.flush()) for m in b.messages]
    return records(sink.render(messages))


def test_a_transcript_that_we_wrote_reads_back_as_the_same_messages() -> None:
    first = transcript_events(*ROWS)
    given = rendered(first)
    assert best(PROVIDER, given) == ("agentv-transcript", 1.0)
    again = events_of(TRANSCRIPT, given)
    assert [(c.name, c.call_id, c.message_id) for c in calls(again)] == [
        (c.name, c.call_id, c.message_id) for c in calls(first)
    ]
    assert [(r.call_id, r.outcome, r.duration_ms) for r in results(again)] == [
        (r.call_id, r.outcome, r.duration_ms) for r in results(first)
    ]
    assert "".join(texts(again)) == "".join(texts(first))
    assert [bytes(r.data) for r in rendered(again)] == [r.data for r in given]


TRAJECTORY: dict[str, Any] = {
    "schema_version": "ATIF-v1.7",
    "session_id": "s-1",
    "agent": {"name": "x", "version": "2", "model_name": "m-1"},
    "steps": [
        {"step_id": 1, "timestamp": T0, "source": "user", "message": "go"},
        {"step_id": 2, "source": "agent", "message": "old", "is_copied_context": True},
        {
            "step_id": 3,
            "timestamp": T1,
            "source": "agent",
            "message": [{"type": "text", "text": "Going"}],
            "reasoning_content": "hm",
            "tool_calls": [{"tool_call_id": "c1", "function_name": "task", "arguments": {"a": 1}}],
            "observation": {
                "results": [
                    {"source_call_id": "c1", "content": "x", "subagent_trajectory_ref": [{"trajectory_id": "k"}]}
                ]
            },
            "metrics": {
                "prompt_tokens": 10,
                "completion_tokens": 4,
                "cached_tokens": 3,
                "extra": {"reasoning_tokens": 1},
            },
        },
        {"step_id": 4, "timestamp": T1, "source": "agent", "message": "Gone."},
    ],
    "final_metrics": {"total_prompt_tokens": 20, "total_completion_tokens": 8, "total_cost_usd": 0.1},
    "subagent_trajectories": [
        {
            "schema_version": "ATIF-v1.7",
            "trajectory_id": "k",
            "agent": {"name": "y", "version": "1"},
            "steps": [
                {
                    "step_id": 1,
                    "source": "agent",
                    "message": "",
                    "tool_calls": [{"tool_call_id": "d1", "function_name": "read", "arguments": {}}],
                }
            ],
        }
    ],
}


@pytest.mark.parametrize("given", [OLD_TRACE, NEW_TRACE, ROWS, [TRAJECTORY]])
def test_members_of_any_shape_are_taken_or_refused_whole(given: list[dict[str, Any]]) -> None:
    check_odd_shapes(PROVIDER, lines(*given))


def test_a_trajectory_gives_steps_results_and_its_sub_agents() -> None:
    given = document(TRAJECTORY)
    assert best(PROVIDER, given) == ("atif", 1.0)
    check_laws(ATIF, given)
    events = events_of(ATIF, given)
    assert texts(events) == ["Going", "Gone."]
    assert [(c.name, c.source.stream, c.parent_call) for c in calls(events)] == [
        ("task", "main", None),
        ("read", "subagent:k", "c1"),
    ]
    assert [(r.call_id, r.output, r.outcome) for r in results(events)] == [("c1", "x", None)]
    assert [(u.scope, u.input, u.output, u.reasoning) for u in usages(events)] == [
        ("call", 10, 4, 1),
        ("session", 20, 8, None),
    ]
    assert ends(events) == [("complete", None)]


def test_what_ours_say_beside_the_format_is_read() -> None:
    spent = {"total_prompt_tokens": 20, "extra": {"cache_creation_input_tokens": 7, "reasoning_tokens": 5}}
    extra = {"status": "error", "reason": "limit", "cwd": "/w", "duration_ms": 90}
    events = events_of(ATIF, document({**TRAJECTORY, "final_metrics": spent, "extra": extra}))
    assert [(u.cache_write, u.reasoning) for u in usages(events) if u.scope == "session"] == [(7, 5)]
    assert next(e.cwd for e in events if isinstance(e, SessionInfo)) == "/w"
    assert ends(events) == [("error", 90)]


def test_agents_own_logs_are_none_of_ours() -> None:
    others: list[dict[str, Any]] = [
        {"type": "tool_call", "subtype": "started", "call_id": "x", "tool_call": {}, "session_id": "s"},
        {"type": "tool_call", "toolName": "x", "timestamp": 1, "id": "a"},
        {"type": "tool_result", "timestamp": T0, "tool_id": "a", "status": "success", "output": "x"},
        {"type": "message", "timestamp": T0, "role": "user", "content": "x"},
        {"type": "error", "timestamp": 1, "sessionID": "s", "error": {}},
        {"output": "text", "source": "x"},
    ]
    for other in others:
        assert best(PROVIDER, lines(other))[1] == 0.0


def test_agentvs_own_files_are_read_without_faults() -> None:
    root = corpus("agentv")
    seen = 0
    for path in sorted([*root.glob("main/*transcript.jsonl"), *root.glob("results-v1/transcripts/*")]):
        data = path.read_bytes()
        given = [Record(data, 0, 0)] if path.suffix == ".json" else records(data)
        assert best(PROVIDER, given) == ("agentv-transcript", 1.0)
        batch = decoded(TRANSCRIPT, given)
        assert not batch.unknown
        assert texts(batch.events)
        assert ends(batch.events)[0][0] == "complete"
        seen += 1
    assert seen > 5
    static = next(root.glob("main/*static-trace.json"))
    events = events_of(TRACE, [Record(static.read_bytes(), 0, 0)])
    assert [c.name for c in calls(events)] == ["webSearch", "fetchPage", "webSearch", "summarize"]
    assert msgspec.json.decode(static.read_bytes())["text"] == texts(events)[0]


def test_calls_of_one_row_under_one_id_keep_their_own_facts() -> None:
    source = Source("log", 0, 0, 9)
    asked = [ToolCall(source, f"-{i}", "m", "t", name, EMPTY_OBJECT) for i, name in enumerate(("Read", "Bash"))]
    told: list[AnyEvent] = [*asked, ToolResult(source, "", "t", None, "denied")]
    (data,) = [record.data for record in rendered(told)]
    assert data.count(b'"t":{') == data.count(b'"t#2":{') == 1
    events = decoded(TRANSCRIPT, records(data)).events
    assert [(c.name, c.kind) for c in calls(events)] == [("Read", "read"), ("Bash", "execute")]
    out = Batch("log", events=list(events))
    (out,) = Pair().push(out)
    assert [(r.call.name, r.outcome) for r in results(out.events) if r.call] == [
        ("Read", "unpaired"),
        ("Bash", "denied"),
    ]


@pytest.mark.parametrize("metadata", [{"agentv_stream": {"message_id": "m1", "turn": 1}}, {}])
def test_an_answer_that_said_nothing_is_a_turn_where_the_row_is_ours(metadata: dict[str, Any]) -> None:
    told = transcript_events(row(0, "user", content="go"), row(1, "assistant", content="", metadata=metadata))
    assert [e.message_id for e in told if isinstance(e, AssistantText)] == (["m1"] if metadata else [])


@pytest.mark.parametrize(("turn", "synthetic"), [({"turn": 3}, False), ({}, True)])
def test_what_the_program_began_and_the_model_went_on_with_is_a_turn(turn: dict[str, int], synthetic: bool) -> None:
    facts = {"agentv_stream": {"message_id": "m", "synthetic": True, **turn}}
    events = transcript_events(row(0, "assistant", content="a", metadata=facts))
    assert [e.synthetic for e in events if isinstance(e, AssistantText)] == [synthetic]
