"""agentv-stream: a streaming pipeline for the event streams of coding agents.

    read("session.jsonl").calls                     # a finished session, by its path or id
    check(session, "ci.yaml")                       # verdicts on it
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
    from agentv_stages.figures.merge import Figures as GroupFigures
    from agentv_stages.figures.merge import Sequence as SequenceCount
    from agentv_stages.figures.merge import Summary as GroupSummary
    from agentv_stages.figures.result import Evidence as EndEvidence
    from agentv_stages.figures.result import Outputs, Result, SessionFacts
    from agentv_stages.figures.summary import (
        BobbinRun,
        ByKind,
        ByOrigin,
        ByOutcome,
        StreamRow,
        ToolRowFigures,
        ToolUseSummary,
        WatchedRun,
    )
    from agentv_stages.model.batch import Batch, Begun, Record
    from agentv_stages.model.event import (
        AnyEvent,
        AssistantText,
        Kind,
        Notification,
        Origin,
        QueueOperation,
        Reasoning,
        Retract,
        SessionEnd,
        SessionInfo,
        SlashCommand,
        Source,
        Status,
        TokenUsage,
        ToolCall,
        ToolResult,
        UserText,
    )
    from agentv_stages.model.event import Summary as SummaryText
    from agentv_stages.model.fault import Fault
    from agentv_stages.model.message import Message, PairedCall
    from agentv_stages.model.provider import Dialect, LogRoot, Provider
    from agentv_stages.model.stage import Chain, Stage, Stateful
    from agentv_stages.model.tokens import TokenTotals
    from agentv_stages.model.tool_payload import AnyPayload, Execute, FileEdit, FileRead, FileWrite, Mcp, Search
    from agentv_stages.model.tool_payload import Generic as GenericPayload
    from agentv_stages.session.chain import Watcher
    from agentv_stages.trajectory import (
        Assertion,
        Bounds,
        Case,
        CaseResult,
        CaseState,
        ConfigError,
        Context,
        Decision,
        Evaluator,
        EvaluatorState,
        Evidence,
        Proof,
        Rule,
        Skipped,
        Standing,
        Terms,
        Verdict,
        build,
    )
    from agentv_stages.trajectory import Result as EvaluatorResult
    from agentv_stream.api.adapter import Adapter, NormalizedCall, create_adapter, decode_record, normalize_tool_call
    from agentv_stream.api.bobbin import parse_stream_json
    from agentv_stream.api.call import Call
    from agentv_stream.api.check import check, check_async
    from agentv_stream.api.session import Items, Session, read, read_async, sessions, sessions_async
    from agentv_stream.bulk import Failure, Outcome, import_sessions, summarize_groups, summarize_many
    from agentv_stream.bulk.unit import Report as BulkReport
    from agentv_stream.bulk.unit import Task as BulkTask
    from agentv_stream.checks.spec import Spec, SpecCase, load_spec
    from agentv_stream.checks.yaml_lines import SpecError
    from agentv_stream.discovery.period import Period, Zone
    from agentv_stream.errors import (
        AgentvStreamError,
        DamagedArchive,
        EmptyInput,
        NotALog,
        SinkError,
        SourceError,
        UsageError,
    )
    from agentv_stream.following.cursor_database import CursorError
    from agentv_stream.following.follow_stream import FollowedSession, FollowStream, follow
    from agentv_stream.live.live_stream import AnySource, LiveStream, open_stream
    from agentv_stream.live.session_report import Report
    from agentv_stream.otel.options import Export
    from agentv_stream.outputs.sink import Sink
    from agentv_stream.redaction.redaction import Redaction
    from agentv_stream.settings import Settings
    from agentv_stream.summary import summarize

    __version__: str

__all__ = [
    "Adapter",
    "AgentvStreamError",
    "AnyEvent",
    "AnyPayload",
    "AnySource",
    "Assertion",
    "AssistantText",
    "Batch",
    "Begun",
    "BobbinRun",
    "Bounds",
    "BulkReport",
    "BulkTask",
    "ByKind",
    "ByOrigin",
    "ByOutcome",
    "Call",
    "Case",
    "CaseResult",
    "CaseState",
    "Chain",
    "ConfigError",
    "Context",
    "CursorError",
    "DamagedArchive",
    "Decision",
    "Dialect",
    "EmptyInput",
    "EndEvidence",
    "Evaluator",
    "EvaluatorResult",
    "EvaluatorState",
    "Evidence",
    "Execute",
    "Export",
    "Failure",
    "Fault",
    "FileEdit",
    "FileRead",
    "FileWrite",
    "FollowStream",
    "FollowedSession",
    "GenericPayload",
    "GroupFigures",
    "GroupSummary",
    "Items",
    "Kind",
    "LiveStream",
    "LogRoot",
    "Mcp",
    "Message",
    "NormalizedCall",
    "NotALog",
    "Notification",
    "Origin",
    "Outcome",
    "Outputs",
    "PairedCall",
    "Period",
    "Proof",
    "Provider",
    "QueueOperation",
    "Reasoning",
    "Record",
    "Redaction",
    "Report",
    "Result",
    "Retract",
    "Rule",
    "Search",
    "SequenceCount",
    "Session",
    "SessionEnd",
    "SessionFacts",
    "SessionInfo",
    "Settings",
    "Sink",
    "SinkError",
    "Skipped",
    "SlashCommand",
    "Source",
    "SourceError",
    "Spec",
    "SpecCase",
    "SpecError",
    "Stage",
    "Standing",
    "Stateful",
    "Status",
    "StreamRow",
    "SummaryText",
    "Terms",
    "TokenTotals",
    "TokenUsage",
    "ToolCall",
    "ToolResult",
    "ToolRowFigures",
    "ToolUseSummary",
    "UsageError",
    "UserText",
    "Verdict",
    "WatchedRun",
    "Watcher",
    "Zone",
    "build",
    "check",
    "check_async",
    "create_adapter",
    "decode_record",
    "follow",
    "import_sessions",
    "load_spec",
    "normalize_tool_call",
    "open_stream",
    "parse_stream_json",
    "read",
    "read_async",
    "sessions",
    "sessions_async",
    "summarize",
    "summarize_groups",
    "summarize_many",
]

_HOMES = {
    "agentv_stages.figures.merge": (
        "Figures:GroupFigures",
        "Sequence:SequenceCount",
        "Summary:GroupSummary",
    ),
    "agentv_stages.figures.result": (
        "Evidence:EndEvidence",
        "Outputs",
        "Result",
        "SessionFacts",
    ),
    "agentv_stages.figures.summary": (
        "BobbinRun",
        "ByKind",
        "ByOrigin",
        "ByOutcome",
        "StreamRow",
        "ToolRowFigures",
        "ToolUseSummary",
        "WatchedRun",
    ),
    "agentv_stages.model.batch": (
        "Batch",
        "Begun",
        "Record",
    ),
    "agentv_stages.model.event": (
        "AnyEvent",
        "AssistantText",
        "Kind",
        "Notification",
        "Origin",
        "QueueOperation",
        "Reasoning",
        "Retract",
        "SessionEnd",
        "SessionInfo",
        "SlashCommand",
        "Source",
        "Status",
        "Summary:SummaryText",
        "TokenUsage",
        "ToolCall",
        "ToolResult",
        "UserText",
    ),
    "agentv_stages.model.fault": ("Fault",),
    "agentv_stages.model.message": (
        "Message",
        "PairedCall",
    ),
    "agentv_stages.model.provider": (
        "Dialect",
        "LogRoot",
        "Provider",
    ),
    "agentv_stages.model.stage": (
        "Chain",
        "Stage",
        "Stateful",
    ),
    "agentv_stages.model.tokens": ("TokenTotals",),
    "agentv_stages.model.tool_payload": (
        "AnyPayload",
        "Execute",
        "FileEdit",
        "FileRead",
        "FileWrite",
        "Generic:GenericPayload",
        "Mcp",
        "Search",
    ),
    "agentv_stages.session.chain": ("Watcher",),
    "agentv_stages.trajectory": (
        "Assertion",
        "Bounds",
        "Case",
        "CaseResult",
        "CaseState",
        "ConfigError",
        "Context",
        "Decision",
        "Evaluator",
        "EvaluatorState",
        "Evidence",
        "Proof",
        "Result:EvaluatorResult",
        "Rule",
        "Skipped",
        "Standing",
        "Terms",
        "Verdict",
        "build",
    ),
    "agentv_stream.api.adapter": (
        "Adapter",
        "NormalizedCall",
        "create_adapter",
        "decode_record",
        "normalize_tool_call",
    ),
    "agentv_stream.api.bobbin": ("parse_stream_json",),
    "agentv_stream.api.call": ("Call",),
    "agentv_stream.api.check": (
        "check",
        "check_async",
    ),
    "agentv_stream.api.session": (
        "Items",
        "Session",
        "read",
        "read_async",
        "sessions",
        "sessions_async",
    ),
    "agentv_stream.bulk": (
        "Failure",
        "Outcome",
        "import_sessions",
        "summarize_groups",
        "summarize_many",
    ),
    "agentv_stream.bulk.unit": ("Report:BulkReport", "Task:BulkTask"),
    "agentv_stream.checks.spec": (
        "Spec",
        "SpecCase",
        "load_spec",
    ),
    "agentv_stream.checks.yaml_lines": ("SpecError",),
    "agentv_stream.discovery.period": ("Period", "Zone"),
    "agentv_stream.otel.options": ("Export",),
    "agentv_stream.redaction.redaction": ("Redaction",),
    "agentv_stream.errors": (
        "AgentvStreamError",
        "DamagedArchive",
        "EmptyInput",
        "NotALog",
        "SinkError",
        "SourceError",
        "UsageError",
    ),
    "agentv_stream.following.cursor_database": ("CursorError",),
    "agentv_stream.following.follow_stream": (
        "FollowStream",
        "FollowedSession",
        "follow",
    ),
    "agentv_stream.live.live_stream": (
        "AnySource",
        "LiveStream",
        "open_stream",
    ),
    "agentv_stream.live.session_report": ("Report",),
    "agentv_stream.outputs.sink": ("Sink",),
    "agentv_stream.settings": ("Settings",),
    "agentv_stream.summary": ("summarize",),
}
_HOME_OF = {
    (public or own): (module, own)
    for module, names in _HOMES.items()
    for own, _, public in (name.partition(":") for name in names)
}
"""Public name -> its module and its name there, which differs where two modules use the same one."""


if not TYPE_CHECKING:  # else type checkers would take a misspelt name for Any

    def __getattr__(name: str) -> object:
        if name == "__version__":
            return import_module("agentv_stream.release").running_version()
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(home[0]), home[1])


def __dir__() -> list[str]:
    return sorted(__all__)
