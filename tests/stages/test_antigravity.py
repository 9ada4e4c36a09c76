"""Antigravity's stream, its last answer and its transcripts, by hand-made logs."""

from typing import Any

import msgspec
import pytest

from agentv_stages.model.event import Notification, SessionEnd, SessionInfo, TokenUsage, ToolResult, UserText
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.antigravity import PROVIDER
from agentv_stages.providers.antigravity.calls import requested
from support.decoding import (
    FIXTURES,
    best,
    calls,
    check_laws,
    check_odd_shapes,
    decoded,
    dialect,
    events_of,
    lines,
    pushed,
    records,
    results,
    texts,
    total,
)

STREAM = dialect(PROVIDER, "antigravity-stream")
OUTPUT = dialect(PROVIDER, "antigravity-output")
TRANSCRIPT = dialect(PROVIDER, "antigravity-transcript")
STREAMED = records((FIXTURES / "antigravity" / "stream.jsonl").read_bytes())
PRINTED = records((FIXTURES / "antigravity" / "output.json").read_bytes())
WRITTEN = records((FIXTURES / "antigravity" / "transcript.jsonl").read_bytes())


@pytest.mark.parametrize(("of", "log"), [(STREAM, STREAMED), (OUTPUT, PRINTED), (TRANSCRIPT, WRITTEN)])
def test_logs_are_recognised_and_keep_the_laws(of: Any, log: Any) -> None:
    assert best(PROVIDER, log) == (of.name, 1.0)
    assert best(PROVIDER, log[-1:]) == (of.name, 1.0)
    check_laws(of, log)
    check_odd_shapes(PROVIDER, log)


def test_a_stream_has_its_calls_outcomes_and_texts() -> None:
    events = events_of(STREAM, STREAMED)
    assert [(call.name, call.message_id[-2:]) for call in calls(events)] == [
        ("view_file", "-1"),
        ("run_command", "-3"),
        ("replace_file_content", "-3"),
        ("mcp__docs__lookup", "-6"),
        ("invoke_subagent", "-6"),
        ("run_command", "-6"),
        ("run_command", "12"),
    ]
    assert calls(events)[0].input == {"AbsolutePath": "/home/ada/orchard/slug.py"}
    assert calls(events)[3].input == {"word": "slug"}
    ended = {result.call_id[9:]: (result.outcome, result.duration_ms) for result in results(events)}
    assert ended == {
        "2": (None, 10),
        "5": (None, 200),
        "4": ("error", 1250),
        "7": (None, None),
        "8": (None, None),
        "9": ("denied", 10),
        "13": ("ok", 20),
    }
    assert "".join(texts(events)) == "Now the test.\nFixed.\nAgain: fixed.\nDone.\n"


def test_the_steps_make_the_sum_that_the_result_tells() -> None:
    """Cached tokens are a part of our input, thoughts of the output; the result adds nothing to the steps."""
    events = events_of(STREAM, STREAMED)
    assert total(events) == {"input": 2730 + 4400, "cached": 4400, "output": 255, "reasoning": 183}
    assert {event.scope for event in events if isinstance(event, TokenUsage)} == {"call"}
    ends = [event for event in events if isinstance(event, SessionEnd)]
    assert [(end.status, end.reason, end.duration_ms, end.agent_num_turns) for end in ends] == [
        ("complete", "denied: command", 9500, 1),
        ("complete", None, 4500, 1),
    ]


def test_a_command_without_output_has_no_outcome_before_its_turn_ends() -> None:
    at = next(i for i, record in enumerate(STREAMED) if b"rm -r build" in record.data)
    assert "9" not in {result.call_id[9:] for result in results(pushed(STREAM, STREAMED[: at + 3]).events)}
    assert [r.outcome for r in results(decoded(STREAM, STREAMED[: at + 3]).events)][-1] == "ok"


def end_of(result: dict[str, Any]) -> tuple[str, str | None]:
    (end,) = [e for e in events_of(STREAM, lines({"event": "result", "result": result})) if isinstance(e, SessionEnd)]
    return end.status, end.reason


ZERO = {"input_tokens": 0, "output_tokens": 0, "thinking_tokens": 0, "cache_read_tokens": 0, "total_tokens": 0}


@pytest.mark.parametrize(
    ("result", "end"),
    [
        ({"status": "SUCCESS", "usage": {**ZERO, "total_tokens": 5}}, ("complete", None)),
        ({"status": "SUCCESS", "usage": ZERO}, ("incomplete", "the print timeout was over")),
        ({"status": "ERROR", "error": "quota reached"}, ("error", "quota reached")),
        ({"status": "ERROR", "error": {"type": "X", "message": "no"}}, ("error", "no")),
        ({"status": "ERROR"}, ("error", "ERROR")),
    ],
)
def test_a_turn_ends_as_its_result_says(result: dict[str, Any], end: tuple[str, str | None]) -> None:
    assert end_of({"conversation_id": "c", **result}) == end


def test_a_total_counts_only_without_steps_and_zeros_are_unknown() -> None:
    usage = {"input_tokens": 10, "output_tokens": 4, "thinking_tokens": 3, "cache_read_tokens": 5, "total_tokens": 14}
    result = {"event": "result", "result": {"conversation_id": "c", "status": "ERROR", "usage": usage}}
    (used,) = [event for event in events_of(STREAM, lines(result)) if isinstance(event, TokenUsage)]
    assert (used.scope, used.input, used.cached, used.output, used.reasoning) == ("session", 15, 5, 4, 3)
    result["result"]["usage"] = ZERO  # type: ignore[index]
    assert not [event for event in events_of(STREAM, lines(result)) if isinstance(event, TokenUsage)]


def test_tokens_count_without_their_total_too() -> None:
    usage = {"input_tokens": 10, "output_tokens": 4}
    step = {"conversation_id": "c", "step_index": 1, "state": "DONE", "step_type": "agent_response", "usage": usage}
    assert total(events_of(STREAM, lines({"event": "step_update", "step_update": step})))["input"] == 10


def test_an_answer_that_only_calls_and_a_question_that_was_skipped_come_as_one_line_each() -> None:
    """Both are `DONE` at once; the question, a step of type `unknown`, is neither a call nor an answer."""
    steps = [
        {"step_index": 1, "state": "DONE", "step_type": "agent_response"},
        {"step_index": 2, "state": "DONE", "step_type": "tool", "tool_name": "list_dir", "tool_info": {"output": "a"}},
        {"step_index": 3, "state": "DONE", "step_type": "unknown"},
    ]
    given = [{"event": "step_update", "step_update": {"conversation_id": "c", **step}} for step in steps]
    batch = decoded(STREAM, lines(*given))
    assert [call.name for call in calls(batch.events)] == ["list_dir"] and len(results(batch.events)) == 1
    assert (batch.unknown, batch.faults, texts(batch.events)) == ({}, [], [])


def test_a_step_in_an_unknown_state_has_not_ended() -> None:
    step = {"conversation_id": "c", "step_index": 1, "step_type": "tool", "tool_name": "run_command"}
    batch = decoded(STREAM, lines({"event": "step_update", "step_update": {**step, "state": "WAITING"}}))
    assert (len(calls(batch.events)), results(batch.events), batch.unknown) == (1, [], {"state/WAITING": 1})


def test_a_refusal_in_words_is_a_denial() -> None:
    error = {"type": "TOOL_ERROR", "message": "permission check failed: run_command"}
    step = {"conversation_id": "c", "step_index": 1, "state": "ERROR", "step_type": "tool", "tool_name": "run_command"}
    (result,) = results(
        events_of(STREAM, lines({"event": "step_update", "step_update": {**step, "tool_info": {"error": error}}}))
    )
    assert result.outcome == "denied"


def test_another_conversation_in_the_same_file_counts_its_steps_from_0() -> None:
    other = [msgspec.json.decode(record.data.replace(b"0a6f1c52", b"1b6f1c52")) for record in STREAMED]
    batch = decoded(STREAM, [*STREAMED, *lines(*other)])
    assert [fault.reason for fault in batch.faults] == ["foreign-record"]
    assert len({call.call_id for call in calls(batch.events)}) == 14


def test_a_transcript_pairs_by_order_and_reads_outcomes_in_words() -> None:
    events = events_of(TRANSCRIPT, WRITTEN)
    requests = {call.call_id: call for call in calls(events)}
    ended = [(requests[r.call_id].name, r.outcome, r.exit_code, r.duration_ms) for r in results(events)]
    assert ended == [
        ("run_command", "error", 1, 2000),
        ("view_file", "ok", None, 0),
        ("replace_file_content", "error", None, None),
        ("run_command", "ok", None, None),
        ("invoke_subagent", "ok", None, 0),
    ]
    first, second, *_ = requests.values()
    assert first.input == {"CommandLine": "false", "Cwd": "/home/ada/orchard", "WaitMsBeforeAsync": 500}
    assert second.input == {"AbsolutePath": "/home/ada/orchard/slug.py", "StartLine": "one"}  # no JSON: kept


def test_a_transcript_names_the_model_the_folder_and_the_prompt_and_a_checkpoint_is_no_compaction() -> None:
    events = events_of(TRANSCRIPT, WRITTEN)
    infos = [event for event in events if isinstance(event, SessionInfo)]
    assert [info.model for info in infos if info.model] == ["Pear 2.1 Pro (High)"]
    assert [info.cwd for info in infos if info.cwd] == ["/home/ada/orchard"]
    assert [info.title for info in infos if info.title] == ["Fix a failing test"]
    assert [event.text for event in events if isinstance(event, UserText)] == ["Fix the failing test."]
    assert [event.name for event in events if isinstance(event, Notification)] == ["error_message", "system_message"]
    assert [event.status for event in events if isinstance(event, SessionEnd)] == ["complete"]
    assert not any(isinstance(event, TokenUsage) for event in events)


def answered(*steps: dict[str, Any]) -> Any:
    """The decoded batch of an answer that runs a command and then views a file, and these steps after it."""
    asked: list[dict[str, Any]] = [{"name": "run_command", "args": {}}, {"name": "view_file", "args": {}}]
    answer: dict[str, Any] = {"type": "PLANNER_RESPONSE", "status": "DONE", "tool_calls": asked}
    return decoded(
        TRANSCRIPT, lines(*({"step_index": i, "source": "MODEL", **e} for i, e in enumerate((answer, *steps))))
    )


def test_a_result_is_that_of_the_call_whose_tool_has_its_type() -> None:
    viewed = {"type": "VIEW_FILE", "status": "DONE", "content": "x"}
    failed = {"type": "RUN_COMMAND", "status": "DONE", "content": "\tThe command failed with exit code: 2"}
    found = results(answered(viewed, failed).events)
    assert [(r.call_id[-1], r.outcome, r.exit_code) for r in found] == [("1", "ok", None), ("0", "error", 2)]


def test_what_a_command_printed_is_no_verdict_on_it() -> None:
    printed = "\tThe command completed successfully.\n\tOutput:\nThe command failed with exit code: 2\n"
    (result,) = results(answered({"type": "RUN_COMMAND", "status": "DONE", "content": printed}).events)
    assert (result.outcome, result.exit_code) == ("ok", 0)


def test_a_result_of_an_unknown_status_is_none_and_keeps_its_place() -> None:
    batch = answered({"type": "RUN_COMMAND", "status": "CANCELED"}, {"type": "VIEW_FILE", "status": "DONE"})
    assert [r.call_id[-1] for r in results(batch.events)] == ["1"]
    assert batch.unknown == {"status/CANCELED": 1}


def test_an_answer_that_failed_is_no_good_end() -> None:
    entry = {"step_index": 0, "source": "MODEL", "type": "PLANNER_RESPONSE", "status": "ERROR", "content": "I"}
    assert not [event for event in events_of(TRANSCRIPT, lines(entry)) if isinstance(event, SessionEnd)]


def test_the_full_transcript_has_arguments_as_they_are_and_the_folder_names_the_session() -> None:
    place = "/h/brain/5c1/.system_generated/logs/transcript_full.jsonl"
    call = {"name": "run_command", "args": {"CommandLine": '"quoted"', "Cwd": "/w", "WaitMsBeforeAsync": 500}}
    entry = {"step_index": 0, "source": "MODEL", "type": "PLANNER_RESPONSE", "status": "DONE", "tool_calls": [call]}
    events = decoded(TRANSCRIPT, lines(entry), DecodeContext("log", place=place)).events
    assert calls(events)[0].input == {"CommandLine": '"quoted"', "Cwd": "/w", "WaitMsBeforeAsync": 500}
    assert [e.session_id or e.cwd for e in events if isinstance(e, SessionInfo)] == ["5c1", "/w"]


def test_a_step_in_the_background_that_is_told_again_is_one_result() -> None:
    again = [record for record in WRITTEN if b"RUNNING" in record.data]
    known = [r for r in events_of(TRANSCRIPT, [*WRITTEN[:12], *again, *WRITTEN[12:]]) if isinstance(r, ToolResult)]
    assert [r.outcome for r in known] == [r.outcome for r in results(events_of(TRANSCRIPT, WRITTEN))]


@pytest.mark.parametrize(
    ("arguments", "name", "found"),
    [
        (b'{"ServerName":"s","ToolName":"t","Arguments":{"a":1}}', "mcp__s__t", b'{"a":1}'),
        (b'{"ServerName":"s","ToolName":"t","Arguments":"[1]"}', "mcp__s__t", b'{"Arguments":[1]}'),
        (b'{"ServerName":"s","ToolName":"t"}', "mcp__s__t", b"{}"),
        (b'{"ServerName":"s"}', "call_mcp_tool", b'{"ServerName":"s"}'),
        (b"[1]", "call_mcp_tool", b"[1]"),
    ],
)
def test_the_one_door_to_mcp_tools_is_named_after_the_tool(arguments: bytes, name: str, found: bytes) -> None:
    assert requested("call_mcp_tool", msgspec.Raw(arguments)) == (name, msgspec.Raw(found))
