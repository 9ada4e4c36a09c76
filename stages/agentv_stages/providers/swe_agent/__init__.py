"""SWE-agent: trajectories (`.traj`). mini-swe-agent has another format and a provider of its own.

Source: SWE-agent 0.6 to 1.x, demonstrations and test data of its repository.
"""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import About, Dialect, Head, Provider
from agentv_stages.providers.swe_agent.tools import TABLE
from agentv_stages.providers.swe_agent.trajectory import LOSSES, TrajectoryDecoder


def is_trajectory(head: Head) -> float:
    return max(map(_trajectory, head), default=0.0)


def _trajectory(line: Mapping[str, Any]) -> float:
    steps = line.get("trajectory")
    if isinstance(steps, list) and any(key in line for key in ("history", "info", "environment")):
        first = cast("Mapping[str, Any]", steps[0]) if steps and isinstance(steps[0], dict) else {"action": ""}
        return 1.0 if "action" in first or "observation" in first else 0.6
    history = line.get("history")
    if isinstance(history, list) and history and isinstance(history[0], dict):
        entry = cast("Mapping[str, Any]", history[0])
        return 0.9 if "agent" in entry and "role" in entry and "conversation_id" not in line else 0.0
    return 0.0


PROVIDER = Provider(
    name="swe-agent",
    title="SWE-agent",
    dialects=(
        Dialect(
            "swe-agent",
            is_trajectory,
            TrajectoryDecoder,
            live=False,
            has_end=True,
            losses=LOSSES,
            about=About("sweagent run, run-batch: FILE.traj", "0.6 to 1.x", "`info.exit_status`"),
        ),
    ),
    tools=TABLE,
    aliases=("sweagent",),
)
