"""Gemini CLI: stream-json, and chat recordings as a mutation log or as the older document.

Source: Gemini CLI 0.1 to 0.61.
"""

from agentv_stages.model.provider import MODEL, PROMPT, About, Dialect, LogRoot, Provider, Start
from agentv_stages.providers.gemini.acp import HABITS
from agentv_stages.providers.gemini.chat import LOSSES as CHAT_LOSSES
from agentv_stages.providers.gemini.chat import ChatDecoder
from agentv_stages.providers.gemini.companions import companions
from agentv_stages.providers.gemini.detect import is_document, is_log, is_stream
from agentv_stages.providers.gemini.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.gemini.stream import StreamDecoder
from agentv_stages.providers.gemini.tools import TABLE

PROVIDER = Provider(
    name="gemini",
    title="Gemini CLI",
    dialects=(
        Dialect(
            "gemini-stream",
            is_stream,
            StreamDecoder,
            True,
            True,
            STREAM_LOSSES,
            about=About(
                made_by="gemini -p PROMPT --output-format stream-json", versions="0.15.3 to 0.61.0", end="`result`"
            ),
        ),
        Dialect(
            "gemini-chat",
            is_log,
            ChatDecoder,
            False,
            False,
            CHAT_LOSSES,
            about=About(
                made_by="every session",
                versions="0.29.0 to 0.61.0 and others that the log does not name",
                end="none; an API error or a cancelled request that nothing follows, else unknown",
            ),
        ),
        Dialect(
            "gemini-chat-json",
            is_document,
            ChatDecoder,
            False,
            False,
            CHAT_LOSSES,
            about=About(
                made_by="every session, older versions",
                end="none; an API error or a cancelled request that nothing follows, else unknown",
            ),
        ),
    ),
    tools=TABLE,
    acp=HABITS,
    start=Start(
        ("gemini", "-p", PROMPT, "--output-format", "stream-json"),
        ("-m", MODEL),
        ("gemini", "--output-format", "stream-json"),
        kinds=("gemini-cli",),
    ),
    aliases=("gemini-cli",),
    roots=(LogRoot("~/.gemini/tmp", "GEMINI_CLI_HOME", ".gemini/tmp", ("*/chats/session-*.json*",)),),
    companions=companions,
)
