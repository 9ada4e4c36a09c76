"""Pi (badlogic/pi-mono): the stream of `--mode json` and `--mode rpc`, session files, and sub-agents' transcripts."""

from agentv_stages.model.deltas import DELTA_TEXT
from agentv_stages.model.provider import PROMPT, About, Dialect, LogRoot, Provider, Start
from agentv_stages.providers.pi.detect import detect_session, detect_stream, detect_transcript
from agentv_stages.providers.pi.session import SessionDecoder, TranscriptDecoder
from agentv_stages.providers.pi.stream import StreamDecoder
from agentv_stages.providers.pi.tools import TABLE

_NO_AGENTS = "sub-agents run as processes of their own; only the tool call that started them is seen"
_NO_VERSION = "the agent's version"
_NO_HALF_CALL = "whether the last call of an answer that broke off was still being written (it counts, cancelled)"
_NO_REFUSAL = "that an extension refused a call with a reason of its own (it counts as an error)"
_NO_TEMPLATE = "that a prompt was made from a template or by an extension"
_NO_SIGNAL = "before 0.87, the exit code of a shell that a signal killed (it counts as ok)"

PROVIDER = Provider(
    name="pi",
    title="Pi",
    dialects=(
        Dialect(
            "pi-stream",
            detect_stream,
            StreamDecoder,
            live=True,
            has_end=True,
            losses=(
                "durations of tool calls (before 1.1: results have no time)",
                "tokens of answers that were cut off, of retries inside the provider and of compactions without usage",
                "in `--mode rpc` the session's id and folder, and where another session begins",
                _NO_HALF_CALL,
                _NO_REFUSAL,
                _NO_TEMPLATE,
                _NO_SIGNAL,
                _NO_VERSION,
                _NO_AGENTS,
            ),
            deltas=(rb'"assistantMessageEvent":.{0,40}?_delta".{0,60}?"delta":' + DELTA_TEXT,),
            about=About(
                made_by="pi --mode json -p PROMPT",
                versions="0.31.1 to 1.6.0 and others that the log does not name",
                end="`agent_end` that no retry follows",
            ),
        ),
        Dialect(
            "pi-session",
            detect_session,
            SessionDecoder,
            live=False,
            has_end=False,
            losses=(
                "the text of an answer that was killed while it was written; before 0.99 a session without an answer",
                "tokens of answers that were cut off, and of compactions without usage",
                "results of the calls of a codemode script (the script's output is known)",
                _NO_HALF_CALL,
                _NO_REFUSAL,
                _NO_TEMPLATE,
                _NO_SIGNAL,
                _NO_VERSION,
                _NO_AGENTS,
            ),
            about=About(
                made_by="every session",
                versions="0.31.1 to 1.6.0 and others that the log does not name",
                end="none; complete when the last answer's `stopReason` is final",
            ),
        ),
        Dialect(
            "pi-subagent",
            detect_transcript,
            TranscriptDecoder,
            live=False,
            has_end=False,
            losses=("outputs that the extension cut", _NO_VERSION),
            about=About(made_by="its sub-agent extension", end="as `pi-session`"),
        ),
    ),
    tools=TABLE,
    start=Start(("pi", "-p", PROMPT, "--mode", "json"), kinds=("pi", "pi-cli", "pi-sdk", "pi-rpc", "pi-coding-agent")),
    aliases=("pi-coding-agent", "pi-cli", "pi-rpc", "pi-sdk"),
    roots=(LogRoot("~/.pi/agent/sessions", "PI_CODING_AGENT_DIR", "sessions", ("*/*.jsonl",)),),
)
