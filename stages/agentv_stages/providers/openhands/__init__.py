"""OpenHands (PyPI `openhands`, `openhands-sdk`): the stream of its CLI, its conversations on disk.

Source: CLI 1.14.0 and 1.16.0, SDK 1.16.1 to 1.58.2. Trajectories of before 1.0 (`openhands-ai`) are another format.
"""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.provider import PROMPT, About, Dialect, Head, LogRoot, Provider, Start
from agentv_stages.providers.openhands.acp import HABITS
from agentv_stages.providers.openhands.companions import companions
from agentv_stages.providers.openhands.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.openhands.session import SessionDecoder
from agentv_stages.providers.openhands.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.openhands.stream import StreamDecoder
from agentv_stages.providers.openhands.tools import TABLE

# Distinguishes events and conversations of OpenHands from other records, and its CLI's output from its files on disk.
#
# Printed events have every member; on disk those without a value are left out.
_KINDS = frozenset(
    (
        *("SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "AgentErrorEvent"),
        *("UserRejectObservation", "Condensation", "CondensationRequest", "ConversationErrorEvent", "PauseEvent"),
        *("InterruptEvent", "HookExecutionEvent", "ConversationStateUpdateEvent"),
    )
)
_SOURCES = frozenset(("agent", "user", "environment", "hook"))


def is_stream(head: Head) -> float:
    return 1.0 if any(is_event(line) and None in line.values() for line in head) else 0.0


def is_session(head: Head) -> float:
    """Events as on disk, or the conversation's state."""
    return 1.0 if any(is_event(line) or is_conversation(line) for line in head) else 0.0


def is_event(line: Mapping[str, Any]) -> bool:
    kind, source = line.get("kind"), line.get("source")
    named = isinstance(kind, str) and kind in _KINDS and isinstance(source, str) and source in _SOURCES
    return named and isinstance(line.get("id"), str) and isinstance(line.get("timestamp"), str)


def is_conversation(line: Mapping[str, Any]) -> bool:
    status, stats = line.get("execution_status"), line.get("stats")
    members = isinstance(line.get("agent"), dict) and isinstance(line.get("workspace"), dict)
    return members and isinstance(status, str) and isinstance(stats, dict) and "usage_to_metrics" in stats


_EVENTS = ("*/events/event-00000-*.json",)

PROVIDER = Provider(
    name="openhands",
    title="OpenHands",
    dialects=(
        Dialect(
            "openhands-stream",
            is_stream,
            StreamDecoder,
            True,
            True,
            STREAM_LOSSES,
            about=About(
                made_by="openhands --headless --json -t TASK",
                versions="1.10.0, 1.14.0, 1.16.0",
                end="an answer without a call, the call of `finish`; an error of the conversation",
            ),
        ),
        Dialect(
            "openhands-session",
            is_session,
            SessionDecoder,
            False,
            True,
            SESSION_LOSSES,
            about=About(
                made_by="every session: a folder with a file for each event",
                versions="CLI 1.10.0 to 1.16.0; SDK 1.16.1, 1.21.0, 1.58.2",
                end="as `openhands-stream`; of a run that was paused or stuck the state says it",
            ),
        ),
    ),
    tools=TABLE,
    acp=HABITS,
    start=Start(
        ("openhands", "--headless", "--json", "-t", PROMPT),
        None,
        kinds=("openhands",),
        prompt_options=frozenset(("-t", "--task")),
    ),
    roots=(
        LogRoot("~/.openhands/conversations", "OPENHANDS_CONVERSATIONS_DIR", "", _EVENTS),
        LogRoot("~/.openhands/conversations", "OPENHANDS_PERSISTENCE_DIR", "conversations", _EVENTS),
    ),
    companions=companions,
)
