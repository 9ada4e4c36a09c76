"""Formats that belong to no agent: AgentV's trace events, its transcripts (and ours) read back, ATIF trajectories."""

from agentv_stages.model.provider import About, Dialect, Provider
from agentv_stages.providers.generic.atif import AtifDecoder
from agentv_stages.providers.generic.detect import detect_atif, detect_trace, detect_transcript
from agentv_stages.providers.generic.tools import TABLE
from agentv_stages.providers.generic.trace import TraceDecoder
from agentv_stages.providers.generic.transcript import TranscriptDecoder

_UNCLEAR_INPUT = "whether input tokens hold the cached ones (it depends on what wrote them)"

PROVIDER = Provider(
    name="generic",
    title="AgentV traces and transcripts, ATIF",
    dialects=(
        Dialect(
            "agentv-trace",
            detect_trace,
            TraceDecoder,
            live=False,
            has_end=False,
            losses=("which calls belong to one answer, where no model turn records it", _UNCLEAR_INPUT),
            about=About(
                made_by="AgentV's trace events",
                end="`final_response`, `error`; the older list has none, and its status is unknown",
            ),
        ),
        Dialect(
            "agentv-transcript",
            detect_transcript,
            TranscriptDecoder,
            live=False,
            has_end=False,
            losses=(
                "the order of texts and calls within a message",
                "refusals and interrupts (AgentV writes both as errors)",
                "keys of tool inputs that shape B renamed",
                "tokens written to a cache (ours have them)",
                _UNCLEAR_INPUT,
            ),
            about=About(
                made_by="agentv-stream consume … --out DIR; AgentV",
                end="what our finished rows say; else complete when the last answer's calls have results",
            ),
        ),
        Dialect(
            "atif",
            detect_atif,
            AtifDecoder,
            live=False,
            has_end=False,
            losses=(
                "outcomes, exit codes and durations of tool calls (ours have them)",
                "effects of tools with an agent's own names (the words in the name decide; none is an edit)",
            ),
            about=About(
                made_by="harbor and other writers of ATIF",
                end="what our documents say; else complete when the last answer asks for no tool",
            ),
        ),
    ),
    tools=TABLE,
)
