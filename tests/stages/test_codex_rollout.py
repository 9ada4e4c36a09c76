import json
from typing import Any

import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    Notification,
    Reasoning,
    Retract,
    SessionEnd,
    SessionInfo,
    UserText,
)
from agentv_stages.providers.codex import PROVIDER
from support import rewound_threads as rewound
from support.decoding import best, calls, check_laws, decoded, dialect, lines, records, results, texts, usages

ROLLOUT = dialect(PROVIDER, "codex-rollout")
OLD = dialect(PROVIDER, "codex-rollout-old")
THREAD = "019f0000-0000-7000-8000-000000000001"


def line(kind: str, second: float = 0, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-03-01T10:00:{second:06.3f}Z", "type": kind, "payload": payload}


def meta(version: str = "0.169.0", **more: Any) -> dict[str, Any]:
    return line("session_meta", id=THREAD, cwd="/w", cli_version=version, git={"branch": "main"}, **more)


def response(kind: str, second: float = 1, **more: Any) -> dict[str, Any]:
    return line("response_item", second, type=kind, **more)


def event(kind: str, second: float = 1, **more: Any) -> dict[str, Any]:
    return line("event_msg", second, type=kind, **more)


def message(role: str, text: str, second: float = 1) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return response("message", second, role=role, content=[{"type": kind, "text": text}])


def call(call_id: str, arguments: str = '{"cmd":"ls"}', name: str = "exec_command", **more: Any) -> dict[str, Any]:
    return response("function_call", name=name, arguments=arguments, call_id=call_id, **more)


def output(call_id: str, value: Any, second: float = 2) -> dict[str, Any]:
    return response("function_call_output", second, call_id=call_id, output=value)


def item(kind: str, second: float = 2, **more: Any) -> dict[str, Any]:
    return event("item_completed", second, item={"type": kind, **more})


def counted(total: int, last: int, out: int = 0) -> dict[str, Any]:
    def tokens(n: int) -> dict[str, int]:
        return {"input_tokens": n, "cached_input_tokens": 0, "output_tokens": out, "total_tokens": n + out}

    return event("token_count", info={"total_token_usage": tokens(total), "last_token_usage": tokens(last)})


def run(*body: dict[str, Any], version: str = "0.169.0") -> list[Record]:
    return lines(
        meta(version),
        event("task_started", turn_id="t", model_context_window=1000),
        line("turn_context", model="m-1", cwd="/w"),
        message("user", "<environment_context>\n</environment_context>"),
        message("user", "Fix it."),
        event("user_message", message="Fix it."),
        *body,
        event("task_complete", 9, turn_id="t", last_agent_message="Done.", duration_ms=1234),
    )


def test_a_session_tells_who_where_and_how_it_ended() -> None:
    given = run(message("assistant", "Done."))
    assert best(PROVIDER, given) == ("codex-rollout", 1.0)
    events = decoded(ROLLOUT, given).events
    infos = [e for e in events if isinstance(e, SessionInfo)]
    assert (infos[0].session_id, infos[0].version, infos[0].cwd, infos[0].git_branch) == (
        THREAD,
        "0.169.0",
        "/w",
        "main",
    )
    assert [i.model for i in infos if i.model] == ["m-1"]
    assert [i.context_window for i in infos if i.context_window] == [1000]
    assert [(e.status, e.duration_ms) for e in events if isinstance(e, SessionEnd)] == [("complete", 1234)]
    check_laws(ROLLOUT, given)


def test_injected_text_is_told_from_the_persons() -> None:
    events = decoded(ROLLOUT, run(message("developer", "Be good."))).events
    assert [(e.text[:8], e.injected) for e in events if isinstance(e, UserText)] == [
        ("<environ", True),
        ("Fix it.", False),
        ("Be good.", True),
    ]


def test_two_reviews_that_are_repeated_count_once_though_they_share_an_id() -> None:
    def reviewed(second: float) -> list[dict[str, Any]]:
        asked = message("user", f"Review {second}.", second)
        asked["payload"]["id"] = "review_rollout_user"
        return [asked, message("assistant", f"Seen {second}.", second)]

    both = [*reviewed(2), *reviewed(3)]
    told = decoded(ROLLOUT, run(*both, *both)).events
    assert [e.text for e in told if isinstance(e, UserText)][2:] == ["Review 2.", "Review 3."]
    assert texts(told) == ["Seen 2.", "Seen 3."]


@pytest.mark.parametrize("ended", [False, True])
def test_a_repeated_output_of_a_running_call_ends_no_answer(ended: bool) -> None:
    """A stretch that the log repeats while an answer goes on: its first output is not the end of that answer."""
    end = event("exec_command_end", 3, call_id="c1", aggregated_output="tick", exit_code=0, status="completed")
    held = [
        call("c1"),
        output("c1", "Process running with session ID 5\nOutput:\ntick", 1.5),
        *([end] if ended else []),
    ]
    begun, rest = call("c2", second=4), [call("c3", second=4.1), output("c2", "x", 5), output("c3", "y", 5)]
    told = decoded(ROLLOUT, run(*held, begun, *held, begun, *rest, version="0.120.0")).events
    asked = {c.call_id: c.message_id for c in reversed(calls(told))}  # as first told
    assert asked["c2"] == asked["c3"] != asked["c1"]
    assert [r.call_id for r in results(told)].count("c1") == 1


@pytest.mark.parametrize("copy_first", [True, False])
def test_a_text_that_stands_twice_comes_once(copy_first: bool) -> None:
    pair = [event("agent_message", message="Hi."), message("assistant", "Hi.")]
    later = [event("agent_message", 3, message="Hi."), message("assistant", "Hi.", 3)]
    given = run(*(pair if copy_first else pair[::-1]), *later)
    assert texts(decoded(ROLLOUT, given).events) == ["Hi.", "Hi."]
    check_laws(ROLLOUT, given)


@pytest.mark.parametrize("copy_first", [True, False])
def test_the_copy_of_a_plan_lacks_the_plan_and_is_a_copy_all_the_same(copy_first: bool) -> None:
    copy = item("AgentMessage", id="msg_1", content=[{"type": "Text", "text": "Here it is.\n"}])
    whole = message("assistant", "Here it is.\n<proposed_plan>\n# Plan\n</proposed_plan>\n")
    whole["payload"]["id"] = "msg_1"
    given = run(*([copy, whole] if copy_first else [whole, copy]))
    assert texts(decoded(ROLLOUT, given).events) == ["Here it is.\n<proposed_plan>\n# Plan\n</proposed_plan>\n"]
    check_laws(ROLLOUT, given)


@pytest.mark.parametrize("what", ["Command", "Tool call"])
def test_what_a_hook_refused_is_denied(what: str) -> None:
    refused = output("a", f"{what} blocked by PreToolUse hook: no. Command: ls")
    assert [r.outcome for r in results(decoded(ROLLOUT, run(call("a"), refused)).events)] == ["denied"]


def begun_for_a_goal(turn: str) -> dict[str, Any]:
    return event("task_started", turn_id=turn, turn_attribution={"turn_trigger": "goal"})


def left(turn: str) -> dict[str, Any]:
    return event("turn_aborted", turn_id=turn, reason="interrupted")


def test_a_turn_for_a_goal_that_exec_left_as_it_began_ends_nothing() -> None:
    """Recorded in 0.169: `exec` ends with the turn of the prompt, when the next one has begun by itself."""
    ended = [meta(), message("user", "Go."), message("assistant", "Done."), event("task_complete", turn_id="t1")]
    asked = message("developer", "<turn_aborted>")

    def statuses(*more: dict[str, Any]) -> list[str]:
        given = lines(*ended, begun_for_a_goal("t2"), *more, left("t2"))
        check_laws(ROLLOUT, given)
        return [event.status for event in decoded(ROLLOUT, given).events if isinstance(event, SessionEnd)]

    assert statuses(asked) == ["complete"]
    assert statuses(message("assistant", "Going on.")) == ["complete", "interrupted"]
    assert statuses(message("user", "Wait.")) == ["complete", "interrupted"]


def test_the_goal_that_stands_as_an_output_without_a_call_is_context() -> None:
    goal = response("function_call_output", id="fco_1", name="goal_objective", namespace="agent", output="fix it")
    batch = decoded(ROLLOUT, run(call("a"), output("a", "ok"), goal))
    assert [(e.text, e.injected) for e in batch.events if isinstance(e, UserText)][-1] == ("fix it", True)
    assert [r.call_id for r in results(batch.events)] == ["a"]


def test_a_text_without_response_item_is_taken_from_its_copy() -> None:
    given = lines(
        meta("0.66.0"),
        event("user_message", message="Review."),
        event("agent_message", message="Looks good."),
        event("turn_aborted", reason="interrupted"),
    )
    events = decoded(ROLLOUT, given).events
    assert texts(events) == ["Looks good."]
    assert [e.text for e in events if isinstance(e, UserText)] == ["Review."]
    check_laws(ROLLOUT, given)


def test_items_with_texts_are_copies_too() -> None:
    given = run(
        item("UserMessage", id="u", content=[{"type": "text", "text": "Fix it."}]),
        item("AgentMessage", id="a", content=[{"type": "Text", "text": "Hi."}]),
        message("assistant", "Hi."),
        item("Reasoning", id="r", summary_text=["x"]),
    )
    batch = decoded(ROLLOUT, given)
    assert texts(batch.events) == ["Hi."]
    assert batch.unknown == {}


def test_reasoning_keeps_its_summary_and_encrypted_reasoning_says_nothing() -> None:
    events = decoded(
        ROLLOUT,
        run(
            response("reasoning", summary=[], content=None, encrypted_content="gAAA"),
            response(
                "reasoning", summary=[{"type": "summary_text", "text": "A"}, {"type": "summary_text", "text": "B"}]
            ),
        ),
    ).events
    assert [e.text for e in events if isinstance(e, Reasoning)] == ["A\n\nB"]


RAN = f"Command: /bin/bash -lc 'cat <<E\n{'x' * 3000}\nE'\nChunk ID: a1\nWall time: 1 seconds\nProcess WHAT\nOutput:\n"
POLICY = 'exec_command failed for `rm -rf x`: CreateProcess { message: "Rejected(\\"WHY\\")" }'


@pytest.mark.parametrize(
    ("value", "outcome", "code"),
    [
        ('{"output":"a","metadata":{"exit_code":0,"duration_seconds":0.5}}', "ok", 0),
        ('{"output":"a","metadata":{"exit_code":2,"duration_seconds":0.5}}', "error", 2),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\nx", "error", 1),
        ("Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 7\nOutput:\nx", "error", 7),
        ("Wall time: 0.0 seconds\nOutput:\nExit code: 0\nWall time: 0 seconds\nOutput:\nSuccess", "ok", 0),
        (RAN.replace("WHAT", "exited with code 7"), "error", 7),
        (RAN.replace("WHAT", "exited with code 0"), "ok", 0),
        ("Command: no more than words", None, None),
        ("aborted by user after 4.0s", "cancelled", None),
        ("Wall time: 5.8 seconds\naborted by user", "cancelled", None),
        ("unsupported call: nope", "error", None),
        ("unknown session id 9", "error", None),
        ("unknown agent_type 'reader'", "error", None),
        ("invalid agent id none: Error(ParseChar { character: 'n', index: 1 })", "error", None),
        ("apply_patch verification failed: no such lines", "error", None),
        ("exec command rejected by user", "denied", None),
        ('exec_command failed for `ls`: CreateProcess { message: "Rejected(\\"rejected by user\\")" }', "denied", None),
        ("a story of a patch rejected by user", None, None),
        (POLICY.replace("WHY", "`rm -rf x` rejected: blocked by policy"), "denied", None),
        (POLICY.replace("WHY", "approval required by policy, but AskForApproval is set to Never"), "denied", None),
        (POLICY.replace("WHY", "Failed to create unified exec process: timed out"), "error", None),
        ("`git push` rejected: policy forbids commands starting with `git push`", "denied", None),
        ("`two\nlines` rejected: blocked by policy", "denied", None),
        ("`code` that was rejected", None, None),
        ("approval required by policy, but AskForApproval is set to Never", "denied", None),
        ("patch rejected: writing outside of the project; rejected by user approval settings", "denied", None),
        ("writing outside of the project; rejected by user approval settings", "denied", None),
        ("user rejected MCP tool call", "denied", None),
        ("This action was rejected due to unacceptable risk.\nReason: x", "denied", None),
        ("command timed out after 1000 milliseconds", "error", None),
        ("a text that says Exit code: 1 later", None, None),
        ([{"type": "input_text", "text": "seen"}], None, None),
        ({"content": "seen", "success": False}, "error", None),
        ("", None, None),
    ],
)
def test_outputs_tell_their_outcome(value: Any, outcome: str | None, code: int | None) -> None:
    (result,) = results(decoded(ROLLOUT, run(call("c"), output("c", value))).events)
    assert (result.outcome, result.exit_code) == (outcome, code)


@pytest.mark.parametrize(
    ("answer", "more", "status"),
    [
        ([], {"last_agent_message": None}, "unknown"),
        ([], {"last_agent_message": None, "started_at": 1}, "complete"),
        ([], {"last_agent_message": None, "started_at": 1, "error": {"message": "bad"}}, "error"),
        ([message("assistant", "Done.")], {"last_agent_message": None}, "complete"),  # then `/compact`
    ],
)
def test_a_turn_without_an_answer_may_have_failed(answer: list[Any], more: dict[str, Any], status: str) -> None:
    """Recorded with an error of the server: 0.115 and 0.130 do not say that the turn failed, 0.150 does."""
    given = lines(meta(), message("user", "Go."), call("c"), output("c", "x"), *answer, event("task_complete", **more))
    ended = [e for e in decoded(ROLLOUT, given).events if isinstance(e, SessionEnd)]
    assert [e.status for e in ended] == [status]


@pytest.mark.parametrize("space", ["mcp__demo", "mcp__demo__"])
def test_a_tool_of_a_namespace_has_one_name(space: str) -> None:
    """Recorded: `mcp__demo__` in 0.130, `mcp__demo` in 0.171."""
    given = call("c")
    given["payload"].update(name="lookup", namespace=space)
    (made,) = calls(decoded(ROLLOUT, run(given)).events)
    assert PROVIDER.tools.resolve(made.name).tool == "mcp__demo__lookup"


def test_a_wrapped_output_is_unwrapped_with_its_duration() -> None:
    text = '{"output":"a\\n","metadata":{"exit_code":0,"duration_seconds":0.25}}'
    (result,) = results(decoded(ROLLOUT, run(call("c"), output("c", text))).events)
    assert (result.output, result.duration_ms) == ("a\n", 250)


def test_bytes_as_output_become_text() -> None:
    (result,) = results(decoded(ROLLOUT, run(call("c"), output("c", [104, 105, 10]))).events)
    assert result.output == "hi\n"


def test_arguments_are_unwrapped_and_kept_as_text_where_they_are_none() -> None:
    events = decoded(ROLLOUT, run(call("a"), call("b", "{broken"), call("c", ""))).events
    assert [c.input for c in calls(events)] == [{"cmd": "ls"}, "{broken", {}]


def test_names_have_their_namespace() -> None:
    events = decoded(
        ROLLOUT, run(call("a", namespace="collaboration", name="spawn_agent"), call("b", namespace="functions"))
    ).events
    assert [c.name for c in calls(events)] == ["collaboration.spawn_agent", "exec_command"]


def test_waiting_for_a_script_is_told_from_waiting_for_sub_agents() -> None:
    given = (call("a", '{"cell_id":"14"}', "wait"), call("b", '{"ids":["x"]}', "wait"))
    assert [c.name for c in calls(decoded(ROLLOUT, run(*given)).events)] == ["functions.wait", "wait"]


def test_a_patch_of_several_files_is_one_call_whether_custom_or_heredoc() -> None:
    patch = "*** Begin Patch\n*** Add File: a\n+1\n*** Update File: b\n@@\n-1\n+2\n*** End Patch"
    heredoc = '{"command":["bash","-lc","apply_patch <<\'EOF\'\\n*** Begin Patch\\n*** End Patch\\nEOF\\n"]}'
    events = decoded(
        ROLLOUT,
        run(
            response("custom_tool_call", call_id="a", name="apply_patch", input=patch),
            response("custom_tool_call_output", call_id="a", output='{"output":"ok","metadata":{"exit_code":0}}'),
            call("b", heredoc, "shell"),
            call("c", '{"cmd":"echo \'apply_patch <<EOF *** Begin Patch\'"}'),
        ),
    ).events
    assert [(c.name, c.input) for c in calls(events)][:2] == [
        ("apply_patch", patch),
        ("apply_patch", "*** Begin Patch\n*** End Patch"),
    ]
    assert calls(events)[2].name == "exec_command"
    assert results(events)[0].outcome == "ok"


@pytest.mark.parametrize(
    "arguments",
    [
        '{"cmd":"apply_patch <<EOF\\n*** Begin Patch\\n*** End Patch\\nEOF","note":"\\ud800"}',
        '{"cmd":"apply_patch <<EOF\\n*** Begin Patch\\n*** End Patch\\nEOF","note":"\ud800"}',
        {"cmd": "apply_patch <<EOF\n*** Begin Patch\n*** End Patch\nEOF"},
    ],
)
def test_a_patch_is_found_in_arguments_that_a_strict_reader_refuses(arguments: Any) -> None:
    raw = json.dumps(response("function_call", call_id="a", name="shell", arguments=arguments))
    (batch,) = Decode(ROLLOUT).push(Batch("log", records=[*run(), Record(raw.encode(), 9999, 99)]))
    assert [(c.name, c.input) for c in calls(batch.events)] == [("apply_patch", "*** Begin Patch\n*** End Patch")]


@pytest.mark.parametrize(
    "command",
    [
        {"apply_patch <<EOF": "*** Begin Patch"},
        ["apply_patch", {"patch": "*** Begin Patch"}],
        ["bash", ["*** Begin Patch"]],
        [],
        7,
        "cat <<EOF > notes\n*** Begin Patch\nEOF",
    ],
)
def test_arguments_without_a_patch_that_is_applied_stay_what_they_are(command: Any) -> None:
    arguments = {"command": command, "note": "*** Begin Patch"}
    raw = json.dumps(response("function_call", call_id="a", name="shell", arguments=json.dumps(arguments)))
    (batch,) = Decode(ROLLOUT).push(Batch("log", records=[*run(), Record(raw.encode(), 9999, 99)]))
    assert [(c.name, c.input) for c in calls(batch.events)] == [("shell", arguments)]


def test_an_item_ends_its_call_and_the_output_is_no_second_result() -> None:
    ran = item(
        "CommandExecution",
        id="c",
        command=["/bin/bash", "-lc", "ls"],
        status="failed",
        aggregated_output="whole",
        exit_code=2,
        duration={"secs": 1, "nanos": 500_000_000},
    )
    given = run(call("c"), ran, output("c", "Process exited with code 2\nOutput:\nwh"))
    (result,) = results(decoded(ROLLOUT, given).events)
    assert (result.output, result.outcome, result.exit_code, result.duration_ms) == ("whole", "error", 2, 1500)
    (late,) = results(
        decoded(ROLLOUT, run(call("c"), output("c", "Process exited with code 2\nOutput:\n"), ran)).events
    )
    assert late.exit_code == 2
    check_laws(ROLLOUT, given)


def test_a_declined_command_is_denied() -> None:
    ended = event(
        "exec_command_end", call_id="c", command=["ls"], exit_code=-1, status="declined", aggregated_output=""
    )
    (result,) = results(decoded(ROLLOUT, run(call("c"), ended)).events)
    assert result.outcome == "denied"


def test_a_process_that_goes_on_is_answered_by_its_end_or_by_what_it_said() -> None:
    running = output("c", "Chunk ID: 1\nWall time: 1 seconds\nProcess running with session ID 5\nOutput:\ntick")
    ended = event("exec_command_end", 4, call_id="c", command=["ls"], exit_code=3, aggregated_output="tick tock")
    given = run(call("c"), running, ended)
    (result,) = results(decoded(ROLLOUT, given).events)
    assert (result.output, result.exit_code) == ("tick tock", 3)
    check_laws(ROLLOUT, given)
    (held,) = results(decoded(ROLLOUT, run(call("c"), running)).events)
    assert (held.outcome, held.source.row) == (None, 7)


def test_an_interrupt_cancels_open_calls_and_ends_the_run() -> None:
    given = run(call("a"), call("b"), event("turn_aborted", reason="interrupted"), item("CommandExecution", id="a"))
    events = decoded(ROLLOUT, given).events
    assert [(r.call_id, r.outcome) for r in results(events)] == [("a", "cancelled"), ("b", "cancelled")]
    assert [e.status for e in events if isinstance(e, SessionEnd)] == ["interrupted", "complete"]
    check_laws(ROLLOUT, given)


def test_a_call_that_a_kill_left_open_is_not_cancelled_by_a_later_interrupt() -> None:
    given = lines(
        meta(),
        event("task_started", turn_id="killed"),
        call("a"),
        event("task_started", 3, turn_id="resumed"),
        call("b"),
        event("turn_aborted", 4, reason="interrupted"),
    )
    assert [(r.call_id, r.outcome) for r in results(decoded(ROLLOUT, given).events)] == [("b", "cancelled")]
    check_laws(ROLLOUT, given)
    late = lines(*(json.loads(r.data) for r in given), output("a", "Process exited with code 0\nOutput:\n", 5))
    assert [(r.call_id, r.outcome) for r in results(decoded(ROLLOUT, late).events)][1:] == [("a", "ok")]


def test_an_interrupt_decides_only_if_it_was_the_last_thing() -> None:
    def statuses(*body: dict[str, Any]) -> list[str]:
        given = lines(meta("0.77.0"), message("user", "Go."), event("turn_aborted", reason="interrupted"), *body)
        return [e.status for e in decoded(ROLLOUT, given).events if isinstance(e, SessionEnd)]

    assert statuses() == ["interrupted"]
    assert statuses(message("user", "<user_shell_command>ls</user_shell_command>")) == ["interrupted"]
    assert statuses(message("user", "Again."), message("assistant", "Done.")) == ["interrupted", "complete"]
    assert statuses(message("user", "Again.")) == ["interrupted", "unknown"]


def test_what_a_review_does_is_told_in_its_own_log_alone() -> None:
    def of(thread: str, kind: str, **more: Any) -> dict[str, Any]:
        return event("item_completed", thread_id=thread, item={"type": kind, **more})

    given = run(
        of(THREAD, "EnteredReviewMode", id="e"),
        of("review", "UserMessage", id="u", content=[{"type": "text", "text": "Review it."}]),
        of("review", "CommandExecution", id="c", command=["ls"], status="completed", exit_code=0),
        of("review", "AgentMessage", id="m", content=[{"type": "Text", "text": "Looking."}]),
        of(THREAD, "ExitedReviewMode", id="x"),
        message("assistant", "All is well."),
        of(THREAD, "CommandExecution", id="d", command=["ls"], status="completed", exit_code=0),
    )
    events = decoded(ROLLOUT, given).events
    assert texts(events) == ["All is well."]
    assert [e.text for e in events if isinstance(e, UserText) and not e.injected] == ["Fix it."]
    assert [c.call_id for c in calls(events)] == ["d"]
    assert [e.name for e in events if isinstance(e, Notification)] == ["entered_review_mode", "exited_review_mode"]
    check_laws(ROLLOUT, given)


def test_what_an_older_review_says_and_spends_is_not_its_parents() -> None:
    reviewed = [
        counted(1000, 1000),
        event("entered_review_mode", 2),
        event("user_message", 2, message="Review it."),
        event("user_message", 3, message="Review it."),
        counted(400, 400),
        event("agent_message", 3, message="Looking."),
        counted(900, 500),
        message("user", "<user_action>\n</user_action>", 4),
        event("exited_review_mode", 4),
        message("assistant", "All is well.", 4),
        event("agent_message", 4, message="All is well."),
        counted(1200, 200),
    ]
    given = run(*reviewed, version="0.77.0")
    events = decoded(ROLLOUT, given).events
    assert texts(events) == ["All is well."]
    assert [e.text for e in events if isinstance(e, UserText) and not e.injected] == ["Fix it."]
    assert [u.input for u in usages(events)] == [1000, 200]
    check_laws(ROLLOUT, given)
    killed = run(*reviewed[:7], message("user", "Go on.", 5), event("agent_message", 6, message="Gladly."))
    assert texts(decoded(ROLLOUT, killed).events) == ["Gladly."]


def test_the_items_of_a_second_session_in_one_log_are_its_own() -> None:
    other = line("session_meta", 3, id="other", cwd="/w")
    ran = event("item_completed", 4, thread_id="other", item={"type": "CommandExecution", "id": "c", "command": ["ls"]})
    assert [c.call_id for c in calls(decoded(ROLLOUT, run(other, ran)).events)] == ["c"]


def test_a_search_of_the_server_is_call_and_result_in_one() -> None:
    events = decoded(
        ROLLOUT,
        run(
            item("WebSearch", id="ws_1", query="rain", action={"type": "search"}),
            response("web_search_call", id="ws_1", status="completed", action={"type": "search", "query": "rain"}),
        ),
    ).events
    assert [(c.name, c.input["query"]) for c in calls(events)] == [("web_search_call", "rain")]
    assert [(r.output, r.outcome) for r in results(events)] == [(None, "ok")]


def test_an_answer_is_one_message_across_parallel_calls() -> None:
    given = run(
        message("assistant", "Both."),
        call("a"),
        call("b"),
        output("a", "x"),
        output("b", "y"),
        message("assistant", "Done."),
        version="0.120.0",
    )
    events = decoded(ROLLOUT, given).events
    first, second = calls(events)
    assert first.message_id == second.message_id == "m6"
    old = decoded(
        ROLLOUT,
        run(
            call("a"),
            output("a", "x"),
            call("b"),
            output("b", "y"),
            line("turn_context", model="m-1"),
            call("c"),
            version="0.50.0",
        ),
    ).events
    assert [c.message_id for c in calls(old)] == ["m6", "m6", "m11"]


def test_a_clock_that_was_set_back_costs_no_tokens_and_what_it_repeats_none() -> None:
    """A total that grows is of now whatever its time says; a smaller one of before is one that was told."""
    early, late = "2026-03-01T10:00:00.500Z", "2026-03-01T10:00:09.000Z"
    given = run(
        counted(100, 100) | {"timestamp": late}, counted(300, 200) | {"timestamp": early},
        counted(350, 50) | {"timestamp": late}, counted(100, 100) | {"timestamp": early},
        counted(400, 50) | {"timestamp": late}, version="0.80.0",
    )  # fmt: skip
    assert [u.input for u in usages(decoded(ROLLOUT, given).events)] == [100, 200, 50, 50]
    check_laws(ROLLOUT, given)


def test_cumulative_counts_are_differenced_and_repeated_ones_dropped() -> None:
    zeroed = event(
        "token_count",
        info={
            "total_token_usage": {"input_tokens": 300, "output_tokens": 0, "total_tokens": 300},
            "last_token_usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 90},
        },
    )
    given = run(
        event("token_count", info=None),
        counted(100, 100),
        counted(100, 100),
        counted(300, 200),
        zeroed,
        counted(50, 50),
        version="0.80.0",
    )
    used = usages(decoded(ROLLOUT, given).events)
    assert [u.input for u in used] == [100, 200, 50]
    assert len({u.key for u in used}) == 3
    assert {u.model for u in used} == {"m-1"}
    check_laws(ROLLOUT, given)


def test_counts_that_a_log_does_not_have_are_none() -> None:
    used = usages(decoded(ROLLOUT, run(counted(100, 100), counted(300, 200), version="0.80.0")).events)
    assert [(u.cached, u.cache_write, u.reasoning) for u in used] == [(0, None, None), (0, None, None)]


def test_what_a_resumed_session_spent_before_is_not_its_own() -> None:
    used = usages(decoded(ROLLOUT, run(counted(1000, 40), version="0.80.0")).events)
    assert [u.input for u in used] == [40]


def test_usage_records_are_preferred_to_counts() -> None:
    record = line(
        "token_usage_record", 3, response_id="r-1", usage={"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
    )
    used = usages(decoded(ROLLOUT, run(record, counted(7, 7, 2))).events)
    assert [(u.key, u.scope, u.input, u.output, u.reasoning) for u in used] == [("r-1", "call", 7, 2, None)]


def test_the_history_of_a_forks_parent_is_not_told_again() -> None:
    old_turn, own_turn = "019e0000-0000-7000-8000-000000000002", "019f0000-0001-7000-8000-000000000003"
    given = lines(
        meta("0.120.0", forked_from_id="p"),
        line("session_meta", 0.1, id="p", cwd="/p"),
        event("task_started", 0.1, turn_id=old_turn),
        message("user", "Old.", 0.1),
        message("assistant", "Old answer.", 0.1),
        counted(100, 100),
        event("task_started", 0.2, turn_id=own_turn),
        message("user", "New.", 0.2),
        message("assistant", "New answer.", 0.3),
        counted(130, 30),
    )
    batch = decoded(ROLLOUT, given)
    assert texts(batch.events) == ["New answer."]
    assert [e.text for e in batch.events if isinstance(e, UserText)] == ["New."]
    assert [u.input for u in usages(batch.events)] == [30]
    assert batch.ignored["replayed"] == 5
    assert [e.parent_session_id for e in batch.events if isinstance(e, SessionInfo)] == ["p"]
    check_laws(ROLLOUT, given)


def test_a_fork_without_turn_ids_begins_where_the_copying_ends() -> None:
    given = lines(
        meta("0.60.0", forked_from_id="p"), message("assistant", "Old.", 0.2), message("assistant", "New.", 30.0)
    )
    assert texts(decoded(ROLLOUT, given).events) == ["New."]


def test_compaction_is_a_boundary_and_its_replacement_is_not_told() -> None:
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "old"}]}]
    events = decoded(ROLLOUT, run(line("compacted", 3, message="Summary.", replacement_history=history))).events
    assert [e.name for e in events if isinstance(e, Notification)] == ["compact_boundary"]
    assert [e.text for e in events if isinstance(e, UserText)][-1] == "Summary."
    assert not any("old" in e.text for e in events if isinstance(e, UserText))


def test_rolled_back_turns_are_retracted() -> None:
    given = run(
        message("assistant", "One."),
        message("user", "Second."),
        message("assistant", "Two."),
        event("thread_rolled_back", num_turns=1),
    )
    assert [e.message_ids for e in decoded(ROLLOUT, given).events if isinstance(e, Retract)] == [("u7", "m8")]
    check_laws(ROLLOUT, given)


def test_what_a_rewound_thread_took_back_is_retracted() -> None:
    """The further file's first ordinal says what of the history it keeps; a file that repeats takes nothing back."""
    files = [b"".join(one.lines) for one in (rewound.first(), rewound.second(), rewound.third())]
    events = decoded(ROLLOUT, records(b"".join(files))).events
    told = [(e.reason, [i for i in e.message_ids if i.startswith("msg_")]) for e in events if isinstance(e, Retract)]
    assert told == [
        ("rewound", ["msg_0_Two?", "msg_0_Three?"]),
        ("rewound", ["msg_0_One?", "msg_10_Four?", "msg_10_Five?"]),
    ]
    assert [e for e in decoded(ROLLOUT, records(files[0] + files[0])).events if isinstance(e, Retract)] == []
    check_laws(ROLLOUT, records(b"".join(files)))


def test_a_fork_that_names_its_history_has_no_copy_of_it() -> None:
    events = decoded(ROLLOUT, records(b"".join(rewound.fork().lines))).events
    assert texts(events) == ["Seven."]
    assert [e.parent_session_id for e in events if isinstance(e, SessionInfo)] == [rewound.THREAD]


def test_failed_runs_and_notices() -> None:
    events = decoded(
        ROLLOUT,
        lines(
            meta(),
            event("stream_error", message="Reconnecting"),
            event("error", message="bad"),
            event("task_complete", error={"message": "bad"}),
        ),
    ).events
    assert [(e.name, e.level) for e in events if isinstance(e, Notification)] == [
        ("retry", "warning"),
        ("error", "error"),
    ]
    assert [(e.status, e.reason) for e in events if isinstance(e, SessionEnd)] == [("error", "bad")]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"message": 1e308}, None),
        ({"message": ["bad"]}, None),
        ({}, None),
        ("bad", "bad"),
    ],
)
def test_the_reason_of_a_failure_is_a_text(error: object, reason: str | None) -> None:
    events = decoded(ROLLOUT, lines(meta(), event("task_complete", error=error))).events
    assert [e.reason for e in events if isinstance(e, SessionEnd)] == [reason]


def test_old_versions_without_end_records_are_complete_when_nothing_is_open() -> None:
    def status(*body: dict[str, Any]) -> list[str]:
        given = lines(meta("0.50.0"), line("turn_context", model="m"), message("user", "Go."), *body)
        return [e.status for e in decoded(ROLLOUT, given).events if isinstance(e, SessionEnd)]

    assert status(message("assistant", "Done.")) == ["complete"]
    assert status(message("assistant", "Wait."), call("c")) == ["unknown"]
    assert status() == ["unknown"]


def test_bare_rollouts_end_by_the_same_rule() -> None:
    def status(*body: dict[str, Any]) -> list[str]:
        header = {"id": "s", "timestamp": "2025-08-01T10:00:00.000Z", "instructions": None}
        go = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]}
        return [e.status for e in decoded(OLD, lines(header, go, *body)).events if isinstance(e, SessionEnd)]

    done = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
    asked = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "a"}
    assert status(done) == ["complete"]
    assert status(done, asked) == ["unknown"]
    assert status(asked, {"type": "function_call_output", "call_id": "a", "output": "x"}, done) == ["complete"]
    assert status() == ["unknown"]


def test_what_says_nothing_is_ignored_and_what_is_new_is_unknown() -> None:
    batch = decoded(
        ROLLOUT,
        run(
            line("world_state", full=True),
            line("inter_agent_communication_metadata", trigger_turn=True),
            line("retained_context", 2),
            response("ghost_snapshot", ghost_commit={}),
            response("additional_tools", tools=[]),
            event("thread_settings_applied"),
            line("seance"),
            event("omen"),
            response("vision"),
            item("Ghost", id="g"),
        ),
    )
    assert batch.unknown == {"seance": 1, "event_msg:omen": 1, "response_item:vision": 1, "item_completed:Ghost": 1}
    assert batch.ignored["world_state"] == 1


def test_bare_items_of_the_oldest_rollouts_are_read() -> None:
    given = lines(
        {"id": "s", "timestamp": "2025-08-01T10:00:00.000Z", "instructions": None, "git": {"branch": "b"}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        {"record_type": "state"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I go."}]},
        {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "a"},
        {"type": "function_call_output", "call_id": "a", "output": '{"output":"x","metadata":{"exit_code":1}}'},
        {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "b"},
        {"record_type": "state"},
        {"type": "local_shell_call", "call_id": "c", "status": "completed", "action": {"command": ["ls"]}},
    )
    assert best(PROVIDER, given) == ("codex-rollout-old", 1.0)
    batch = decoded(OLD, given)
    assert batch.unknown == {}
    assert [(c.name, c.message_id) for c in calls(batch.events)] == [
        ("shell", "m4"),
        ("shell", "m4"),
        ("local_shell", "m9"),
    ]
    assert results(batch.events)[0].exit_code == 1
    check_laws(OLD, given)


def test_an_output_before_its_call_leaves_nothing_open() -> None:
    old = lines(
        meta("0.80.0"), message("user", "Fix it."), output("c", "fine"), call("c"), message("assistant", "Done.")
    )
    [end] = [e for e in decoded(ROLLOUT, old).events if isinstance(e, SessionEnd)]
    assert end.status == "complete"
    check_laws(ROLLOUT, old)


def test_a_call_behind_its_item_is_no_second_call() -> None:
    done = item("CommandExecution", id="c", command=["bash", "-lc", "ls"], status="completed", exit_code=0)
    events = decoded(ROLLOUT, run(done, call("c"), output("c", "fine"))).events
    assert [c.call_id for c in calls(events)] == ["c"]


ADDED = {"a.txt": {"type": "add", "content": "x"}}
CONTENT = {"content": [{"type": "text", "text": "3"}], "isError": False}
ADD = {"invocation": {"server": "s", "tool": "add", "arguments": {"a": 1}}}


@pytest.mark.parametrize(
    ("kind", "members", "name", "given", "output", "outcome"),
    [
        ("patch_apply_end", {"changes": ADDED, "success": True, "stdout": "out", "stderr": ""}, "file_change",
         {"changes": [{"path": "a.txt", "kind": "add", "content": "x"}]}, "out", "ok"),
        ("patch_apply_end", {"changes": ADDED, "success": False, "stdout": "out", "stderr": "err"}, "file_change",
         {"changes": [{"path": "a.txt", "kind": "add", "content": "x"}]}, "outerr", "error"),
        ("mcp_tool_call_end", {**ADD, "result": {"Ok": CONTENT}}, "mcp__s__add", {"a": 1}, CONTENT, "ok"),
        ("mcp_tool_call_end", {**ADD, "result": {"Ok": {**CONTENT, "isError": True}}}, "mcp__s__add", {"a": 1},
         {**CONTENT, "isError": True}, "error"),
        ("mcp_tool_call_end", {**ADD, "result": {"Err": "no"}}, "mcp__s__add", {"a": 1}, "no", "error"),
        ("mcp_tool_call_end", {**ADD, "result": "odd"}, "mcp__s__add", {"a": 1}, "odd", "ok"),
    ],
)  # fmt: skip
def test_ends_of_the_extended_mode_are_calls_with_results(
    kind: str, members: dict[str, Any], name: str, given: Any, output: Any, outcome: str
) -> None:
    """The output of an MCP call stood in the transcript inside `{"Ok": …}`, and one that said `isError` was fine."""
    events = decoded(ROLLOUT, run(event(kind, call_id="c1", **members))).events
    assert [(c.name, c.input, c.call_id) for c in calls(events)] == [(name, given, "c1")]
    assert [(r.output, r.outcome) for r in results(events)] == [(output, outcome)]


def test_ends_that_say_what_the_calls_output_says_are_counted_by_name() -> None:
    batch = decoded(ROLLOUT, run(event("web_search_end", call_id="c1", query="q")))
    assert batch.ignored["web_search_end"] == 1
    assert calls(batch.events) == []


def test_what_is_told_again_is_counted_by_name() -> None:
    again = run(line("turn_context", model="m-1"), counted(10, 10, 1), counted(10, 10, 1), counted(20, 10, 2))
    ignored = decoded(ROLLOUT, again).ignored
    assert (ignored["turn_context"], ignored["token_count, repeated"]) == (1, 1)


@pytest.mark.parametrize("key", ["thread_name", "name"])
def test_a_thread_may_get_a_name(key: str) -> None:
    named: dict[str, Any] = {key: "T"}
    events = decoded(ROLLOUT, run(event("thread_name_updated", **named))).events
    assert [e.title for e in events if isinstance(e, SessionInfo) and e.title] == ["T"]


def test_a_notice_tells_its_message_or_its_reason() -> None:
    given = run(event("stream_error", message="again"), event("exec_approval_request", reason="may I", call_id="c"))
    told = [(e.name, e.message) for e in decoded(ROLLOUT, given).events if isinstance(e, Notification)]
    assert told == [("retry", "again"), ("permission_request", "may I")]


def test_arguments_of_several_lines_stand_on_one() -> None:
    events = decoded(ROLLOUT, run(call("a", '{\n  "cmd": "ls"\n}'))).events
    assert [bytes(c.input_json) for c in calls(events)] == [b'{"cmd":"ls"}']
