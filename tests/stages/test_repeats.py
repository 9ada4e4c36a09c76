"""Repeated records: what has an id, or a time, is told once, in place or in a stretch that is appended again."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.normalize import Normalize
from agentv_stages.chain.pair import Pair
from agentv_stages.figures.result import Observer, Result
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Retract, SessionEnd
from agentv_stages.model.repeats import MOST, Repeats, check
from agentv_stages.model.times import parse_iso
from agentv_stages.providers import get_provider
from support.decoding import check_laws, decoded, dialect, lines

Log = list[dict[str, Any]]


def second(n: int) -> str:
    return f"2026-01-02T03:04:{n:02}.500Z"


def codex_rollout() -> Log:
    def line(n: int, kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": second(n), "type": kind, "payload": payload}

    def count(n: int, total: int) -> dict[str, Any]:
        used = {"input_tokens": total, "output_tokens": 1, "total_tokens": total + 1}
        return line(n, "event_msg", type="token_count", info={"total_token_usage": used})

    def text(kind: str, value: str) -> list[dict[str, str]]:
        return [{"type": kind, "text": value}]

    return [
        line(0, "session_meta", id="s-1", cli_version="0.99.0", cwd="/w"),
        line(1, "turn_context", model="m", cwd="/w"),
        line(2, "response_item", type="message", role="user", content=text("input_text", "Look.")),
        line(2, "event_msg", type="user_message", message="Look."),
        line(3, "response_item", type="reasoning", summary=[{"type": "summary_text", "text": "Hm."}]),
        line(3, "response_item", type="message", role="assistant", content=text("output_text", "I look.")),
        line(3, "event_msg", type="agent_message", message="I look."),
        line(4, "response_item", type="web_search_call", status="completed", action={"query": "q"}),
        line(4, "response_item", type="function_call", name="shell", arguments="{}", call_id="c1"),
        count(5, 100),
        line(6, "response_item", type="function_call_output", call_id="c1", output="fine"),
        count(7, 300),
        line(8, "event_msg", type="item_completed", item={"type": "AgentMessage", "content": [{"text": "Done."}]}),
        line(8, "response_item", type="message", role="assistant", content=text("output_text", "Done.")),
        line(9, "event_msg", type="task_complete", turn_id="t", duration_ms=1234),
    ]


def codex_exec() -> Log:
    def item(when: str, number: int, kind: str, **more: Any) -> dict[str, Any]:
        return {"type": f"item.{when}", "item": {"id": f"item_{number}", "type": kind, **more}}

    return [
        {"type": "thread.started", "thread_id": "t-1"},
        {"type": "turn.started"},
        item("completed", 0, "reasoning", text="Hm."),
        item("completed", 1, "agent_message", text="I look."),
        item("started", 2, "command_execution", command="ls"),
        item("completed", 2, "command_execution", command="ls", exit_code=0, status="completed"),
        item("started", 3, "todo_list", items=[{"text": "a", "completed": False}]),
        item("completed", 3, "todo_list", items=[{"text": "a", "completed": True}]),
        item("completed", 4, "agent_message", text="Done."),
        {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 2}},
    ]


def codex_app_server() -> Log:
    def note(method: str, **params: Any) -> dict[str, Any]:
        return {"method": method, "params": {"threadId": "t-1", **params}}

    return [
        {"id": 1, "result": {"thread": {"id": "t-1", "cwd": "/w"}, "model": "m"}},
        note("item/completed", item={"type": "userMessage", "id": "u", "content": [{"type": "text", "text": "Look."}]}),
        note("item/agentMessage/delta", itemId="a", delta="Do"),
        note("item/completed", item={"type": "agentMessage", "id": "a", "text": "Done."}),
        note("turn/completed", turn={"id": "turn", "status": "completed", "durationMs": 1234}),
    ]


def copilot(kind: str, n: int, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": f"e{n}", "timestamp": second(n), "parentId": None}


def copilot_stream() -> Log:
    return [
        copilot("user.message", 1, content="Look."),
        {**copilot("assistant.message_delta", 2, messageId="m", deltaContent="Do"), "ephemeral": True},
        copilot("assistant.message", 3, messageId="m", content="Done.", outputTokens=5, apiCallId="api"),
        copilot("system.notification", 4, content="One more thing."),
        {
            **{"type": "result", "timestamp": second(5), "sessionId": "s", "exitCode": 0},
            "usage": {"premiumRequests": 1, "sessionDurationMs": 1234},
        },
    ]


def copilot_session() -> Log:
    spent = {"m": {"usage": {"inputTokens": 100, "outputTokens": 5}}}
    return [
        copilot("session.start", 0, sessionId="s"),
        *copilot_stream()[:1],
        *copilot_stream()[2:4],
        copilot("session.shutdown", 9, shutdownType="routine", modelMetrics=spent),
    ]


def gemini_stream() -> Log:
    def line(n: int, kind: str, **members: Any) -> dict[str, Any]:
        return {"type": kind, "timestamp": second(n), **members}

    return [
        line(0, "init", session_id="s", model="m"),
        line(1, "message", role="user", content="Look."),
        line(2, "message", role="assistant", content="I look.", delta=True),
        line(3, "tool_use", tool_name="read_file", tool_id="c1", parameters={"file_path": "a"}),
        line(4, "tool_result", tool_id="c1", status="success", output=""),
        line(5, "message", role="assistant", content="Do", delta=True),
        line(6, "message", role="assistant", content="ne.", delta=True),
        line(6, "result", status="success", stats={"input_tokens": 9, "output_tokens": 1, "duration_ms": 1234}),
    ]


def acp() -> Log:
    def update(**members: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": members}}

    used = {"inputTokens": 10, "outputTokens": 2}
    return [
        {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1, "agentCapabilities": {}}},
        {"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}},
        update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "Done."}),
        {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn", "usage": {**used, "totalTokens": 12}}},
    ]


def pi_stream() -> Log:
    def said(n: int, **members: Any) -> dict[str, Any]:
        return {"type": "message_end", "message": {"timestamp": 1_767_323_045_000 + n, **members}}

    usage = {"input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0}
    return [
        {"type": "session", "version": 3, "id": "s", "timestamp": second(0), "cwd": "/w"},
        {"type": "agent_start"},
        said(1, role="user", content=[{"type": "text", "text": "Look."}]),
        said(
            2, role="assistant", content=[{"type": "text", "text": "Done."}], usage=usage, stopReason="stop", model="m"
        ),
        {"type": "agent_end", "messages": []},
    ]


def qwen_stream() -> Log:
    usage = {"input_tokens": 10, "output_tokens": 2}
    said = {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "usage": usage}
    asked = {"role": "user", "content": "Look."}
    return [
        {"type": "system", "subtype": "init", "uuid": "i", "session_id": "s", "qwen_code_version": "0.24.4"},
        {"type": "user", "uuid": "u", "session_id": "s", "message": asked, "parent_tool_use_id": None},
        {"type": "assistant", "uuid": "a", "session_id": "s", "message": said, "parent_tool_use_id": None},
        {"type": "result", "subtype": "success", "uuid": "r", "duration_ms": 1234, "num_turns": 1, "usage": usage},
    ]


def opencode_stream() -> Log:
    def line(kind: str, **part: Any) -> dict[str, Any]:
        return {"type": kind, "timestamp": 1_767_323_045_000, "sessionID": "s", "part": {"messageID": "m", **part}}

    tokens = {"input": 10, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    return [
        line("step_start", type="step-start", id="p1"),
        line("text", type="text", id="p2", text="Done."),
        line("step_finish", type="step-finish", id="p3", reason="stop", tokens=tokens, cost=0.5),
    ]


def cline_stream() -> Log:
    def line(n: int, kind: str, **event: Any) -> dict[str, Any]:
        return {"ts": second(n), "type": "agent_event", "event": {"type": kind, **event}}

    tool = {"contentType": "tool", "toolName": "read_files", "toolCallId": "c1"}
    hook = {"type": "hook_event", "agentId": "a", "parentAgentId": None}
    return [
        {**hook, "ts": second(0), "hookEventName": "agent_start"},
        line(1, "iteration_start", iteration=1),
        line(2, "usage", inputTokens=10, outputTokens=2, totalInputTokens=10),
        line(3, "content_end", contentType="text", text="I look."),
        {**hook, "ts": second(4), "hookEventName": "tool_call"},
        line(4, "content_start", **tool, input={"files": [{"path": "/w/a"}]}),
        line(5, "content_end", **tool, output=[{"success": True}]),
        line(6, "iteration_start", iteration=2),
        line(7, "usage", inputTokens=20, outputTokens=3, totalInputTokens=30),
        line(8, "content_end", contentType="text", text="Done."),
        {"ts": second(9), "type": "run_result", "finishReason": "completed", "iterations": 2, "durationMs": 1234},
    ]


def claude_session() -> Log:
    """Two prompts with enough between them that the first one is out of the window for rewinds."""
    out: Log = []

    def line(kind: str, content: Any, **message: Any) -> None:
        said = {"role": kind, "content": content, **message}
        head = {"parentUuid": out[-1]["uuid"] if out else None, "isSidechain": False, "type": kind, "message": said}
        n = len(out)
        time = f"2026-01-02T03:04:{n:02}.500Z"
        out.append({**head, "uuid": f"u{n:02}", "timestamp": time, "sessionId": "s", "version": "2.1.300", "cwd": "/w"})

    def answer(number: int, block: dict[str, Any], stop: str) -> None:
        usage = {"input_tokens": 10, "output_tokens": number}
        line("assistant", [block], id=f"msg_{number}", model="m", stop_reason=stop, usage=usage)

    line("user", "Look.")
    for n in range(20):
        answer(n, {"type": "tool_use", "id": f"c{n}", "name": "Read", "input": {"file_path": f"/w/{n}"}}, "tool_use")
        line("user", [{"type": "tool_result", "tool_use_id": f"c{n}", "content": "fine"}])
    answer(90, {"type": "text", "text": "Done."}, "end_turn")
    line("user", "Done?")
    answer(91, {"type": "text", "text": "Done."}, "end_turn")
    return out


def claude_stream() -> Log:
    """Two prompts of one process: its totals are those of the session."""

    def run(n: int) -> Log:
        usage = {"input_tokens": 10, "output_tokens": 2}
        said = {"id": f"m{n}", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "Done."}]}
        spent = {"m": {"inputTokens": 10 * n, "outputTokens": 2 * n, "costUSD": n / 10}}
        ended = {"num_turns": 1, "duration_ms": 100, "usage": usage, "modelUsage": spent, "total_cost_usd": n / 10}
        return [
            {"type": "system", "subtype": "init", "uuid": f"i{n}", "session_id": "s", "model": "m", "cwd": "/w"},
            {"type": "assistant", "uuid": f"a{n}", "session_id": "s", "message": {**said, "usage": usage}},
            {"type": "result", "subtype": "success", "uuid": f"r{n}", "is_error": False, "result": "Done.", **ended},
        ]

    return run(1) + run(2)


def pi_session() -> Log:
    def entry(n: int, **message: Any) -> dict[str, Any]:
        head = {"type": "message", "id": f"e{n}", "parentId": f"e{n - 1}", "timestamp": second(n)}
        return {**head, "message": {"timestamp": 1_767_323_045_000 + n, **message}}

    said = [{"type": "text", "text": "Done."}]
    usage = {"input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0}
    return [
        {"type": "session", "version": 3, "id": "s", "timestamp": second(0), "cwd": "/w"},
        entry(1, role="user", content=[{"type": "text", "text": "Look."}]),
        entry(2, role="assistant", content=said, usage=usage, stopReason="stop", model="m"),
    ]


def qwen_session() -> Log:
    def line(n: int, kind: str, role: str, **members: Any) -> dict[str, Any]:
        head = {"uuid": f"u{n}", "parentUuid": f"u{n - 1}", "sessionId": "s", "timestamp": second(n), "type": kind}
        said = {"role": role, "parts": [{"text": "Done."}]}
        return {**head, "cwd": "/w", "version": "0.24.4", "message": said, **members}

    usage = {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12}
    return [line(1, "user", "user"), line(2, "assistant", "model", model="m", usageMetadata=usage)]


def pi_subagent() -> Log:
    def row(n: int, **message: Any) -> dict[str, Any]:
        head = {"version": 1, "recordType": "message", "runId": "r", "agent": "scout", "childIndex": 0, "cwd": "/w"}
        return {**head, "timestamp": second(n), "message": {"timestamp": 1_767_323_045_000 + n, **message}}

    return [
        row(1, role="user", content=[{"type": "text", "text": "Look."}]),
        row(2, role="assistant", content=[{"type": "text", "text": "Done."}], stopReason="stop", model="m"),
    ]


LOGS = {
    ("claude", "claude-session"): claude_session(),
    ("claude", "claude-stream"): claude_stream(),
    ("pi", "pi-session"): pi_session(),
    ("pi", "pi-subagent"): pi_subagent(),
    ("qwen", "qwen-session"): qwen_session(),
    ("codex", "codex-rollout"): codex_rollout(),
    ("codex", "codex-exec"): codex_exec(),
    ("codex", "codex-app-server"): codex_app_server(),
    ("copilot", "copilot-stream"): copilot_stream(),
    ("copilot", "copilot-session"): copilot_session(),
    ("gemini", "gemini-stream"): gemini_stream(),
    ("pi", "pi-stream"): pi_stream(),
    ("qwen", "qwen-stream"): qwen_stream(),
    ("opencode", "opencode-stream"): opencode_stream(),
    ("cline", "cline-stream"): cline_stream(),
}
LEFT_TO_PAIR = ("claude-session", "claude-stream", "pi-session")
"""Dialects whose decoders tell what comes again: by its ids the stage behind them knows it."""
NOT_CUT = {
    "codex-exec": "another run would be one like it",
    "codex-rollout": "older ones have no end record: an answer is their end",
    "copilot-stream": "the text of this one comes in pieces, and whole behind them",
    "gemini-stream": "likewise: pieces",
}
"""Logs that are not looked at while they go on, and why."""
NAMED = pytest.mark.parametrize(("provider", "name"), list(LOGS))


def told(provider: str, name: str, given: Log) -> tuple[Result, Any]:
    """The result of a log, and the texts and calls that came."""
    of = get_provider(provider)
    decode, pair, observer = Decode(dialect(of, name)), Pair(), Observer(of, dialect(of, name))
    batches = [Batch("log", records=lines(*given))]
    decode.push(batches[0])
    batches += decode.flush()
    for batch in batches:
        Normalize(of.tools).push(batch)
        pair.push(batch)
        observer.observe(batch)
    for batch in pair.flush():
        observer.observe(batch)
    said = [type(e).__name__ for b in batches for e in b.events if type(e).__name__ in ("UserText", "AssistantText")]
    return observer.result(pair.left), said


def same(before: tuple[Result, Any], after: tuple[Result, Any]) -> None:
    for name in ("tokens", "cost_usd", "duration_ms", "agent_num_turns", "model_calls", "status", "faults", "unknown"):
        assert getattr(after[0], name) == getattr(before[0], name), name
    assert after[0].tool_use_summary == before[0].tool_use_summary
    assert after[1] == before[1]


@NAMED
def test_a_record_that_is_repeated_in_place_counts_once(provider: str, name: str) -> None:
    given = LOGS[provider, name]
    whole = told(provider, name, given)
    assert whole[0].status == "complete"
    for i, line in enumerate(given):
        if "delta" not in str(line):  # of a moment two pieces of a text may be equal
            same(whole, told(provider, name, [*given[: i + 1], line, *given[i + 1 :]]))


@NAMED
def test_a_stretch_that_is_appended_again_counts_once(provider: str, name: str) -> None:
    given = LOGS[provider, name]
    whole = told(provider, name, given)
    first = 1 if name in ("codex-exec", "codex-app-server", "copilot-session") else 0  # not the whole run
    for i in range(first, len(given)):
        same(whole, told(provider, name, given + given[i:]))


@pytest.mark.parametrize(("provider", "name"), [log for log in LOGS if log[1] not in NOT_CUT])
def test_a_stretch_from_the_beginning_of_a_log_that_goes_on_ends_nothing(provider: str, name: str) -> None:
    given = LOGS[provider, name]
    for cut in range(2, len(given)):
        part = given[:cut]
        same(told(provider, name, part), told(provider, name, part + given[1 : cut // 2 + 1]))


def test_what_was_taken_back_is_taken_back_once() -> None:
    rolled = {"timestamp": second(30), "type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
    started = {"timestamp": second(1), "type": "event_msg", "payload": {"type": "task_started", "turn_id": "t"}}
    later = [{**line, "timestamp": second(10 + n)} for n, line in enumerate(codex_rollout()[2:7])]
    turns = [codex_rollout()[0], started, *codex_rollout()[2:7], {**started, "timestamp": second(9)}, *later]
    undone = {"type": "context.undo", "count": 1, "time": 1_767_323_065_000}
    begun = {"type": "metadata", "protocol_version": "1.0", "created_at": 1_767_323_045_000}
    asked = [
        {
            **{"type": "context.append_message", "time": 1_767_323_046_000 + n},
            "message": {"role": "user", "content": [{"type": "text", "text": f"Look at {n}."}]},
        }
        for n in range(2)
    ]
    for provider, name, log, back in (
        ("codex", "codex-rollout", turns, rolled),
        ("kimi", "kimi-session", [begun, *asked], undone),
    ):
        batch = Batch("log", records=lines(*log, back, back))
        Decode(dialect(get_provider(provider), name)).push(batch)
        assert len([event for event in batch.events if isinstance(event, Retract)]) == 1, name


def test_calls_without_ids_or_times_are_all_told() -> None:
    def cline(kind: str, **more: Any) -> dict[str, Any]:
        return {"type": "agent_event", "event": {"type": kind, "contentType": "tool", "toolName": "x", **more}}

    gemini = {"type": "tool_use", "tool_name": "read_file"}
    timed, named = {**gemini, "timestamp": second(1)}, {**gemini, "tool_id": "c"}
    asked = cline("content_start", toolCallId="c")
    for provider, name, log in (
        ("gemini", "gemini-stream", [{**one, "parameters": {"path": p}} for one in (gemini, timed) for p in "ab"]),
        ("gemini", "gemini-stream", [{**named, "parameters": {"path": p}} for p in "abcd"]),
        ("cline", "cline-stream", [cline("content_start", input={"n": n}) for n in range(4)]),
        ("cline", "cline-stream", [{**asked, "event": {**asked["event"], "input": {"n": n}}} for n in range(4)]),
    ):
        assert told(provider, name, log)[0].tool_use_summary["total_tool_calls"] == 4, (name, log)


def test_runs_of_pi_that_fail_alike_each_have_an_end() -> None:
    def run(time: int) -> Log:
        asked: dict[str, Any] = {"role": "user", "content": "Go.", "timestamp": time}
        failed: dict[str, Any] = {"role": "assistant", "content": [], "stopReason": "error", "timestamp": time + 5}
        failed["errorMessage"] = "503 " + "The service is overloaded. " * 10  # the time comes before it
        ends: Log = [{"type": "message_end", "message": message} for message in (asked, failed)]
        return [*ends, {"type": "agent_end", "messages": [asked, failed], "willRetry": False}]

    log = [*run(1_772_359_200_000), *run(1_772_359_300_000)]
    batch = Batch("log", records=lines(*log, log[-1]))
    Decode(dialect(get_provider("pi"), "pi-stream")).push(batch)
    assert [event.source.row for event in batch.events if isinstance(event, SessionEnd)] == [2, 5]


def test_an_old_prompt_that_comes_again_takes_nothing_back() -> None:
    given = claude_session()
    for log in ([*given, given[0]], [*given, *given[:3]]):
        batch = Batch("log", records=lines(*log))
        Decode(dialect(get_provider("claude"), "claude-session")).push(batch)
        assert not [event for event in batch.events if isinstance(event, Retract)]


@pytest.mark.parametrize(("provider", "name"), [log for log in LOGS if log[1] not in LEFT_TO_PAIR])
def test_repeated_logs_obey_the_laws(provider: str, name: str) -> None:
    given = LOGS[provider, name]
    check_laws(dialect(get_provider(provider), name), lines(*given, *given[-3:-1]))


def test_calls_that_come_again_between_a_thought_and_its_call_end_no_answer() -> None:
    given = codex_rollout()
    thought = {**given[4], "timestamp": second(8)}
    later = [{**given[n], "timestamp": second(8), "payload": {**given[n]["payload"], "call_id": "c2"}} for n in (8, 10)]
    once = told("codex", "codex-rollout", [*given[:11], thought, *later])
    same(once, told("codex", "codex-rollout", [*given[:11], thought, given[8], given[10], *later]))


def test_the_answer_to_a_prompt_counts_once_in_a_connection() -> None:
    once, twice = told("acp", "acp", acp()), told("acp", "acp", [*acp(), acp()[-1]])
    same(once, twice)
    assert told("acp", "acp", [*acp(), *acp()[2:]])[0].tokens == once[0].tokens
    other = told("acp", "acp", acp() + acp())[0].tokens  # ids begin anew with a connection
    assert other["input"] == 2 * once[0].tokens["input"]
    asked = {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": {"sessionId": "s"}}
    again = told("acp", "acp", [*acp()[:2], asked, *acp()[2:], asked, *acp()[2:]])[0].tokens
    assert again == other


def test_equal_usage_of_an_answer_counts_once() -> None:
    used = {"inputTokens": 10, "outputTokens": 2}
    mark = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}, "_meta": {"usage": used}}
    line = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": mark}}
    given = [*acp()[:3], line, acp()[-1]]
    same(told("acp", "acp", given), told("acp", "acp", [*given[:4], line, given[-1]]))


def test_texts_of_different_times_are_two_however_equal() -> None:
    given = codex_rollout()
    later = [{**given[5], "timestamp": second(6)}, {**given[6], "timestamp": second(6)}]
    assert told("codex", "codex-rollout", [*given[:11], *later, *given[11:]])[1].count("AssistantText") == 3


def test_a_time_that_somebody_took_out_is_no_identity() -> None:
    given = [{**line, "timestamp": "[taken out]"} for line in codex_rollout()]
    assert told("codex", "codex-rollout", [*given[:6], given[5], *given[6:]])[1].count("AssistantText") == 3


def anonymous(name: str) -> Log:
    """Two prompts or answers of one length, told of under one id by somebody who took the ids out."""
    texts = ("Look.", "Seek.")
    blocks = [[{"type": "text", "text": text}] for text in texts]
    if name == "claude-session":
        head = {"type": "user", "uuid": "[gone]", "parentUuid": "[gone]", "sessionId": "s", "version": "2.1.300"}
        said = [{"role": "user", "content": block} for block in blocks]
        return [{**head, "cwd": "/w", "timestamp": second(n), "message": one} for n, one in enumerate(said)]
    if name == "copilot-session":
        prompts = [{**copilot("user.message", 1, content=text), "id": "[gone]"} for text in texts]
        return [copilot("session.start", 0, sessionId="s"), *prompts]
    if name == "codex-app-server":
        items = [{"type": "agentMessage", "id": "[gone]", "text": text} for text in texts]
        asked = [{"type": "userMessage", "id": "[gone]", "content": block} for block in blocks]
        params = [{"threadId": "t-1", "item": item} for item in (*asked, *items)]
        return [codex_app_server()[0], *({"method": "item/completed", "params": one} for one in params)]
    if name == "opencode-stream":
        line = opencode_stream()[1]
        return [{**line, "part": {**line["part"], "id": "[gone]", "text": text}} for text in texts]
    line = qwen_stream()[2]
    said = [{**line["message"], "content": block} for block in blocks]
    return [{**line, "uuid": "[gone]", "message": one} for one in said]


@pytest.mark.parametrize(
    ("provider", "name", "texts"),
    [
        ("claude", "claude-session", 2),
        ("copilot", "copilot-session", 2),
        ("codex", "codex-app-server", 4),
        ("opencode", "opencode-stream", 2),
        ("qwen", "qwen-stream", 2),
    ],
)
def test_texts_of_one_length_are_told_though_one_word_stands_for_all_ids(provider: str, name: str, texts: int) -> None:
    assert len(told(provider, name, anonymous(name))[1]) == texts


def test_the_memory_is_bounded_and_holds_what_was_told_lately() -> None:
    repeats = Repeats()
    for n in range(5 * MOST):
        assert not repeats.again(str(n))
        assert all(repeats.known(str(m)) for m in range(max(0, n - MOST + 1), n + 1, 50))
        assert len(repeats.young) + len(repeats.old) <= 2 * MOST


def test_what_has_no_identity_is_never_a_repetition() -> None:
    repeats = Repeats()
    record = Record(b"{}", 0, 0)
    for identity in ("", None, check(record, None), check(record, "[gone]")):
        assert not repeats.again(identity)
        assert not repeats.again(identity)
    assert repeats.again(check(record, second(1))) is False
    assert repeats.again(check(record, second(1))) is True


def test_one_id_of_records_of_different_lengths_is_none() -> None:
    repeats = Repeats()
    assert [repeats.again("[gone]", length) for length in (10, 10, 12)] == [False, True, False]


_NAMES = frozenset(("timestamp", "startTime", "start_time", "end_time", "endTime", "time", "ts"))
WRITTEN: dict[str, Callable[[int], Any]] = {
    "ms": lambda time_ms: time_ms,
    "s": lambda time_ms: time_ms / 1000,
    "text": str,
}


def rewritten(value: Any, write: Callable[[int], Any]) -> Any:
    """The same with the times written otherwise."""
    if isinstance(value, list):
        return [rewritten(one, write) for one in value]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    if not isinstance(value, dict):
        return value
    out: dict[str, Any] = {}
    for name, member in value.items():  # pyright: ignore[reportUnknownVariableType] - as above
        time_ms = parse_iso(member) if name in _NAMES and isinstance(member, str) else None
        out[name] = rewritten(member, write) if time_ms is None else write(time_ms)
    return out


def times(provider: str, name: str, given: list[Record]) -> list[int | None]:
    batch = decoded(dialect(get_provider(provider), name), given)
    assert batch.faults == []
    return [event.source.time_ms for event in batch.events]


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize(("provider", "name"), LOGS, ids=[name for _, name in LOGS])
def test_numbers_are_read_as_times(provider: str, name: str, form: str) -> None:
    given = LOGS[provider, name]
    again = rewritten(msgspec.json.decode(msgspec.json.encode(given)), WRITTEN[form])
    assert times(provider, name, lines(*again)) == times(provider, name, lines(*given))
