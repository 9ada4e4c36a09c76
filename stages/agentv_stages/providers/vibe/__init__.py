"""Mistral Vibe (PyPI `mistral-vibe`): its output and its sessions, in both forms that it has had. Source: 1.0.0 to
3.0.3.

The output has chat messages up to 2.22, later entries of a history; sessions have chat messages up to 2.25.
"""

from agentv_stages.model.provider import Dialect, LogRoot, Provider
from agentv_stages.providers.vibe.companions import companions, context
from agentv_stages.providers.vibe.detect import is_old_session, is_old_stream, is_session, is_stream
from agentv_stages.providers.vibe.messages import SESSION_LOSSES as OLD_SESSION_LOSSES
from agentv_stages.providers.vibe.messages import STREAM_LOSSES as OLD_STREAM_LOSSES
from agentv_stages.providers.vibe.messages import MessagesDecoder
from agentv_stages.providers.vibe.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.vibe.session import SessionDecoder
from agentv_stages.providers.vibe.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.vibe.stream import StreamDecoder
from agentv_stages.providers.vibe.tools import TABLE

PROVIDER = Provider(
    name="vibe",
    title="Mistral Vibe",
    dialects=(
        Dialect("vibe-stream", is_stream, StreamDecoder, live=True, has_end=False, losses=STREAM_LOSSES),
        Dialect("vibe-session", is_session, SessionDecoder, live=False, has_end=True, losses=SESSION_LOSSES),
        Dialect("vibe-stream-old", is_old_stream, MessagesDecoder, live=True, has_end=False, losses=OLD_STREAM_LOSSES),
        Dialect(
            "vibe-session-old", is_old_session, MessagesDecoder, live=False, has_end=False, losses=OLD_SESSION_LOSSES
        ),
    ),
    tools=TABLE,
    aliases=("mistral-vibe",),
    roots=(
        LogRoot(
            "~/.vibe/logs/session",
            "VIBE_HOME",
            "logs/session",
            ("unified/*/meta.json", "session_*/messages.jsonl", "session_*.json"),
        ),
    ),
    companions=companions,
    context=context,
)
