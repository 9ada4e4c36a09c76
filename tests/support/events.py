"""Events by hand, in few words."""

from typing import Any

from msgspec import Raw

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    AnyEvent,
    AssistantText,
    Outcome,
    Reasoning,
    SessionEnd,
    Source,
    Status,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import to_raw


def at(row: int, time_ms: int | None = None, stream: str = "main") -> Source:
    return Source("log", row, row * 100, 99, time_ms, stream, f"b{row}")


def text(
    row: int, said: str, message: str = "m1", *, stream: str = "main", delta: bool = False, **more: Any
) -> AnyEvent:
    return AssistantText(at(row, more.pop("time_ms", None), stream), "", message, to_raw(said), delta, **more)


def thought(row: int, said: str, message: str = "m1", *, delta: bool = False) -> AnyEvent:
    return Reasoning(at(row), "", message, to_raw(said), delta)


def user(row: int, said: str, *, stream: str = "main", injected: bool = False) -> AnyEvent:
    return UserText(at(row, None, stream), "", to_raw(said), f"u{row}", injected)


def call(
    row: int, call_id: str, name: str = "Read", message: str = "m1", *, stream: str = "main", **more: Any
) -> ToolCall:
    given = to_raw(more.pop("given", {}))
    more = {"tool": name, **more}
    return ToolCall(at(row, more.pop("time_ms", None), stream), "", message, call_id, name, given, **more)


def result(
    row: int, call_id: str, outcome: Outcome | None = "ok", *, output: Any = "out", stream: str = "main", **more: Any
) -> ToolResult:
    raw: Raw | None = None if output is None else to_raw(output)
    return ToolResult(at(row, more.pop("time_ms", None), stream), "", call_id, raw, outcome, **more)


def usage(row: int, key: str, *, stream: str = "main", **more: Any) -> TokenUsage:
    return TokenUsage(at(row, None, stream), "", key, **more)


def end(row: int, status: Status = "complete", *, stream: str = "main", **more: Any) -> AnyEvent:
    return SessionEnd(at(row, None, stream), "", status, **more)


def batch(*events: AnyEvent) -> Batch:
    return Batch("log", events=list(events))
