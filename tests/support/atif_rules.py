"""What Harbor's own models demand of an ATIF document beyond the shape of its members (harbor 0.26)."""

from datetime import datetime
from typing import Any

OF_AGENTS_ALONE = {"model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"}


def check_rules(document: Any) -> None:
    """Raises AssertionError for what Harbor would refuse. References are to sub-agents of the root."""
    children = document.get("subagent_trajectories", [])
    names = {child["trajectory_id"] for child in children}
    assert len(names) == len(children)
    for trajectory in (document, *children):
        assert trajectory["steps"]
        for number, step in enumerate(trajectory["steps"], start=1):
            assert step["step_id"] == number
            _check_step(step)
        assert references(trajectory) <= names


def references(trajectory: Any) -> set[str]:
    """The sub-agents that results of calls name."""
    return {
        reference["trajectory_id"]
        for step in trajectory["steps"]
        for result in step.get("observation", {"results": []})["results"]
        for reference in result.get("subagent_trajectory_ref", ())
    }


def _check_step(step: Any) -> None:
    if "timestamp" in step:
        datetime.fromisoformat(step["timestamp"])
    if step["source"] != "agent":
        assert not OF_AGENTS_ALONE & step.keys()
    if step.get("llm_call_count") == 0:
        assert not {"metrics", "reasoning_content"} & step.keys()
    calls = {call["tool_call_id"] for call in step.get("tool_calls", ())}
    for call in step.get("tool_calls", ()):
        assert isinstance(call["arguments"], dict)
    for result in step.get("observation", {"results": []})["results"]:
        assert result["source_call_id"] in calls
