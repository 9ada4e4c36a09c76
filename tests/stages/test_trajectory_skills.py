"""skill-trigger, skill-used, not-skill-used: AgentV's case tables and the forms of loading a skill."""

from typing import Any

import pytest

from agentv_stages.trajectory import ConfigError
from agentv_stages.trajectory.verdict import NO_TRACE
from support.events import call, result
from support.trajectories import Trace, evaluator_of, judge, score, trace_of

SKILL = "csv-analyzer"
READ = "/home/user/.agents/skills/csv-analyzer/SKILL.md"
FOUND = "Found: .agents/skills/csv-analyzer/SKILL.md"


def trigger(should: bool = True, **more: Any) -> dict[str, Any]:
    return {"type": "skill-trigger", "skill": SKILL, "should_trigger": should, **more}


def trace(*calls: tuple[str, Any] | tuple[str, Any, str]) -> Trace:
    made = Trace().text()
    for tool, args, *output in calls:
        command: str | None = args.get("command")
        made.call(tool, args, output=output[0] if output else None, command=command)
    return made


TABLE: list[tuple[Trace, bool, bool]] = [
    (trace(("Skill", {"skill": SKILL})), True, True),
    (trace(("Read", {"file_path": "/path/to/skills/csv-analyzer/SKILL.md"})), True, True),
    (trace(("Read", {"file_path": ".agents/skills/csv-analyzer/SKILL.md"})), True, True),
    (trace(("Read", {"file_path": READ})), True, True),
    (trace(("Bash", {"command": "grep -r csv ."}, FOUND)), True, True),
    (trace(("Skill", {"skill": "other-skill"})), True, False),
    (trace(("Read", {"file_path": "/workspace/README.md"})), True, False),
    (trace(("Bash", {"command": "ls"})), True, False),
    (trace(), True, False),
    (trace(("Skill", {"skill": "using-superpowers"}), ("Skill", {"skill": SKILL})), True, True),
    (trace(("Bash", {"command": "ls"}), ("Skill", {"skill": SKILL})), True, True),
    (trace(("Skill", {"skill": "using-superpowers"}), ("Bash", {"command": "ls"})), True, False),
    (trace(("Skill", {"skill": "using-superpowers"}), ("Bash", {"command": "ls"})), False, True),
    (trace(("Bash", {"command": "ls"})), False, True),
    (trace(), False, True),
    (trace(("Skill", {"skill": SKILL})), False, False),
    (trace(("Bash", {"command": "ls"}), ("Skill", {"skill": SKILL})), False, False),
]
"""Calls, should_trigger, passes."""


@pytest.mark.parametrize(("made", "should", "passes"), TABLE)
@pytest.mark.parametrize("compat", [False, True], ids=["default", "compat"])
def test_case_table_of_skill_trigger(made: Trace, should: bool, passes: bool, compat: bool) -> None:
    assert score(trigger(should), made.events, compat) == (float(passes), passes)


def test_lower_case_read_with_path_is_a_read_in_compat() -> None:
    events = Trace().call("read", {"path": READ}).events
    assert score(trigger(), events, compat=True) == (1, True)


def test_no_calls_say_so() -> None:
    result = judge(evaluator_of(trigger()), Trace().text().events)
    assert [a.text for a in result.assertions] == ["No tool calls recorded"]


def test_a_part_of_a_skills_name_triggers_only_in_compat() -> None:
    events = trace_of([("Skill", {"skill": "csv-analyzer"})])
    assert score(trigger(skill="csv"), events) == (0, False)
    assert score(trigger(skill="csv"), events, compat=True) == (1, True)


def test_a_plug_ins_name_before_the_skill_does_not_matter() -> None:
    assert score(trigger(), trace_of([("Skill", {"skill": "office:csv-analyzer"})])) == (1, True)


@pytest.mark.parametrize(
    ("tool", "kind", "command"),
    [
        ("Bash", "read", "cat .agents/skills/csv-analyzer/SKILL.md"),
        ("Read", "read", "sed -n 1,200p /home/u/skills/csv-analyzer/SKILL.md"),
    ],
)
def test_a_shell_read_of_the_skill_triggers_it_without_any_output(tool: str, kind: Any, command: str) -> None:
    events = Trace().call(tool, {"command": command}, kind=kind, command=command).events
    assert score(trigger(), events) == (1, True)
    assert score({"type": "skill-used", "value": SKILL}, events) == (1, True)


def test_a_shell_call_that_only_speaks_of_the_skill_does_not_trigger_it() -> None:
    command = "echo skills/csv-analyzer/SKILL.md"
    events = Trace().call("Bash", {"command": command}, kind="execute", command=command).events
    assert score(trigger(), events) == (0, False)


@pytest.mark.parametrize("compat", [False, True])
def test_a_write_of_the_skills_file_does_not_trigger_it(compat: bool) -> None:
    events = Trace().call("Write", {"file_path": READ, "content": "x"}, files=(READ,)).events
    assert score(trigger(), events, compat) == (0, False)


def test_in_compat_a_shell_read_of_the_skill_is_seen_by_its_output_only() -> None:
    command = "cat .agents/skills/csv-analyzer/SKILL.md"
    events = Trace().call("Bash", {"command": command}, kind="read", command=command).events
    assert score(trigger(), events, compat=True) == (0, False)


def test_trigger_is_final_at_the_request_and_used_at_the_good_result() -> None:
    made = Trace().call("Skill", {"skill": SKILL}, result=False)
    triggered, used = evaluator_of(trigger()), evaluator_of({"type": "skill-used", "value": SKILL})
    call = made.events[0]
    triggered.push(call)
    used.push(call)
    assert (triggered.standing, used.standing) == ("satisfied", "open")
    made.result(call)  # type: ignore[arg-type]  # the event is the call
    used.push(made.events[-1])
    assert used.standing == "satisfied"


def used_events() -> list[Any]:
    made = Trace().text()
    for name, outcome in (
        ("csv-analyzer", "ok"),
        ("web-search", "ok"),
        ("broken-skill", "error"),
        ("legacy-error", "error"),
    ):
        made.call("Skill", {"skill": name}, outcome=outcome)  # type: ignore[arg-type]  # a literal, widened by the loop
    return made.events


@pytest.mark.parametrize("compat", [False, True], ids=["default", "compat"])
@pytest.mark.parametrize(
    ("kind", "value", "passes"),
    [
        ("skill-used", "csv-analyzer", True),
        ("skill-used", ["csv-analyzer", "web-search"], True),
        ("skill-used", ["csv-analyzer", "missing"], False),
        ("skill-used", {"name": "csv-analyzer", "min": 1, "max": 1}, True),
        ("skill-used", {"pattern": "*SEARCH", "min": 1}, True),
        ("skill-used", {"pattern": "*search", "min": 2}, False),
        ("skill-used", "broken-skill", False),
        ("skill-used", "legacy-error", False),
        ("not-skill-used", "missing", True),
        ("not-skill-used", "csv-analyzer", False),
        ("not-skill-used", {"pattern": "missing-*", "max": 0}, True),
    ],
)
def test_case_table_of_skill_used(kind: str, value: Any, passes: bool, compat: bool) -> None:
    assert score({"type": kind, "value": value}, used_events(), compat) == (float(passes), passes)


def test_a_call_of_another_stream_under_the_same_id_does_not_load_the_skill() -> None:
    first = call(0, "call_0", "Skill", given={"skill": SKILL})
    second = call(1, "call_0", "Skill", given={"skill": "other"}, stream="subagent:a")
    results = [result(2, "call_0", "error", stream="subagent:a", call=second), result(3, "call_0", call=first)]
    config = {"type": "skill-used", "value": SKILL, "streams": "all"}
    assert score(config, [first, second, *results]) == (1, True)


def test_not_skill_used_refuses_bounds() -> None:
    with pytest.raises(ConfigError, match="no bounds"):
        evaluator_of({"type": "not-skill-used", "value": {"name": "x", "min": 1}})


def test_a_used_skill_violates_not_skill_used_for_good() -> None:
    evaluator = evaluator_of({"type": "not-skill-used", "value": SKILL})
    for event in trace_of([("Skill", {"skill": SKILL})]):
        evaluator.push(event)
    assert evaluator.standing == "violated"


@pytest.mark.parametrize("value", [None, 3, [], [1], {}, {"name": "x", "min": -1}, {"name": "x", "min": 3, "max": 1}])
def test_bad_values_are_refused(value: Any) -> None:
    with pytest.raises(ConfigError):
        evaluator_of({"type": "skill-used", "value": value})


@pytest.mark.parametrize("name", ["données", "my skill", "データ"])
def test_a_skill_may_have_any_name_that_a_folder_can_have(name: str) -> None:
    events = trace_of([("Read", {"file_path": f"/home/u/skills/{name}/SKILL.md"})])
    assert score({"type": "skill-trigger", "skill": name}, events) == (1, True)
    assert score({"type": "skill-used", "value": name}, events) == (1, True)
    assert score({"type": "skill-used", "value": name[:2]}, events) == (0, False)


@pytest.mark.parametrize(
    "config",
    [
        {"type": "not-skill-used", "value": "csv"},
        {"type": "skill-used", "value": {"name": "csv", "max": 1}},
        {"type": "skill-trigger", "skill": "csv", "should_trigger": False},
    ],
)
def test_of_a_run_without_a_stream_nothing_shows_that_a_skill_was_not_used(config: dict[str, Any]) -> None:
    assert score(config, []) == (0, False)
    assert judge(evaluator_of(config), []).assertions[-1].text == NO_TRACE
    assert score(config, Trace().text().events) == (1, True)
    assert score(config, [], compat=True) == (1, True)


@pytest.mark.parametrize(
    ("tool", "server", "args", "hit"),
    [
        ("Skill", None, {"skill": f"my-server/{SKILL}"}, True),
        (f"mcp__my-server__{SKILL}", "my-server", {"q": 1}, True),
        (f"mcp__{SKILL}__other", SKILL, {}, False),
        (f"mcp__my-server__my-{SKILL}", "my-server", {}, False),
    ],
)
def test_a_skill_of_an_mcp_server_is_the_same_for_all_agents(
    tool: str, server: str | None, args: dict[str, Any], hit: bool
) -> None:
    """AgentV names such a call of Codex `mcp:<server>/<skill>`, and that a skill."""
    events = Trace().call(tool, args, server=server).events
    assert score(trigger(), events) == (float(hit), hit)
    assert score(trigger(skill=f"my-server/{SKILL}"), events) == (float(hit), hit)
