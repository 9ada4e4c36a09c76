"""OpenClaw: transcripts in Pi's session format. Pi's decoder, plus results, nested tools and a folder of its own."""

from agentv_stages.model.provider import About, Dialect, LogRoot, Provider
from agentv_stages.providers.openclaw.detect import detect_session
from agentv_stages.providers.openclaw.session import SessionDecoder
from agentv_stages.providers.openclaw.tools import TABLE

PROVIDER = Provider(
    name="openclaw",
    title="OpenClaw",
    dialects=(
        Dialect(
            "openclaw-session",
            detect_session,
            SessionDecoder,
            live=False,
            has_end=False,
            losses=(
                "the arguments of a call of a tool that does not exist (the log has only its result)",
                "what sub-agents did (each has a session of its own)",
                "tokens of answers that were cut off and of compactions",
                "the agent's version",
            ),
            about=About(
                made_by="files of earlier versions; now rows of `openclaw-agent.sqlite`, one a line",
                versions="2026.6.11, 2026.9.6",
                end="as `pi-session`",
            ),
        ),
    ),
    tools=TABLE,
    aliases=("claw", "clawdbot"),
    roots=(LogRoot("~/.openclaw/agents", "OPENCLAW_STATE_DIR", "agents", ("*/sessions/*.jsonl",)),),
)
