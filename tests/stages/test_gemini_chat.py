from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    AnyEvent,
    AssistantText,
    Notification,
    Reasoning,
    Retract,
    SessionEnd,
    SessionInfo,
    SlashCommand,
    Summary,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.provider import DecodeContext, Kept
from agentv_stages.model.turns import Turns
from agentv_stages.providers.gemini import PROVIDER
from agentv_stages.providers.gemini.state import KEEP
from support.decoding import (
    asked_calls,
    best,
    calls,
    check_laws,
    corpus,
    decoded,
    dialect,
    document,
    events_of,
    lines,
    read,
    records,
    results,
    said,
    texts,
    total,
    usages,
)

LOG = dialect(PROVIDER, "gemini-chat")
DOCUMENT = dialect(PROVIDER, "gemini-chat-json")
TIME = "2026-03-01T10:00:00.000Z"
LATER = "2026-03-01T10:00:02.500Z"
HEADER = {"sessionId": "s-1", "projectHash": "ab", "startTime": TIME, "lastUpdated": TIME, "kind": "main"}
TOKENS = {"input": 100, "output": 20, "cached": 60, "thoughts": 5, "tool": 0, "total": 125}
CONTEXT = "<session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n  - /w/app\n</session_context>"


def user(own: str, *texts_: str) -> dict[str, Any]:
    return {"id": own, "timestamp": TIME, "type": "user", "content": [{"text": t} for t in texts_]}


def call(call_id: str, name: str = "run_shell_command", status: str = "success", **members: Any) -> dict[str, Any]:
    response = {
        "functionResponse": {"id": call_id, "name": name, "response": members.pop("response", {"output": "ok"})}
    }
    result = [response] if status in ("success", "error", "cancelled") else None
    return {"id": call_id, "name": name, "args": {"command": "ls"}, "result": result, "status": status,
            "timestamp": LATER, "resultDisplay": "shown", **members}  # fmt: skip


def answer(own: str, text: str, *given: dict[str, Any], **members: Any) -> dict[str, Any]:
    record: dict[str, Any] = {"id": own, "timestamp": TIME, "type": "gemini", "content": text, "thoughts": [],
              "tokens": TOKENS, "model": "gemini-x", **members}  # fmt: skip
    return {**record, "toolCalls": list(given)} if given else record


def answered(own: str, call_id: str, output: str = "ok") -> dict[str, Any]:
    part = {"functionResponse": {"id": call_id, "name": "run_shell_command", "response": {"output": output}}}
    return {"id": own, "timestamp": LATER, "type": "user", "content": [part]}


WHOLE = lines(
    HEADER,
    {"$set": {"messages": [user("u0", CONTEXT)]}},
    user("u1", "fix it"),
    {"$set": {"lastUpdated": TIME}},
    answer("g1", "Looking.", thoughts=[{"subject": "Plan", "description": "look first"}]),
    answer("g1", "Looking.", call("c1"), thoughts=[{"subject": "Plan", "description": "look first"}]),
    answered("u2", "c1"),
    answer("g2", "Done."),
)


def judged(**members: Any) -> tuple[Any, ...]:
    [found] = results(events_of(LOG, lines(HEADER, answer("g", "", call("c", **members)))))
    return found.outcome, found.exit_code, found.output


def contents(events: list[AnyEvent]) -> list[AnyEvent]:
    return [e for e in events if isinstance(e, AssistantText | Reasoning | ToolCall | ToolResult | UserText)]


def test_the_log_keeps_the_laws_of_decoders() -> None:
    check_laws(LOG, WHOLE)


def test_a_record_that_is_written_again_tells_only_what_is_new() -> None:
    events = events_of(LOG, WHOLE)
    assert texts(events) == ["Looking.", "Done."]
    assert [e.text for e in events if isinstance(e, Reasoning)] == ["Plan: look first"]
    assert [c.call_id for c in calls(events)] == ["c1"]
    assert [(r.call_id, r.outcome, r.output) for r in results(events)] == [("c1", "ok", "ok")]
    assert [u.key for u in usages(events)] == ["g1", "g2"]


def test_log_and_document_say_the_same() -> None:
    messages = [user("u0", CONTEXT), user("u1", "fix it"), answer("g1", "Looking.", call("c1")), answer("g2", "Done.")]
    whole = document({**HEADER, "messages": messages})
    check_laws(DOCUMENT, whole)
    told = [(type(e), getattr(e, "message_id", None)) for e in contents(events_of(DOCUMENT, whole))]
    log = lines(HEADER, *messages)
    assert sorted(map(str, told)) == sorted(
        str((type(e), getattr(e, "message_id", None))) for e in contents(events_of(LOG, log))
    )


def test_a_call_is_told_when_it_appears_and_its_result_when_it_has_one() -> None:
    given = lines(
        HEADER,
        answer("g1", "", call("c1", status="executing")),
        answer("g1", "", call("c1", status="executing")),
        answer("g1", "", call("c1")),
        answer("g1", "", call("c1")),
    )
    check_laws(LOG, given)
    kinds = [type(e) for e in contents(events_of(LOG, given))]
    assert kinds == [ToolCall, ToolResult]


def test_a_result_that_only_the_next_user_record_holds_is_used() -> None:
    given = lines(HEADER, answer("g1", "", call("c1", status="executing")), answered("u2", "c1"))
    assert [(r.call_id, r.outcome) for r in results(events_of(LOG, given))] == [("c1", "ok")]
    failed = answered("u2", "c1", "Output: x\nExit Code: 2\nProcess Group PGID: 7")
    given = lines(HEADER, answer("g1", "", call("c1", status="executing")), failed)
    assert [(r.outcome, r.exit_code) for r in results(events_of(LOG, given))] == [("error", 2)]


def test_a_text_that_grows_continues() -> None:
    given = lines(HEADER, answer("g1", 'a "b'), answer("g1", 'a "b" c'), answer("g1", "other and longer"))
    found = [(e.text, e.delta) for e in events_of(LOG, given) if isinstance(e, AssistantText)]
    assert found == [('a "b', False), ('" c', True)]
    check_laws(LOG, given)


def test_new_tokens_of_an_answer_replace_the_old_ones() -> None:
    given = lines(HEADER, answer("g1", "x"), answer("g1", "x", tokens={**TOKENS, "output": 40}))
    assert [(u.key, u.output) for u in usages(events_of(LOG, given))] == [("g1", 25), ("g1", 45)]
    assert total(events_of(LOG, given)) == {"input": 100, "cached": 60, "output": 45, "reasoning": 5}
    check_laws(LOG, given)


@pytest.mark.parametrize(("total_tokens", "prompt"), [(125 + 40, 140), (None, 140), (125, 100)])
def test_tokens_of_the_servers_own_tools_are_the_prompts_unless_the_total_says_otherwise(
    total_tokens: int | None, prompt: int
) -> None:
    given = lines(HEADER, answer("g1", "x", tokens={**TOKENS, "tool": 40, "total": total_tokens}))
    assert [u.input for u in usages(events_of(LOG, given))] == [prompt]


def test_calls_that_stand_in_a_record_of_their_own_are_those_of_the_answer_before() -> None:
    """Over ACP: one record without text and tokens holds all calls, and is written again with each."""

    def container(*given: dict[str, Any]) -> dict[str, Any]:
        bare = answer("g2", "", *given)
        del bare["tokens"]
        return bare

    given = lines(
        HEADER,
        user("u1", "fix it"),
        answer("g1", "Looking."),
        container(call("c1")),
        answered("u2", "c1"),
        answer("g3", "", timestamp=LATER),
        container(call("c1"), call("c2", "replace")),
        answered("u3", "c2"),
        answer("g4", "Done."),
        user("u4", "more"),
        container(call("c1"), call("c2", "replace"), call("c3")),
    )
    check_laws(LOG, given)
    events = events_of(LOG, given)
    assert [(c.call_id, c.message_id) for c in calls(events)] == [("c1", "g1"), ("c2", "g3"), ("c3", "g2")]
    assert [(r.call_id, r.outcome) for r in results(events)] == [("c1", "ok"), ("c2", "ok"), ("c3", "ok")]
    first, second, third = (c.source.time_ms for c in calls(events))
    assert first == third and first is not None and second == first + 2_500
    turns = Turns()
    told = (e for e in events if isinstance(e, (AssistantText, Reasoning, ToolCall)))
    assert [turns.turn_of(e) for e in told] == [1, 1, 2, 3, 4]


def test_a_rewind_takes_back_the_message_and_all_after_it() -> None:
    given = lines(HEADER, user("u1", "a"), answer("g1", "b"), user("u2", "c"), {"$rewindTo": "g1"}, user("u2", "d"))
    [retract] = [e for e in events_of(LOG, given) if isinstance(e, Retract)]
    assert retract.message_ids == ("g1", "u2")
    assert [e.text for e in events_of(LOG, given) if isinstance(e, UserText)] == ["a", "c", "d"]
    [everything] = [
        e for e in events_of(LOG, lines(HEADER, user("u1", "a"), {"$rewindTo": "?"})) if isinstance(e, Retract)
    ]
    assert everything.message_ids == ("u1",)


def test_the_session_context_is_no_prompt_and_tells_the_folder() -> None:
    events = events_of(LOG, WHOLE)
    assert [(e.injected, e.source.base_id) for e in events if isinstance(e, UserText)] == [(True, "u0"), (False, "u1")]
    infos = [e for e in events if isinstance(e, SessionInfo)]
    assert [i.session_id for i in infos if i.session_id] == ["s-1"]
    assert [i.cwd for i in infos if i.cwd] == ["/w/app"]
    assert [i.model for i in infos if i.model] == ["gemini-x"]


def test_a_history_that_is_written_again_for_a_new_context_is_not_told_twice() -> None:
    copy = {"id": "x2", "timestamp": LATER, "type": "gemini", "content": [{"text": "Looking."}], "tokens": None}
    again = [user("x1", CONTEXT, "fix it"), copy]
    given = [
        *WHOLE,
        *lines(*again, answered("x3", "c1"), {"$set": {"messages": again}}, answer("g3", "Next.")),
    ]
    events = decoded(LOG, given).events
    assert texts(events) == ["Looking.", "Done.", "Next."]
    assert [e.name for e in events if isinstance(e, Notification)] == ["context_replaced"]


def test_time_of_a_result_is_the_calls_own() -> None:
    [result] = results(events_of(LOG, WHOLE))
    [asked] = calls(events_of(LOG, WHOLE))
    assert (result.source.time_ms or 0) - (asked.source.time_ms or 0) == 2500
    timeless = call("c")
    del timeless["timestamp"]
    [result] = results(events_of(LOG, lines(HEADER, answer("g", "", timeless))))
    assert result.source.time_ms is None


def test_outcomes_of_calls() -> None:
    assert judged() == ("ok", None, "ok")
    assert judged(status="error", response={"error": "File not found"}) == ("error", None, "File not found")
    code = "<untrusted_context>\nOutput: x\nExit Code: 2\nProcess Group PGID: 7\n</untrusted_context>"
    assert judged(response={"output": code}) == ("error", 2, code)
    assert judged(response={"output": code}, name="read_file")[:2] == ("ok", None)
    killed = "Output: (empty)\nSignal: 9\nProcess Group PGID: 7"
    assert judged(response={"output": killed})[:2] == ("error", None)
    cancelled = "[Operation Cancelled] Reason: User cancelled the operation."
    assert judged(status="cancelled", response={"error": cancelled})[0] == "cancelled"
    denied = "[Operation Cancelled] Reason: User denied execution."
    assert judged(status="cancelled", response={"error": denied})[0] == "denied"
    blocked = "Tool execution blocked: by my hook"  # recorded in 0.61.0 with a hook for BeforeTool
    assert judged(status="error", response={"error": blocked})[0] == "denied"
    assert judged(response={}) == ("ok", None, "shown")


def test_a_result_of_any_shape_is_told_beside_plain_ones() -> None:
    code: list[Any] = [{"functionResponse": {"response": {"code": 1}}}]
    odd: list[tuple[Any, Any]] = [("words", "words"), ([], "shown"), ({"a": 1}, {"a": 1}), (code, {"code": 1})]
    for shape, output in [*odd, ([{"text": "t"}], [{"text": "t"}]), (None, "shown")]:
        given = [call("c1"), call("c2", result=shape), call("c3", response={"error": "no"})]
        told = results(events_of(LOG, lines(HEADER, answer("a1", "", *given))))
        alone = results(events_of(LOG, lines(HEADER, answer("a1", "", given[1]))))
        assert [told[0].output, told[2].output] == ["ok", "no"]
        assert told[1].output == alone[0].output == output


FILES = ("\n--- Content from referenced files ---", "\nContent from @a.txt:\n", "hello", "\n--- End of content ---")


def sent(record: dict[str, Any]) -> list[tuple[str, bool]]:
    """The text of each user message, and whether it was injected."""
    check_laws(LOG, lines(HEADER, record))
    told = [event for event in events_of(LOG, lines(HEADER, record)) if isinstance(event, UserText)]
    return [(msgspec.json.decode(event.body, type=str), event.injected) for event in told]


def test_files_that_a_prompt_names_are_no_part_of_it() -> None:
    older = user("u1", "see @a.txt", *FILES)
    newer = {**user("u1", "see @a.txt", *FILES), "displayContent": [{"text": "see @a.txt"}]}
    for record in (older, newer):
        assert sent(record) == [("see @a.txt", False), ("".join(FILES), True)]


def test_a_commands_text_is_not_what_the_person_typed() -> None:
    record = {**user("u1", "Please fix the bug carefully."), "displayContent": [{"text": "/fix the bug"}]}
    assert sent(record) == [("/fix the bug", False), ("Please fix the bug carefully.", True)]


def test_a_prompt_of_texts_is_one_text_and_an_image_stays_what_it_is() -> None:
    assert sent(user("u1", "fix ", "it")) == [("fix it", False)]
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBO"}}
    shown = {**user("u1"), "content": [{"text": "see"}, image]}
    told = [event for event in events_of(LOG, lines(HEADER, shown)) if isinstance(event, UserText)]
    assert [msgspec.json.decode(event.body) for event in told] == [[{"text": "see"}, image]]


def test_a_users_record_of_results_that_were_told_comes_twice() -> None:
    given = lines(HEADER, answer("a1", "", call("c1")), answered("u1", "c1"), answered("u1", "c1"))
    assert decoded(LOG, given).ignored == {"user/function_response": 1, "user/again": 1}


def test_mcp_names_come_from_the_display_name() -> None:
    def name(native: str, display: str | None) -> str:
        [found] = calls(events_of(LOG, lines(HEADER, answer("g", "", call("c", native, displayName=display)))))
        return found.name

    assert name("mcp_my_demo_lookup", "lookup (my_demo MCP Server)") == "mcp__my_demo__lookup"
    assert name("lookup", "lookup (demo MCP Server)") == "mcp__demo__lookup"
    assert name("demo__lookup", "lookup (demo MCP Server)") == "mcp__demo__lookup"
    assert name("mcp_demo_lookup", None) == "mcp__demo__lookup"
    assert name("read_file", "ReadFile") == "read_file"


def test_notices_commands_and_summaries() -> None:
    notice = {"id": "i1", "timestamp": TIME, "type": "error", "content": "quota"}
    given = lines(HEADER, user("u1", "/stats model"), user("u2", "/home/x is mine"), notice, {"$set": {"summary": "S"}})
    events = events_of(LOG, given)
    assert [(e.name, e.args) for e in events if isinstance(e, SlashCommand)] == [("/stats", "model")]
    assert [e.text for e in events if isinstance(e, UserText)] == ["/home/x is mine"]
    assert [(e.name, e.level) for e in events if isinstance(e, Notification)] == [("error", "error")]
    assert [e.summary for e in events if isinstance(e, Summary)] == ["S"]


def test_what_is_remembered_is_bounded() -> None:
    decoder = LOG.decoder(DecodeContext("log"))
    batch = Batch("log")
    for record in lines(HEADER, *(answer(f"g{i}", "x", call(f"c{i}")) for i in range(KEEP + 50))):
        decoder.decode(record, batch)
    state = msgspec.to_builtins(decoder.state)
    assert len(state["messages"]) == len(state["calls"]) == KEEP
    assert len(calls(batch.events)) == KEEP + 50


def test_older_writers_and_odd_values() -> None:
    given = lines(
        {"sessionId": "s", "startTime": TIME, "messages": []},
        {"id": 7, "type": "user", "timestamp": TIME, "content": "hi"},
        {"id": "m", "type": "model", "parts": [{"text": "a"}, "b"], "timestamp": None},
        {"id": "n", "type": "gemini", "content": {"text": "c"}, "tokens": None, "toolCalls": None},
    )
    assert texts(events_of(LOG, given)) == ["ab", "c"]
    check_laws(LOG, given)


def test_the_forms_are_told_apart() -> None:
    assert best(PROVIDER, WHOLE) == ("gemini-chat", 1.0)
    assert best(PROVIDER, WHOLE[3:])[0] == "gemini-chat"
    assert best(PROVIDER, document({**HEADER, "messages": [user("u", "x")]})) == ("gemini-chat-json", 1.0)


class Files:
    """A file system of a few files."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def glob(self, pattern: str) -> list[str]:
        before, _, after = pattern.partition("*")
        return sorted(f for f in self.files if f.startswith(before) and f.endswith(after.rpartition("*")[2]))

    def read(self, path: str, limit: int) -> bytes:
        return self.files.get(path, b"")[:limit]

    def remembered(self, key: str, make: Callable[[], Kept]) -> Kept:
        return make()


def test_sub_agents_have_files_of_their_own() -> None:
    main = lines({**HEADER, "sessionId": "12345678-aa"}, answer("g", "", call("c9", "invoke_agent", agentId="agent-1")))
    files = Files(
        {
            "/g/chats/session-2026-03-01T10-00-12345678.jsonl": b"\n".join(r.data for r in main),
            "/g/chats/12345678-aa/agent-1.jsonl": b"",
            "/g/chats/12345678-aa/agent-2.jsonl": b"",
        }
    )
    found = PROVIDER.companions("/g/chats/session-2026-03-01T10-00-12345678.jsonl", files)
    assert [(c.context.stream, c.context.parent_call, c.context.session_id) for c in found] == [
        ("sidechain:agent-1", "c9", "12345678-aa"),
        ("sidechain:agent-2", None, "12345678-aa"),
    ]
    inner = decoded(LOG, lines({**HEADER, "kind": "subagent"}, answer("x", "", call("c1"))), found[0].context).events
    assert {e.source.stream for e in inner} == {"sidechain:agent-1"}
    assert [c.parent_call for c in calls(inner)] == ["c9"]
    assert not [e for e in inner if isinstance(e, SessionInfo)]


def ends(*messages: dict[str, Any]) -> list[tuple[str, str | None]]:
    events = events_of(
        LOG, lines({"sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z"}, *messages)
    )
    return [(e.status, e.reason) for e in events if isinstance(e, SessionEnd)]


def test_an_api_error_and_a_cancelled_request_are_ends() -> None:
    asked = user("u1", "Go.")
    failed = {"id": "e1", "type": "error", "content": "[API Error: 400 bad request]"}
    assert ends(asked, failed) == [("error", "[API Error: 400 bad request]")]
    cancelled = {"id": "i1", "type": "info", "content": "Request cancelled."}
    assert ends(asked, cancelled, cancelled) == [("interrupted", "Request cancelled.")]


def test_a_call_that_escape_stopped_is_its_answers_and_the_session_still_ends_interrupted() -> None:
    """The terminal writes "Request cancelled." first, then the call in a record of its own."""
    answer: dict[str, Any] = {
        "id": "g1",
        "type": "gemini",
        "content": "Long.",
        "tokens": {"input": 1, "output": 1},
        "thoughts": [],
    }
    cancelled = {"id": "i1", "type": "info", "content": "Request cancelled."}
    clock = {"$set": {"lastUpdated": TIME}}
    text = "[Operation Cancelled] Reason: Operation cancelled by user"
    response: dict[str, Any] = {
        "functionResponse": {"id": "c1", "name": "run_shell_command", "response": {"error": text}}
    }
    stopped: dict[str, Any] = {
        "id": "c1",
        "name": "run_shell_command",
        "args": {},
        "status": "cancelled",
        "result": [response],
    }
    late: dict[str, Any] = {"id": "g2", "type": "gemini", "content": "", "thoughts": [], "toolCalls": [stopped]}
    told = {"id": "u2", "type": "user", "content": [response]}
    given = lines(HEADER, user("u1", "Go."), answer, cancelled, clock, late, clock, told)
    check_laws(LOG, given)
    events = events_of(LOG, given)
    assert [(c.message_id, r.outcome) for c, r in zip(calls(events), results(events), strict=True)] == [
        ("g1", "cancelled")
    ]
    assert [type(e).__name__ for e in events[-3:]] == ["ToolCall", "ToolResult", "SessionEnd"]
    assert ends(user("u1", "Go."), answer, cancelled, late, user("u2", "Go on.")) == [
        ("interrupted", "Request cancelled.")
    ]


def test_what_the_terminal_writes_for_a_person_is_injected_and_an_empty_notice_is_none() -> None:
    shell = "I ran the following shell command:\n```sh\nls\n```\n\nThis produced the following result:\n```\na\n```"
    given = lines(HEADER, user("u1", shell), {"id": "i1", "type": "info", "content": ""})
    events = decoded(LOG, given)
    assert [e.injected for e in events.events if isinstance(e, UserText)] == [True]
    assert not [e for e in events.events if isinstance(e, Notification)]
    assert events.ignored == {"info/empty": 1}


def test_an_answer_without_calls_is_no_end() -> None:
    """A call is added to its answer when it has ended: a session killed while its tool ran ends with the same."""
    answer = {"id": "g1", "type": "gemini", "content": "Done.", "tokens": {"input": 1, "output": 1}}
    notice = {"id": "i1", "type": "info", "content": "Update available!"}
    wrong = {"id": "e1", "type": "error", "content": "Unknown command: /x"}
    assert ends(user("u1", "Go."), answer, notice, wrong) == []


def test_recordings_of_kills_end_as_those_of_good_runs() -> None:
    """What forbids to call such a session complete: three kills whose logs cannot be told from a good end."""
    last: list[set[str]] = []
    for scenario in ("s1", "s6_sigint_tool", "s6_sigkill_tool", "s6_pipe"):
        (path,) = corpus(f"clients/gemini/{scenario}").glob("home/.gemini/tmp/*/chats/session-*.jsonl")
        *_, answer, clock = [msgspec.json.decode(record.data) for record in records(read(path))]
        assert list(clock) == ["$set"] and answer["content"] and answer["tokens"]["output"]
        last.append(set(answer))
    assert all(members == last[0] for members in last)


def test_recordings_give_what_the_model_asked_for() -> None:
    """A call that was cut off, and a resumed session's first part, are not what `truth.json` says."""
    table = PROVIDER.tools.by_name
    for path in sorted(corpus("clients/gemini").glob("*/home/.gemini/tmp/*/chats/session-*.jsonl")):
        scenario = path.relative_to(corpus("clients/gemini")).parts[0]
        if scenario == "s10b" or scenario.startswith("s6_"):
            continue
        truth = msgspec.json.decode((corpus("clients/gemini") / scenario / "truth.json").read_bytes())
        events = events_of(LOG, records(read(path)))
        main = [name for name in truth["threads"] if not name.startswith("sub")]
        names = [table[c.name].tool if c.name in table else c.name for c in calls(events)]
        assert len(names) == len(asked_calls(truth, *main)), path
        assert len(results(events)) == len(names), path
        if not truth["broken"]:
            assert len(texts(events)) == len(said(truth, *main)), path
            tokens = {k: sum(truth["threads"][n]["tokens"][k] for n in main) for k in ("input", "cached", "output")}
            found = total(events)
            assert {k: found[k] for k in tokens} == tokens, path


def test_agtraces_sample_has_the_corrected_total() -> None:
    path = corpus("agtrace/samples") / "gemini_session.json"
    events = events_of(DOCUMENT, document(msgspec.json.decode(read(path))))
    found = total(events)
    assert found["input"] + found["output"] == 67_950
    golden = msgspec.json.decode((corpus("agtrace/golden-events") / "gemini_events.json").read_bytes())
    kinds = {"user": "UserText", "reasoning": "Reasoning", "tool_call": "ToolCall", "tool_result": "ToolResult",
             "message": "AssistantText", "token_usage": "TokenUsage"}  # fmt: skip
    told = [type(e).__name__ for e in events if not isinstance(e, SessionInfo)]
    assert told == [kinds[event["type"]] for event in golden]


def test_wild_recordings_hold_nothing_unknown() -> None:
    for path in [*corpus("wild/gemini-session").iterdir(), *corpus("wild/gemini-session-jsonl").iterdir()]:
        given = records(read(path))
        name, score = best(PROVIDER, given)
        assert (name, score) == ("gemini-chat-json" if path.suffix == ".json" else "gemini-chat", 1.0), path
        batch = Batch(str(path), records=given)
        Decode(dialect(PROVIDER, name), DecodeContext(str(path))).push(batch)
        assert not batch.unknown and not batch.faults, path


def test_qwens_ledger_of_usage_is_no_chat() -> None:
    ledger: dict[str, Any] = {
        "version": 1,
        "sessionId": "s",
        "timestamp": 1795381436185,
        "startTime": 1795381434392,
        "models": {},
    }
    assert best(PROVIDER, lines(ledger))[1] == 0.0
