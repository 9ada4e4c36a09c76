"""Mistral Vibe's output and sessions, in both forms: what became of each call, whose answer it is of, tokens, ends."""

import json
from typing import Any

import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.normalize import Normalize
from agentv_stages.chain.pair import Pair
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    AnyEvent,
    AssistantText,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.provider import DecodeContext, Dialect
from agentv_stages.providers import all_providers
from agentv_stages.providers.vibe import PROVIDER
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
    head,
    lines,
    records,
    results,
    texts,
    usages,
)

STREAM, SESSION = dialect(PROVIDER, "vibe-stream"), dialect(PROVIDER, "vibe-session")
OLD_STREAM, OLD_SESSION = dialect(PROVIDER, "vibe-stream-old"), dialect(PROVIDER, "vibe-session-old")
LOGS = {"stream": STREAM, "session": SESSION, "stream-old": OLD_STREAM, "session-old": OLD_SESSION}
TURN = {"generationStatus": "completed", "sessionId": "s1", "turnId": "t1", "relatedEntryId": None}


def log(name: str) -> bytes:
    return (FIXTURES / "vibe" / name).read_bytes()


def values(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log(name).splitlines()]


def told(name: str) -> list[AnyEvent]:
    return events_of(LOGS[name], records(log(f"{name}.jsonl")))


def outcomes(of: Dialect, *given: Any) -> list[tuple[str, str | None, int | None]]:
    """Tool, outcome and exit code of each result, in their order."""
    batch = Batch("log", records=lines(*given))
    for stage in (Decode(of, DecodeContext("log")), Normalize(PROVIDER.tools), Pair()):
        (batch,) = stage.push(batch)
    found = [event for event in batch.events if isinstance(event, ToolResult)]
    return [(event.call.tool if event.call else "", event.outcome, event.exit_code) for event in found]


def effect(name: str = "c1", begun: int = 1000, done: int = 1100, **state: Any) -> dict[str, Any]:
    detail = {"toolName": "file_system.bash", "kind": "shell", "input": {"command": "ls"}}
    state = {"status": "completed", "output": {"stdout": "x"}, "display": {"success": True}, **state}
    entry = {"id": f"effect-{name}", **TURN, "type": "effect", "createdAt": begun, "updatedAt": done}
    return {**entry, "detail": detail, "state": state}


def said(answer: str, text: str = "Hm.", time: int = 900, **more: Any) -> dict[str, Any]:
    entry = {"id": f"assistant-{answer}", **TURN, "type": "message", "role": "assistant", "createdAt": time}
    return {**entry, "updatedAt": time, "content": [{"type": "text", "text": text}], "source": "harness", **more}


def within(*given: Any) -> list[Any]:
    """Records of a session on disk, behind what says whose they are."""
    return [values("session.jsonl")[0], *given]


def turn(status: str, **more: Any) -> dict[str, Any]:
    """A state of the session in the journal."""
    state = {"session": {"id": "s1", "updatedAt": 2000}, "latestTurn": {"id": "t1", "status": status, **more}}
    return changes({"op": "set_envelope", "state": state})


def changes(*delta: Any) -> dict[str, Any]:
    payload = {"delta": list(delta), "watermark": 1}
    return {"recovery_journal_record_version": 1, "sequence": 1, "type": "projection_delta", "payload": payload}


def answer(*names: str, text: str = "", **more: Any) -> dict[str, Any]:
    """An answer of 2.x that asks for tools, the call `c0` first."""
    asked = [{"id": f"c{i}", "function": {"name": name, "arguments": "{}"}} for i, name in enumerate(names)]
    return {"role": "assistant", "content": text, "tool_calls": asked or None, "message_id": "m1", **more}


def gave(content: str, call: str = "c0", name: str = "bash") -> dict[str, Any]:
    return {"role": "tool", "content": content, "name": name, "tool_call_id": call}


@pytest.mark.parametrize("name", sorted(LOGS))
def test_a_log_is_told_by_its_content(name: str) -> None:
    assert best(PROVIDER, records(log(f"{name}.jsonl")))[0] == LOGS[name].name


def test_only_its_own_chat_messages_are_claimed() -> None:
    bare = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "tool_calls": [{"id": "1"}]}]
    assert best(PROVIDER, lines(*bare))[1] == 0.0
    named = [{"role": "user", "content": "a", "name": "ada"}, {"role": "tool", "content": "b", "tool_call_id": "1"}]
    assert best(PROVIDER, lines(*named))[1] == 0.0
    first = {"role": "assistant", "content": "", "tool_calls": None, "name": None, "tool_call_id": None}
    assert best(PROVIDER, lines(first)) == ("vibe-stream-old", 0.7)  # 1.0 with a system prompt of the user's own
    assert best(PROVIDER, lines({**first, "refusal": None}))[1] == 0.0
    system = {**first, "role": "system", "content": "You are operating as and within Mistral Vibe, a CLI"}
    assert best(PROVIDER, lines(system)) == ("vibe-stream-old", 1.0)


@pytest.mark.parametrize("name", sorted(LOGS))
def test_no_other_provider_claims_as_much(name: str) -> None:
    first = head(records(log(f"{name}.jsonl")))
    others = [d.detect(first) for p in all_providers() if p is not PROVIDER for d in p.dialects]
    assert max(others) < best(PROVIDER, records(log(f"{name}.jsonl")))[1]


def test_a_stream_is_known_whatever_the_order_of_its_keys() -> None:
    """As after `jq -S`; on disk, too, the keys are sorted, but members that are null are left out."""
    given = lines(*(dict(sorted(value.items())) for value in values("stream.jsonl")))
    assert best(PROVIDER, given) == ("vibe-stream", 1.0)
    assert SESSION.detect(head(given)) == 0.0


def test_parts_of_a_session_are_no_logs() -> None:
    """Chunks of earlier checkpoints, the journal, the model's context: a folder holds each entry several times."""
    for part in (dict(sorted(effect().items())), turn("completed")):
        assert best(PROVIDER, lines(part)) == ("vibe-session", 1.0)
        batch = decoded(SESSION, lines(part), DecodeContext("log", place="/home/ada/log"))
        assert not batch.events and batch.ignored == {"a part without its session": 1}
    assert best(PROVIDER, lines({"source": "history", "turn_index": 0, "message": {"role": "user"}}))[1] == 0.0


@pytest.mark.parametrize("name", sorted(LOGS))
def test_the_laws_hold(name: str) -> None:
    given = records(log(f"{name}.jsonl"))
    check_laws(LOGS[name], given)
    check_odd_shapes(PROVIDER, given)


def test_what_became_of_each_call() -> None:
    assert outcomes(STREAM, *values("stream.jsonl")) == [
        ("Read", "ok", None),
        ("Edit", "ok", None),
        ("Write", "ok", None),
        ("Bash", "ok", None),
        ("Bash", "error", None),  # exit 3, which is told as "completed" without success
        ("TodoWrite", "ok", None),
        ("Read", "ok", None),
        ("Read", "error", None),
        ("Bash", "ok", None),
        ("Write", "ok", None),
        ("Bash", "denied", None),
        ("mcp__docs__lookup", "ok", None),
        ("mcp__docs__lookup", "error", None),
        ("Bash", "cancelled", None),
    ]


def test_exit_codes_stand_in_sessions_alone() -> None:
    found = outcomes(SESSION, *values("session.jsonl"))
    assert ("Bash", "error", 4) in found and ("Read", "ok", None) in found
    kept = {"type": "success", "structured_content": {"returncode": 0, "stdout": "x"}}
    assert outcomes(SESSION, *within(effect(output=kept))) == [("Bash", "ok", 0)]
    (result,) = results(events_of(SESSION, lines(*within(effect(output=kept)))))
    assert result.output == {"returncode": 0, "stdout": "x"}


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ({"status": "failed", "error": {"code": "tool_failed", "message": "no"}}, "error"),
        ({"status": "failed", "decision": "skip", "error": {"code": "tool_denied", "message": "no"}}, "denied"),
        ({"status": "skipped"}, "denied"),
        ({"status": "cancelled", "reason": "client interrupt"}, "cancelled"),
        ({"display": {"success": False}}, "error"),
    ],
)
def test_states_of_calls(state: dict[str, Any], outcome: str) -> None:
    (result,) = results(events_of(STREAM, lines(effect(**state))))
    assert result.outcome == outcome
    assert result.output == (state.get("error", state).get("message") or state.get("reason") or {"stdout": "x"})


def test_a_call_is_of_the_answer_that_spoke_or_of_a_silent_one() -> None:
    """Calls of one answer overlap; the next answer comes when all have ended."""
    given = [
        said("a"),
        effect("1", 1000, 1500),
        effect("2", 1010, 1600),
        effect("3", 1700, 1800),
        said("b"),
        effect("4"),
    ]
    assert [call.message_id for call in calls(events_of(STREAM, lines(*given)))] == ["a", "a", "answer-effect-3", "b"]
    assert len({call.message_id for call in calls(told("stream"))}) == 12


def test_calls_that_a_journal_tells_as_they_begin_are_of_one_answer() -> None:
    """It tells of the second before the first has ended."""

    def begun(name: str, begun: int) -> dict[str, Any]:
        return changes({"op": "append_entry", "entry": effect(name, begun, begun, status="running")})

    def done(name: str, begun: int, done: int) -> dict[str, Any]:
        return changes({"op": "replace_entry", "entry": effect(name, begun, done)})

    given = [begun("1", 1000), begun("2", 1010), done("2", 1010, 1100), done("1", 1000, 1200), begun("3", 1300)]
    found = calls(events_of(SESSION, lines(*within(*given))))
    assert [call.message_id for call in found] == ["answer-effect-1", "answer-effect-1", "answer-effect-3"]


def test_durations_are_those_of_the_entries() -> None:
    call, result = calls(told("stream"))[0], results(told("stream"))[0]
    assert (result.source.time_ms or 0) - (call.source.time_ms or 0) == 28


def test_a_run_is_interrupted_where_it_breaks_off() -> None:
    broken = said("a", outcome={"type": "discarded", "cause": "interrupt"})
    assert [e.status for e in told("stream") if isinstance(e, SessionEnd)] == ["interrupted"]
    assert [e.status for e in events_of(STREAM, lines(broken)) if isinstance(e, SessionEnd)] == ["interrupted"]
    again = said("a", outcome={"type": "discarded", "cause": "retry"})
    assert not [e for e in events_of(STREAM, lines(again, said("b"))) if isinstance(e, SessionEnd)]
    assert decoded(STREAM, lines(said("a"))).events[-1].__class__ is not SessionEnd  # its calls may not be printed yet


def test_notices_and_prompts() -> None:
    prompt = {**said("x"), "id": "user-t1", "role": "user", "source": "turn_start"}
    steered = {**prompt, "id": "user-t2", "source": "harness"}
    found = [e for e in events_of(STREAM, lines(prompt, steered)) if isinstance(e, UserText)]
    assert [(e.text, e.injected) for e in found] == [("Hm.", False), ("Hm.", True)]
    checkpoint = {"id": "k", **TURN, "type": "checkpoint", "kind": "compaction", "message": "Context compacted"}
    (notice,) = [e for e in events_of(STREAM, lines(checkpoint)) if isinstance(e, Notification)]
    assert (notice.name, notice.message) == ("compaction", "Context compacted")
    (asked,) = [e for e in told("stream") if isinstance(e, Notification)]
    assert asked.call_id == next(
        c.call_id for c in calls(told("stream")) if c.input == {"command": "touch forbidden.txt"}
    )


def test_a_session_has_its_history_and_then_its_journal() -> None:
    events = told("session")
    info = next(e for e in events if isinstance(e, SessionInfo))
    assert (info.session_id, info.model, info.cwd, info.title) == (
        *("5b1f7c1e-3a40-4a7e-9c57-0d5f0e3c1a01", "mock-model", "/home/ada/orchard", "Fix add"),
    )
    assert texts(events) == ["Prog.", "All done. ✓", "Long one.", "Waiting."]
    assert len({call.call_id for call in calls(events)}) == len(calls(events)) == 6
    assert len(results(events)) == 5  # it was killed while the last one ran
    assert [(u.scope, u.input, u.cached, u.output) for u in usages(events)][-1] == ("session", 4700, 0, 47)
    assert [e.status for e in events if isinstance(e, SessionEnd)] == ["complete"]


def test_what_a_checkpoint_repeats_of_the_journal_is_told_once() -> None:
    running = effect(status="running", output=None, display=None)
    begun = changes({"op": "append_entry", "entry": said("a")}, {"op": "append_entry", "entry": running})
    replaced = changes({"op": "replace_entry", "id": "effect-c1", "entry": effect()})
    whole = events_of(SESSION, lines(*within(begun, replaced, said("a"), effect())))
    assert (len(texts(whole)), len(calls(whole)), len(results(whole))) == (1, 1, 1)
    ended = events_of(SESSION, lines(*within(begun, said("a"), effect())))  # the checkpoint has its end
    assert (len(calls(ended)), len(results(ended))) == (1, 1)
    repeated = changes(
        {"op": "set_history_entries", "entries": [said("a"), effect()]}, {"op": "remove_entry", "id": "x"}
    )
    assert len(events_of(SESSION, lines(*within(begun, replaced, repeated)))) == len(
        events_of(SESSION, lines(*within(begun, replaced)))
    )


@pytest.mark.parametrize(
    ("given", "status", "reason"),
    [
        ({"status": "completed", "stopReason": None}, "complete", "completed"),
        ({"status": "completed", "stopReason": "limit"}, "error", "limit"),
        ({"status": "interrupted", "reason": "client interrupt"}, "interrupted", "client interrupt"),
        ({"status": "failed", "error": {"message": "400"}}, "error", "400"),
    ],
)
def test_ends_of_turns(given: dict[str, Any], status: str, reason: str) -> None:
    record = turn(**given)
    (end,) = [e for e in events_of(SESSION, lines(*within(record, record))) if isinstance(e, SessionEnd)]
    assert (end.status, end.reason) == (status, reason)
    assert not [e for e in events_of(SESSION, lines(*within(turn("in_progress")))) if isinstance(e, SessionEnd)]


def test_what_became_of_each_call_of_2x() -> None:
    assert outcomes(OLD_STREAM, *values("stream-old.jsonl")) == [
        ("Read", "ok", None),
        ("Edit", "ok", None),
        ("Write", "ok", None),
        ("Bash", "ok", 0),
        ("Bash", "error", 3),
        ("Grep", "ok", None),
        ("TodoWrite", "ok", None),
        ("Read", "error", None),
        ("Read", "ok", None),
        ("Bash", "ok", 0),
        ("no_such_tool", "error", None),
        ("Bash", "error", None),  # arguments that are no JSON
        ("Bash", "error", None),
        ("Bash", "denied", None),
        ("Bash", "cancelled", None),
    ]


@pytest.mark.parametrize(
    ("tool", "text", "outcome"),
    [
        ("bash", "<user_cancellation>Tool execution skipped by user.</user_cancellation>", ("denied", None)),
        ("bash", "<tool_error>Tool 'bash' was denied by hook 'h': no</tool_error>", ("denied", None)),
        ("bash", "Tool 'bash' is permanently disabled", ("denied", None)),
        ("bash", "Tool 'bash' blocked by denylist: ['rm']", ("denied", None)),
        ("read", "content: Tool execution not permitted.", ("ok", None)),
        ("read", "content: x\nreturncode: 3", ("ok", None)),
        ("bash", "stdout: returncode: 5\nstderr: \nreturncode: 0", ("ok", 0)),
        ("task", "response: half\nturns_used: 9\ncompleted: False", ("error", None)),
        ("task", "response: done\nturns_used: 2\ncompleted: True", ("ok", None)),
    ],
)
def test_outcomes_are_told_by_the_agents_words(tool: str, text: str, outcome: tuple[str, int | None]) -> None:
    ((_, told_outcome, code),) = outcomes(OLD_STREAM, answer(tool), gave(text, name=tool))
    assert (told_outcome, code) == outcome


def test_an_answer_of_2x_is_one_record() -> None:
    given = answer("bash", "bash", text="Two.", reasoning_content="Why?")
    events = events_of(OLD_STREAM, lines(given))
    assert {e.message_id for e in events if isinstance(e, (Reasoning, ToolCall))} == {"m1"}
    assert [e.text for e in events if isinstance(e, Reasoning)] == ["Why?"] and texts(events) == ["Two."]
    assert not [e for e in events if isinstance(e, SessionEnd)]
    assert [e.status for e in events_of(OLD_STREAM, lines(answer(text="Done."))) if isinstance(e, SessionEnd)] == [
        "complete"
    ]


def test_what_the_agent_put_in_the_models_place_is_synthetic() -> None:
    """To 2.6 a result that no answer followed is followed by a word that the model did not say."""
    filler = {"role": "assistant", "content": "Understood."}
    found = events_of(OLD_STREAM, lines(answer("bash"), gave("x"), filler, filler))
    assert [e.synthetic for e in found if isinstance(e, AssistantText)] == [True, False]
    assert len([e for e in found if isinstance(e, SessionEnd)]) == 1
    later = events_of(OLD_STREAM, lines(answer("bash"), gave("x"), {**filler, "injected": False}))
    assert [e.synthetic for e in later if isinstance(e, AssistantText)] == [False]


def test_what_the_agent_wrote_in_the_users_name_is_injected() -> None:
    given = [
        {"role": "system", "content": "You are Mistral Vibe"},
        {"role": "user", "content": "Do it."},
        {"role": "user", "content": "A summary", "injected": True},
        {"role": "user", "content": "<vibe_warning>You have used 50% of your total context</vibe_warning>"},
    ]
    found = [e.injected for e in events_of(OLD_STREAM, lines(*given)) if isinstance(e, UserText)]
    assert found == [True, False, True, True]


def test_the_session_of_1x_is_one_document() -> None:
    value = json.loads(log("session-1.json"))
    events = events_of(OLD_SESSION, document(value))
    info = next(e for e in events if isinstance(e, SessionInfo))
    assert (info.model, info.cwd, info.git_branch) == ("mock-model", "/home/ada/orchard", "master")
    (used,) = usages(events)
    assert (used.scope, used.input, used.output) == ("session", 19_800, 198)
    assert used.cost_usd == pytest.approx(0.020196)
    assert len(calls(events)) == len(results(events)) == 13
    free = {**value["metadata"], "stats": {**value["metadata"]["stats"], "session_cost": 0.0}}
    assert usages(events_of(OLD_SESSION, document({**value, "metadata": free})))[0].cost_usd is None


def test_tokens_of_a_session_that_a_compaction_began_are_unknown() -> None:
    """Its figures go on from those of the session before, which has told them."""
    meta = json.loads(log("session-old.meta.json"))
    assert usages(events_of(OLD_SESSION, document(meta)))[0].input == 2700
    events = events_of(OLD_SESSION, document({**meta, "parent_session_id": "p1"}))
    assert not usages(events)
    assert [e.parent_session_id for e in events if isinstance(e, SessionInfo)] == ["p1"]


def test_entries_without_an_id_are_told_apart() -> None:
    bare = [{**entry, "id": None} for entry in (said("a1"), effect(), said("a2", time=2000), effect("c2", 2100, 2200))]
    events = events_of(LOGS["stream"], lines(*bare))
    assert [event.call_id for event in calls(events)] == [event.call_id for event in results(events)]
    assert len({event.call_id for event in calls(events)}) == 2
    assert len({event.message_id for event in events if isinstance(event, AssistantText)}) == 2
    assert outcomes(LOGS["stream"], *bare) == [("Bash", "ok", None)] * 2
    assert outcomes(LOGS["session"], *within(changes({"op": "append_entry", "entry": bare[1]}))) == [
        ("Bash", "ok", None)
    ]


def of_2_23(kind: str, name: str, time: int, **more: Any) -> dict[str, Any]:
    """An entry as 2.23 to 2.26 print it: no id names its answer."""
    return {"id": name, **TURN, "type": kind, "createdAt": time, "updatedAt": time, **more}


def test_a_text_behind_a_thought_is_of_its_answer_where_no_id_says_so() -> None:
    text = {"role": "assistant", "content": [{"type": "text", "text": "Hm."}]}
    events = events_of(
        STREAM,
        lines(
            of_2_23("reasoning", "a", 900, text="First."),
            of_2_23("message", "b", 901, **text),
            {**effect(), "id": "call_1"},
            of_2_23("reasoning", "c", 1200, text="Second."),
            {**effect(begun=1250, done=1300), "id": "call_2"},
            of_2_23("message", "d", 1400, **text),
        ),
    )
    spoken = [e.message_id for e in events if isinstance(e, AssistantText | Reasoning | ToolCall)]
    assert spoken == ["a", "a", "a", "c", "c", "d"]


def test_an_mcp_tool_is_known_by_what_the_terminal_shows() -> None:
    shown = {"presentation": {"display": {"statusText": "Calling MCP tool find_book"}}}
    asked = answer("shelf_find_book")
    asked["tool_calls"][0].update(shown)
    assert outcomes(OLD_SESSION, asked, gave("ok: True", name="shelf_find_book"))[0][0] == "mcp__shelf__find_book"
    made = effect()
    made["detail"] = {"toolName": "shelf_find_book", "display": {"statusText": "Calling MCP tool find_book"}}
    assert outcomes(STREAM, made)[0][0] == "mcp__shelf__find_book"
    made["detail"]["display"] = {"statusText": "Searching files"}
    assert outcomes(STREAM, made)[0][0] == "shelf_find_book"


def test_a_question_that_was_answered_with_no_denies_its_call() -> None:
    output = {"type": "approval", "decision": {"type": "deny"}}
    asked = of_2_23("callback", "q", 1000, state={"status": "answered", "output": output})
    stopped = effect(status="cancelled", output=None, reason="Cancelled")
    assert outcomes(STREAM, {**asked, "relatedEntryId": stopped["id"]}, stopped) == [("Bash", "denied", None)]
    assert outcomes(STREAM, {**asked, "relatedEntryId": "another"}, stopped) == [("Bash", "cancelled", None)]


def test_a_failed_command_says_its_exit_code_at_the_end_of_a_line() -> None:
    failed = effect(status="failed", output=None, error={"message": "bash failed: Command failed: 'x'\nReturn code: 3"})
    failed["detail"]["toolName"] = "bash"
    assert outcomes(STREAM, failed) == [("Bash", "error", 3)]
    text = "<tool_error>bash failed: Command failed: 'x'\nReturn code: 3</tool_error>"
    assert outcomes(OLD_SESSION, answer("bash"), gave(text)) == [("Bash", "error", 3)]


def test_durations_are_the_logs_own_where_it_has_them() -> None:
    [lasted] = results(events_of(STREAM, lines(effect(durationMs=41.7))))
    assert lasted.duration_ms == 42
    [lasted] = results(events_of(OLD_SESSION, lines({**gave("x"), "tool_result": {"duration": 1.25, "output": {}}})))
    assert lasted.duration_ms == 1250


def test_a_run_that_says_goodbye_was_interrupted() -> None:
    given = [*lines(said("a1")), *records(b"\nBye!\n")]
    for of in (STREAM, OLD_STREAM):
        batch = decoded(of, given if of is STREAM else records(b"Bye!\n"))
        assert [e.status for e in batch.events if isinstance(e, SessionEnd)] == ["interrupted"]
        assert not batch.faults


def test_a_cancelled_call_interrupts_the_session_of_2x_until_an_answer_ends_it() -> None:
    stopped = gave("<user_cancellation>User cancelled the operation.</user_cancellation>")
    events = events_of(OLD_SESSION, lines(answer("bash"), stopped, answer(text="Done.")))
    assert [e.status for e in events if isinstance(e, SessionEnd)] == ["interrupted", "complete"]


def test_models_may_be_listed_by_their_alias() -> None:
    meta = json.loads(log("session-old.meta.json"))
    meta["config"] = {"active_model": "m", "models": {"m": {"name": "model-7b", "alias": "m"}}}
    batch = decoded(OLD_SESSION, lines(meta))
    assert [e.model for e in batch.events if isinstance(e, SessionInfo)] == ["model-7b"]
    assert not batch.faults


@pytest.mark.parametrize("name", ["file_system.edit", "file_system.search_replace"])
def test_the_edit_tool_had_another_name_in_2_26_0(name: str) -> None:
    made = effect()
    made["detail"]["toolName"] = name
    assert outcomes(STREAM, made) == [("Edit", "ok", None)]
