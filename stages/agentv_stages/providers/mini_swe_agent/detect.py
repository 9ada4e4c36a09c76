"""Distinguishes trajectories of mini-swe-agent, also truncated ones, from other documents."""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import Head


def is_trajectory(head: Head) -> float:
    """Format and messages; without a format (it comes last, and 1.6 wrote none), the members of `info` before them."""
    return 1.0 if any(map(_is_trajectory, head)) else 0.0


def _is_trajectory(record: Mapping[str, Any]) -> bool:
    info, form = record.get("info"), record.get("trajectory_format")
    if not isinstance(record.get("messages"), list):
        return False
    if isinstance(form, str):
        return form.startswith("mini-swe-agent")
    if not isinstance(info, dict):
        return False
    members = cast("Mapping[str, Any]", info)
    stats: Any = members.get("model_stats")
    return "mini_version" in members or (isinstance(stats, dict) and "api_calls" in stats and "exit_status" in members)
