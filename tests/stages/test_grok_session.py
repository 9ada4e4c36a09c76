"""Grok Build's sessions on disk: what a log says, forks, sub-agents' logs."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.chain.foreign import COPIED
from agentv_stages.model.event import (
    MAIN,
    AnyEvent,
    AssistantText,
    Notification,
    Retract,
    SessionEnd,
    SessionInfo,
    ToolResult,
    UserText,
)
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.grok import PROVIDER
from agentv_stages.providers.grok.companions import companions
from agentv_stream import summarize
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.header import HeaderCache
from agentv_stream.discovery.places import find_roots
from agentv_stream.sources.folder import LocalFolder
from support.decoding import (
    best,
    calls,
    check_laws,
    check_odd_shapes,
    decoded,
    dialect,
    events_of,
    lines,
    records,
    usages,
)
from support.grok_sessions import CHILD, FOLDER, FORK, lay_out
from support.grok_sessions import MAIN as SESSION_ID

SESSION = dialect(PROVIDER, "grok-session")
STORED = records((FOLDER / "session.jsonl").read_bytes())
FORKED = records((FOLDER / "fork.jsonl").read_bytes())


def ends(events: list[AnyEvent]) -> list[tuple[str, str | None]]:
    return [(e.status, e.reason) for e in events if isinstance(e, SessionEnd)]


def update(kind: str, own: bool = False, meta: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    method = "_x.ai/session/update" if own else "session/update"
    inner = {"sessionId": "s", "update": {"sessionUpdate": kind, **members}, "_meta": meta or {}}
    return {"timestamp": 1772443800, "method": method, "params": inner}


def said(text: str, begun: int | None = None, kind: str = "agent_message_chunk") -> dict[str, Any]:
    meta = {} if begun is None else {"streamStartMs": begun}
    return update(kind, meta=meta, content={"type": "text", "text": text})


def ended(reason: str, category: str | None = None, **members: Any) -> dict[str, Any]:
    meta = {"cancellationCategory": category} if category else {}
    return update("turn_completed", True, meta, stop_reason=reason, **members)


def test_a_log_is_told_by_every_line_and_acp_recordings_are_not_taken() -> None:
    for record in STORED:
        assert best(PROVIDER, [record]) == ("grok-session", 1.0)
    value = json.loads(STORED[0].data)
    assert SESSION.detect([{"jsonrpc": "2.0", **value}]) == 0.0, "what `grok agent stdio` says is ACP's"


def test_the_laws_hold() -> None:
    check_laws(SESSION, STORED)
    check_laws(SESSION, FORKED)


def test_odd_shapes_are_refused_whole_or_taken_whole() -> None:
    check_odd_shapes(PROVIDER, STORED, 60)


def test_a_session_says_the_same_as_its_streams(tmp_path: Path) -> None:
    """Calls, outcomes, turns, tokens and cost of the run that the streams' fixtures are of."""
    stored = summarize(lay_out(tmp_path))
    streams = [summarize(FOLDER / name) for name in ("stream.jsonl", "messages.jsonl")]
    for live in streams:
        for name in (
            "turns",
            "total_tool_calls",
            "by_tool",
            "by_kind",
            "by_outcome",
            "tool_sequence",
            "first_edit_turn",
        ):
            assert stored.tool_use_summary[name] == live.tool_use_summary[name], name
        for name in ("input", "cached", "output"):
            assert stored.tokens[name] == live.tokens[name], name
        assert stored.cost_usd == pytest.approx(live.cost_usd)
        assert (stored.status, stored.agent_num_turns) == (live.status, live.agent_num_turns)
    assert stored.tokens["reasoning"] == streams[0].tokens["reasoning"]
    assert not stored.unknown and not stored.faults


def test_what_a_session_is_stands_in_its_place_and_its_records(tmp_path: Path) -> None:
    facts = summarize(lay_out(tmp_path)).session
    assert (facts.id, facts.cwd, facts.model) == (SESSION_ID, "/home/ada/orchard", "grok-4.6")
    assert decoded(SESSION, STORED).events[0].source.time_ms == 1772443800000


def test_the_folder_of_a_long_name_is_not_guessed(tmp_path: Path) -> None:
    assert summarize(lay_out(tmp_path, group="orchard-0a1b2c3d")).session.cwd is None


def test_prompts_are_told_from_what_the_agent_wrote_itself() -> None:
    hidden = update("user_message_chunk", content={"type": "text", "text": "x"}, _meta={"hideFromScrollback": True})
    events = events_of(
        SESSION,
        lines(
            said("Fix it.", kind="user_message_chunk"),
            said("<system-reminder>\nBackground", kind="user_message_chunk"),
            hidden,
        ),
    )
    assert [e.injected for e in events if isinstance(e, UserText)] == [False, True, True]


def test_what_the_user_ran_in_the_terminal_is_no_call() -> None:
    ran = {"type": "text", "text": "make", "_meta": {"bash_command": "make"}}
    call: dict[str, Any] = {"toolCallId": "bash-mode-1", "rawInput": {"variant": "Bash", "command": "make"}}
    output = {"type": "Bash", "output_for_prompt": "2 passed", "exit_code": 0}
    given = lines(
        said("Hi", 1),
        ended("cancelled", "MidTurnAbort"),
        update("user_message_chunk", content=ran),
        update("tool_call", **call, title="Execute `make`", status="in_progress"),
        update("tool_call_update", toolCallId="bash-mode-1", status="completed", rawOutput=output),
        ended("end_turn"),
    )
    events = events_of(SESSION, given)
    assert [(e.text, e.injected) for e in events if isinstance(e, UserText)] == [("make", True), ("2 passed", True)]
    assert not calls(events)
    assert ends(events) == [("interrupted", "MidTurnAbort")], "it ends no turn of the agent's"


def test_a_rewind_takes_back_its_prompt_and_what_followed() -> None:
    def asked(text: str, index: int) -> dict[str, Any]:
        return update("user_message_chunk", content={"type": "text", "text": text}, _meta={"promptIndex": index})

    given = lines(
        *(asked("One", 0), said("A", 1), asked("Two", 1), said("B", 2), asked("Three", 2), said("C", 3)),
        *(update("rewind_marker", True, target_prompt_index=1), asked("Again", 1), said("D", 4)),
        *(update("rewind_marker", True, target_prompt_index=1), update("rewind_marker", True, target_prompt_index=9)),
    )
    events = events_of(SESSION, given)
    assert [e.message_ids for e in events if isinstance(e, Retract)] == [("u2", "s2", "u4", "s3"), ("u7", "s4")]
    assert [e.name for e in events if isinstance(e, Notification)] == ["rewind"]
    check_laws(SESSION, given)


def test_answers_are_told_apart_by_when_they_began() -> None:
    given = lines(said("A", 5), said("B", 5), said("C", 9), said("D"), said("E"), said("F", kind="user_message_chunk"))
    ids = [e.message_id for e in events_of(SESSION, [*given, *lines(said("G"))]) if isinstance(e, AssistantText)]
    assert ids == ["s5", "s5", "s9", "s9", "s9", "m0"]


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (ended("end_turn"), ("complete", None)),
        (ended("cancelled", "MidTurnAbort"), ("interrupted", "MidTurnAbort")),
        (ended("cancelled", "PermissionRejected"), ("interrupted", "PermissionRejected")),
        (ended("cancelled", "max_turns_reached"), ("error", "max_turns_reached")),
        (ended("error", agent_result="API error (status 400)"), ("error", "API error (status 400)")),
        (ended("rate_limit"), ("error", "rate_limit")),
    ],
)
def test_how_a_turn_ends(last: dict[str, Any], expected: tuple[str, str | None]) -> None:
    assert ends(events_of(SESSION, lines(said("Hi", 1), last))) == [expected]


def test_a_call_that_escape_stopped_is_cancelled() -> None:
    asked = update("tool_call", toolCallId="1", title="run_terminal_command", rawInput={"command": "sleep 9"})
    events = events_of(SESSION, lines(asked, ended("cancelled", "MidTurnAbort")))
    assert [(e.call_id, e.outcome) for e in events if isinstance(e, ToolResult)] == [("1", "cancelled")]
    killed = events_of(SESSION, lines(asked))
    assert not any(isinstance(e, (ToolResult, SessionEnd)) for e in killed)


OFFERED = update("available_commands_update", availableCommands=[])
GIVEN_UP = update("retry_state", True, type="failed", message="API error (status 400)")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([OFFERED, said("Hi", 1)], [("unknown", None)]),
        (
            [OFFERED, said("Hi", 1), GIVEN_UP, said("go on", kind="user_message_chunk")],
            [("error", "API error (status 400)")],
        ),
        ([OFFERED, GIVEN_UP, said("Again", 2)], [("unknown", None)]),
        ([OFFERED, said("Hi", 1), ended("end_turn")], [("complete", None)]),
        ([GIVEN_UP], []),
    ],
)
def test_a_log_without_ends_of_turns_ends_with_what_is_known(given: Any, expected: list[Any]) -> None:
    """Grok Build 0.1 wrote the commands that it offers, and no ends."""
    assert ends(events_of(SESSION, lines(*given))) == expected
    check_laws(SESSION, lines(*given))


def test_a_sub_agents_log_without_ends_has_none() -> None:
    context = DecodeContext("log", "subagent:k", "c1", "s")
    assert not ends(decoded(SESSION, lines(OFFERED, said("Hi", 1)), context).events)


def test_a_call_that_a_rule_forbade_is_denied() -> None:
    told = 'Denied by permission policy: deny rule on bash matching "rm*" for tool `run_terminal_command`'
    shown = [{"type": "content", "content": {"type": "text", "text": told}}]
    over = update("tool_call_update", toolCallId="1", status="failed", content=shown)
    assert [r.outcome for r in events_of(SESSION, lines(over)) if isinstance(r, ToolResult)] == ["denied"]


def test_a_loop_that_the_agent_found_is_reported() -> None:
    told = events_of(SESSION, lines(update("doom_loop_detected", True, message="Repeating", repeat_count=4)))
    assert [(e.name, e.message, e.level) for e in told if isinstance(e, Notification)] == [
        ("doom_loop_detected", "Repeating", "warning")
    ]


def test_a_turn_names_the_sub_agents_that_it_did_not_wait_for() -> None:
    def child(kind: str, session: str) -> dict[str, Any]:
        return update(f"subagent_{kind}", True, child_session_id=session)

    used = {"inputTokens": 10, "outputTokens": 1, "modelUsage": {"m": {"inputTokens": 10}}}
    given = [child("spawned", "k"), child("spawned", "l"), child("finished", "k"), ended("end_turn", usage=used)]
    events = events_of(SESSION, lines(*given, child("finished", "l"), ended("end_turn", usage=used)))
    assert [u.apart for u in usages(events) if u.scope == "segment"] == [("subagent:l",), ()]
    context = DecodeContext("log", "subagent:l", "c1", "s")
    [own] = usages(decoded(SESSION, lines(ended("end_turn", usage=used)), context).events)
    assert (own.model, own.covers_streams) == ("m", False)


def test_costs_add_up_until_a_turn_tells_none() -> None:
    def used(**more: Any) -> dict[str, Any]:
        return ended("end_turn", usage={"inputTokens": 10, "cachedReadTokens": 4, "outputTokens": 1, **more})

    events = events_of(SESSION, lines(used(costUsdTicks=5_000_000_000), used(costUsdTicks=1), used(costIsPartial=True)))
    costs = [e.cost_usd for e in events if isinstance(e, SessionEnd)]
    assert costs == [0.5, 0.5000000001, None]
    assert [(u.input, u.cached, u.scope) for u in usages(events)] == [(10, 4, "segment")] * 3


def test_notices_are_told_and_unknown_updates_are_named() -> None:
    given = lines(
        update("retry_state", True, type="retrying", attempt=1, reason="server_error"),
        update("retry_state", True, type="exhausted", reason="429"),
        update("task_completed", True, task_snapshot={"task_id": "t", "description": "Sleep", "exit_code": 1}),
        update("subagent_finished", True, subagent_id="k", status="failed"),
        update("auto_compact_completed", True, tokens_before=300, tokens_after=40),
        update("hook_annotation", True, message="`rm` blocked"),
        update("hook_execution", True, runs=[]),
        update("background_tasks", True, tasks=[]),
        update("brand_new", True),
    )
    batch = decoded(SESSION, given)
    assert [(e.name, e.message, e.level) for e in batch.events if isinstance(e, Notification)] == [
        ("retry", "attempt 1 failed: server_error", "warning"),
        ("retry_exhausted", "429", "error"),
        ("task_completed", "Sleep (exit code 1)", "warning"),
        ("subagent_finished", "failed: k", "warning"),
        ("compact_boundary", "300 tokens became 40", "info"),
        ("hook_annotation", "`rm` blocked", "info"),
    ]
    assert batch.unknown == {"brand_new": 1}


def test_a_line_that_comes_twice_counts_once() -> None:
    batch = decoded(SESSION, [*STORED, *STORED])
    assert len(calls(batch.events)) == len(calls(decoded(SESSION, STORED).events))


def test_a_fork_tells_only_what_is_its_own() -> None:
    batch = decoded(SESSION, FORKED)
    assert batch.ignored[COPIED] == len(STORED)
    assert [c.name for c in calls(batch.events)] == ["write"]
    infos = [e for e in batch.events if isinstance(e, SessionInfo)]
    assert (infos[0].session_id, infos[0].parent_session_id) == (FORK, SESSION_ID)
    assert infos[-1].model == "grok-4.6"
    assert [e.text for e in batch.events if isinstance(e, UserText)] == ["Write a todo."]


@pytest.mark.parametrize("child_group", ["%2Fhome%2Fada%2Forchard", "%2Fhome%2Fada%2F.grok%2Fworktrees%2Fa"])
def test_a_sub_agents_log_belongs_to_the_session_that_began_it(tmp_path: Path, child_group: str) -> None:
    main = lay_out(tmp_path, child_group=child_group)
    (found,) = companions(str(main), LocalFolder())
    assert found.path == str(tmp_path / child_group / CHILD / "updates.jsonl")
    spawn = next(c for c in calls(decoded(SESSION, STORED).events) if c.name == "spawn_subagent")
    assert found.context == DecodeContext(found.path, f"subagent:{CHILD}", spawn.call_id, SESSION_ID)
    assert companions(found.path, LocalFolder()) == []


def test_a_sub_agent_is_no_session_and_counts_once(tmp_path: Path) -> None:
    main = lay_out(tmp_path)
    found = find_sessions(find_roots([f"grok={tmp_path}"]), HeaderCache(None))
    assert {(s.id, len(s.subagents)) for s in found} == {(SESSION_ID, 1), (FORK, 0)}
    assert {s.header.parent for s in found} == {None, SESSION_ID}
    whole = summarize(main)
    assert whole.tool_use_summary["by_stream"][f"subagent:{CHILD}"]["tool_calls"] == 1
    assert (whole.tokens["input"], whole.tool_use_summary["total_tool_calls"]) == (130033, 11)
    child = events_of(SESSION, records((FOLDER / "subagent.jsonl").read_bytes()))
    assert {e.source.stream for e in child} == {MAIN}, "alone it is a log of its own"


@pytest.mark.parametrize("meta", ["{", "[]", '{"child_session_id": "../../etc"}', '{"child_session_id": 5}', "{}"])
def test_a_sub_agent_that_is_not_named_is_none(tmp_path: Path, meta: str) -> None:
    main = lay_out(tmp_path)
    (main.parent / "subagents" / CHILD / "meta.json").write_text(meta)
    assert companions(str(main), LocalFolder()) == []
