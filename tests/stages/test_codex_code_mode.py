from typing import Any

import pytest

from agentv_stages.model.event import Notification, ToolCall
from agentv_stages.model.payload import decode_json, to_raw
from agentv_stages.providers.codex import PROVIDER
from agentv_stages.providers.codex.scripts import named_call
from support.decoding import calls, check_laws, decoded, dialect, lines, results

ROLLOUT = dialect(PROVIDER, "codex-rollout")
ONE = 'const r = await tools.exec_command({"cmd": "ls", "yield_time_ms": 30000});\ntext(r.output);\n'
PATCH = '*** Begin Patch\n*** Update File: a "b".py\n@@\n-1\n+2\n*** End Patch\n'


def line(kind: str, second: float, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-03-01T10:00:{second:06.3f}Z", "type": kind, "payload": payload}


def script(call_id: str, text: str = ONE, second: float = 1) -> dict[str, Any]:
    return line(
        "response_item",
        second,
        type="custom_tool_call",
        call_id=call_id,
        name="exec",
        namespace="functions",
        input=text,
    )


def output(
    call_id: str, text: str = "Script completed\nWall time 0.1 seconds\nOutput:\n", second: float = 5
) -> dict[str, Any]:
    parts = [{"type": "input_text", "text": text}]
    return line("response_item", second, type="custom_tool_call_output", call_id=call_id, output=parts)


def ran(item_id: str, command: str, second: float = 3, code: int = 0) -> dict[str, Any]:
    item = {
        "type": "CommandExecution",
        "id": item_id,
        "command": ["/bin/bash", "-lc", command],
        "status": "failed" if code else "completed",
        "aggregated_output": f"{command} ran",
        "exit_code": code,
    }
    return line("event_msg", second, type="item_completed", item=item)


def end(second: float = 9) -> dict[str, Any]:
    return line("event_msg", second, type="task_complete")


def told(*body: dict[str, Any]) -> list[ToolCall]:
    return calls(decoded(ROLLOUT, lines(*body)).events)


def test_the_calls_of_a_script_count_and_the_script_is_their_parent() -> None:
    given = lines(script("s"), ran("exec-1", "ls"), ran("exec-2", "cat a", 4, 1), output("s"), end())
    events = decoded(ROLLOUT, given).events
    assert [(c.call_id, c.name, c.parent_call) for c in calls(events)] == [
        ("exec-1", "command_execution", "s"),
        ("exec-2", "command_execution", "s"),
    ]
    assert calls(events)[0].input["command"][2] == "ls"
    assert [(r.output, r.outcome) for r in results(events)] == [("ls ran", "ok"), ("cat a ran", "error")]
    assert len({c.message_id for c in calls(events)}) == 1
    check_laws(ROLLOUT, given)


def test_a_call_began_no_earlier_than_what_came_before_it_in_the_script() -> None:
    first, second = told(script("s"), ran("exec-1", "ls", 3), ran("exec-2", "ls", 4))
    assert first.source.time_ms is not None and second.source.time_ms is not None
    assert second.source.time_ms - first.source.time_ms == 2000


def test_scripts_of_one_answer_run_one_after_the_other() -> None:
    found = told(script("s"), script("t"), ran("exec-1", "ls"), output("s"), ran("exec-2", "ls"), output("t"))
    assert [c.parent_call for c in found] == ["s", "t"]


def test_a_script_without_calls_counts_itself() -> None:
    given = lines(script("s", "text(1 + 1);"), output("s"), end())
    events = decoded(ROLLOUT, given).events
    assert [(c.call_id, c.name, c.input, c.parent_call) for c in calls(events)] == [("s", "exec", "text(1 + 1);", None)]
    assert [r.outcome for r in results(events)] == ["ok"]
    check_laws(ROLLOUT, given)


def test_a_patch_that_does_not_apply_is_the_call_of_its_script() -> None:
    text = f"const patch = {bytes(to_raw(PATCH)).decode()};\ntext(await tools.apply_patch(patch));\n"
    given = lines(script("s", text), output("s", "Script failed\nOutput:\n"), end())
    events = decoded(ROLLOUT, given).events
    assert [(c.name, c.input) for c in calls(events)] == [("apply_patch", PATCH)]
    assert [r.outcome for r in results(events)] == ["error"]


@pytest.mark.parametrize(
    "error",
    [
        "Command blocked by PreToolUse hook: no. Command: ls",
        'exec_command failed: CreateProcess { message: "Rejected(\\"rejected by user\\")" }',
        "patch rejected by user",
        "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings",
        "approval required by policy, but AskForApproval is set to Never",
    ],
)
def test_a_call_that_a_hook_a_person_or_the_settings_refused_is_denied(error: str) -> None:
    """Recorded in 0.169 with a hook for PreToolUse, in 0.171 with a client of the app-server that declines, and with
    `--sandbox read-only` in a run that asks nobody.
    """
    said = ("Script failed\nOutput:\n", f"Script error:\n{error}")
    refused = output("s", "")
    refused["payload"]["output"] = [{"type": "input_text", "text": text} for text in said]
    text = 'const r = await tools.exec_command({"cmd":"ls"});\ntext(r.output ?? r);\n'
    events = decoded(ROLLOUT, lines(script("s", text), refused, end())).events
    assert [(c.name, c.input) for c in calls(events)] == [("exec_command", {"cmd": "ls"})]
    assert [r.outcome for r in results(events)] == ["denied"]


def test_a_script_that_fails_after_a_call_is_told() -> None:
    events = decoded(ROLLOUT, lines(script("s"), ran("exec-1", "ls"), output("s", "Script failed\nOutput:\n"))).events
    assert [(e.name, e.call_id) for e in events if isinstance(e, Notification)] == [("script_failed", "s")]
    assert len(calls(events)) == 1


def test_a_script_that_yields_is_answered_when_its_command_ends() -> None:
    running = output("s", "Script running with cell ID 3\nWall time 1.0 seconds\nOutput:\n")
    given = lines(script("s"), running, ran("exec-1", "ls", 7, 2), end())
    events = decoded(ROLLOUT, given).events
    assert [(c.call_id, c.name) for c in calls(events)] == [("s", "exec_command")]
    assert [(r.output, r.exit_code) for r in results(events)] == [("ls ran", 2)]
    check_laws(ROLLOUT, given)
    late = decoded(ROLLOUT, lines(script("s"), running, end(8), ran("exec-1", "ls", 9, 2)))
    assert [r.outcome for r in results(late.events)] == [None]
    assert late.ignored["item of a script that ended"] == 1


def test_the_late_item_of_a_script_that_is_repeated_is_no_other_call() -> None:
    running = output("s", "Script running with cell ID 3\nWall time 1.0 seconds\nOutput:\n")
    late = ran("exec-1", "ls", 9, 2)
    once = decoded(ROLLOUT, lines(script("s"), running, end(8), late)).events
    twice = decoded(ROLLOUT, lines(script("s"), running, end(8), late, late)).events
    assert [c.call_id for c in calls(twice)] == [c.call_id for c in calls(once)] == ["s"]
    assert len(results(twice)) == 1


def test_a_script_cut_by_a_kill_is_a_call_without_result() -> None:
    events = decoded(ROLLOUT, lines(script("s"))).events
    assert [c.name for c in calls(events)] == ["exec_command"]
    assert results(events) == []


def test_an_interrupted_script_is_cancelled_and_its_late_item_is_no_second_call() -> None:
    given = lines(
        script("s"),
        output("s", "aborted by user after 4.0s"),
        line("event_msg", 6, type="turn_aborted", reason="interrupted"),
        ran("exec-1", "ls", 7, 137),
    )
    events = decoded(ROLLOUT, given).events
    assert len(calls(events)) == 1
    assert [r.outcome for r in results(events)] == ["cancelled"]
    check_laws(ROLLOUT, given)


def test_changed_files_and_mcp_calls_of_scripts_have_their_names() -> None:
    change = {"/w/a.py": {"type": "add", "content": "1"}, "/w/b.py": {"type": "update", "unified_diff": "@@"}}
    found = told(
        script("s"),
        line("event_msg", 2, type="item_completed", item={"type": "FileChange", "id": "exec-1", "changes": change}),
        line(
            "event_msg",
            3,
            type="item_completed",
            item={"type": "McpToolCall", "id": "exec-2", "server": "d", "tool": "t", "arguments": {"k": 1}},
        ),
        line(
            "event_msg",
            4,
            type="item_completed",
            item={"type": "Extension", "id": "exec-3", "query": "rain", "action": {"type": "search"}},
        ),
    )
    assert [c.name for c in found] == ["file_change", "mcp__d__t", "web_search"]
    assert [(c["path"], c["kind"]) for c in found[0].input["changes"]] == [("/w/a.py", "add"), ("/w/b.py", "update")]
    assert found[1].input == {"k": 1}


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (ONE, "exec_command", {"cmd": "ls", "yield_time_ms": 30000}),
        ("await tools.exec_command({cmd: 'say \"hi\"; it\\'s'});", "exec_command", {"cmd": 'say "hi"; it\'s'}),
        ('await tools.mcp__d__t({"k": 1});', "mcp__d__t", {"k": 1}),
        ("await tools.apply_patch(`*** Begin Patch\n*** End Patch`);", "apply_patch", "*** Begin Patch\n*** End Patch"),
        ("await tools.exec_command(made());", "exec_command", "await tools.exec_command(made());"),
        ("tools.a({}); tools.b({});", "exec", "tools.a({}); tools.b({});"),
        ("", "exec", ""),
    ],
)
def test_a_script_names_its_only_tool(text: str, name: str, value: Any) -> None:
    found, arguments = named_call(to_raw(text))
    assert found == name
    assert decode_json(arguments) == value


def shell(command: str) -> str:
    return f'const r = await tools.exec_command({{"cmd": "{command}"}});'


def test_scripts_of_one_answer_may_end_in_another_order() -> None:
    given = [script("s", shell("slow")), script("t", shell("fast")), ran("exec-1", "fast", 3), output("t", second=3.5)]
    found = told(*given, ran("exec-2", "slow", 4), output("s"), end())
    assert [(c.call_id, c.parent_call) for c in found] == [("exec-1", "t"), ("exec-2", "s")]
    check_laws(ROLLOUT, lines(*given, ran("exec-2", "slow", 4), output("s"), end()))


def test_the_item_of_a_script_whose_line_was_lost_is_a_call() -> None:
    before = [script("s", shell("a")), ran("exec-1", "a"), output("s")]
    found = told(*before, ran("exec-2", "b"), output("lost"), end())
    assert [(c.call_id, c.parent_call) for c in found] == [("exec-1", "s"), ("exec-2", None)]


def test_an_item_behind_the_output_of_its_script_is_no_second_call() -> None:
    assert [c.call_id for c in told(script("s", shell("a")), output("s"), ran("exec-1", "a"), end())] == ["s"]
    late = told(script("s", shell("a") + shell("b")), ran("exec-1", "a"), output("s"), ran("exec-2", "b"), end())
    assert [(c.call_id, c.parent_call) for c in late] == [("exec-1", "s"), ("exec-2", "s")]


def test_a_script_without_output_ends_with_its_turn() -> None:
    begun = line("event_msg", 6, type="task_started")
    found = told(script("s", shell("a")), begun, script("t", shell("b"), 7), ran("exec-2", "b", 8), output("t"), end(9))
    assert [(c.call_id, c.parent_call) for c in found] == [("s", None), ("exec-2", "t")]


def test_a_clients_own_tool_fails_as_its_item_says() -> None:
    """Recorded in 0.171: the output of a call that failed looks like that of any other."""
    parts = [{"type": "inputText", "text": "no such town"}]
    done = {"type": "DynamicToolCall", "id": "c", "tool": "weather", "status": "failed", "content_items": parts}
    given = lines(
        line("response_item", 1, type="function_call", call_id="c", name="weather", arguments='{"city":"Rom"}'),
        line("event_msg", 2, type="item_completed", item=done),
        line("response_item", 3, type="function_call_output", call_id="c", output="no such town"),
        end(),
    )
    events = decoded(ROLLOUT, given).events
    assert [(c.name, c.input) for c in calls(events)] == [("weather", {"city": "Rom"})]
    assert [(r.output, r.outcome) for r in results(events)] == [("no such town", "error")]
    check_laws(ROLLOUT, given)
