"""Claude's stream-json: every line that its catalogue lists is an event or a named ignorable; one message, one turn."""

from typing import Any

import msgspec
import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.figures.facts import FactsObserver
from agentv_stages.figures.totals import Totals
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
    TokenUsage,
    ToolCall,
    UserText,
)
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.claude import PROVIDER
from agentv_stages.providers.claude.stream import QUIET_SUBTYPES, QUIET_TYPES
from support.decoding import (
    FIXTURES,
    best,
    calls,
    check_laws,
    check_odd_shapes,
    dialect,
    events_of,
    lines,
    pushed,
    records,
    results,
    texts,
    usages,
)

STREAM = dialect(PROVIDER, "claude-stream")
LOG = (FIXTURES / "claude" / "stream.jsonl").read_bytes()
USAGE = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}
USED = {"inputTokens": 50, "outputTokens": 250, "cacheReadInputTokens": 3500, "cacheCreationInputTokens": 1500}


def line(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, "session_id": "s", "uuid": f"u-{kind}-{len(members)}", **members}


def system(subtype: str, **members: Any) -> dict[str, Any]:
    return line("system", subtype=subtype, **members)


def answer(*blocks: Any, own: str = "msg_1", **members: Any) -> dict[str, Any]:
    message = {
        "id": own,
        "model": "claude-x",
        "role": "assistant",
        "content": list(blocks),
        **members.pop("message", {}),
    }
    return line("assistant", message=message, parent_tool_use_id=members.pop("parent", None), **members)


def user(*blocks: Any, **members: Any) -> dict[str, Any]:
    return line("user", message={"role": "user", "content": list(blocks)}, **members)


def result_of(call_id: str, content: Any, **members: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **members}


def tell(*values: Any) -> Batch:
    batch = pushed(STREAM, lines(*values))
    assert batch.unknown == {}
    assert batch.faults == []
    return batch


def only(batch: Batch, kind: type[AnyEvent]) -> Any:
    (event,) = [e for e in batch.events if isinstance(e, kind)]
    return event


def only_all(batch: Batch, kind: type[AnyEvent]) -> list[Any]:
    return [e for e in batch.events if isinstance(e, kind)]


@pytest.mark.parametrize("kind", sorted(QUIET_TYPES))
def test_types_that_carry_nothing_are_counted_by_name(kind: str) -> None:
    batch = tell(line(kind))
    assert (batch.events, batch.ignored) == ([], {kind: 1})


@pytest.mark.parametrize("subtype", sorted(QUIET_SUBTYPES))
def test_subtypes_that_carry_nothing_are_counted_by_name(subtype: str) -> None:
    batch = tell(system(subtype, state="idle", tasks=[], estimated_tokens=5, status=None))
    assert (batch.events, batch.ignored) == ([], {f"system/{subtype}": 1})


TOLD = [
    (system("compact_boundary", compact_metadata={"trigger": "auto", "pre_tokens": 5}), "info"),
    (
        system("api_retry", attempt=1, max_retries=10, retry_delay_ms=1.5, error_status=529, error="overloaded"),
        "warning",
    ),
    (system("api_retry", attempt=2, max_retries=10, retry_delay_ms=1, error_status=None, error="unknown"), "warning"),
    (system("hook_response", hook_name="Stop", hook_event="Stop", outcome="error", exit_code=2), "warning"),
    (system("hook_response", hook_name="Stop", hook_event="Stop", outcome="success"), "debug"),
    (system("local_command_output", content="cost: 1"), "info"),
    (system("informational", content="note", level="notice"), "info"),
    (system("notification", key="k", text="note", priority="low"), "info"),
    (system("task_started", task_id="a", tool_use_id="t", description="look", task_type="local_agent"), "info"),
    (system("task_notification", task_id="a", status="completed", output_file="", summary="s"), "info"),
    (system("permission_denied", tool_name="Bash", tool_use_id="t"), "warning"),
    (system("model_fallback", content="Another model goes on.", originalModel="a", fallbackModel="b"), "warning"),
    (system("turn_preempted", reason="rapid_followup", preempted_by_uuid="u"), "warning"),
    (line("rate_limit_event", rate_limit_info={"status": "rejected", "resetsAt": 1}), "warning"),
    (line("command_lifecycle", command_uuid="c", state="cancelled"), "warning"),
    (line("command_lifecycle", command_uuid="c", state="discarded"), "warning"),
    (line("conversation_reset", new_conversation_id="s2", trigger="clear"), "info"),
    (line("tool_use_summary", summary="read files", preceding_tool_use_ids=[]), "debug"),
    (line("error", error={"type": "overloaded_error", "message": "busy"}), "error"),
]


@pytest.mark.parametrize(("value", "level"), TOLD)
def test_what_a_person_may_want_is_a_notification(value: dict[str, Any], level: str) -> None:
    told = only(tell(value), Notification)
    assert (told.name, told.level) == (value.get("subtype", value["type"]), level)


def test_a_limit_that_is_kept_is_no_news() -> None:
    assert tell(line("rate_limit_event", rate_limit_info={"status": "allowed"})).ignored == {"rate_limit_event": 1}


def test_a_type_that_is_really_new_is_unknown() -> None:
    batch = pushed(STREAM, lines(line("telepathy"), system("dream"), {"a": 1}))
    assert batch.unknown == {"telepathy": 1, "system/dream": 1, "(no type)": 1}


def test_another_session_behind_a_reset_is_no_foreign_one() -> None:
    init, other = system("init"), {**system("init"), "session_id": "t"}
    assert [f.reason for f in pushed(STREAM, lines(init, other)).faults] == ["foreign-record"]
    told = only_all(tell(init, line("conversation_reset"), other), SessionInfo)
    assert [(e.session_id, e.another) for e in told] == [("s", False), (None, True), ("t", False)]


def spent_by(plain: int, cost: float, number: int, whole: tuple[int, float] | None = None) -> dict[str, Any]:
    """A `result`: tokens and cost since the last one, and in all where that is more."""
    total, dollars = whole or (plain, cost)
    return line("result", uuid=f"u-r{number}", subtype="success", total_cost_usd=dollars, result_index=number,
                usage={"input_tokens": plain, "output_tokens": 5},
                modelUsage={"m": {"inputTokens": total, "costUSD": dollars}},
                model_usage_since_last_result={"m": {"inputTokens": plain, "costUSD": cost}})  # fmt: skip


AGAIN = system("init", uuid="u-again")
CLEARED = line("conversation_reset", new_conversation_id="n", trigger="clear")
NOTHING = line("result", uuid="u-n", subtype="success", total_cost_usd=0, result_index=1, usage={}, modelUsage={},
               model_usage_since_last_result={})  # fmt: skip


@pytest.mark.parametrize(
    ("behind", "plain", "cost"),
    [
        ([], 90, 0.5),
        ([NOTHING], 90, 0.5),  # `/clear` has a result of its own
        ([NOTHING, spent_by(30, 0.25, 2)], 120, 0.75),
        ([NOTHING, spent_by(30, 0.25, 2), spent_by(6, 0.125, 3, (36, 0.375))], 126, 0.875),
        ([spent_by(30, 0.25, 1, (120, 0.75))], 120, 0.75),  # had it gone on counting
    ],
)
def test_what_was_spent_before_a_reset_stays_counted(behind: list[Any], plain: int, cost: float) -> None:
    """`/clear` in 2.1.332: the totals of the `result` lines begin anew, their numbers go on."""
    given = [system("init"), spent_by(90, 0.5, 0), CLEARED, {**AGAIN, "session_id": "t"}, *behind]
    totals = Totals()
    totals.observe(tell(*given))
    assert totals.tokens().input == plain
    assert totals.cost_usd == pytest.approx(cost)
    check_laws(STREAM, lines(*given))


def status_of(*values: Any) -> str:
    facts = FactsObserver()
    facts.observe(tell(*values))
    return facts.status(STREAM.has_end, 0)


@pytest.mark.parametrize(
    ("ahead", "behind", "status"),
    [
        ([], [], "complete"),
        ([], [AGAIN], "incomplete"),
        ([], [AGAIN, spent_by(1, 0.1, 1)], "complete"),
        ([AGAIN], [spent_by(1, 0.1, 1)], "complete"),  # with a background agent both come at the end (2.1.329)
        ([], [CLEARED], "complete"),
        ([], [CLEARED, {**AGAIN, "session_id": "t"}], "incomplete"),
        ([], [system("task_notification", task_id="a", status="completed", summary="s")], "complete"),
    ],
)
def test_a_run_that_began_behind_the_last_result_is_open(ahead: list[Any], behind: list[Any], status: str) -> None:
    """Claude Code 2.1.332, killed as its next prompt's run, or that of a background task's notice, had begun."""
    assert status_of(system("init"), *ahead, spent_by(1, 0.1, 0), *behind) == status


ASKED_TO_STOP = user({"type": "text", "text": "[Request interrupted by user]"}, parent_tool_use_id=None)


@pytest.mark.parametrize(
    ("behind", "status"),
    [
        ([ASKED_TO_STOP], "interrupted"),
        ([{**ASKED_TO_STOP, "parent_tool_use_id": "t1"}], "incomplete"),
        ([ASKED_TO_STOP, line("result", subtype="success")], "complete"),
        ([ASKED_TO_STOP, AGAIN], "incomplete"),
        ([user({"type": "text", "text": "Please go on"}, isReplay=True)], "incomplete"),
    ],
)
def test_a_run_that_a_person_stopped_need_not_print_a_result(behind: list[Any], status: str) -> None:
    """Ctrl-C in 2.1.332: mostly a `result` follows, in some runs none."""
    said = answer({"type": "text", "text": "half"})
    assert status_of(system("init"), said, *behind) == status
    check_laws(STREAM, lines(system("init"), said, *behind))


@pytest.mark.parametrize("state", ["queued", "started", "completed"])
def test_the_steps_of_a_queued_prompt_are_counted(state: str) -> None:
    batch = tell(line("command_lifecycle", command_uuid="c", state=state))
    assert (batch.events, batch.ignored) == ([], {"command_lifecycle": 1})


def test_init_says_who_the_session_is_and_may_come_again() -> None:
    first = system("init", cwd="/w", model="claude-x", claude_code_version="2.1.300", tools=[])
    events = tell(first, {**first, "model": "claude-y"}).events
    told = [e for e in events if isinstance(e, SessionInfo)]
    assert [(e.session_id, e.model, e.version, e.cwd) for e in told] == [
        ("s", "claude-x", "2.1.300", "/w"),
        ("s", "claude-y", "2.1.300", "/w"),
    ]


def test_a_stream_without_init_is_named_by_its_first_answer_or_result() -> None:
    assert only(tell(answer({"type": "text", "text": "x"})), SessionInfo).session_id == "s"
    assert only(tell(line("result", subtype="success", total_cost_usd=0)), SessionInfo).session_id == "s"


BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "said", "citations": []},
    {"type": "thinking", "thinking": "thought", "signature": "x"},
    {"type": "redacted_thinking", "data": "x"},
    {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/a"}, "caller": {}},
    {"type": "server_tool_use", "id": "t2", "name": "web_search", "input": {"query": "q"}},
    {"type": "web_search_tool_result", "tool_use_id": "t2", "content": []},
    {"type": "mcp_tool_use", "id": "t3", "name": "add", "server_name": "notes", "input": {}},
    {"type": "mcp_tool_result", "tool_use_id": "t3", "content": [], "is_error": False},
    {"type": "code_execution_tool_result", "tool_use_id": "t4", "content": {}},
    {"type": "compaction", "content": "x"},
]


def test_every_block_of_an_answer_is_an_event_or_counted() -> None:
    batch = tell(answer(*BLOCKS))
    assert texts(batch.events) == ["said"]
    assert [e.text for e in batch.events if isinstance(e, Reasoning)] == ["thought", ""]
    assert [c.call_id for c in calls(batch.events)] == ["t1", "t2", "t3"]
    assert [r.call_id for r in results(batch.events)] == ["t2", "t3", "t4"]
    assert batch.ignored == {"block/compaction": 1}
    assert {e.message_id for e in batch.events if isinstance(e, (AssistantText, Reasoning, ToolCall))} == {"msg_1"}


def test_every_block_of_a_user_line_is_an_event_or_counted() -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "x"}}
    document = {"type": "document", "source": {"type": "text", "data": "x"}}
    batch = tell(user({"type": "text", "text": "hello"}, image, document, {"type": "tool_reference"}))
    bodies = [msgspec.json.decode(e.body) for e in batch.events if isinstance(e, UserText)]
    assert bodies == ["hello", [image], [document]]
    assert batch.ignored == {"block/tool_reference": 1}


def test_lines_of_one_answer_share_its_id_and_tell_their_usage_once() -> None:
    members: dict[str, Any] = {"message": {"usage": USAGE, "stop_reason": None}}
    rows = [answer({"type": "text", "text": str(n)}, **{**members, "uuid": f"u{n}"}) for n in range(5)]
    batch = tell(*rows)
    assert len(usages(batch.events)) == 1
    (usage,) = usages(batch.events)
    assert (usage.input, usage.cached, usage.cache_write, usage.output) == (130, 100, 20, 1)
    assert not usage.output_final


def test_usage_that_grows_from_line_to_line_is_told_again_under_its_key() -> None:
    rows = [
        answer({"type": "text", "text": str(n)}, message={"usage": {**USAGE, "output_tokens": n}}, uuid=f"u{n}")
        for n in (8, 8, 436)
    ]
    assert [(u.key, u.output) for u in usages(tell(*rows).events)] == [("msg_1", 8), ("msg_1", 436)]


def test_the_final_output_of_a_partial_stream_replaces_the_placeholder() -> None:
    start: dict[str, Any] = {"type": "message_start", "message": {"id": "msg_1", "content": [], "usage": USAGE}}
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {**USAGE, "output_tokens": 57}}
    text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "sa"}}
    whole = answer({"type": "text", "text": "said"}, message={"usage": USAGE})
    kinds = ("content_block_start", "content_block_stop", "message_stop", "ping", "error")
    batch = tell(*(line("stream_event", event=e) for e in (start, text)), whole, line("stream_event", event=delta),
                 *(line("stream_event", event={"type": kind}) for kind in kinds))  # fmt: skip
    assert texts(batch.events) == ["said"]
    last = usages(batch.events)[-1]
    assert (last.key, last.output, last.output_final) == ("msg_1", 57, True)
    assert batch.ignored == {"stream_event": 6}


def test_an_answer_that_is_broken_off_within_its_first_block_tells_its_input() -> None:
    start: dict[str, Any] = {"type": "message_start", "message": {"id": "msg_1", "content": [], "usage": USAGE}}
    told = usages(tell(line("stream_event", event=start)).events)
    assert [(usage.key, usage.input, usage.output_final) for usage in told] == [("msg_1", 130, False)]


def deltas(*pieces: dict[str, Any], own: str = "msg_1") -> list[dict[str, Any]]:
    message: dict[str, Any] = {"id": own, "model": "model-1", "content": [], "usage": USAGE}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    events += [{"type": "content_block_delta", "index": 0, "delta": piece} for piece in pieces]
    return [line("stream_event", event=event, parent_tool_use_id=None) for event in events]


THOUGHT = {"type": "thinking_delta", "thinking": "Hm."}
SAID = ({"type": "text_delta", "text": 'Say "message_start"'}, {"type": "text_delta", "text": " or so"})


@pytest.mark.parametrize("end", [(), (line("result", subtype="error_during_execution", is_error=True, uuid="r"),)])
def test_a_block_that_never_came_whole_is_told_as_far_as_it_was_printed(end: tuple[dict[str, Any], ...]) -> None:
    rows = lines(*deltas(THOUGHT, *SAID, {"type": "input_json_delta", "partial_json": '{"file'}), *end)
    check_laws(STREAM, rows)
    events = events_of(STREAM, rows)
    assert [(e.message_id, e.text, e.model) for e in events if isinstance(e, AssistantText | Reasoning)] == [
        ("msg_1", "Hm.", "model-1"),
        ("msg_1", 'Say "message_start" or so', "model-1"),
    ]
    assert isinstance(events[-1], SessionEnd if end else AssistantText)


def test_a_block_that_came_whole_and_one_that_was_begun_anew_are_not_told_twice() -> None:
    whole = answer({"type": "text", "text": "said"}, own="msg_2", message={"usage": USAGE})
    rows = [*deltas(*SAID), *deltas(*SAID, own="msg_2"), whole]
    assert texts(events_of(STREAM, lines(*rows))) == ["said"]


def test_what_an_error_broke_off_stands_before_the_error() -> None:
    error = answer({"type": "text", "text": "API Error"}, own="e", message={"model": "<synthetic>"})
    assert texts(tell(*deltas(*SAID), error).events) == ['Say "message_start" or so', "API Error"]


def test_deltas_of_a_sub_agent_and_such_as_cannot_be_read_are_passed_over() -> None:
    rows = deltas(*SAID, {"type": "text_delta", "text": 7})
    rows[1]["parent_tool_use_id"] = "toolu_1"
    assert texts(events_of(STREAM, lines(*rows))) == [" or so"]


def test_many_deltas_are_one_text() -> None:
    rows = lines(*deltas(*[{"type": "text_delta", "text": "ab"}] * 2_500))
    assert texts(events_of(STREAM, rows)) == ["ab" * 2_500]


def test_a_result_that_stands_alone_tells_the_answer() -> None:
    """`--output-format json` prints one object."""
    alone = line("result", subtype="success", result="All done.", uuid="r", total_cost_usd=0.1)
    assert texts(tell(alone).events) == ["All done."]
    failed = line("result", subtype="success", is_error=True, result="API Error: 529", uuid="r", total_cost_usd=0)
    assert only(tell(failed), AssistantText).synthetic
    for nothing in ("", None):
        assert texts(tell(line("result", subtype="success", result=nothing, total_cost_usd=0)).events) == []
    assert texts(tell(answer({"type": "text", "text": "All done."}), alone).events) == ["All done."]


def test_a_synthetic_answer_is_marked_and_uses_no_tokens() -> None:
    batch = tell(answer({"type": "text", "text": "API Error: 529"}, message={"model": "<synthetic>", "usage": USAGE}))
    assert only(batch, AssistantText).synthetic
    assert usages(batch.events) == []


def test_superseded_and_refused_lines_are_taken_back() -> None:
    assert only(tell(answer({"type": "text", "text": "x"}, supersedes=["a", "b"])), Retract).message_ids == ("a", "b")
    refused = system("model_refusal_fallback", retracted_message_uuids=["c"])
    assert only(tell(refused), Retract).message_ids == ("c",)


def test_a_skills_text_is_none_of_the_users() -> None:
    """Recorded in 2.1.332: in the stream of an agent that runs a skill (`context: fork`) nothing else marks it."""
    text = {"type": "text", "text": "Base directory for this skill: /w/skills/tidy\n\nTidy up."}
    user = line("user", parent_tool_use_id="toolu_1", message={"role": "user", "content": [text]})
    assert only(tell(user), UserText).injected


@pytest.mark.parametrize(
    ("said", "status"), [("[Request interrupted by user for tool use]", "interrupted"), ("Go on.", "error")]
)
def test_an_error_after_the_sentence_of_an_interrupt_is_an_interrupt(said: str, status: str) -> None:
    """Recorded in 2.0.45 and 2.1.50; later versions have a `terminal_reason`."""
    user = line("user", message={"role": "user", "content": [{"type": "text", "text": said}]})
    ended = line("result", subtype="error_during_execution", is_error=False)
    assert [e.status for e in tell(user, ended).events if isinstance(e, SessionEnd)][-1] == status
    anew = tell(user, ended, system("init"), line("result", uuid="u-2", subtype="error_during_execution"))
    assert [e.status for e in anew.events if isinstance(e, SessionEnd)][-1] == "error"


RULED, REJECTED = {"non_execution_kind": "permission-rule"}, {"non_execution_kind": "user-rejected"}


def decided(decision: str, source: str) -> dict[str, Any]:
    return {"permission_decision": {"decision": decision, "source": source}}


OUTCOMES: list[Any] = [
    (result_of("t", "fine"), {}, ("ok", None)),
    (result_of("t", "fine", is_error=False), {}, ("ok", None)),
    (result_of("t", "Exit code 127\nnot found", is_error=True), {}, ("error", 127)),
    (result_of("t", "Error: Exit code 2\n", is_error=True), {}, ("error", 2)),
    (result_of("t", "<tool_use_error>no</tool_use_error>", is_error=True), {}, ("error", None)),
    (result_of("t", "Claude requested permissions to write", is_error=True), {}, ("denied", None)),
    *(
        (result_of("t", text, is_error=True), {}, ("denied", None))
        for text in (
            "This Bash command contains multiple operations. The following parts require approval: md5, tail -5",
            "Command contains quoted characters in flag names",
            "Contains simple_expansion",
            "Part of this command (a variable) cannot be checked in advance",
        )
    ),
    (result_of("t", "Exit code 1\nCommand contains an error", is_error=True), {}, ("error", 1)),
    (result_of("t", "Contains invalid characters", is_error=True), {}, ("error", None)),
    (result_of("t", [{"type": "text", "text": "[Request interrupted by user for tool use]"}], is_error=True), {},
     ("cancelled", None)),
    (result_of("t", "The user doesn't want to take this action", is_error=True), {}, ("cancelled", None)),
    (result_of("t", "part"), {"tool_use_result": {"interrupted": True, "stdout": "part"}}, ("cancelled", None)),
    (result_of("t", "no"), {"tool_use_result": "Error: no"}, ("ok", None)),
    (result_of("t", None), {"tool_use_result": ["a"]}, ("ok", None)),
    *(
        (result_of("t", text, is_error=True), {"tool_result_meta": [{"id": "t", **meta}]}, (outcome, code))
        for text, meta, outcome, code in (
            ("Not that one.", {**RULED, **decided("reject", "user_reject")}, "denied", None),  # a host asked a person
            ("because", {**REJECTED, **decided("reject", "config")}, "denied", None),  # a hook asked, nobody was there
            ("stopped", {"non_execution_kind": "interrupted"}, "cancelled", None),
            ("policy", {"non_execution_kind": "automode-blocked"}, "denied", None),
            ("The user doesn't want to proceed with this tool use.", REJECTED, "cancelled", None),  # Ctrl-C
            ("touch in '/w' needs approval", REJECTED, "denied", None),  # nobody was there to ask
            ("Exit code 1", decided("accept", "config"), "error", 1),
            ("new", {"non_execution_kind": "of-a-later-version"}, "error", None),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("block", "more", "outcome"), OUTCOMES)
def test_a_result_says_how_its_call_ended(block: Any, more: Any, outcome: Any) -> None:
    (told,) = results(tell(user(block, **more)).events)
    assert (told.outcome, told.exit_code) == outcome


def test_a_refusal_that_was_told_before_the_result_names_its_call() -> None:
    for said, other in (("touch needs approval", "error"), ("The user doesn't want to proceed", "cancelled")):
        denied = system("permission_denied", tool_name="Bash", tool_use_id="u", message=said)
        answers = [user(result_of(call, said, is_error=True)) for call in ("t", "u", "v")]
        told = results(tell(denied, *answers).events)
        assert [result.outcome for result in told] == [other, "denied", other]


def test_a_decision_about_one_of_several_results_is_that_results() -> None:
    said = [result_of("t", "fine"), *(result_of(call, "no", is_error=True) for call in ("u", "v"))]
    denied = system("permission_denied", tool_name="Bash", tool_use_id="t", message="no")
    for asked, meta, outcomes in (
        ((), [{"id": "t", **RULED}, {"id": "u", **RULED}], ["ok", "denied", "error"]),
        ((), [{"id": "v", **REJECTED}], ["ok", "error", "denied"]),
        ((), [RULED], ["ok", "error", "error"]),  # it does not say whose it is
        ((denied,), None, ["ok", "error", "error"]),
        (({**denied, "tool_use_id": "u"},), [{"id": "v", **decided("accept", "config")}], ["ok", "denied", "error"]),
    ):
        answers = user(*said, tool_result_meta=meta) if meta else user(*said)
        told = results(tell(*asked, answers).events)
        assert [result.outcome for result in told] == outcomes
        assert [result.part for result in told] == ["-content-0", "-content-1", "-content-2"]


def test_an_agents_result_names_the_agent() -> None:
    (told,) = results(tell(user(result_of("t", "x"), tool_use_result={"agentId": "a1", "status": "completed"})).events)
    assert told.agent_id == "a1"


def test_lines_of_a_sub_agent_stand_on_its_stream_and_name_their_call() -> None:
    call = {"type": "tool_use", "id": "t9", "name": "Glob", "input": {"pattern": "*"}}
    batch = tell(answer(call, parent="task_1"), user(result_of("t9", "a"), parent_tool_use_id="task_1"))
    assert {e.source.stream for e in batch.events if not isinstance(e, SessionInfo)} == {"sidechain:task_1"}
    assert calls(batch.events)[0].parent_call == "task_1"


def test_what_the_program_says_in_the_users_name_is_injected() -> None:
    given = user({"type": "text", "text": "<system-reminder>be good</system-reminder>"})
    assert only(tell(given), UserText).injected
    assert only(tell(user({"type": "text", "text": "summary"}, isSynthetic=True)), UserText).injected
    assert not only(tell(user({"type": "text", "text": "fix it"})), UserText).injected
    text = "<command-name>/cost</command-name><command-args>now</command-args>"
    command = only(tell(user({"type": "text", "text": text})), SlashCommand)
    assert (command.name, command.args) == ("/cost", "now")


ENDS = [
    ({"subtype": "success", "is_error": False}, "complete"),
    ({"subtype": "success", "is_error": True, "result": "API Error: 529"}, "error"),
    ({"subtype": "error_max_turns", "is_error": False}, "error"),
    ({"subtype": "error_max_budget_usd"}, "error"),
    ({"subtype": "error_max_structured_output_retries", "errors": ["x"]}, "error"),
    ({"subtype": "error_during_execution", "is_error": True, "errors": ["x"]}, "error"),
    ({"subtype": "error_during_execution", "is_error": True, "terminal_reason": "aborted_tools"}, "interrupted"),
    ({"subtype": "error_during_execution", "terminal_reason": "aborted_streaming"}, "interrupted"),
]


@pytest.mark.parametrize(("members", "status"), ENDS)
def test_a_result_says_how_the_run_ended(members: dict[str, Any], status: str) -> None:
    value = line("result", num_turns=3, duration_ms=1200.4, total_cost_usd=0.5, **members)
    end = only(tell(value), SessionEnd)
    assert (end.status, end.cost_usd, end.duration_ms, end.agent_num_turns) == (status, 0.5, 1200, 3)
    assert msgspec.json.decode(end.result_json) == value


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"subtype": "success"}, "success"),
        ({"subtype": "error_max_turns"}, "error_max_turns"),
        ({"subtype": "error_max_turns", "result": None, "errors": None}, "error_max_turns"),
        ({"subtype": "error_max_turns", "result": "", "errors": []}, "error_max_turns"),
        ({"subtype": "success", "is_error": True, "result": "API Error: 529"}, "success: API Error: 529"),
        ({"subtype": "error_during_execution", "errors": ["x"]}, "error_during_execution: x"),
        ({"subtype": "error_during_execution", "errors": ["no x", "no y"]}, "error_during_execution: no x; no y"),
        ({"subtype": "error_during_execution", "terminal_reason": "aborted_tools"}, "aborted_tools"),
        ({}, None),
    ],
)
def test_a_result_says_why_the_run_ended(members: dict[str, Any], reason: str | None) -> None:
    assert only(tell(line("result", **members)), SessionEnd).reason == reason


def test_the_totals_of_all_models_stand_for_the_session() -> None:
    value = line("result", subtype="success", total_cost_usd=1.5, usage=USAGE, modelUsage={"a": USED, "b": USED})
    *shares, total, main = usages(tell(value).events)
    assert (total.scope, total.covers_streams) == ("session", True)
    assert (total.input, total.cached, total.cache_write, total.output) == (10_100, 7_000, 3_000, 500)
    assert [(u.scope, u.model, u.input, u.output) for u in shares] == [("share", name, 5_050, 250) for name in "ab"]
    assert (main.scope, main.model, main.input) == ("share", None, 130)
    totals = Totals()
    totals.observe(tell(value))
    assert {name: told["output"] for name, told in totals.by_model().items()} == {"a": 250, "b": 250}


def used(plain: int, output: int, cost: float) -> dict[str, Any]:
    return {"m": {**USED, "inputTokens": plain, "outputTokens": output, "costUSD": cost}}


def test_a_resumed_run_spent_what_came_since_its_begin() -> None:
    """Claude Code 2.1.330 with --continue: `modelUsage` and the cost hold the earlier runs, too."""
    first = line("result", subtype="success", total_cost_usd=0.7, result_index=0, modelUsage={"m": {
        "inputTokens": 60, "outputTokens": 300, "cacheReadInputTokens": 7000, "cacheCreationInputTokens": 3000,
        "costUSD": 0.7}}, model_usage_since_last_result=used(50, 250, 0.2))  # fmt: skip
    second = line("result", uuid="u-2", subtype="success", total_cost_usd=0.8, result_index=1, modelUsage={"m": {
        "inputTokens": 65, "outputTokens": 330, "cacheReadInputTokens": 7000, "cacheCreationInputTokens": 3000,
        "costUSD": 0.8}}, model_usage_since_last_result=used(5, 30, 0.1))  # fmt: skip
    given = lines(first, second)
    told = usages(pushed(STREAM, given).events)
    assert [(u.input, u.cached, u.cache_write, u.output, u.cost_usd) for u in told] == [
        (5050, 3500, 1500, 250, 0.2),
        (5055, 3500, 1500, 280, 0.3),
    ]
    assert [e.cost_usd for e in pushed(STREAM, given).events if isinstance(e, SessionEnd)] == [0.2, 0.3]
    check_laws(STREAM, given)


def test_a_run_of_its_own_spent_what_its_totals_say() -> None:
    value = line("result", subtype="success", total_cost_usd=0.2, result_index=0, modelUsage=used(50, 250, 0.2),
                 model_usage_since_last_result=used(50, 250, 0.2))  # fmt: skip
    told = usages(pushed(STREAM, lines(value)).events)
    assert [(u.input, u.cost_usd) for u in told if u.scope == "session"] == [(5050, 0.2)]


@pytest.mark.parametrize("indexed", [True, False])
def test_runs_of_a_session_in_one_file_add_up(indexed: bool) -> None:
    """`claude -p … >> log`, then `claude --continue -p … >> log`. Before 2.1.3 each run's totals are its own."""

    def run(own: str, plain: int, cost: float, earlier: int) -> dict[str, Any]:
        usage = {"input_tokens": plain, "output_tokens": 5}
        since = {"m": {"inputTokens": plain, "outputTokens": 5, "costUSD": cost}}
        whole = {"m": {"inputTokens": plain + earlier, "outputTokens": 5, "costUSD": cost + earlier / 1000}}
        if not indexed:
            return line("result", uuid=own, subtype="success", usage=usage, modelUsage=since, total_cost_usd=cost)
        return line("result", uuid=own, subtype="success", usage=usage, modelUsage=whole, result_index=0,
                    total_cost_usd=cost + earlier / 1000, model_usage_since_last_result=since)  # fmt: skip

    totals = Totals()
    totals.observe(tell(run("u-1", 90, 0.5, 0), run("u-2", 60, 0.25, 90), run("u-3", 30, 0.125, 150)))
    assert (totals.tokens().input, totals.tokens().output) == (180, 15)
    assert totals.cost_usd == pytest.approx(0.875)
    assert totals.by_stream()["main"]["input"] == 180


def test_results_of_one_run_hold_what_was_told_before() -> None:
    given: list[dict[str, Any]] = []
    for own, plain, whole in (("u-1", 90, 131), ("u-2", 30, 161)):
        usage = {"input_tokens": plain, "output_tokens": 5}
        given.append(line("result", uuid=own, subtype="success", usage=usage, modelUsage={"m": {"inputTokens": whole}}))
    totals = Totals()
    totals.observe(tell(*given))
    assert totals.tokens().input == 161


def test_results_that_are_printed_together_have_one_total() -> None:
    """Recorded in 2.1.220: background tasks ended while the first run worked, and each began a run of its own."""

    def begun(number: int) -> dict[str, Any]:
        return system("init", uuid=f"u-i{number}", session_id="s", model="m")

    def ended(number: int, plain: int, whole: int) -> dict[str, Any]:
        usage, total = {"input_tokens": plain, "output_tokens": 5}, {"m": {"inputTokens": whole}}
        return line("result", uuid=f"u-e{number}", subtype="success", usage=usage, modelUsage=total)

    together = [*map(begun, range(3)), ended(0, 90, 160), ended(1, 40, 160), ended(2, 30, 160)]
    after = [begun(3), ended(3, 20, 180)]
    another = [begun(4), ended(4, 9, 9)]  # `claude --continue -p … >> log`
    for given, whole in ((together, 160), (together + after, 180), (together + after + another, 189)):
        totals = Totals()
        totals.observe(tell(*given))
        assert totals.tokens().input == whole
    check_laws(STREAM, lines(*together, *after))


FIRST = ("s", (90, 5), (90, 5, 0.5))


@pytest.mark.parametrize(
    ("runs", "total"),
    [
        ([FIRST, ("t", (0, 0), (90, 5, 0.5)), ("t", (40, 5), (130, 10, 0.75))], (130, 10, 0.75)),  # it has a result
        ([FIRST, ("t", (40, 5), (130, 10, 0.75)), ("u", (20, 5), (150, 15, 0.875))], (150, 15, 0.875)),  # it has none
        ([FIRST, ("t", (40, 5), (40, 5, 0.25)), ("t", (20, 5), (60, 10, 0.375))], (150, 15, 0.875)),  # another process
    ],
)
def test_a_session_that_was_cleared_may_go_on_counting(runs: list[Any], total: tuple[int, int, float]) -> None:
    """Recorded in 2.1.120: `/clear` gives another session id, and the totals of the process go on."""
    given: list[dict[str, Any]] = []
    for number, (session, (plain, out), (whole, outs, cost)) in enumerate(runs):
        model = {"inputTokens": whole, "outputTokens": outs, "costUSD": cost}
        given += [
            system("init", uuid=f"u-i{number}", session_id=session),
            line("result", uuid=f"u-c{number}", session_id=session, subtype="success", total_cost_usd=cost,
                 usage={"input_tokens": plain, "output_tokens": out}, modelUsage={"m": model}),
        ]  # fmt: skip
    totals = Totals()
    totals.observe(pushed(STREAM, lines(*given)))
    assert (totals.tokens().input, totals.tokens().output, totals.cost_usd) == total


def test_a_notice_whose_message_is_a_string_is_taken_whole() -> None:
    why = "This command requires approval"
    given = lines(system("permission_denied", tool_name="Bash", tool_use_id="t", message=why))
    stage, batch = Decode(STREAM, DecodeContext("log")), Batch("log", records=given)
    stage.push(batch)
    assert [e.message for e in batch.events if isinstance(e, Notification)] == [f"permission denied for Bash: {why}"]
    assert batch.faults == []
    with pytest.raises(msgspec.ValidationError):
        pushed(STREAM, lines(line("assistant", message="a string")))


def test_without_model_usage_the_results_usage_is_a_segment() -> None:
    usage = {**USAGE, "output_tokens": 250}
    total = only(tell(line("result", subtype="success", cost_usd=0.1, usage=usage)), TokenUsage)
    assert (total.scope, total.input, total.output) == ("segment", 130, 250)


@pytest.mark.parametrize(("given", "output", "told"), [(0, 0, False), (5, 0, True), (0, 5, True)])
def test_a_result_that_counted_nothing_tells_no_usage(given: int, output: int, told: bool) -> None:
    used = {"input_tokens": given, "output_tokens": output}
    assert bool(usages(tell(line("result", subtype="success", usage=used)).events)) is told


def test_a_refusal_without_names_takes_nothing_back() -> None:
    assert not only_all(tell(system("model_refusal_fallback", content="x")), Retract)


def test_a_result_that_comes_twice_counts_once() -> None:
    usage = {**USAGE, "output_tokens": 250}
    one = line("result", subtype="success", usage=usage, duration_ms=700, num_turns=3)
    totals = Totals()
    totals.observe(tell(one, one))
    assert (totals.duration_ms, totals.state.agent_num_turns, totals.tokens().output) == (700, 3, 250)
    totals.observe(tell({**one, "uuid": "other"}))
    assert (totals.duration_ms, totals.state.agent_num_turns, totals.tokens().output) == (1_400, 6, 500)
    assert [e.status for e in tell(one, one).events if isinstance(e, SessionEnd)] == ["complete", "complete"]


def test_a_result_that_stands_alone_tells_session_and_window_under_ids_of_their_own() -> None:
    window = {"claude-x": {**USED, "contextWindow": 200_000}}
    check_laws(STREAM, lines(line("result", subtype="success", modelUsage=window)))


def test_the_single_object_of_the_json_format_is_a_result() -> None:
    value = {"subtype": "success", "total_cost_usd": 0.2, "num_turns": 1, "result": "x", "session_id": "s"}
    assert best(PROVIDER, lines(value))[0] == "claude-stream"
    assert only(tell(value), SessionEnd).cost_usd == 0.2


def test_the_array_of_the_json_format_is_read_element_by_element() -> None:
    data = b"[" + b",".join(record.data for record in records(LOG)) + b"]"
    stage, batch = Decode(STREAM, DecodeContext("log")), Batch("log", records=records(data))
    stage.push(batch)
    whole = pushed(STREAM, records(LOG)).events
    assert [(type(e), e.source.row, e.part) for e in batch.events] == [(type(e), e.source.row, e.part) for e in whole]
    assert batch.faults == []


def test_replayed_messages_are_not_told_again() -> None:
    text = user({"type": "text", "text": "x"})
    assert tell({**text, "isReplay": True, "uuid": None}).ignored == {"user/replay": 1}
    for told in ({**text, "uuid": None}, {**text, "isReplay": True}):
        assert only(tell(told), UserText).source.base_id == (told["uuid"] or "")


def test_ids_of_events_begin_with_that_of_their_line() -> None:
    values = (answer({"type": "text", "text": "x"}), system("init"), line("result", subtype="success"))
    for value in values:
        assert {event.source.base_id for event in tell(value).events} == {value["uuid"]}


def test_members_may_stand_in_any_order() -> None:
    turned = [msgspec.json.encode(dict(reversed(msgspec.json.decode(r.data).items()))) for r in records(LOG)]
    batch = pushed(STREAM, records(b"\n".join(turned)))
    assert [type(e) for e in batch.events] == [type(e) for e in pushed(STREAM, records(LOG)).events]


def test_the_laws_hold() -> None:
    check_laws(STREAM, records(LOG))


def test_odd_shapes_are_taken_whole_or_refused_whole() -> None:
    check_odd_shapes(PROVIDER, records(LOG), rounds=40)


def test_other_agents_that_begin_alike_are_not_taken_for_claude() -> None:
    init = {"type": "system", "subtype": "init", "session_id": "s", "model": "m", "cwd": "/w"}
    assert best(PROVIDER, lines({**init, "qwen_code_version": "1", "permission_mode": "yolo", "tools": []}))[1] < 1
    assert best(PROVIDER, lines({**init, "apiKeySource": "env", "permissionMode": "default"}))[1] < 1
    assert best(PROVIDER, lines({**init, "claude_code_version": "2.1.300"})) == ("claude-stream", 1.0)
    old: dict[str, Any] = {**init, "apiKeySource": "none", "mcp_servers": [], "tools": [], "permissionMode": "default"}
    assert best(PROVIDER, lines(old)) == ("claude-stream", 1.0)
