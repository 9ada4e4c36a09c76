"""mini-swe-agent (PyPI `mini-swe-agent`): trajectories of `mini` and of SWE-bench runs. Source: 1.1.0 to 2.4.6.

SWE-agent's own `.traj` files are another format, with a provider of its own.
"""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import About, Dialect, Head, LogRoot, Provider
from agentv_stages.providers.mini_swe_agent.tools import TABLE
from agentv_stages.providers.mini_swe_agent.trajectory import LOSSES, TrajectoryDecoder


# Distinguishes trajectories of mini-swe-agent, also truncated ones, from other documents.
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


_FILES = ("*.traj.json",)

PROVIDER = Provider(
    name="mini-swe-agent",
    title="mini-swe-agent",
    dialects=(
        Dialect(
            "mini-swe-agent",
            is_trajectory,
            TrajectoryDecoder,
            False,
            True,
            LOSSES,
            about=About(
                made_by="mini -t TASK -o FILE.traj.json; mini-extra swebench -o FOLDER",
                versions="1.1.0 to 2.4.6",
                end="the message of role `exit`; in 1.x, and before the first step, `info.exit_status`",
            ),
        ),
    ),
    tools=TABLE,
    roots=(
        LogRoot("~/.config/mini-swe-agent", "MSWEA_GLOBAL_CONFIG_DIR", patterns=_FILES),
        LogRoot("~/.config/mini-swe-agent", "XDG_CONFIG_HOME", "mini-swe-agent", _FILES),
        LogRoot("~/Library/Application Support/mini-swe-agent", patterns=_FILES),
    ),
)
