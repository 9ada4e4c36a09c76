"""Google Antigravity's command line `agy`: its stream, its last answer as JSON, and its transcripts on disk.

Source: agy 1.2.17 and 1.3.1 (stream), 1.0.10 to 1.0.16 (transcripts).
"""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.provider import MODEL, PROMPT, About, Dialect, Head, LogRoot, Provider, Start
from agentv_stages.providers.antigravity.companions import companions, logs_of_database
from agentv_stages.providers.antigravity.steps import LOSSES as STEPS_LOSSES
from agentv_stages.providers.antigravity.steps import StepsDecoder
from agentv_stages.providers.antigravity.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.antigravity.stream import OUTPUT_LOSSES, OutputDecoder, StreamDecoder
from agentv_stages.providers.antigravity.tools import TABLE
from agentv_stages.providers.antigravity.transcript import LOSSES as TRANSCRIPT_LOSSES
from agentv_stages.providers.antigravity.transcript import TranscriptDecoder

EVENTS = ("init", "step_update", "result")
SOURCES = ("USER_EXPLICIT", "MODEL", "SYSTEM")
_LOGS = ("brain/*/.system_generated/logs/transcript_full.jsonl", "brain/*/.system_generated/logs/transcript.jsonl")
_HOMES = ("antigravity-cli", "antigravity", "antigravity-ide")  # of the command line, and of the editor


def is_stream(head: Head) -> float:
    return float(any(isinstance(line.get(kind), dict) for line in head for kind in EVENTS if line.get("event") == kind))


def is_output(head: Head) -> float:
    """The object of `--output-format json`; a stream has it within an object."""
    return float(len(head) == 1 and _ends_turn(head[0]))


def _ends_turn(line: Mapping[str, Any]) -> bool:
    usage = line.get("usage")
    return "conversation_id" in line and "status" in line and isinstance(usage, dict) and "thinking_tokens" in usage


def is_transcript(head: Head) -> float:
    return float(any(map(_is_step, head)))


def _is_step(line: Mapping[str, Any]) -> bool:
    kind, status = line.get("type"), line.get("status")
    if line.get("source") not in SOURCES or not isinstance(line.get("step_index"), int):
        return False
    return isinstance(kind, str) and kind.isupper() and isinstance(status, str) and status.isupper()


def is_steps(head: Head) -> float:
    """Rows of the database, as `stores/antigravity.py` writes them."""
    return float(any(isinstance(line.get("step"), dict) and {"idx", "status"} <= line["step"].keys() for line in head))


PROVIDER = Provider(
    name="antigravity",
    title="Antigravity CLI",
    dialects=(
        Dialect(
            "antigravity-stream",
            is_stream,
            StreamDecoder,
            live=True,
            has_end=True,
            losses=STREAM_LOSSES,
            has_prompt=False,
            about=About("agy -p PROMPT --output-format stream-json", "1.2.17, 1.3.1", "`result`, one for each prompt"),
        ),
        Dialect(
            "antigravity-output",
            is_output,
            OutputDecoder,
            live=True,
            has_end=True,
            losses=OUTPUT_LOSSES,
            has_prompt=False,
            answer_only=True,
            about=About(
                "agy -p PROMPT --output-format json",
                "none seen; as a `result` of the stream (unverified)",
                "the object itself",
            ),
        ),
        Dialect(
            "antigravity-transcript",
            is_transcript,
            TranscriptDecoder,
            live=False,
            has_end=False,
            losses=TRANSCRIPT_LOSSES,
            displayed_models=True,
            about=About("every session", "1.0.10 to 1.0.16", "none; complete when the last answer asks for no tool"),
        ),
        Dialect(
            "antigravity-steps",
            is_steps,
            StepsDecoder,
            live=False,
            has_end=False,
            losses=STEPS_LOSSES,
            stored=True,
            about=About(
                "agentv-stream consume ~/.gemini/antigravity-cli/conversations/ID.db",
                "1.0.x (two conversations without calls); calls and results by descriptors (unverified)",
                "none; the reason why the last answer stopped",
                places=(),
            ),
        ),
    ),
    tools=TABLE,
    start=Start(
        ("agy", "-p", PROMPT, "--output-format", "stream-json", "--print-timeout", "24h"),
        ("--model", MODEL),
        kinds=("antigravity", "agy"),
        prompt_options=frozenset(("-p", "--print", "--prompt")),
    ),
    aliases=("agy", "antigravity-cli"),
    roots=tuple(LogRoot(f"~/.gemini/{home}", None, "", _LOGS) for home in _HOMES),
    companions=companions,
    logs_of_database=logs_of_database,
)
