"""Continue: what `cn -p` prints, and its sessions: calls by their states, totals, forks, compactions, damage."""

import json
from typing import Any

import pytest

from agentv_stages.chain.normalize import Normalize
from agentv_stages.figures.result import Result
from agentv_stages.model.event import (
    AnyEvent,
    AssistantText,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.providers import get_provider, package_of
from agentv_stages.providers.continue_ import PROVIDER
from agentv_stream.summary import summarize
from support.decoding import (
    FIXTURES,
    best,
    calls,
    check_laws,
    check_odd_shapes,
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

OUTPUT = dialect(PROVIDER, "continue-output")
SESSION = dialect(PROVIDER, "continue-session")
FOLDER = FIXTURES / "continue"
FILES = ("session", "fork", "subagent", "open", "compacted")
PRINTED = records((FOLDER / "output.jsonl").read_bytes())


def fixture(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_bytes())
    return value


def told(value: dict[str, Any]) -> list[AnyEvent]:
    return events_of(SESSION, document(value))


def result_of(value: dict[str, Any]) -> Result:
    return summarize(document(value)[0].data)


def user(text: Any, **members: Any) -> dict[str, Any]:
    return {"message": {"role": "user", "content": text}, "contextItems": [], **members}


def answer(text: Any, prompt: int = 0, made: int = 0, **members: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if prompt or made:
        message["usage"] = {"prompt_tokens": prompt, "completion_tokens": made, "model": "pear-2"}
    return {"message": message, "contextItems": [], **members}


def state(name: str, status: str, output: str | None = None, call: str = "c", **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    outputs = {} if output is None else {"output": [{"content": output, "name": "Tool Result", "description": ""}]}
    asked = {"id": call, "type": "function", "function": function}
    return {"toolCallId": call, "toolCall": asked, "status": status, "parsedArgs": arguments, **outputs}


def session(*history: dict[str, Any], total: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    about = {"sessionId": "s-1", "title": "Untitled Session", "workspaceDirectory": "/w"}
    return {**about, "history": list(history), **({} if total is None else {"usage": total}), **members}


def total(prompt: int, made: int, cost: float = 0.0, cached: int = 0, written: int = 0) -> dict[str, Any]:
    details = {"cachedTokens": cached, "cacheWriteTokens": written}
    return {"totalCost": cost, "promptTokens": prompt, "completionTokens": made, "promptTokensDetails": details}


def ends(events: list[AnyEvent]) -> list[tuple[str, str | None]]:
    return [(event.status, event.reason) for event in events if isinstance(event, SessionEnd)]


def outcome(name: str, status: str, output: str) -> tuple[str | None, int | None]:
    """Of a call with this state."""
    (found,) = results(told(session(answer("", toolCallStates=[state(name, status, output)]))))
    return found.outcome, found.exit_code


@pytest.mark.parametrize("name", FILES)
def test_sessions_are_known_and_keep_the_laws(name: str) -> None:
    given = document(fixture(name))
    assert best(PROVIDER, given) == ("continue-session", 1.0)
    assert not decoded(SESSION, given).unknown
    check_laws(SESSION, given)


def test_the_output_is_known_and_keeps_the_laws() -> None:
    assert best(PROVIDER, PRINTED) == ("continue-output", 1.0)
    assert not decoded(OUTPUT, PRINTED).unknown
    check_laws(OUTPUT, PRINTED)


def test_odd_shapes() -> None:
    for name in FILES:
        check_odd_shapes(PROVIDER, document(fixture(name)))
    check_odd_shapes(PROVIDER, PRINTED)


def test_its_name_is_a_keyword_of_python() -> None:
    assert package_of("continue") == "continue_"
    assert get_provider("continue") is get_provider("continue-cli") is get_provider("cn") is PROVIDER


def test_other_documents_are_none_of_its_sessions() -> None:
    others: list[Any] = [{"sessionId": "s", "history": []}, {"workspaceDirectory": "/w", "history": []}, {"session": 1}]
    for value in others:
        assert best(PROVIDER, document(value)) == ("continue-session", 0.0)
    listed = [{"sessionId": "s", "title": "t", "dateCreated": "1", "workspaceDirectory": "/w", "messageCount": 1}]
    assert SESSION.detect(listed) == 0.0  # sessions.json beside them
    assert SESSION.detect([session()]) == 0.5


def test_only_the_last_answer_is_printed() -> None:
    events = events_of(OUTPUT, PRINTED)
    assert texts(events) == ["Done: slugs have a hyphen now ✅."]
    assert ends(events) == [("complete", None)]
    notices = [(event.name, event.message) for event in events if isinstance(event, Notification)]
    assert notices == [("info", "Auto-compacting triggered"), ("success", "Auto-compacted successfully")]


def test_what_else_is_printed() -> None:
    compacted = {"status": "success", "message": "Chat history compacted", "historyLength": 1}
    assert best(PROVIDER, lines(compacted)) == ("continue-output", 0.9)
    assert ends(events_of(OUTPUT, lines(compacted))) == [("complete", None)]
    failed = {"status": "error", "message": "400 bad request"}
    assert ends(events_of(OUTPUT, lines(failed))) == [("error", "400 bad request")]
    assert OUTPUT.detect([failed]) == 0.0  # many programs print such a line
    own = {"answer": 42}  # of the model, which is printed as it is
    assert OUTPUT.detect([own]) == 0.0
    assert decoded(OUTPUT, lines(own)).unknown == {"(no answer)": 1}


def test_what_became_of_each_call() -> None:
    found = [(e.call_id, e.outcome, e.exit_code) for e in results(told(fixture("session")))]
    assert found == [
        ("call_1", "ok", None),
        ("call_2", "error", None),
        ("call_3", "ok", None),
        ("call_4", "ok", None),
        ("call_5", "error", 1),
        ("call_6", None, None),  # grep's 1 is not told, because it printed no error
        ("call_7", "ok", None),
        ("call_8", "denied", None),
        ("call_9", None, None),  # an MCP tool may have failed
        ("call_10", "error", None),
    ]


@pytest.mark.parametrize(
    ("name", "status", "output", "expected"),
    [
        ("Write", "canceled", "Command blocked by security policy", "denied"),
        ("Write", "canceled", "Permission denied by user", "denied"),
        ("read_file", "canceled", "", "cancelled"),
        ("Bash", "done", "so far\n\n[Command timed out after 30 seconds of no output]", "error"),
        ("Bash", "done", "[Command timed out after 30 seconds of no output]" + "x" * 700, None),
        ("Subagent", "done", "<task_metadata>\nstatus: failed\n</task_metadata>", "error"),
        ("Subagent", "done", "n\n<task_metadata>\nstatus: completed\n</task_metadata>", "ok"),
        ("Read", "odd", "x", None),
    ],
)
def test_outcomes(name: str, status: str, output: str, expected: str | None) -> None:
    assert outcome(name, status, output) == (expected, None)


def test_an_exit_code_is_that_of_a_command() -> None:
    assert outcome("Bash", "errored", "Error executing tool Bash: Error (exit code 127): no\n") == ("error", 127)
    assert outcome("Bash", "errored", "Error executing tool Bash: Error (exit code null): no\n") == ("error", None)
    assert outcome("Read", "errored", "Error (exit code 3): in a file") == ("error", None)


def test_a_call_that_runs_has_no_end() -> None:
    events = told(fixture("open"))
    assert [call.name for call in calls(events)] == ["Bash", "Write"]
    assert [(e.call_id, e.output, e.partial) for e in results(events)] == [("call_a", "one\n", True)]
    result = result_of(fixture("open"))
    assert result.status == "unknown"
    assert result.tool_use_summary["by_outcome"]["unpaired"] == 2


def test_a_call_that_ran_when_the_session_went_on_was_interrupted() -> None:
    """Escape leaves the call as it is; the next prompt shows that it will get no end."""
    interrupted = session(
        user("first"),
        answer(
            "Try",
            3209,
            17,
            toolCallStates=[state("Bash", "calling", "one\n", "a"), state("Write", "generated", call="b")],
        ),
        user("go on"),
        answer("after", 3382, 5),
    )
    found = [(e.call_id, e.output, e.outcome, e.partial) for e in results(told(interrupted))]
    assert found == [("a", "one\n", "cancelled", False), ("b", None, "cancelled", False)]
    result = result_of(interrupted)
    assert result.status == "complete"
    assert result.tool_use_summary["by_outcome"]["cancelled"] == 2


def test_a_call_runs_on_while_results_of_others_come() -> None:
    answered: dict[str, Any] = {"message": {"role": "tool", "content": "r", "toolCallId": "b"}, "contextItems": []}
    both = answer("", toolCallStates=[state("Bash", "calling", call="a"), state("Read", "done", "r", "b")])
    assert [(e.call_id, e.outcome) for e in results(told(session(both, answered)))] == [("b", "ok")]


def test_what_the_user_ran_is_no_call() -> None:
    """`!ls` in the terminal: no model asked for it."""
    own = state("Bash", "done", "a.py\n", "shell-1764260000123-x7f3q1", command="ls")
    running = state("Bash", "calling", None, "shell-1764260000999-0000a", command="sleep 60")
    ran = session(
        user("hi"),
        answer("Hello.", 10, 2),
        answer("", toolCalls=[], toolCallStates=[own]),
        answer("", toolCallStates=[running]),
    )
    events = told(ran)
    prompts = [(event.text, event.injected) for event in events if isinstance(event, UserText)]
    assert prompts == [("hi", False), ("!ls", True), ("a.py\n", True), ("!sleep 60", True)]
    assert not calls(events) and not results(events)
    result = result_of(ran)
    assert (result.status, result.tool_use_summary["turns"]) == ("complete", 1)


def test_canonical_names_and_files() -> None:
    (batch,) = Normalize(PROVIDER.tools).push(decoded(SESSION, document(fixture("session"))))
    found = calls(batch.events)
    assert [(e.tool, e.kind, e.files) for e in found] == [
        ("Read", "read", ("slug.py",)),
        ("Read", "read", ("nope.py",)),
        ("LS", "read", ()),
        ("Edit", "write", ("slug.py",)),
        ("Bash", "execute", ()),
        ("Bash", "search", ()),
        ("TodoWrite", "plan", ()),
        ("Write", "write", ("notes.md",)),
        ("lookup", "search", ()),
        ("Prune", "other", ()),
    ]
    assert found[0].input == {"file_path": "slug.py", "filepath": "slug.py"}
    assert found[4].command == "python test_slug.py"


def test_tokens_are_those_of_the_answers() -> None:
    result = result_of(fixture("session"))
    sums = {"input": 18400, "cached": 14208, "cache_write": None, "cache_write_1h": None, "output": 152}
    assert result.tokens == {**sums, "reasoning": 24}
    assert result.cost_usd is None  # a price that Continue assumes
    assert [e.scope for e in usages(told(fixture("session")))] == [*["call"] * 5, "session"]


def test_anthropics_cached_tokens_are_added_and_sub_agents_are_in_the_total() -> None:
    value = fixture("subagent")
    counted = [(e.input, e.cached, e.cache_write, e.output) for e in usages(told(value)) if e.scope == "call"]
    assert counted == [(3366, 0, 3356, 23), (3524, 3328, 189, 5)]
    result = result_of(value)
    assert (result.tokens["input"], result.tokens["output"], result.cost_usd) == (9013, 60, 0.05)
    assert (result.tokens["cached"], result.tokens["reasoning"]) == (None, None)
    value["usage"] = total(17, 28, 0.05, 3328, 3545)  # without the sub-agent
    result = result_of(value)
    assert (result.tokens["input"], result.tokens["cached"], result.tokens["cache_write"]) == (6890, 3328, 3545)


def test_the_ai_sdk_counts_cached_tokens_among_the_others() -> None:
    details = {"cached_tokens": 60, "cache_read_tokens": 60, "cache_write_tokens": 0}
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "model": "anthropic/plum", "prompt_tokens_details": details}
    item = {"message": {"role": "assistant", "content": "x", "usage": usage}}
    assert [(e.input, e.cached) for e in usages(told(session(item)))] == [(100, 60)]
    own = session(item, total=total(150, 9, 0.5, 90))
    assert [(e.input, e.cached) for e in usages(told(own)) if e.scope == "session"] == [(150, None)]


def test_a_total_that_has_an_answer_already_is_corrected_behind_it() -> None:
    """The total is written before the answer, so that a follower may see it alone."""
    before = told(session(user("x"), total=total(10, 2)))
    after = told(session(user("x"), answer("y", 10, 2), total=total(10, 2)))
    assert [(e.scope, e.input, e.part) for e in usages(before)] == [("session", 10, "-total")]
    assert [(e.scope, e.input) for e in usages(after)] == [("call", 10), ("session", 10)]
    assert usages(after)[-1].part == "-total"


def test_each_run_has_an_end_of_its_own() -> None:
    first = told(session(user("x"), answer("y")))
    second = told(session(user("x"), answer("y"), user("z"), answer("w")))
    assert [e.part for e in (*first, *second) if isinstance(e, SessionEnd)] == ["-1", "-3"]


def test_tokens_that_are_not_told_are_null() -> None:
    result = result_of(session(user("x"), answer("y"), total=total(0, 0)))
    assert set(result.tokens.values()) == {None}
    old = session(user("x"), answer("y", 10, 2), total={"totalCost": 0.5})  # of a version that kept no more
    assert result_of(old).tokens["input"] == 10


def test_a_fork_counts_what_came_after_it() -> None:
    events = told(fixture("fork"))
    assert [e.text for e in events if isinstance(e, UserText)] == ["And in capitals?"]
    assert [call.call_id for call in calls(events)] == ["call_11"]
    result = result_of(fixture("fork"))
    assert (result.tokens["input"], result.tokens["cached"], result.tokens["output"]) == (8100, 7808, 20)
    assert decoded(SESSION, document(fixture("fork"))).ignored == {"copied from the parent session": 6}


def test_a_fork_without_an_answer_has_a_prompt() -> None:
    begun = [user("a"), answer("b", 10, 2)]
    events = told(session(*begun, user("c"), total=total(0, 0)))
    assert [e.text for e in events if isinstance(e, UserText)] == ["c"]
    assert texts(told(session(*begun, total=total(0, 0)))) == ["b"]  # no prompt of its own: it is no fork


def test_where_the_total_is_no_sum_of_the_last_answers_all_count() -> None:
    history = [user("a"), answer("b", 10, 2), user("c"), answer("d", 20, 3)]
    assert texts(told(session(*history, total=total(30, 5)))) == ["b", "d"]
    assert texts(told(session(*history, total=total(25, 4)))) == ["b", "d"]
    assert texts(told(session(*history, total=total(90, 9)))) == ["b", "d"]
    assert texts(told(session(*history))) == ["b", "d"]
    assert texts(told(session(*history, total=total(20, 3)))) == ["d"]


def test_a_compaction_leaves_its_summary() -> None:
    events = told(fixture("compacted"))
    said = [(e.text, e.injected) for e in events if isinstance(e, UserText)]
    assert said == [("The user wanted three trees counted.", True), ("Now the apples.", False)]
    assert texts(events) == ["Ten apples."]
    result = result_of(fixture("compacted"))
    assert (result.tool_use_summary["turns"], result.tokens["input"], result.status) == (1, 9900, "complete")
    only = fixture("compacted")
    del only["history"][1:]
    assert result_of(only).status == "unknown"


def test_the_header() -> None:
    info = next(e for e in told(fixture("session")) if isinstance(e, SessionInfo))
    assert (info.session_id, info.model, info.cwd) == (
        "7c9e6679-7425-40de-944b-e07fc1f90ae7",
        "pear-2",
        "/home/ada/orchard",
    )
    assert info.title == "Fix slug tests"
    info = next(e for e in told(session(workspaceDirectory="file:///w/a%20b")) if isinstance(e, SessionInfo))
    assert (info.cwd, info.title) == ("/w/a b", None)


def test_another_model_is_told() -> None:
    second = answer("b", 10, 2)
    second["message"]["usage"]["model"] = "plum"
    found = [e.model for e in told(session(answer("a", 10, 2), second)) if isinstance(e, SessionInfo)]
    assert found == ["pear-2", "plum"]


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (answer("Done."), [("complete", None)]),
        (answer(""), []),
        (user("More."), []),
        (answer("Try", toolCallStates=[state("Write", "canceled", "Command blocked by security policy")]), []),
    ],
)
def test_a_last_answer_that_asks_for_nothing_is_the_end(last: dict[str, Any], expected: list[Any]) -> None:
    assert ends(told(session(user("x"), last))) == expected


def test_parts_and_attached_files() -> None:
    image = {"type": "imageUrl", "imageUrl": {"url": "data:image/png;base64,AAAA"}}
    attached = [{"name": "a.py", "description": "a.py", "content": "print()"}]
    prompt = user([{"type": "text", "text": "See "}, image], contextItems=attached)
    events = told(session(prompt, answer([{"type": "text", "text": "Seen."}])))
    said = [(e.body, e.injected, e.message_id) for e in events if isinstance(e, UserText)]
    assert [(bytes(body), injected, own) for body, injected, own in said] == [
        (b'"print()"', True, "m0-c0"),
        (b'"See "', False, "m0"),
        (b'[{"type":"imageUrl"}]', False, "m0"),
    ]
    assert texts(events) == ["Seen."]


def test_what_the_editor_extension_keeps() -> None:
    thought: dict[str, Any] = {"message": {"role": "thinking", "content": "Hm."}, "contextItems": []}
    asks = answer("", toolCallStates=[state("read_file", "done", "text", filepath="a.py")])
    loose = answer("", toolCallStates=[state("ls", "generated", None, "d")])
    again = {"message": {"role": "tool", "content": "text", "toolCallId": "c"}}
    late = {"message": {"role": "tool", "content": "a.py", "toolCallId": "d"}}
    events = told(session(user("x"), thought, asks, again, loose, late, chatModelTitle="Plum 4"))
    assert [(e.text, e.message_id) for e in events if isinstance(e, Reasoning)] == [("Hm.", "m2")]
    assert [(e.call_id, e.output) for e in results(events)] == [("c", "text"), ("d", "a.py")]
    assert [(e.model, e.message_id) for e in calls(events)] == [("Plum 4", "m2"), ("Plum 4", "m4")]


def test_an_id_that_comes_again_is_another_call() -> None:
    first = answer("", toolCallStates=[state("Bash", "done", "1", command="ls")])
    again = answer("", toolCallStates=[state("Bash", "errored", "2", command="ls")])
    loose = answer("", toolCallStates=[state("Bash", "generated", command="ls")])
    late = {"message": {"role": "tool", "content": "3", "toolCallId": "c"}}
    value = session(first, again, loose, late)
    assert [call.call_id for call in calls(told(value))] == ["c", "m1-0", "m2-0"]
    assert [(e.call_id, e.output) for e in results(told(value))] == [("c", "1"), ("m1-0", "2"), ("m2-0", "3")]
    assert result_of(value).tool_use_summary["by_outcome"]["error"] == 1


def test_calls_without_states_are_calls() -> None:
    function = {"name": "Read", "arguments": '{"filepath":"a"}'}
    item = {"message": {"role": "assistant", "content": "", "toolCalls": [{"id": "c", "function": function}, {}]}}
    assert [(c.call_id, c.name, c.input) for c in calls(told(session(item)))] == [
        ("c", "Read", {"filepath": "a"}),
        ("m0-1", "unknown", {}),
    ]
    item["toolCallStates"] = [{"toolCallId": "c", "status": "done"}]  # type: ignore[assignment]  # a list of objects
    assert [(c.call_id, c.name) for c in calls(told(session(item)))] == [("c", "Read")]


def test_an_exported_session_is_a_session() -> None:
    value = {"version": 1, "exportedAt": "2026-03-02T09:30:00.000Z", "session": fixture("session")}
    assert best(PROVIDER, document(value)) == ("continue-session", 1.0)
    assert [type(e) for e in told(value)] == [type(e) for e in told(fixture("session"))]


def test_what_does_not_fit_is_a_fault_or_unknown() -> None:
    batch = decoded(SESSION, document(session(user("x"), 5, {"contextItems": []}, answer("y"))))  # type: ignore[arg-type]
    assert [fault.reason for fault in batch.faults] == ["schema"]
    assert batch.unknown == {"item": 1}
    assert texts(batch.events) == ["y"]
    odd = {"message": {"role": "oracle", "content": "x"}}
    assert decoded(SESSION, document(session(odd))).unknown == {"message/oracle": 1}
    assert decoded(SESSION, document({"sessionId": "s"})).unknown == {"document": 1}
    system = {"message": {"role": "system", "content": "s"}}
    assert [e.injected for e in told(session(system)) if isinstance(e, UserText)] == [True]


def test_every_event_of_one_answer_has_its_message() -> None:
    events = told(fixture("session"))
    spoken = [e for e in events if isinstance(e, AssistantText | ToolCall)]
    assert list(dict.fromkeys(e.message_id for e in spoken)) == ["m1", "m2", "m3", "m4", "m5"]
    keys = [e.key for e in events if isinstance(e, TokenUsage) and e.scope == "call"]
    assert keys == ["m1", "m2", "m3", "m4", "m5"]
    assert all(isinstance(e.source.time_ms, type(None)) for e in events if isinstance(e, ToolResult))
