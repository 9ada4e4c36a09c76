"""Kimi Code: the stream, sessions on disk, what the terminal writes, sub-agents' files."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.foreign import foreign_agent
from agentv_stages.chain.normalize import Normalize
from agentv_stages.chain.pair import Pair
from agentv_stages.figures.result import Observer, Result
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
    ToolResult,
    UserText,
)
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.kimi import PROVIDER
from agentv_stages.providers.kimi.companions import companions
from agentv_stages.providers.kimi.notices import QUIET
from agentv_stream.sources.folder import LocalFolder
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
    records,
    results,
    texts,
    total,
    usages,
)

STREAM, SESSION = dialect(PROVIDER, "kimi-stream"), dialect(PROVIDER, "kimi-session")
FOLDER = FIXTURES / "kimi"
STREAMED = records((FOLDER / "stream.jsonl").read_bytes())
STORED = records((FOLDER / "session.jsonl").read_bytes())
OLD = records((FOLDER / "session-1.3.jsonl").read_bytes())
ID = "session_6f1d2c3b-4a59-4e68-8c77-9b0a1c2d3e4f"


def outcomes(events: list[AnyEvent]) -> dict[str, tuple[str | None, int | None]]:
    return {e.call_id: (e.outcome, e.exit_code) for e in results(events)}


def ends(events: list[AnyEvent]) -> list[tuple[str, str | None]]:
    return [(e.status, e.reason) for e in events if isinstance(e, SessionEnd)]


def read(data: bytes) -> Result:
    """The result of a session on disk."""
    batch = Batch("log", records=records(data))
    observer = Observer(PROVIDER, SESSION)
    decode, normalize, pair = Decode(SESSION, DecodeContext("log")), Normalize(PROVIDER.tools), Pair()
    for out in (batch, *decode.flush()):
        if out is batch:
            decode.push(out)
        normalize.push(out)
        pair.push(out)
        observer.observe(out)
    for out in pair.flush():
        observer.observe(out)
    return observer.result([])


def test_each_log_is_told() -> None:
    assert best(PROVIDER, STREAMED) == ("kimi-stream", 1.0)
    assert best(PROVIDER, STORED) == ("kimi-session", 1.0)
    for row in range(1, len(STORED)):
        one = json.loads(STORED[row].data)
        if one["type"] in QUIET or one["type"].startswith(("turn.", "subagent.", "permission.", "context.un")):
            continue  # what says little may be anybody's
        assert best(PROVIDER, STORED[row : row + 1])[1] >= 0.9, one["type"]


def test_a_plain_list_of_messages_is_not_its_stream() -> None:
    plain = lines({"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"})
    assert STREAM.detect([json.loads(r.data) for r in plain]) == 0.0


def test_the_older_cli_is_named_and_not_read() -> None:
    old: list[dict[str, Any]] = [
        {"type": "metadata", "protocol_version": "1.2"},
        {"timestamp": 1.0, "message": {"type": "TurnBegin", "payload": {"user_input": "hi"}}},
    ]
    assert SESSION.detect(old) == 0.0
    assert foreign_agent(old) == "a session of the older Kimi CLI"


def test_an_old_stream_is_told_without_its_version() -> None:
    """Before 0.43 the first line is an answer; a list of messages in which anybody else speaks is none."""
    old = [r for r in STREAMED if b'"role":"meta"' not in r.data]
    assert best(PROVIDER, old) == ("kimi-stream", 0.5)
    assert best(PROVIDER, old[:1]) == ("kimi-stream", 0.5)
    asked = [json.loads(r.data) for r in old]
    assert STREAM.detect([{"role": "user", "content": "hi"}, *asked]) == 0.0
    assert STREAM.detect([*asked, {"role": "system", "content": "be brief"}]) == 0.0
    assert STREAM.detect([{**asked[0], "id": "msg_1"}, *asked[1:]]) == 0.0
    assert STREAM.detect([{"role": "assistant", "content": "hi"}]) == 0.0


@pytest.mark.parametrize(("of", "given"), [(STREAM, STREAMED), (SESSION, STORED), (SESSION, OLD)])
def test_the_laws_hold(of: Any, given: Any) -> None:
    check_laws(of, given)


@pytest.mark.parametrize("given", [STREAMED, STORED, OLD])
def test_odd_shapes_are_taken_whole_or_refused(given: Any) -> None:
    check_odd_shapes(PROVIDER, given)


@pytest.mark.parametrize(("of", "given"), [(STREAM, STREAMED), (SESSION, STORED), (SESSION, OLD)])
def test_every_record_is_known(of: Any, given: Any) -> None:
    batch = decoded(of, given)
    assert (batch.unknown, batch.faults) == ({}, [])


def test_a_run_as_it_is_printed() -> None:
    events = events_of(STREAM, STREAMED)
    assert [c.name for c in calls(events)][:4] == ["Read", "Read", "Bash", "Grep"]
    assert calls(events)[2].input == {"command": "python3 -m pytest -q", "description": "Run the tests"}
    assert len({c.message_id for c in calls(events)}) == 4
    assert len(results(events)) == len(calls(events)) == 11
    assert texts(events)[-1] == "Fixed: spaces become dashes.\n\n日本語 😀"
    assert [e.version for e in events if isinstance(e, SessionInfo) and e.version] == ["2.1.0"]
    assert [e.session_id for e in events if isinstance(e, SessionInfo) and e.session_id] == [ID]
    assert ends(events) == [("complete", None)]
    assert [e.name for e in events if isinstance(e, Notification)] == ["retry"]


def test_the_stream_tells_failures_by_what_the_agent_says() -> None:
    assert outcomes(events_of(STREAM, STREAMED)) == {
        "call_a1": (None, None),
        "call_a2": ("error", None),
        "call_a3": ("error", 1),
        "call_a4": (None, None),
        "call_b1": ("error", None),
        "call_b2": (None, None),
        "call_b3": ("error", None),
        "call_b4": ("error", None),
        "call_c1": (None, None),
        "call_d1": (None, None),
        "call_d2": ("denied", None),
    }


@pytest.mark.parametrize(
    ("name", "text", "outcome"),
    [
        ("Bash", "Process exited with code -1\nCommand failed with exit code: -1.", ("error", None)),
        ("Bash", "x\nCommand failed with exit code: 3.\n<system>all of it lies in /tmp/o</system>", ("error", 3)),
        ("Bash", "x\nCommand killed by timeout (2m)", ("error", None)),
        ("Bash", "Command failed with exit code: 3." + "y" * 500, (None, None)),
        ("Grep", "a.py:1:Command failed with exit code: 3.", (None, None)),
        ("Read", "1\told_string not found in ", (None, None)),
        ("Read", '1\t"a" does not exist. Nor does b.', (None, None)),
        ("Read", '"/w/a" is not readable as UTF-8 text. Only text files can be read.', ("error", None)),
        ("Write", "Wrote 3 bytes to /w/a", (None, None)),
        ("Write", "Failed to write /w/b/a: parent directory does not exist.", ("error", None)),
        ("Write", "Plan mode is active. You may only write to the current plan file: /p.md.", ("denied", None)),
        ("Read", '"/w/a" is not a file.', ("error", None)),
        ("Edit", "No changes to make: old_string and new_string are exactly the same.", ("error", None)),
        ("Bash", "Blocked by PreToolUse hook", ("denied", None)),
        ("Bash", 'Tool "Bash" was not run because the approval request was cancelled.', ("cancelled", None)),
        ("Bash", "before\nInterrupted by user", ("cancelled", None)),
        ("Bash", "Session closed", ("cancelled", None)),
        ("Bash", "Session closed\n", (None, None)),
        ("Bash", "the Session closed", (None, None)),
        ("Read", "1\tx\nSession closed", (None, None)),
        ("Write", "Parent directory does not exist: /w/b. Create it before writing this file.", ("error", None)),
        ("Edit", "ENOENT: no such file or directory, open '/w/b'", ("error", None)),
        ("Grep", "ripgrep (rg) is not available and the automatic bootstrap failed.", ("error", None)),
        ("Glob", "ripgrep (rg) is not available and the automatic bootstrap failed.", ("error", None)),
        ("FetchURL", "Failed to fetch URL due to network error: http://a.test/", ("error", None)),
        ("FetchURL", "# Failed to fetch URL, a novel", (None, None)),
        ("ExitPlanMode", "No plan file found. Write your plan to /p.md first.", ("error", None)),
        ("AskUserQuestion", "AskUserQuestion is disabled while auto permission mode is active.", ("error", None)),
        ("Agent", "agent_id: a-0\nactual_subagent_type: coder\nstatus: failed\n\nsubagent error: 400", ("error", None)),
        ("Agent", "agent_id: a-0\nstatus: completed\n\n[summary]\nIt says\nstatus: failed\n", (None, None)),
    ],
)
def test_what_a_printed_result_means(name: str, text: str, outcome: tuple[str | None, int | None]) -> None:
    call = {"type": "function", "id": "c", "function": {"name": name, "arguments": "{}"}}
    log = lines({"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": text})
    assert outcomes(events_of(STREAM, log)) == {"c": outcome}


def test_a_picture_is_printed_as_the_parts_that_the_model_got() -> None:
    parts = [{"type": "text", "text": "<image>"}, {"type": "image_url", "imageUrl": {"url": "data:image/png;base64,x"}}]
    for name, text, output in (("ReadMediaFile", json.dumps(parts), parts), ("Bash", "[1]", "[1]")):
        call = {"type": "function", "id": "c", "function": {"name": name, "arguments": "{}"}}
        log = lines({"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": text})
        assert [r.output for r in results(events_of(STREAM, log))] == [output]


def shown_call(display: Any, **arguments: Any) -> dict[str, Any]:
    event = {"type": "tool.call", "uuid": "u", "toolCallId": "c", "name": "Bash", "args": arguments, "display": display}
    return {"type": "context.append_loop_event", "event": event, "time": 1}


@pytest.mark.parametrize(
    ("display", "arguments", "expected"),
    [
        ({"kind": "command", "command": "ls", "cwd": "/w"}, {"command": "ls"}, ["/w"]),
        ({"kind": "command", "command": "ls", "cwd": "/w/b"}, {"command": "ls", "cwd": "b"}, []),
        ({"kind": "file_io", "path": "/w/a"}, {"path": "/w/a"}, []),
        (None, {}, []),
    ],
)
def test_an_old_log_shows_its_folder_with_its_first_command(display: Any, arguments: Any, expected: list[str]) -> None:
    """Before protocol 1.5 no record names it."""
    log = lines(shown_call(display, **arguments), shown_call({"cwd": "/elsewhere"}, cwd="/elsewhere"))
    assert [e.cwd for e in events_of(SESSION, log) if isinstance(e, SessionInfo)] == expected


def test_a_folder_that_the_log_names_is_not_told_again_by_a_command() -> None:
    log = lines({"type": "config.update", "cwd": "/w", "time": 1}, shown_call({"cwd": "/x"}, command="ls"))
    assert [e.cwd for e in events_of(SESSION, log) if isinstance(e, SessionInfo)] == ["/w"]


def test_arguments_that_are_no_json_stay_what_they_are() -> None:
    def asked(arguments: Any) -> Any:
        function = {"name": "Read", "arguments": arguments}
        log = lines({"role": "assistant", "tool_calls": [{"type": "function", "id": "c", "function": function}]})
        [call] = calls(events_of(STREAM, log))
        return call.input

    assert asked('{"path":"a"}') == {"path": "a"}
    assert asked('{"path":"a') == '{"path":"a'
    assert asked("") == asked(None) == {}


@pytest.mark.parametrize(
    ("status", "end"),
    [("complete", "complete"), ("blocked", "error"), ("paused", "interrupted"), (None, "complete")],
)
def test_a_goal_says_how_the_run_ended(status: str | None, end: str) -> None:
    goal = {"type": "goal.summary", "goalId": "g", "status": status, "reason": "no key", "turnsUsed": 2}
    hint = {"role": "meta", "type": "session.resume_hint", "session_id": ID}
    assert [status for status, _ in ends(events_of(STREAM, lines(goal, hint)))] == [end]
    assert ends(events_of(STREAM, lines(goal))) == []  # the run failed; why is not printed


def test_a_stored_goal_ends_its_turn_alone() -> None:
    def ended(*status: str | None) -> list[tuple[str, str | None]]:
        goal = [{"type": "goal.update", "agentId": "main", "status": one, "turnsUsed": 1} for one in status]
        turn = {"type": "turn.ended", "agentId": "main", "reason": "completed"}
        return ends(events_of(SESSION, lines(*goal, turn, turn)))

    assert ended("blocked", None) == [("error", "goal blocked"), ("complete", None)]
    assert ended("paused") == [("interrupted", "goal paused"), ("complete", None)]
    assert ended("blocked", "complete") == [("complete", None), ("complete", None)]


def test_a_session_as_it_is_stored() -> None:
    events = events_of(SESSION, STORED)
    assert [(e.text, e.injected) for e in events if isinstance(e, UserText)] == [
        ("Fix the slug function.", False),
        ("<system-reminder>\nToday's date is 2026-03-02.\n</system-reminder>", True),
        ("Clean up the history.", False),
        ("Build it, slowly.", False),
    ]
    assert [e.text for e in events if isinstance(e, Reasoning)] == ["Read it first. 🤔"]
    assert texts(events)[:3] == ["I look at both — 日本語.", "This answer breaks", "Fixed."]
    assert {e.model for e in events if isinstance(e, AssistantText)} == {"bead-2"}
    assert [e.cwd for e in events if isinstance(e, SessionInfo) and e.cwd] == ["/home/ada/slug"]
    assert ends(events) == [("complete", None), ("complete", None), ("interrupted", "cancelled")]


def test_the_outcome_of_each_stored_call() -> None:
    assert outcomes(events_of(SESSION, STORED)) == {
        "call_a1": ("ok", None),
        "call_a2": ("error", 1),
        "call_a3": ("ok", None),
        "call_b1": ("ok", None),
        "call_b2": ("denied", None),
        "call_b3": ("error", None),
        "call_c1": ("cancelled", None),
    }


def test_tokens_hold_the_cache_and_what_broke_off_says_nothing() -> None:
    events = events_of(SESSION, STORED)
    assert total(events) == {"input": 5452, "cached": 4096, "output": 123, "reasoning": 0}
    assert [u.cache_write for u in usages(events)] == [0, 16, 0, 0, 0]
    assert len({u.key for u in usages(events)}) == 5


def test_what_a_hook_added_is_no_turn() -> None:
    log = lines(
        {"role": "assistant", "content": "UserPromptSubmit hook\n\nMind the gap."},
        {"role": "assistant", "content": "The UserPromptSubmit hook\n\nis mine."},
    )
    assert [e.synthetic for e in events_of(STREAM, log) if isinstance(e, AssistantText)] == [True, False]


def test_a_call_that_began_several_sub_agents_names_none() -> None:
    def spawned(name: str) -> dict[str, Any]:
        return {"type": "subagent.spawned", "subagentId": name, "parentToolCallId": "c"}

    def loop(kind: str) -> dict[str, Any]:
        event = {"type": kind, "toolCallId": "c", "name": "AgentSwarm", "result": {"output": "done"}}
        return {"type": "context.append_loop_event", "event": event}

    one = events_of(SESSION, lines(loop("tool.call"), spawned("a"), loop("tool.result")))
    two = events_of(SESSION, lines(loop("tool.call"), spawned("a"), spawned("b"), loop("tool.result")))
    assert [[r.agent_id for r in results(found)] for found in (one, two)] == [["a"], [None]]


def test_a_sub_agent_is_named_by_its_calls_result() -> None:
    assert {e.call_id: e.agent_id for e in results(events_of(SESSION, STORED)) if e.agent_id} == {"call_a3": "agent-0"}


def test_an_undo_takes_back_the_last_prompt_and_its_answer() -> None:
    events = events_of(SESSION, STORED)
    [void] = [e for e in events if isinstance(e, Retract)]
    answer = next(e.message_id for e in events if isinstance(e, AssistantText) and e.text == "I rewrote it.")
    assert void.message_ids == ("msg_02B", answer)
    again = lines(*map(json.loads, (r.data for r in STORED)), {"type": "context.undo", "count": 2})
    void = [e for e in events_of(SESSION, again) if isinstance(e, Retract)][-1]
    assert {"msg_01A", "msg_03C"} <= set(void.message_ids)
    assert "msg_02B" not in void.message_ids  # it was gone


def test_how_a_session_ended() -> None:
    data = (FOLDER / "session.jsonl").read_bytes()
    whole = data.splitlines(keepends=True)
    assert read(data).status == "interrupted"
    ended = next(i for i, line in enumerate(whole) if b'"type":"turn.ended"' in line)
    assert read(b"".join(whole[: ended + 1])).status == "complete"
    assert read(b"".join(whole[:ended])).status == "incomplete"
    assert read(b"".join(whole[: ended + 4])).status == "incomplete"  # the next prompt was never answered
    failed = {"type": "turn.ended", "agentId": "main", "turnId": 0, "reason": "failed", "error": {"message": "400 no"}}
    assert ends(events_of(SESSION, lines(failed))) == [("error", "400 no")]


def test_before_protocol_1_5_the_last_step_ends_a_turn() -> None:
    events = events_of(SESSION, OLD)
    assert ends(events) == [("complete", "end_turn"), ("interrupted", "cancelled")]
    info = [(e.model, e.version, e.cwd) for e in events if isinstance(e, SessionInfo)]
    assert info == [(None, "0.10.0", None), ("kimi-code/bead", None, "/home/ada/slug")]
    assert {c.model for c in calls(events)} == {"kimi-code/bead"}
    assert outcomes(events) == {"call_a1": ("ok", None), "call_a2": ("error", 1), "call_b1": ("cancelled", None)}
    assert {r.call_id: r.agent_id for r in results(events) if r.agent_id} == {"call_a1": "agent-0"}
    assert total(events) == {"input": 1660, "cached": 800, "output": 39, "reasoning": 0}
    last = next(i for i, r in enumerate(OLD) if b'"end_turn"' in r.data)
    assert read(b"\n".join(r.data for r in OLD[:last])).status == "incomplete"


@pytest.mark.parametrize(("version", "twice"), [("1.4", 1), ("1.5", 0), ("1.10", 0), ("2", 0), ("x", 1), ("", 1)])
def test_from_protocol_1_5_on_only_the_end_record_ends_a_turn(version: str, twice: int) -> None:
    step = {"type": "context.append_loop_event", "event": {"type": "step.end", "finishReason": "end_turn"}}
    turn = {"type": "turn.ended", "agentId": "main", "reason": "completed"}
    head = {"type": "metadata", "protocol_version": version, "created_at": 1}
    assert len(ends(events_of(SESSION, lines(head, step, turn, step, turn)))) == 2 + twice


def test_the_models_name_replaces_its_alias() -> None:
    def asked(model: str, kind: str = "loop") -> dict[str, Any]:
        return {"type": "llm.request", "agentId": "main", "kind": kind, "model": model, "modelAlias": "a"}

    alias = {"type": "config.update", "modelAlias": "a"}
    log = lines(alias, asked("m"), asked("small", "compaction"), asked("m"), alias, asked("n"))
    assert [e.model for e in events_of(SESSION, log) if isinstance(e, SessionInfo)] == ["a", "m", "n"]


def message(origin: Any, content: Any, role: str = "user", **more: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"role": role, "content": content, "toolCalls": [], "origin": origin, **more}
    return {"type": "context.append_message", "agentId": "main", "message": body, "time": 1772443800000}


@pytest.mark.parametrize(
    ("origin", "injected"),
    [
        (None, False),
        ({"kind": "user"}, False),
        ({"kind": "system_trigger", "name": "subagent"}, False),
        ({"kind": "system_trigger", "name": "goal_continuation"}, True),
        ({"kind": "injection", "variant": "date_change"}, True),
        ({"kind": "task", "taskId": "bash-1", "status": "completed"}, True),
        ({"kind": "compaction_summary"}, True),
        ({"kind": "skill_activation", "skillName": "fix", "trigger": "model-tool"}, True),
        ({"kind": "cron_job", "jobId": "j"}, True),
    ],
)
def test_only_what_the_user_wrote_is_a_prompt(origin: Any, injected: bool) -> None:
    [event] = events_of(SESSION, lines(message(origin, [{"type": "text", "text": "x"}])))
    assert isinstance(event, UserText)
    assert (event.text, event.injected) == ("x", injected)


def test_a_skill_called_by_name_is_a_command() -> None:
    origin = {"kind": "skill_activation", "skillName": "fix", "skillArgs": "it", "trigger": "user-slash"}
    command, body = events_of(SESSION, lines(message(origin, [{"type": "text", "text": "# Fix"}])))
    assert isinstance(command, SlashCommand)
    assert (command.name, command.args) == ("/fix", "it")
    assert isinstance(body, UserText)
    assert body.injected
    origin = {"kind": "plugin_command", "pluginId": "p", "commandName": "c", "trigger": "user-slash"}
    command = events_of(SESSION, lines(message(origin, "x")))[0]
    assert isinstance(command, SlashCommand)
    assert (command.name, command.args) == ("/p:c", None)


def test_skills_that_a_prompt_names_stand_before_it() -> None:
    origin = {"kind": "user", "skillActivations": [{"activationId": "a", "skillName": "fix"}]}
    parts = [{"type": "text", "text": "# Fix"}, {"type": "text", "text": "Go on."}]
    events = events_of(SESSION, lines(message(origin, parts, id="msg_1")))
    told = [(e.text, e.injected) for e in events if isinstance(e, UserText)]
    assert told == [("# Fix", True), ("Go on.", False)]


def test_a_session_taken_over_from_the_older_cli() -> None:
    """Its answers and results are messages of the context, in the form of protocol 1.0, without times."""
    call = {"type": "function", "id": "c1", "function": {"name": "ReadFile", "arguments": '{"path":"a"}'}}
    answer = [{"type": "think", "think": "Hm."}, {"type": "text", "text": "I read."}]
    log = lines(
        {"type": "metadata", "protocol_version": "1.0", "created_at": 1772443800000},
        message({"kind": "user"}, [{"type": "text", "text": "Read a."}]),
        message(None, answer, "assistant", toolCalls=[call]),
        message(None, [{"type": "text", "text": "1"}], "tool", toolCallId="c1"),
        message(None, "It is 1.", "assistant"),
        {"type": "turn.ended", "agentId": "main", "turnId": 0, "reason": "completed", "time": 1772443800000},
    )
    events = events_of(SESSION, log)
    assert [(c.name, c.input) for c in calls(events)] == [("ReadFile", {"path": "a"})]
    assert texts(events) == ["I read.", "It is 1."]
    assert [r.call_id for r in results(events)] == ["c1"]
    assert ends(events) == [("complete", None)]
    assert PROVIDER.tools.resolve("ReadFile").tool == "Read"


def test_a_task_in_the_background_tells_its_end() -> None:
    info = {"taskId": "b", "description": "build", "status": "failed", "exitCode": 2, "parentToolCallId": "c"}
    [event] = events_of(SESSION, lines({"type": "task.terminated", "info": info, "time": 1772443800000}))
    assert isinstance(event, Notification)
    assert (event.message, event.call_id, event.level) == ("failed: build (exit code 2)", "c", "warning")


def test_a_new_record_type_shows() -> None:
    loop = {"type": "context.append_loop_event", "event": {"type": "step.dream"}}
    odd = {"type": "context.append_loop_event", "event": {"type": "content.part", "part": {"type": "smell"}}}
    batch = decoded(SESSION, lines({"type": "dream.begin", "time": 1}, loop, odd, message(None, "x", "ghost")))
    assert batch.unknown == {
        "dream.begin": 1,
        "context.append_loop_event/step.dream": 1,
        "content.part/smell": 1,
        "context.append_message/ghost": 1,
    }
    batch = decoded(STREAM, lines({"role": "meta", "type": "dream"}, {"role": "ghost"}, {"type": "x"}))
    assert batch.unknown == {"meta/dream": 1, "ghost/(no type)": 1, "x": 1}


def test_a_log_that_is_appended_again_is_told_once() -> None:
    stretch = STORED[:20]
    once = events_of(SESSION, stretch)
    twice = decoded(SESSION, records(b"\n".join(r.data for r in [*stretch, *stretch]) + b"\n"))
    assert texts(twice.events) == texts(once)
    assert len([e for e in twice.events if isinstance(e, UserText)]) == 2
    assert total(twice.events) == total(once)


def test_sub_agents_lie_beside_the_main_agent(tmp_path: Path) -> None:
    place = tmp_path / "wd_slug_1" / ID / "agents"
    for agent in ("main", "agent-0", "agent-1"):
        (place / agent).mkdir(parents=True)
        (place / agent / "wire.jsonl").write_bytes((FOLDER / "session.jsonl").read_bytes() if agent == "main" else b"")
    nested = b'{"type":"subagent.spawned","agentId":"agent-0","subagentId":"agent-1","parentToolCallId":"call_n"}\n'
    (place / "agent-0" / "wire.jsonl").write_bytes(nested)
    old = b'"toolCallId":"call_o","result":{"output":"agent_id: agent-2\\nstatus: completed"}'
    (place / "agent-1" / "wire.jsonl").write_bytes(old)
    (place / "agent-2").mkdir()
    (place / "agent-2" / "wire.jsonl").write_bytes(b"")
    main = str(place / "main" / "wire.jsonl")
    found = companions(main, LocalFolder())
    assert [(one.context.stream, one.context.parent_call, one.context.session_id) for one in found] == [
        ("subagent:agent-0", "call_a3", ID),
        ("subagent:agent-1", "call_n", ID),
        ("subagent:agent-2", "call_o", ID),
    ]
    assert companions(str(place / "agent-0" / "wire.jsonl"), LocalFolder()) == []
    assert companions(str(FOLDER / "session.jsonl"), LocalFolder()) == []


def test_a_sessions_id_is_the_name_of_its_folder() -> None:
    def told(path: str, stream: str = "main") -> list[tuple[str | None, str | None]]:
        events = decoded(SESSION, STORED[:2], DecodeContext(path, stream)).events
        return [(e.session_id, e.parent_session_id) for e in events if isinstance(e, SessionInfo) and e.session_id]

    assert told(f"/s/wd/{ID}/agents/main/wire.jsonl") == [(ID, None)]
    assert told(f"C:\\s\\wd\\{ID}\\agents\\main\\wire.jsonl") == [(ID, None)]
    assert told(f"/s/wd/{ID}/agents/agent-0/wire.jsonl") == [(f"{ID}:agent-0", ID)]
    assert told(f"/s/wd/{ID}/agents/agent-0/wire.jsonl", "subagent:agent-0") == []
    assert told("/tmp/wire.jsonl") == []


def test_a_sub_agents_calls_name_their_parent() -> None:
    context = DecodeContext("log", "subagent:agent-0", "call_a3", ID)
    events = decoded(SESSION, STORED, context).events
    assert {c.parent_call for c in calls(events)} == {"call_a3"}
    assert {e.source.stream for e in events} == {"subagent:agent-0"}
    assert not [e for e in events if isinstance(e, SessionInfo)]


def test_the_agents_own_remarks_are_told() -> None:
    log = lines(
        {
            "type": "context.apply_compaction",
            "summary": "s",
            "compactedCount": 9,
            "tokensBefore": 900,
            "tokensAfter": 90,
        },
        {"type": "context.clear", "agentId": "main"},
        {"type": "forked", "agentId": "main"},
        {"type": "goal.create", "goalId": "g", "objective": "Ship it."},
        {"type": "subagent.failed", "subagentId": "agent-0", "error": "429"},
        {"type": "context.undo", "count": 1},
    )
    assert [(e.name, e.message) for e in events_of(SESSION, log) if isinstance(e, Notification)] == [
        ("compact_boundary", "9 messages became a summary, 900 tokens became 90"),
        ("clear", "the context was cleared"),
        ("forked", "what stands above was copied from the parent session"),
        ("goal.create", "Ship it."),
        ("subagent.failed", "429"),
        ("undo", "went back to an earlier prompt"),
    ]


def test_results_without_anything_are_results() -> None:
    log = lines(
        {"type": "context.append_loop_event", "event": {"type": "tool.call", "toolCallId": "c", "name": "Bash"}},
        {"type": "context.append_loop_event", "event": {"type": "tool.result", "toolCallId": "c"}},
    )
    [_, result] = events_of(SESSION, log)
    assert isinstance(result, ToolResult)
    assert (result.output_json, result.outcome) == (None, None)
