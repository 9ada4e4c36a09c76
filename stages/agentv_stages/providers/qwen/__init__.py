"""Qwen Code: stream-json and chats on disk.

Source: Qwen Code 0.14 to 0.24.4. Before 0.5 it wrote Gemini CLI's chat documents, which are read as such.
"""

from agentv_stages.model.provider import MODEL, PROMPT, About, Dialect, LogRoot, Provider, Start
from agentv_stages.providers.qwen.acp import HABITS
from agentv_stages.providers.qwen.companions import companions
from agentv_stages.providers.qwen.detect import is_session, is_stream
from agentv_stages.providers.qwen.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.qwen.session import SessionDecoder
from agentv_stages.providers.qwen.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.qwen.stream import StreamDecoder
from agentv_stages.providers.qwen.tools import TABLE

PROVIDER = Provider(
    name="qwen",
    title="Qwen Code",
    dialects=(
        Dialect(
            "qwen-stream",
            is_stream,
            StreamDecoder,
            True,
            True,
            STREAM_LOSSES,
            has_prompt=False,
            about=About(
                made_by="qwen -p PROMPT --output-format stream-json",
                versions="0.5.0 to 0.24.4",
                end="`result`; a text `[API Error: …]` is an error whatever it says",
            ),
        ),
        Dialect(
            "qwen-session",
            is_session,
            SessionDecoder,
            False,
            False,
            SESSION_LOSSES,
            about=About(
                made_by="every session",
                versions="0.5.0 to 0.24.4",
                end="none; complete when the last answer asks for no tool",
            ),
        ),
    ),
    tools=TABLE,
    acp=HABITS,
    start=Start(("qwen", "-p", PROMPT, "--output-format", "stream-json"), ("-m", MODEL), kinds=("qwen",)),
    aliases=("qwen-code", "qwen-cli"),
    roots=tuple(
        LogRoot("~/.qwen/projects", variable, "projects", ("*/chats/*.jsonl",))
        for variable in ("QWEN_RUNTIME_DIR", "QWEN_HOME")
    ),
    companions=companions,
)
