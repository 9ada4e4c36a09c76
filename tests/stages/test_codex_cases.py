"""Codex 0.169 and 0.171: what rollouts say that is no answer, no good end, or no call; turns taken back; new types."""

from typing import Any

import pytest

from agentv_stages.chain.consolidate import Consolidate
from agentv_stages.chain.normalize import Normalize
from agentv_stages.model.event import AssistantText, Notification, Retract, SessionInfo, UserText
from agentv_stages.providers.codex import PROVIDER
from agentv_stream import normalize_tool_call
from support.app_server import SERVER, ended, item, note, started
from support.decoding import best, calls, check_laws, decoded, dialect, lines, results, texts, usages

ROLLOUT = dialect(PROVIDER, "codex-rollout")
THREAD = "01a22257-b16d-7d43-bcb4-597d00368c2b"
Row = dict[str, Any]


def line(kind: str, payload: Row, **more: Any) -> Row:
    return {"timestamp": "2026-11-28T13:00:01.000Z", "ordinal": 3, "type": kind, "payload": payload, **more}


def event(kind: str, **more: Any) -> Row:
    return line("event_msg", {"type": kind, **more})


def answer(text: str, **metadata: Any) -> Row:
    parts = [{"type": "output_text", "text": text}]
    return line("response_item", {"type": "message", "role": "assistant", "content": parts}, metadata=metadata)


def spent(call: str, count: int) -> Row:
    usage = {"input_tokens": count, "output_tokens": 1, "total_tokens": count + 1}
    return line("token_usage_record", {"thread_id": THREAD, "response_id": call, "usage": usage})


META = line("session_meta", {"id": THREAD, "cwd": "/w", "cli_version": "0.171.0"}, ordinal=0)


def test_the_summary_that_a_compaction_asked_for_is_no_answer_but_its_tokens_count() -> None:
    given = lines(
        META,
        answer("One.", compaction_output=False),
        spent("r1", 100),
        answer("Summary of all.", compaction_output=True),
        spent("r2", 200),
        line("compacted", {"message": "Summary of all.", "replacement_history": []}),
        answer("Fixed."),
        spent("r3", 50),
        event("task_complete", last_agent_message="Fixed."),
    )
    batch = decoded(ROLLOUT, given)
    assert texts(batch.events) == ["One.", "Fixed."]
    assert [u.input for u in usages(batch.events)] == [100, 200, 50]
    stage = Consolidate()
    messages = [m for out in (*stage.push(batch), *stage.flush()) for m in out.messages]
    assert [(m.role, m.text, m.turn) for m in messages] == [
        ("assistant", "One.", 1),
        ("user", "Summary of all.", None),
        ("assistant", "Fixed.", 2),
    ]
    check_laws(ROLLOUT, given)


def script(text: str, output: str, wall: str = "0.2") -> list[Row]:
    parts = [
        {"type": "input_text", "text": f"Script completed\nWall time {wall} seconds\nOutput:\n"},
        {"type": "input_text", "text": output},
    ]
    asked = {"type": "custom_tool_call", "call_id": "c1", "name": "exec", "namespace": "functions", "input": text}
    return [
        line("response_item", asked),
        line("response_item", {"type": "custom_tool_call_output", "call_id": "c1", "output": parts}),
    ]


TOUCH = 'const r = await tools.exec_command({"cmd": "touch x", "yield_time_ms": 2000});\ntext(r.output ?? r);\n'
PATCH = 'try { await tools.apply_patch("*** Begin Patch\\n*** End Patch\\n") } catch (e) { text("no") }'


@pytest.mark.parametrize(
    ("text", "wall", "outcome"),
    [
        (TOUCH, "0.2", "error"),  # over before its yield time, and the log has no item of it
        (TOUCH, "2.1", "ok"),  # it still runs
        (TOUCH.replace(', "yield_time_ms": 2000', ""), "9.9", "error"),
        (TOUCH.replace(', "yield_time_ms": 2000', ""), "10.0", "ok"),
        (PATCH, "0.1", "error"),
        ("await tools.update_plan({plan: []})", "0.1", "ok"),  # never has an item
    ],
)
def test_a_command_without_an_item_did_not_end_well(text: str, wall: str, outcome: str) -> None:
    given = lines(META, *script(text, "Read-only file system", wall))
    events = decoded(ROLLOUT, given).events
    assert [(r.call_id, r.outcome) for r in results(events)] == [("c1", outcome)]
    check_laws(ROLLOUT, given)


def test_where_commands_have_no_items_a_missing_one_says_nothing() -> None:
    legacy: Row = {"timestamp": META["timestamp"], "type": "session_meta", "payload": META["payload"]}
    assert [r.outcome for r in results(decoded(ROLLOUT, lines(legacy, *script(TOUCH, "x"))).events)] == ["ok"]


def test_a_command_with_an_item_ends_as_the_item_says() -> None:
    ran = {"type": "CommandExecution", "id": "exec-1", "command": ["bash", "-lc", "touch x"], "status": "completed"}
    asked, said = script(TOUCH, "x")
    given = lines(META, asked, event("item_completed", thread_id=THREAD, item={**ran, "exit_code": 0}), said)
    assert [(r.call_id, r.outcome) for r in results(decoded(ROLLOUT, given).events)] == [("exec-1", "ok")]


def test_a_thread_that_only_reviews_takes_its_model_from_its_settings() -> None:
    def settings(thread: str, model: Any) -> Row:
        return event("thread_settings_applied", thread_id=thread, thread_settings={"model": model})

    given = lines(META, settings("other", "m-0"), settings(THREAD, None), settings(THREAD, "m-1"), answer("Fine."))
    events = decoded(ROLLOUT, given).events
    assert [e.model for e in events if isinstance(e, SessionInfo) and e.model] == ["m-1"]
    assert [e.model for e in events if isinstance(e, AssistantText)] == ["m-1"]
    check_laws(ROLLOUT, given)


def test_types_of_0171_are_known() -> None:
    quiet = ("dynamic_tools_updated", "security_risk_score")
    quiet_events = ("environment_connected", "patch_apply_updated", "raw_response_completed", "safety_buffering")
    given = lines(
        META,
        *(line(kind, {}) for kind in (*quiet, "realtime_item")),
        *(event(kind) for kind in (*quiet_events, "realtime_conversation_started", "auth_recovery_completed")),
        line("response_item", {"type": "configuration_update", "reasoning": {"effort": "high"}}),
    )
    batch = decoded(ROLLOUT, given)
    assert batch.unknown == {}
    assert batch.ignored.keys() >= {*quiet, *quiet_events, "realtime_item", "response_item:configuration_update"}


def test_items_and_methods_of_0171_are_known() -> None:
    """The names are from the program's binary and schema; a client's own requests may stand in a recording."""
    items = "UserMessage AgentMessage FunctionCallOutput HookPrompt Plan Reasoning CommandExecution FileChange Sleep"
    items += " McpToolCall DynamicToolCall CollabAgentToolCall SubAgentActivity WebSearch ImageView ImageGeneration"
    items += " EnteredReviewMode ExitedReviewMode ContextCompaction"
    rows = [event("item_completed", thread_id=THREAD, item={"type": kind, "id": kind}) for kind in items.split()]
    assert decoded(ROLLOUT, lines(META, *rows)).unknown == {}
    methods = "attestation/generate config/read hooks/list plugin/install review/start threadSection/list"
    methods += (
        " thread/deleted thread/realtime/item/completed turn/moderationMetadata autoApprovalReview/strictReviewRequired"
    )
    asked = [{"id": 1, "method": method, "params": {"threadId": "t-1"}} for method in methods.split()]
    assert decoded(SERVER, lines(*started(), *asked)).unknown == {}


def test_what_was_said_in_a_voice_session_is_no_turn() -> None:
    spoken = line("realtime_item", {"type": "transcript_segment", "id": "i", "role": "user", "text": "Hello."})
    frame = line(
        "realtime_item", {"type": "frame", "channels": {"voice_transcript": {"role": "assistant", "text": "Hi."}}}
    )
    given = lines(META, spoken, frame)
    events = decoded(ROLLOUT, given).events
    assert [(e.name, e.message) for e in events if isinstance(e, Notification)] == [
        ("voice_user", "Hello."),
        ("voice_assistant", "Hi."),
    ]
    check_laws(ROLLOUT, given)


def app_turn(number: int) -> list[Row]:
    def of_turn(kind: str, **more: Any) -> Row:
        row = item("completed", kind, 10 * number + len(kind), **more)
        row["params"]["turnId"] = f"u{number}"
        return row

    asked = of_turn("userMessage", content=[{"type": "text", "text": f"Do {number}."}])
    ran = of_turn("commandExecution", command=f"echo {number}", status="completed", exitCode=0)
    thought = of_turn("reasoning", summary=["Both are done."], content=[])
    return [asked, ran, thought, of_turn("agentMessage", text=f"Did {number}."), ended()]


REVERT: Row = {"id": 6, "method": "thread/revert", "params": {"threadId": "t-1", "beforeTurnId": "u2"}}


def test_turns_that_the_client_takes_back_live_are_retracted() -> None:
    given = lines(*started(), *app_turn(1), *app_turn(2), *app_turn(3), REVERT, note("thread/reverted"), *app_turn(4))
    events = decoded(SERVER, given).events
    [gone] = [e for e in events if isinstance(e, Retract)]
    assert len(set(gone.message_ids)) == len(gone.message_ids)
    said = [e for e in events if isinstance(e, UserText | AssistantText) and e.message_id in gone.message_ids]
    assert [e.text for e in said] == ["Do 2.", "Did 2.", "Do 3.", "Did 3."]
    assert {c.message_id for c in calls(events) if "echo 2" in str(c.input)} <= set(gone.message_ids)
    check_laws(SERVER, given)


def test_turns_taken_back_that_the_log_does_not_name_are_reported() -> None:
    given = lines(*started(), *app_turn(1), note("thread/reverted"))
    events = decoded(SERVER, given).events
    assert [e for e in events if isinstance(e, Retract)] == []
    assert [e.level for e in events if isinstance(e, Notification) and e.name == "thread/reverted"] == ["warning"]


NAMED = {"tool": "mcp:my-server/my-skill", "arguments": {"q": 1}, "status": "completed"}


@pytest.mark.parametrize(
    "given",
    [
        [{"type": "item.completed", "item": {"id": "i", "type": "mcp_tool_call", "server": "", **NAMED}}],
        [{"type": "item.completed", "item": {"id": "i", "type": "dynamic_tool_call", **NAMED}}],
        [META, event("item_completed", thread_id=THREAD, item={"type": "McpToolCall", "id": "i", **NAMED})],
        [
            META,
            line(
                "response_item",
                {"type": "function_call", "call_id": "i", "name": NAMED["tool"], "arguments": '{"q":1}'},
            ),
        ],
        [note("item/completed", item={"id": "i", "type": "mcpToolCall", "server": "", **NAMED})],
    ],
    ids=["mcp item", "dynamic item", "rollout item", "rollout call", "app-server item"],
)
def test_a_skill_named_as_agentv_names_it_is_a_skill_in_every_form_of_log(given: list[Row]) -> None:
    name, _ = best(PROVIDER, lines(*given))
    [call] = [Normalize(PROVIDER.tools).call(c) for c in calls(decoded(dialect(PROVIDER, name), lines(*given)).events)]
    wanted = normalize_tool_call("codex", {"tool": NAMED["tool"], "input": {"q": 1}})
    assert {"tool": call.tool, "input": call.input} == wanted
