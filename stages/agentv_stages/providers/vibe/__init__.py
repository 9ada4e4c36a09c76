"""Mistral Vibe (PyPI `mistral-vibe`): its output and its sessions, in both forms that it has had. Source: 1.0.0 to
3.0.3.

The output has chat messages up to 2.22, later entries of a history; sessions have chat messages up to 2.25.
"""

from agentv_stages.model.acp import AcpHabits
from agentv_stages.model.provider import PROMPT, About, Dialect, LogRoot, Provider, Start
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
        Dialect(
            "vibe-stream",
            is_stream,
            StreamDecoder,
            live=True,
            has_end=False,
            losses=STREAM_LOSSES,
            about=About(
                made_by="vibe -p PROMPT --output streaming (or json), since 2.26",
                versions="2.23.0 to 3.0.3",
                end="none; interrupted where its last entry broke off, else unknown",
            ),
        ),
        Dialect(
            "vibe-session",
            is_session,
            SessionDecoder,
            live=False,
            has_end=True,
            losses=SESSION_LOSSES,
            about=About(
                made_by="every session, since 2.26",
                versions="2.26.0 to 3.0.3",
                end="the end of the last turn (`latestTurn`)",
            ),
        ),
        Dialect(
            "vibe-stream-old",
            is_old_stream,
            MessagesDecoder,
            live=True,
            has_end=False,
            losses=OLD_STREAM_LOSSES,
            about=About(
                made_by="vibe -p PROMPT --output streaming (or json), up to 2.22",
                versions="1.0.0 to 2.14.0",
                end="none; complete when the last answer asks for no tool",
            ),
        ),
        Dialect(
            "vibe-session-old",
            is_old_session,
            MessagesDecoder,
            live=False,
            has_end=False,
            losses=OLD_SESSION_LOSSES,
            about=About(
                made_by="every session, up to 2.22",
                versions="1.0.0 to 2.25.8",
                end="none; complete when the last answer asks for no tool",
                places=("session_*/messages.jsonl", "session_*.json"),
            ),
        ),
    ),
    tools=TABLE,
    acp=AcpHabits(),
    start=Start(("vibe", "-p", PROMPT, "--output", "streaming"), None, kinds=("vibe", "mistral-vibe")),
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
