"""Claude's sessions on disk: every line that the catalogue lists is an event or a named ignorable."""

from pathlib import Path
from typing import Any

import pytest

from agentv_stages.model.event import (
    Notification,
    QueueOperation,
    SessionEnd,
    SessionInfo,
    SlashCommand,
    Summary,
    TokenUsage,
    UserText,
)
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.claude import PROVIDER, companions
from agentv_stages.providers.claude.catalogue import QUIET_SUBTYPES, QUIET_TYPES
from agentv_stream.sources.folder import LocalFolder
from support.claude_disk import DISK, answer, line, only, tell, user
from support.consuming import SESSION
from support.decoding import (
    best,
    calls,
    check_laws,
    check_odd_shapes,
    decoded,
    lines,
    pushed,
    records,
    results,
    texts,
    usages,
)

LOG = SESSION.read_bytes()


@pytest.mark.parametrize("kind", sorted(QUIET_TYPES))
def test_types_that_carry_nothing_are_counted_by_name(kind: str) -> None:
    batch = tell({"type": kind, "sessionId": "s", "data": {}, "snapshot": {}, "content": []})
    assert (batch.events, batch.ignored) == ([], {kind: 1})


@pytest.mark.parametrize("subtype", sorted(QUIET_SUBTYPES))
def test_subtypes_that_carry_nothing_are_counted_by_name(subtype: str) -> None:
    assert tell(line("system", subtype=subtype, content="x")).ignored == {f"system/{subtype}": 1}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (line("system", subtype="model_fallback", content="Opus goes on."), "Opus goes on."),
        (line("system", subtype="instruction_size_warning"), "the instruction files are large"),
        (line("ended-by-model"), "the model ended the session"),
    ],
)
def test_what_newer_versions_tell_a_person_is_a_notification(value: dict[str, Any], message: str) -> None:
    assert only(tell(value), Notification).message == message


ATTACHMENTS = (
    "hook_success hook_additional_context plan_mode plan_mode_exit auto_mode todo_reminder skill_listing "
    "agent_listing_delta deferred_tools_delta environment model date session_context remote_session_change "
    "prompt_snapshot file compact_file_reference edited_text_file directory nested_memory diagnostics task_status "
    "invoked_skills critical_system_reminder"
)


@pytest.mark.parametrize("name", ATTACHMENTS.split())
def test_attachments_are_counted_by_name(name: str) -> None:
    assert tell(line("attachment", attachment={"type": name, "rendered": []})).ignored == {f"attachment/{name}": 1}


@pytest.mark.parametrize("name", ["hook_blocking_error", "hook_cancelled", "max_turns_reached"])
def test_attachments_that_stop_something_are_told(name: str) -> None:
    assert (
        only(tell(line("attachment", attachment={"type": name, "hookName": "Stop"})), Notification).level == "warning"
    )


@pytest.mark.parametrize(
    ("name", "status"),
    [("structured_output", "complete"), ("max_turns_reached", "error"), ("hook_stopped_continuation", "complete")],
)
def test_attachments_that_end_a_run_of_the_main_thread(name: str, status: str) -> None:
    """Recorded in 2.1.330 with `--json-schema` and `--max-turns`, in 2.1.332 with a hook: no final answer follows."""
    value = line("attachment", attachment={"type": name})
    end = only(tell(value), SessionEnd)
    assert (end.status, end.reason) == (status, name)
    assert not any(isinstance(event, SessionEnd) for event in tell({**value, "isSidechain": True}).events)


def test_a_queued_prompt_is_user_text() -> None:
    batch = tell(line("attachment", attachment={"type": "queued_command", "prompt": "and this"}))
    assert only(batch, UserText).text == "and this"


TOLD = [
    ("compact_boundary", {"content": "x", "compactMetadata": {"trigger": "manual", "preTokens": 9}}, "info"),
    ("microcompact_boundary", {"content": "x"}, "info"),
    ("informational", {"content": "note", "level": "warning"}, "info"),
    ("api_error", {"error": {"status": 529}, "retryInMs": 512.5, "retryAttempt": 1, "maxRetries": 10}, "warning"),
    ("turn_duration", {"durationMs": 12.5}, "debug"),
    ("stop_hook_summary", {"hookCount": 2}, "info"),
    ("away_summary", {"content": "x"}, "info"),
    ("model_refusal_no_fallback", {"content": "", "apiRefusalCategory": None}, "warning"),
]


@pytest.mark.parametrize(("subtype", "members", "level"), TOLD)
def test_notices_are_notifications(subtype: str, members: dict[str, Any], level: str) -> None:
    told = only(tell(line("system", subtype=subtype, **members)), Notification)
    assert (told.name, told.level) == (subtype, level)


def test_a_prompt_that_a_hook_refused_is_the_whole_run() -> None:
    """Recorded in 2.1.332: the prompt itself is not logged, and the stream of the run is a success."""
    queued = {"type": "queue-operation", "operation": "enqueue", "content": "Go.", "sessionId": "s"}
    ending = {"ending": {"kind": "blocked_by_hook", "reason": "no"}, "promptKept": False}
    told = tell(
        queued,
        line("system", subtype="informational", content="blocked", promptSubmitEnding=ending, sessionId="s",
             version="2.1.332", cwd="/w"),
    )  # fmt: skip
    assert [(e.status, e.reason) for e in told.events if isinstance(e, SessionEnd)] == [("complete", "blocked_by_hook")]
    facts = [e for e in told.events if isinstance(e, SessionInfo)]
    assert [(e.session_id, e.version, e.cwd) for e in facts] == [("s", None, None), ("s", "2.1.332", "/w")]
    other = tell(queued, line("system", subtype="informational", promptSubmitEnding={"ending": {"kind": "x"}}))
    assert [e for e in other.events if isinstance(e, SessionEnd)] == []


def test_a_local_command_is_a_slash_command() -> None:
    command = only(tell(line("system", subtype="local_command", content="/cost now")), SlashCommand)
    assert (command.name, command.args) == ("/cost", "now")


def test_other_lines_have_their_events() -> None:
    queue = {"type": "queue-operation", "operation": "enqueue", "content": "x", "sessionId": "s"}
    assert only(tell(queue), QueueOperation).content == "x"
    assert only(tell({"type": "summary", "summary": "Fix", "leafUuid": "l"}), Summary).leaf_uuid == "l"
    for kind, key in (("custom-title", "customTitle"), ("ai-title", "aiTitle")):
        assert only(tell({"type": kind, key: "Fix", "sessionId": "s"}), SessionInfo).title == "Fix"
    link = {"type": "pr-link", "prNumber": 7, "prUrl": "http://x", "sessionId": "s"}
    assert "#7" in only(tell(link), Notification).message
    state = {
        "type": "cost-state",
        "totalCostUSD": 0.5,
        "startTime": 1000,
        "totalDuration": 50,
        "modelUsage": {"m": {"inputTokens": 5, "outputTokens": 2}},
    }
    share, total = (event for event in tell(state).events if isinstance(event, TokenUsage))
    assert (share.scope, share.model, share.input, share.output, share.cost_usd) == ("share", "m", 5, 2, None)
    assert (total.scope, total.input, total.output, total.cost_usd, total.saved) == ("session", 5, 2, 0.5, True)
    assert total.until_ms == 1050
    assert only(tell(line("progress", data={"type": "hook_progress", "hookEvent": "Stop"})), Notification)
    assert tell(line("progress", data={"type": "agent_progress"})).ignored == {"progress/agent_progress": 1}


def test_a_type_that_is_really_new_is_unknown() -> None:
    batch = pushed(DISK, lines(line("telepathy"), line("system", subtype="dream"), {"a": 1}))
    assert batch.unknown == {"telepathy": 1, "system/dream": 1, "(no type)": 1}


INJECTED = [
    *("<command-message>x", "<local-command-stdout>x", "<local-command-caveat>x", "<bash-input>ls", "<bash-stdout>x"),
    *("<task-notification>x", "<system-reminder>x", "Caveat: x", "This session is being continued from"),
    *("Stop hook feedback: x", "[Request interrupted by user]"),
]


@pytest.mark.parametrize("text", INJECTED)
def test_what_no_person_typed_is_injected(text: str) -> None:
    for content in (text, [{"type": "text", "text": text}]):
        assert only(tell(user(content)), UserText).injected


@pytest.mark.parametrize("flag", ["isMeta", "isCompactSummary"])
def test_flagged_lines_are_injected(flag: str) -> None:
    assert only(tell(user("words", **{flag: True})), UserText).injected
    assert not only(tell(user("words")), UserText).injected


def test_usage_of_an_answer_is_told_once_and_the_last_line_holds() -> None:
    text = {"type": "text", "text": "x"}
    batch = tell(answer(text, used=1), answer(text, used=1), answer(text, used=57, stop="tool_use"))
    assert [(u.output, u.output_final) for u in usages(batch.events)] == [(1, False), (57, True)]
    old = tell(answer(text, used=3, version="1.0.128"))
    assert usages(old.events)[0].output_final


def test_a_run_ends_with_an_answer_that_stops_by_itself() -> None:
    text = {"type": "text", "text": "done"}
    assert only(tell(answer(text, stop="end_turn")), SessionEnd).status == "complete"
    assert only(tell(answer(text, own="x", isApiErrorMessage=True)), SessionEnd).status == "error"
    stopped = user([{"type": "text", "text": "[Request interrupted by user]"}])
    assert only(tell(stopped), SessionEnd).status == "interrupted"
    assert not [e for e in tell(answer(text, stop="tool_use")).events if isinstance(e, SessionEnd)]
    thought = {"type": "thinking", "thinking": "hm"}
    assert not [e for e in tell(answer(thought, stop="end_turn")).events if isinstance(e, SessionEnd)]
    failed = answer(thought, {"type": "text", "text": "API Error"}, isApiErrorMessage=True)
    assert only(tell(failed), SessionEnd).reason == "API Error"


def test_ids_of_events_begin_with_that_of_their_line() -> None:
    for value in (answer({"type": "text", "text": "x"}, stop="end_turn"), user("go")):
        assert {event.source.base_id for event in tell(value).events} == {value["uuid"]}


def test_usage_of_a_sub_agents_answer_does_not_hide_that_of_the_main_stream() -> None:
    text = {"type": "text", "text": "x"}
    one, other = answer(text, own="m", used=5), answer(text, own="s", used=7, isSidechain=True)
    told = usages(tell(one, other, one, other).events)
    assert [(u.key, u.source.stream) for u in told] == [("m", "main"), ("s", "sidechain:unknown")]


def test_old_sidechains_in_the_same_file_stand_on_a_stream_of_their_own() -> None:
    batch = tell(user("go"), user("find", isSidechain=True), answer({"type": "text", "text": "sub"}, isSidechain=True))
    assert {e.source.stream for e in batch.events} == {"main", "sidechain:unknown"}


def test_a_sub_agents_file_stands_on_its_stream_and_names_its_call() -> None:
    context = DecodeContext("agent", "sidechain:a1", "t_3", "s")
    call: dict[str, Any] = {"type": "tool_use", "id": "t", "name": "Glob", "input": {}}
    batch = tell(user("find", isSidechain=True), answer(call, isSidechain=True), context=context)
    assert {e.source.stream for e in batch.events} == {"sidechain:a1"}
    assert calls(batch.events)[0].parent_call == "t_3"


def test_the_files_of_sub_agents_are_found(tmp_path: Path) -> None:
    (found,) = companions(str(SESSION), LocalFolder())
    assert (found.context.stream, found.context.parent_call) == ("sidechain:a1", "t_3")
    main = tmp_path / "s1.jsonl"
    main.write_bytes(b"{}\n")
    (tmp_path / "agent-x.jsonl").write_bytes(b'{"sessionId":"s1","isSidechain":true}\n')
    (tmp_path / "agent-y.jsonl").write_bytes(b'{"sessionId":"s2","isSidechain":true}\n')
    nested = tmp_path / "s1" / "subagents" / "deep"
    nested.mkdir(parents=True)
    (nested / "agent-z.jsonl").write_bytes(b"{}\n")
    (nested / "agent-z.meta.json").write_bytes(b"not json")
    assert sorted(c.context.stream for c in companions(str(main), LocalFolder())) == ["sidechain:x", "sidechain:z"]
    assert companions(str(nested / "agent-z.jsonl"), LocalFolder()) == []


def test_structured_results_may_have_any_shape() -> None:
    for structured in ({"agentId": "a"}, "Error: x", ["a"], None, [], ""):
        block = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
        (told,) = results(tell(user([block], toolUseResult=structured)).events)
        assert told.output == "x"


def test_the_fixture_is_told_whole() -> None:
    batch = decoded(DISK, records(LOG))
    assert (batch.unknown, batch.faults) == ({}, [])
    assert [c.call_id for c in calls(batch.events)] == ["t_1", "t_2", "t_3", "t_4"]
    assert texts(batch.events) == ["Looking.", "Done."]
    assert best(PROVIDER, records(LOG)) == ("claude-session", 1.0)


def test_the_laws_hold() -> None:
    check_laws(DISK, records(LOG))
    check_odd_shapes(PROVIDER, records(LOG), rounds=40)
