"""oh-my-pi (can1357/oh-my-pi, `omp`): a fork of Pi. Pi's decoders, with its own entries, lines, tools and folders."""

from agentv_stages.model.provider import PROMPT, About, Dialect, LogRoot, Provider, Start
from agentv_stages.providers.oh_my_pi.companions import companion_files, companions
from agentv_stages.providers.oh_my_pi.detect import detect_session, detect_stream
from agentv_stages.providers.oh_my_pi.session import SessionDecoder
from agentv_stages.providers.oh_my_pi.stream import StreamDecoder
from agentv_stages.providers.oh_my_pi.tools import TABLE

_BELOW = ("*/*.jsonl",)
_SHARED = (
    "tokens of answers that were cut off, of retries inside the provider and of compactions",
    "whether the last call of an answer that was cut off was still being written (it counts, cancelled)",
    "that an extension refused a call with a reason of its own (it counts as an error)",
    "that a prompt was made from a template or by an extension",
    "the server of an MCP tool, if its name contains an underscore (the part before it is used)",
    "the agent's version",
)

PROVIDER = Provider(
    name="oh-my-pi",
    title="oh-my-pi",
    dialects=(
        Dialect(
            "oh-my-pi-stream",
            detect_stream,
            StreamDecoder,
            live=True,
            has_end=True,
            losses=(
                "durations of tool calls (results have no time)",
                "what sub-agents and advisors did (they have files of their own on disk)",
                "tokens of titles and other side calls",
                *_SHARED,
            ),
            about=About(
                made_by="omp --mode json -p PROMPT",
                versions="13.19.0 to 18.2.3",
                end="`agent_end` that no retry and no work in the background follows",
            ),
        ),
        Dialect(
            "oh-my-pi-session",
            detect_session,
            SessionDecoder,
            live=False,
            has_end=False,
            losses=("results that oh-my-pi removed to save context", *_SHARED),
            about=About(
                made_by="every session",
                versions="13.19.0 to 18.2.3",
                end="as `pi-session`; interrupted when a signal found calls open (`session_exit`)",
            ),
        ),
    ),
    tools=TABLE,
    start=Start(("omp", "-p", PROMPT, "--mode", "json"), kinds=("oh-my-pi", "omp")),
    aliases=("omp", "oh-my-pi-cli"),
    roots=(
        LogRoot("~/.omp/agent/sessions", "PI_CODING_AGENT_DIR", "sessions", _BELOW),
        LogRoot("~/.omp/profiles", None, "", ("*/agent/sessions/*/*.jsonl",)),
        LogRoot("~/.local/share/omp", "XDG_DATA_HOME", "omp", ("sessions/*/*.jsonl", "profiles/*/sessions/*/*.jsonl")),
    ),
    companions=companions,
    companion_files=companion_files,
)
