"""mini-swe-agent (PyPI `mini-swe-agent`): trajectories of `mini` and of SWE-bench runs. Source: 1.1.0 to 2.4.6.

SWE-agent's own `.traj` files are another format, with a provider of its own.

Trajectories of mini-swe-agent to events: one document is one session.

End rule: the message with role `exit`, or, in a complete document, the status in `info`.
Source: mini-swe-agent 1.1.0 to 2.4.6, `*.traj.json`.
"""

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from agentv_stages.chain.pruning import read_each
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.payload import one_line
from agentv_stages.model.provider import About, DecodeContext, Dialect, Head, LogRoot, Provider
from agentv_stages.providers.mini_swe_agent.run import Run
from agentv_stages.providers.mini_swe_agent.tools import TABLE
from agentv_stages.providers.mini_swe_agent.wire import decode_document, decode_message

LOSSES = (
    "the session's id",
    "how long each of several commands of one answer took",
    "outputs of commands next to the command that submits, in a run without a terminal",
    "before 2.3.1, answers that were refused for their format: texts, calls, tokens, costs",
    "before 1.12, tokens and times; in 1.x, output apart from the words around it",
    "in 1.x, commands that your own action_regex cut out of the answer",
)


class State(Struct):
    """Empty: documents are independent of each other."""


class TrajectoryDecoder:
    """Decoder of `mini-swe-agent`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        document = decode_document(one_line(record.data))
        if document.messages is None:
            batch.unknown_type("document", record)
            return
        messages = read_each(document.messages, decode_message, "messages", record, batch)
        run = Run(self.context, document, messages, record, batch)
        run.header()
        for place, message in messages:
            run.take(place, message)
        run.end()

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""


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
