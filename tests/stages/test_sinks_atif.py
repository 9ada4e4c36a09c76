"""Messages as ATIF: what becomes of each part, the order of steps, sub-agents, totals."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import Raw

from agentv_stages.figures.result import Evidence, Outputs, Result, SessionFacts
from agentv_stages.model.message import Message, PairedCall, Role
from agentv_stages.model.payload import to_raw
from agentv_stages.sinks.atif import Trajectory
from support.atif_rules import check_rules
from support.events import at, call, result, usage


def message(role: Role, *content: Any, index: int = 0, stream: str = "main", **more: Any) -> Message:
    source = at(index, more.pop("time_ms", None), stream)
    return Message(index, role, source, f"m{index}", content=[to_raw(block) for block in content], **more)


def about(tokens: dict[str, Any] | None = None, **more: Any) -> Result:
    facts = SessionFacts("s-1", "claude", "claude-stream", "opus", "2.1", "/w", None)
    values: dict[str, Any] = {
        "session": facts,
        "status": "complete",
        "evidence": Evidence(None, None, "success", []),
        "tool_use_summary": {},
        "tokens": tokens or {},
        "cost_usd": None,
        "duration_ms": 5,
        "records": 1,
        "events": 1,
        "faults": {},
        "unknown": {},
        "ignored": {},
        "losses": [],
        "outputs": Outputs(),
        **more,
    }
    return Result(**values)


def document(messages: Sequence[Message], result_of: Result | None = None) -> Any:
    trajectory = Trajectory()
    lines: dict[str, list[tuple[int, bytes]]] = {}
    for one in messages:
        lines.setdefault(one.source.stream, []).append((one.index, trajectory.step(one)))
    pieces = trajectory.document(result_of or about(), lambda stream: [line for _, line in sorted(lines[stream])])
    made = json.loads(b"".join(pieces))
    check_rules(made)
    return made


def steps(*messages: Message) -> Any:
    return document(messages)["steps"]


def test_people_the_program_and_the_agent_are_told_apart() -> None:
    made = steps(
        message("user", "fix it", time_ms=1_000),
        message("user", "a reminder", index=1, injected=True),
        message("assistant", "done", index=2, thinking=[to_raw("hm")], model="opus", turn=1),
        message("assistant", "API Error", index=3, synthetic=True),
    )
    assert [(step["source"], step["message"]) for step in made] == [
        ("user", "fix it"),
        ("system", "a reminder"),
        ("agent", "done"),
        ("agent", "API Error"),
    ]
    assert made[0]["timestamp"] == "1970-01-01T00:00:01.000Z"
    assert (made[2]["reasoning_content"], made[2]["model_name"], made[2]["extra"]["turn"]) == ("hm", "opus", 1)
    assert made[3]["llm_call_count"] == 0


def test_steps_are_in_the_order_of_the_messages_whatever_came_first() -> None:
    made = steps(message("assistant", "b", index=1), message("assistant", "c", index=2), message("user", "a"))
    assert [(step["step_id"], step["message"]) for step in made] == [(1, "a"), (2, "b"), (3, "c")]


def test_a_call_bears_its_canonical_name_and_its_own() -> None:
    paired = PairedCall(
        call(0, "t", "read_file", tool="Read", kind="read", files=("x",), given={"absolute_path": "x"}),
        result(1, "t", "error", output="no such file", exit_code=2, duration_ms=7),
    )
    (step,) = steps(message("assistant", calls=[paired]))
    assert step["message"] == ""
    (made,) = step["tool_calls"]
    assert (made["function_name"], made["arguments"]) == ("Read", {"absolute_path": "x"})
    assert made["extra"] == {"kind": "read", "origin": "system", "name": "read_file", "files": ["x"]}
    (observed,) = step["observation"]["results"]
    assert observed["content"] == "no such file"
    assert observed["extra"] == {"outcome": "error", "exit_code": 2, "duration_ms": 7}


def test_arguments_that_are_no_object_are_put_into_one() -> None:
    paired = PairedCall(call(0, "t", "apply_patch", given="*** Begin Patch"))
    (step,) = steps(message("assistant", calls=[paired]))
    assert step["tool_calls"][0]["arguments"] == {"input": "*** Begin Patch"}


def test_a_call_without_a_result_has_no_observation() -> None:
    open_call = PairedCall(call(0, "t"), result(1, "t", "unpaired", output=None))
    trajectory = Trajectory()
    trajectory.step(message("assistant", calls=[open_call]))
    assert trajectory.open_calls == ["t"]
    assert "observation" not in steps(message("assistant", calls=[open_call, PairedCall(call(0, "u"))]))[0]


def test_images_are_counted_and_structured_results_stay_json() -> None:
    image = {"type": "image", "source": {"data": "…"}}
    shown, structured, nothing = steps(
        message("user", [{"type": "text", "text": "see "}, image, image], "this"),
        message("assistant", index=1, calls=[PairedCall(call(1, "t"), result(2, "t", output={"type": "x", "n": 1}))]),
        message("assistant", index=2, calls=[PairedCall(call(2, "u"), result(3, "u", output=None))]),
    )
    assert (shown["message"], shown["extra"]["omitted"]) == ("see \n\nthis", {"image": 2})
    assert structured["observation"]["results"][0]["content"] == '{"type":"x","n":1}'
    assert "content" not in nothing["observation"]["results"][0]


def test_tokens_that_are_only_a_lower_bound_are_left_out() -> None:
    sure = usage(0, "m0", input=10, cached=4, cache_write=3, output=5, reasoning=2)
    unsure = usage(1, "m1", input=10, output=1, output_final=False)
    first, second = steps(message("assistant", "a", usage=sure), message("assistant", "b", index=1, usage=unsure))
    assert first["metrics"] == {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "cached_tokens": 4,
        "extra": {"cache_creation_input_tokens": 3, "reasoning_tokens": 2},
    }
    assert second["metrics"] == {"prompt_tokens": 10}


def test_broken_bytes_of_a_log_become_readable() -> None:
    (step,) = steps(Message(0, "assistant", at(0), "m", content=[Raw(b'"a\xff"')]))
    assert step["message"] == "a�"


def sub_agents() -> list[Message]:
    """Two sub-agents: one named by its agent's id in the result, one by the parent of its calls, beneath the first."""
    return [
        message("assistant", index=0, calls=[PairedCall(call(0, "t1", "Task"), result(9, "t1", agent_id="a1"))]),
        message("assistant", "in one", index=1, stream="sidechain:a1", model="haiku",
                calls=[PairedCall(call(1, "t2", "Task"), result(8, "t2"))]),
        message("assistant", "in two", index=2, stream="subagent:scout",
                calls=[PairedCall(call(2, "t3", parent_call="t2"), result(7, "t3"))]),
    ]  # fmt: skip


def test_sub_agents_are_trajectories_that_results_of_calls_refer_to() -> None:
    made = document(sub_agents())
    assert [step["message"] for step in made["steps"]] == [""]
    first, second = made["subagent_trajectories"]
    assert (first["trajectory_id"], second["trajectory_id"]) == ("a1", "scout")
    assert first["agent"]["model_name"] == "haiku"
    assert made["steps"][0]["observation"]["results"][0]["subagent_trajectory_ref"] == [{"trajectory_id": "a1"}]
    assert first["steps"][0]["observation"]["results"][0]["subagent_trajectory_ref"] == [{"trajectory_id": "scout"}]
    assert "subagent_trajectory_ref" not in second["steps"][0]["observation"]["results"][0]


@pytest.mark.parametrize("agents", [("a", "b"), (None, None)], ids=["told", "by-parent"])
def test_a_call_of_a_sub_agent_under_its_parents_id_starts_nothing(agents: tuple[str | None, str | None]) -> None:
    """Each agent's calls were counted anew, so that the results of the two Read named an agent, too."""
    ids = ("call_0", "call_1")
    messages = [
        message("assistant", index=n, stream=f"sidechain:{agents[n] or ids[n]}",
                calls=[PairedCall(call(n, own, parent_call=ids[n]), result(n, own)) for own in ids])
        for n in (0, 1)
    ]  # fmt: skip
    tasks = [PairedCall(call(2, ids[n], "Task"), result(3, ids[n], agent_id=agents[n])) for n in (0, 1)]
    made = document([*messages, message("assistant", index=2, calls=tasks)])
    assert referred(made) == [agents[0] or "call_0", agents[1] or "call_1"]
    assert [referred(child) for child in made["subagent_trajectories"]] == [[None, None], [None, None]]


def referred(trajectory: Any) -> list[str | None]:
    """For each result the sub-agent that it names."""
    results = [r for step in trajectory["steps"] for r in step["observation"]["results"]]
    return [r.get("subagent_trajectory_ref", [{"trajectory_id": None}])[0]["trajectory_id"] for r in results]


def test_sub_agents_of_one_name_keep_their_own() -> None:
    made = document(
        [
            message("user", "go"),
            message("user", "x", index=1, stream="subagent:a"),
            message("user", "y", index=2, stream="sidechain:a"),
        ]
    )
    assert [child["trajectory_id"] for child in made["subagent_trajectories"]] == ["subagent:a", "sidechain:a"]


def test_totals_add_up_and_the_cost_is_that_of_all() -> None:
    spent = about(
        {"input": 100, "output": 30, "cached": 50, "cache_write": None, "reasoning": None},
        tokens_by_stream={"main": {"input": 70}, "sidechain:a1": {"input": 30, "output": 10, "cached": 20}},
        cost_usd=0.5,
    )
    made = document(sub_agents(), spent)
    assert made["final_metrics"] == {
        "total_prompt_tokens": 70,
        "total_completion_tokens": 20,
        "total_cached_tokens": 30,
        "total_cost_usd": 0.5,
        "total_steps": 1,
    }
    first, second = made["subagent_trajectories"]
    assert first["final_metrics"]["total_prompt_tokens"] == 30
    assert second["final_metrics"] == {"total_steps": 1}


def test_what_the_log_does_not_tell_stands_in_the_notes() -> None:
    made = document([message("user", "go")], about(losses=["costs", "the prompt"], faults={"torn": 1}))
    assert made["notes"] == "What claude-stream does not tell: costs; the prompt."
    assert made["extra"] == {
        "dialect": "claude-stream",
        "status": "complete",
        "reason": "success",
        "cwd": "/w",
        "duration_ms": 5,
        "faults": {"torn": 1},
    }


def test_without_a_message_there_is_no_document() -> None:
    assert list(Trajectory().document(about(), lambda _: [])) == []
