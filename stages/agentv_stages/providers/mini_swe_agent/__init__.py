"""mini-swe-agent (PyPI `mini-swe-agent`): trajectories of `mini` and of SWE-bench runs. Source: 1.1.0 to 2.4.6.

SWE-agent's own `.traj` files are another format, which is not read.
"""

from agentv_stages.model.provider import About, Dialect, LogRoot, Provider
from agentv_stages.providers.mini_swe_agent.detect import is_trajectory
from agentv_stages.providers.mini_swe_agent.tools import TABLE
from agentv_stages.providers.mini_swe_agent.trajectory import LOSSES, TrajectoryDecoder

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
