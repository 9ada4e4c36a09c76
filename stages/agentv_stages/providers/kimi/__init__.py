"""Kimi Code (npm `@moonshot-ai/kimi-code`): stream-json and sessions on disk. Source: Kimi Code 0.10.0 to 2.1.0.

The older Kimi CLI, in Python, wrote another `wire.jsonl`, which is not read; its sessions that Kimi Code migrated are.
"""

from agentv_stages.model.provider import MODEL, PROMPT, About, Dialect, LogRoot, Provider, Start
from agentv_stages.providers.kimi.acp import HABITS
from agentv_stages.providers.kimi.companions import companion_files, companions, main_context
from agentv_stages.providers.kimi.detect import is_session, is_stream
from agentv_stages.providers.kimi.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.kimi.session import SessionDecoder
from agentv_stages.providers.kimi.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.kimi.stream import StreamDecoder
from agentv_stages.providers.kimi.tools import TABLE

PROVIDER = Provider(
    name="kimi",
    title="Kimi Code",
    dialects=(
        Dialect(
            "kimi-stream",
            is_stream,
            StreamDecoder,
            True,
            True,
            STREAM_LOSSES,
            has_prompt=False,
            about=About(
                made_by="kimi -p PROMPT --output-format stream-json",
                versions="0.10.0 to 2.1.0",
                end="`session.resume_hint`, the last line",
            ),
        ),
        Dialect(
            "kimi-session",
            is_session,
            SessionDecoder,
            False,
            True,
            SESSION_LOSSES,
            about=About(
                made_by="every session",
                versions="0.10.0 to 2.1.0",
                end="`turn.ended`, with its reason; before protocol 1.5 a last step with a final `finishReason`",
            ),
        ),
    ),
    tools=TABLE,
    acp=HABITS,
    start=Start(("kimi", "-p", PROMPT, "--output-format", "stream-json"), ("-m", MODEL), kinds=("kimi",)),
    aliases=("kimi-code",),
    roots=(LogRoot("~/.kimi-code/sessions", "KIMI_CODE_HOME", "sessions", ("*/*/agents/main/wire.jsonl",)),),
    companions=companions,
    companion_files=companion_files,
    context=main_context,
)
