"""Tokens in Copilot's events: a model call's usage or a run's metrics in, token usage out."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import Source, TokenUsage
from agentv_stages.model.repeats import checksum
from agentv_stages.model.tokens import known_sum
from agentv_stages.providers.copilot import notices, wire
from agentv_stages.providers.copilot.state import Events

Scope: TypeAlias = Literal["call", "segment", "session"]
MOST_KEYS = 64


def recorded(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """A model call, as logs on disk have it."""
    _tokens(at, line, source, wire.decode_record(line.data).usage, batch)


def called(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """A model call, as the SDK prints it."""
    _tokens(at, line, source, wire.decode_usage(line.data), batch)


def _tokens(at: Events, line: wire.Rare, source: Source, usage: wire.Usage | None, batch: Batch) -> None:
    """On disk a call's record precedes its answer: its usage is held back, to be emitted with that answer."""
    if usage is None:
        batch.ignore(line.kind + "/empty")
        return
    if usage.parentToolCallId and not line.agentId:
        stream = f"subagent:{at.state.agents.get(usage.parentToolCallId, usage.parentToolCallId)}"
        source = msgspec.structs.replace(source, stream=stream)
    key = usage.apiCallId or source.base_id or f"u{source.row}"
    at.state.usage_keys.append(key)
    if usage.apiCallId:  # some model servers give the same id to several responses (Ollama picks one of 999)
        key = f"{key}:{usage.inputTokens}:{usage.outputTokens}"
    del at.state.usage_keys[:-MOST_KEYS]
    at.state.usage = _token_usage(source, key, "call", usage.model, usage)


def compacted(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """A compaction: its result, and the model call that it took, which has no record of its own."""
    notices.notice(at, line, source, batch)
    data = wire.decode_compaction(line.data)
    used = data.compactionTokensUsed
    if used is None or used.inputTokens is None or at.state.repeats.again(line.id, checksum(line.data)):
        return
    key = data.requestId or source.base_id or f"u{source.row}"
    batch.events.append(_token_usage(source, key, "call", used.model, used))
    known = at.state.compactions
    at.state.compactions = _sum((known, used)) if known else used


def of_run(at: Events, data: wire.Shutdown, source: Source, batch: Batch) -> None:
    """The totals of a run at its end, all models and sub-agents together.

    A fork's totals include its parent's calls, and after a rewind they lack some; then the single calls are summed
    instead.
    """
    state = at.state
    if state.forked or (state.rewound and state.usage_keys):
        return
    parts = [m.usage for m in (data.modelMetrics or {}).values() if m.usage is not None]
    if not parts:
        return
    # with a snapshot (1.0.102) a resumed session's totals continue; without one (1.0.34) each run counted from zero
    scope: Scope = "session" if data.accountingSnapshot not in wire.NOTHING else "segment"
    model = next(iter(data.modelMetrics or {})) if len(parts) == 1 else data.currentModel
    if scope == "session" and state.compactions is not None:
        parts.append(state.compactions)
    key = source.base_id or f"u{source.row}"
    batch.events.append(_token_usage(source, key, scope, model, _sum(parts), True))


def _sum(parts: Sequence[wire.Usage]) -> wire.Usage:
    return wire.Usage(
        inputTokens=known_sum(p.inputTokens for p in parts),
        outputTokens=known_sum(p.outputTokens for p in parts),
        cacheReadTokens=known_sum(p.cacheReadTokens for p in parts),
        cacheWriteTokens=known_sum(p.cacheWriteTokens for p in parts),
        reasoningTokens=known_sum(p.reasoningTokens for p in parts),
    )


def _token_usage(
    source: Source, key: str, scope: Scope, model: str | None, usage: wire.Usage, covers_streams: bool = False
) -> TokenUsage:
    return TokenUsage(
        source,
        "",
        key,
        scope,
        model,
        usage.inputTokens,
        usage.cacheReadTokens,
        usage.cacheWriteTokens,
        None,
        usage.outputTokens,
        usage.reasoningTokens,
        True,
        covers_streams,
    )
