"""Distinguishes events and conversations of OpenHands from other records, and its CLI's output from its files on disk.

Printed events have every member; on disk those without a value are left out.
"""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.provider import Head

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
