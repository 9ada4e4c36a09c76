"""Threads of `codex app-server`, as Codex 0.110 to 0.171 print them: answers, resumes, forks, reviews, sub-agents."""

from typing import Any

import pytest

from agentv_stages.model.event import AssistantText, Notification, SessionInfo, ToolCall
from support.app_server import SERVER, ended, item, note, started, used
from support.decoding import calls, check_laws, decoded, lines, results, texts, usages


def ran(number: int, **more: Any) -> list[dict[str, Any]]:
    """A command from its start to its end."""
    said = {"command": f"echo {number}", **more}
    return [
        item("started", "commandExecution", number, status="inProgress", **said),
        item("completed", "commandExecution", number, status="completed", exitCode=0, aggregatedOutput="x", **said),
    ]


def said(number: int, text: str) -> dict[str, Any]:
    return item("completed", "agentMessage", number, text=text)


def answers(given: list[dict[str, Any]]) -> list[list[str]]:
    """Texts and calls by answer."""
    found: dict[str, list[str]] = {}
    for event in decoded(SERVER, lines(*started(), *given)).events:
        if isinstance(event, AssistantText):
            found.setdefault(event.message_id, []).append(event.text)
        elif isinstance(event, ToolCall):
            found.setdefault(event.message_id, []).append(event.call_id)
    return list(found.values())


BEHIND = [said(1, "A"), *ran(2), *ran(3), used(10, 10), *ran(4), used(20, 10), said(5, "B"), used(30, 10), ended()]
BEFORE = [said(1, "A"), used(10, 10), *ran(2), *ran(3), used(20, 10), *ran(4), said(5, "B"), used(30, 10), ended()]


@pytest.mark.parametrize("given", [BEHIND, BEFORE], ids=["usage behind the results", "usage before the calls"])
def test_calls_in_a_row_belong_to_one_answer_until_a_usage_parts_them(given: list[dict[str, Any]]) -> None:
    assert answers(given) == [["A", "i2", "i3"], ["i4"], ["B"]]
    check_laws(SERVER, lines(*started(), *given))


def test_a_text_after_a_result_or_a_usage_is_one_of_another_answer() -> None:
    assert answers([said(1, "A"), *ran(2), said(3, "B"), used(10, 10), said(4, "C")]) == [["A", "i2"], ["B"], ["C"]]


def test_what_a_resumed_thread_spent_before_is_not_counted_again() -> None:
    thread = {"id": "t-1", "cwd": "/w", "model": "m-2"}
    given = lines(
        {"id": 3, "result": {"thread": thread, "model": "m-2"}},
        used(100, 40),
        item("completed", "userMessage", 9, content=[{"type": "text", "text": "Go on."}]),
        used(100, 40),
        used(130, 30),
        ended(),
    )
    batch = decoded(SERVER, given)
    assert [u.input for u in usages(batch.events)] == [29]
    assert batch.ignored["thread/tokenUsage/updated, of an earlier run"] == 1
    check_laws(SERVER, given)


def test_a_fork_in_the_same_stream_is_no_other_log_and_its_first_usage_is_a_copy() -> None:
    fork = {"id": "t-2", "forkedFromId": "t-1", "cwd": "/w"}
    copy = used(10, 10)
    copy["params"]["threadId"] = "t-2"
    more = used(30, 20)
    more["params"]["threadId"] = "t-2"
    given = lines(
        *started(),
        used(10, 10),
        ended(),
        {"id": 4, "result": {"thread": fork, "model": "m-1"}},
        copy,
        {"method": "thread/started", "params": {"thread": fork}},
        item("completed", "userMessage", 20, "t-2", content=[{"type": "text", "text": "Else."}]),
        more,
        note("turn/completed", "t-2", turn={"id": "u2", "status": "completed"}),
    )
    batch = decoded(SERVER, given)
    assert (batch.faults, [u.input for u in usages(batch.events)]) == ([], [9, 19])
    check_laws(SERVER, given)


def test_the_model_stands_in_the_thread() -> None:
    thread = {"id": "t-1", "cwd": "/w", "cliVersion": "0.171.0", "model": "m-3"}
    given = lines({"method": "thread/started", "params": {"thread": thread}}, said(1, "A"), ended())
    events = decoded(SERVER, given).events
    assert [e.model for e in events if isinstance(e, SessionInfo | AssistantText)] == ["m-3", "m-3"]


def test_a_review_is_a_sub_agent() -> None:
    given = lines(
        *started(),
        item("started", "enteredReviewMode", 1, review="Look."),
        item("completed", "enteredReviewMode", 1, review="Look."),
        item("completed", "userMessage", 2, content=[{"type": "text", "text": "Look."}]),
        *ran(3),
        item("started", "exitedReviewMode", 4, review="good"),
        item("completed", "exitedReviewMode", 4, review="good"),
        said(5, "good"),
        ended(),
    )
    events = decoded(SERVER, given).events
    streams = {"Notification": "main", "AssistantText": "main", "ToolCall": "subagent:review"}
    assert {type(e).__name__: e.source.stream for e in events if type(e).__name__ in streams} == streams
    assert [e.name for e in events if isinstance(e, Notification)] == ["entered_review_mode", "exited_review_mode"]
    check_laws(SERVER, given)


def activity(event: str, what: str, call_id: str) -> dict[str, Any]:
    told = item(event, "subAgentActivity", 0, agentThreadId="t-9", agentPath="/root/reader", model="m-1")
    told["params"]["item"] |= {"id": call_id, "kind": what}
    return told


def spawned(event: str, **more: Any) -> dict[str, Any]:
    told = item(event, "collabAgentToolCall", 7, tool="spawnAgent", prompt="Look.", agentsStates={}, **more)
    told["params"]["item"]["id"] = "call_7"
    return told


SPAWNS = {
    "activity": ([activity("started", "started", "call_7"), activity("completed", "started", "call_7")],
                 {"agent_path": "/root/reader"}),
    "call": ([spawned("started", status="inProgress", receiverThreadIds=[]),
              spawned("completed", status="completed", receiverThreadIds=["t-9"])],
             {"prompt": "Look."}),
}  # fmt: skip


@pytest.mark.parametrize("form", SPAWNS)
def test_the_start_of_a_sub_agent_is_a_task_and_the_parent_of_its_thread(form: str) -> None:
    start, arguments = SPAWNS[form]
    given = lines(
        *started(),
        *start,
        item("completed", "agentMessage", 8, "t-9", text="Inside."),
        item("completed", "commandExecution", 9, "t-9", status="completed", command="ls"),
        activity("started", "completed", "subagent-completed-u9"),
        activity("completed", "completed", "subagent-completed-u9"),
        ended(),
    )
    batch = decoded(SERVER, given)
    task, inner = calls(batch.events)
    assert (task.call_id, task.name, task.input, task.parent_call) == ("call_7", "spawn_agent", arguments, None)
    assert (inner.parent_call, inner.source.stream) == ("call_7", f"subagent:{arguments.get('agent_path', 't-9')}")
    assert [(r.outcome, r.agent_id) for r in results(batch.events)] == [("ok", "t-9"), ("ok", None)]
    told = [(e.name, e.message) for e in batch.events if isinstance(e, Notification)]
    assert told == [("subagent_completed", "/root/reader")]
    check_laws(SERVER, given)


@pytest.mark.parametrize(
    ("tool", "name"),
    [("sendInput", "send_input"), ("closeAgent", "close_agent"), ("listAgents", "list_agents"), ("wait", "wait")],
)
def test_tools_of_sub_agents_have_the_names_of_the_exec_stream(tool: str, name: str) -> None:
    given = lines(*started(), item("completed", "collabAgentToolCall", 1, tool=tool, status="completed"))
    assert [c.name for c in calls(decoded(SERVER, given).events)] == [name]


def plan(*steps: tuple[str, str], explanation: str | None = None) -> dict[str, Any]:
    told = [{"step": step, "status": status} for step, status in steps]
    return note("turn/plan/updated", explanation=explanation, plan=told)


def test_an_update_of_the_plan_is_a_call_of_its_tool() -> None:
    first = plan(("Read", "completed"), ("Fix", "inProgress"))
    given = lines(*started(), first, first, plan(("Fix", "completed"), explanation="Done."), ended())
    events = decoded(SERVER, given).events
    steps = [{"step": "Read", "status": "completed"}, {"step": "Fix", "status": "inProgress"}]
    assert [(c.name, c.input) for c in calls(events)] == [
        ("update_plan", {"plan": steps}),
        ("update_plan", {"explanation": "Done.", "plan": [{"step": "Fix", "status": "completed"}]}),
    ]
    assert [r.outcome for r in results(events)] == ["ok", "ok"]
    check_laws(SERVER, given)


def test_copies_in_the_older_form_are_ignored_where_a_thread_is_known() -> None:
    copy = {"method": "codex/event/agent_message", "params": {"msg": {"type": "agent_message", "message": "A"}}}
    batch = decoded(SERVER, lines(*started(), said(1, "A"), copy))
    assert (texts(batch.events), batch.unknown, batch.ignored["codex/event"]) == (["A"], {}, 1)
    assert decoded(SERVER, lines(copy)).unknown == {"codex/event/agent_message": 1}


def test_a_clients_own_tool_its_output_and_its_failure() -> None:
    parts = [{"type": "inputText", "text": "It "}, {"type": "inputText", "text": "rains."}]
    image = [{"type": "inputImage", "imageUrl": "data:"}]
    given = lines(
        *started(),
        item("completed", "dynamicToolCall", 1, tool="sendInput", arguments={}, status="completed", contentItems=parts),
        item("completed", "dynamicToolCall", 2, tool="weather", arguments={}, status="failed", contentItems=image),
    )
    events = decoded(SERVER, given).events
    assert [c.name for c in calls(events)] == ["sendInput", "weather"]
    assert [(r.output, r.outcome) for r in results(events)] == [("It rains.", "ok"), (image, "error")]


def test_commands_of_the_person_are_no_calls_and_a_pause_or_an_image_is_one() -> None:
    given = lines(
        *started(),
        *ran(1, source="userShell"),
        item("completed", "sleep", 2, durationMs=5),
        item("completed", "imageGeneration", 3, status="completed", result="aGk="),
    )
    assert [c.name for c in calls(decoded(SERVER, given).events)] == ["sleep", "image_generation_call"]
