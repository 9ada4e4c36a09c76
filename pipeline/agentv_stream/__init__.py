"""agentv-stream: a streaming pipeline for the event streams of coding agents.

    async with open_stream("-") as stream:          # events while the agent is still working
        async for event in stream.events(): ...
    summarize("session.jsonl").tool_use_summary     # a finished session, blocking
    parse_stream_json(text)                         # (result, tool_use_summary) of an agent's whole output
    normalize_tool_call("copilot-cli", call)        # a tool call in canonical terms

Names are imported on first use, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentv_stages.figures.result import Result
    from agentv_stages.model.batch import Batch
    from agentv_stages.model.message import Message
    from agentv_stages.model.stage import Chain, Stage, Stateful
    from agentv_stream.api.adapter import create_adapter, decode_record, normalize_tool_call
    from agentv_stream.api.bobbin import parse_stream_json
    from agentv_stream.bulk import import_sessions, summarize_groups, summarize_many
    from agentv_stream.checks.spec import load_spec
    from agentv_stream.errors import AgentvStreamError, EmptyInput, NotALog, SinkError, SourceError, UsageError
    from agentv_stream.following.follow_stream import FollowedSession, FollowStream, follow
    from agentv_stream.live.live_stream import LiveStream, open_stream
    from agentv_stream.outputs.sink import Sink
    from agentv_stream.settings import Settings
    from agentv_stream.summary import summarize

    __version__: str

__all__ = [
    "AgentvStreamError",
    "Batch",
    "Chain",
    "EmptyInput",
    "FollowStream",
    "FollowedSession",
    "LiveStream",
    "Message",
    "NotALog",
    "Result",
    "Settings",
    "Sink",
    "SinkError",
    "SourceError",
    "Stage",
    "Stateful",
    "UsageError",
    "create_adapter",
    "decode_record",
    "follow",
    "import_sessions",
    "load_spec",
    "normalize_tool_call",
    "open_stream",
    "parse_stream_json",
    "summarize",
    "summarize_groups",
    "summarize_many",
]

_HOMES = {
    "agentv_stages.model.batch": ("Batch",),
    "agentv_stages.model.message": ("Message",),
    "agentv_stages.figures.result": ("Result",),
    "agentv_stages.model.stage": ("Chain", "Stage", "Stateful"),
    "agentv_stream.api.adapter": ("create_adapter", "decode_record", "normalize_tool_call"),
    "agentv_stream.api.bobbin": ("parse_stream_json",),
    "agentv_stream.bulk": ("import_sessions", "summarize_groups", "summarize_many"),
    "agentv_stream.checks.spec": ("load_spec",),
    "agentv_stream.errors": (
        "AgentvStreamError",
        "EmptyInput",
        "NotALog",
        "SinkError",
        "SourceError",
        "UsageError",
    ),
    "agentv_stream.following.follow_stream": ("FollowStream", "FollowedSession", "follow"),
    "agentv_stream.live.live_stream": ("LiveStream", "open_stream"),
    "agentv_stream.outputs.sink": ("Sink",),
    "agentv_stream.settings": ("Settings",),
    "agentv_stream.summary": ("summarize",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # else type checkers would take a misspelt name for Any

    def __getattr__(name: str) -> object:
        if name == "__version__":
            return import_module("agentv_stream.release").running_version()
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
