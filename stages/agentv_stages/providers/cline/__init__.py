"""Cline's CLI: the stream of `cline --json`, and its sessions on disk.

Source: Cline CLI 3.0.65. The tasks of its editor extension (`ui_messages.json`) are not read.
"""

from agentv_stages.model.provider import MODEL, PROMPT, About, Dialect, LogRoot, Provider, Start
from agentv_stages.providers.cline.companions import companions
from agentv_stages.providers.cline.detect import detect_session, detect_stream
from agentv_stages.providers.cline.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.cline.session import SessionDecoder
from agentv_stages.providers.cline.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.cline.stream import StreamDecoder
from agentv_stages.providers.cline.tools import TABLE

_SESSIONS = ("*/*.messages.json",)

PROVIDER = Provider(
    name="cline",
    title="Cline",
    dialects=(
        Dialect(
            "cline-stream",
            detect_stream,
            StreamDecoder,
            True,
            True,
            STREAM_LOSSES,
            has_prompt=False,
            about=About(
                made_by="cline --json PROMPT",
                versions="3.0.57, 3.0.65",
                end="`run_result`; a `run_aborted` behind it says that it was stopped",
            ),
        ),
        Dialect(
            "cline-session",
            detect_session,
            SessionDecoder,
            False,
            False,
            SESSION_LOSSES,
            about=About(
                made_by="every session",
                versions="3.0.57, 3.0.65",
                end="none; the manifest's `status`, without it a last answer that asks for no tool",
            ),
        ),
    ),
    tools=TABLE,
    start=Start(("cline", "--json", PROMPT), ("-m", MODEL), kinds=("cline",)),
    aliases=("cline-cli",),
    roots=(
        LogRoot("~/.cline/data/sessions", "CLINE_SESSION_DATA_DIR", "", _SESSIONS),
        LogRoot("~/.cline/data/sessions", "CLINE_DATA_DIR", "sessions", _SESSIONS),
        LogRoot("~/.cline/data/sessions", "CLINE_DIR", "data/sessions", _SESSIONS),
    ),
    companions=companions,
)
