"""Grok Build (npm `@xai-official/grok`): its streams, its ACP, its sessions on disk. Source: 0.1.220 to 1.0.41."""

from agentv_stages.model.deltas import ACP_DELTA, DELTA_TEXT, MESSAGES_DELTA
from agentv_stages.model.provider import MODEL, PROMPT, About, Dialect, LogRoot, Provider, Start
from agentv_stages.providers.grok.acp import LOSSES as ACP_LOSSES
from agentv_stages.providers.grok.acp import AcpDecoder
from agentv_stages.providers.grok.companions import companion_files, companions
from agentv_stages.providers.grok.detect import is_acp, is_messages, is_session, is_stream
from agentv_stages.providers.grok.messages import LOSSES as MESSAGES_LOSSES
from agentv_stages.providers.grok.messages import MessagesDecoder
from agentv_stages.providers.grok.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.grok.session import SessionDecoder
from agentv_stages.providers.grok.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.grok.stream import StreamDecoder
from agentv_stages.providers.grok.tools import TABLE

PROVIDER = Provider(
    name="grok",
    title="Grok Build",
    dialects=(
        Dialect(
            "grok-stream",
            is_stream,
            StreamDecoder,
            True,
            True,
            STREAM_LOSSES,
            has_prompt=False,
            deltas=(rb'"type":\s*"(?:text|thought)",\s*"data":' + DELTA_TEXT,),
            about=About(
                made_by="grok -p PROMPT --output-format streaming-json",
                versions="0.1.220, 1.0.5, 1.0.41",
                end="`end`, `error`",
            ),
        ),
        Dialect(
            "grok-messages",
            is_messages,
            MessagesDecoder,
            True,
            True,
            MESSAGES_LOSSES,
            has_prompt=False,
            deltas=(MESSAGES_DELTA,),
            about=About(
                made_by="grok -p PROMPT --output-format streaming-messages-json",
                versions="1.0.5, 1.0.41",
                end="`result`",
            ),
        ),
        Dialect(
            "grok-acp",
            is_acp,
            AcpDecoder,
            True,
            True,
            ACP_LOSSES,
            has_prompt=False,
            deltas=(ACP_DELTA,),
            about=About(
                made_by="grok agent stdio",
                versions="0.1.220, 1.0.5, 1.0.41",
                end="`turn_completed`; else `prompt_complete`, the answer to `session/prompt`",
            ),
        ),
        Dialect(
            "grok-session",
            is_session,
            SessionDecoder,
            False,
            True,
            SESSION_LOSSES,
            deltas=(ACP_DELTA,),
            about=About(
                made_by="every session",
                versions="0.1.220, 1.0.5, 1.0.41",
                end="`turn_completed`, by its stop reason; in 0.1 none",
            ),
        ),
    ),
    tools=TABLE,
    start=Start(("grok", "-p", PROMPT, "--output-format", "streaming-json"), ("-m", MODEL), kinds=("grok",)),
    aliases=("grok-build", "grok-cli"),
    roots=(LogRoot("~/.grok/sessions", "GROK_HOME", "sessions", ("*/*/updates.jsonl",)),),
    companions=companions,
    companion_files=companion_files,
)
