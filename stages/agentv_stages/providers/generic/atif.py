"""ATIF trajectories to events: one document is one session; its embedded sub-agents are streams of that session.

Copied context (`is_copied_context`) is not counted again.
End rule: none.
Source: harbor 0.25, ATIF 1.0 to 1.8.
"""

from msgspec import Raw, Struct

from agentv_stages.chain.pruning import read_each
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import decode_json, has_value, one_line, plain_text, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import Time, parse_iso, whole_ms
from agentv_stages.providers.generic.tools import own_call
from agentv_stages.providers.generic.wire import (
    AtifCallExtra,
    AtifDocument,
    AtifExtra,
    AtifMetrics,
    AtifResultExtra,
    AtifSession,
    AtifStep,
    decode_atif,
    decode_call_extra,
    decode_extra,
    decode_result_extra,
    decode_session,
    first_byte,
    read_free,
)

_STRING = 34
_DEEPEST = 8
_NO_EXTRA, _NO_CALL, _NO_FACTS, _NO_SESSION = AtifExtra(), AtifCallExtra(), AtifResultExtra(), AtifSession()


class State(Struct):
    """Empty: documents are independent of each other."""


class AtifDecoder:
    """Decoder of `atif`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        document = decode_atif(one_line(record.data))
        inner = _unfold(document, 0, record, batch)
        if document.steps is None:
            batch.unknown_type(document.schema_version or "no trajectory", record)
            return
        self._trajectory(document, self.context.stream, self.context.parent_call, "", record, batch)
        parents = _parents(document)
        for index, child in enumerate(inner):
            parents.update(_parents(child))
            name = child.trajectory_id or child.session_id or str(index)
            self._trajectory(child, f"subagent:{name}", parents.get(name), f"-s{index}", record, batch)

    def flush(self, batch: Batch) -> None:
        pass

    def _source(self, record: Record, stream: str, timestamp: Time) -> Source:
        return Source(self.context.file, record.row, record.offset, record.length, parse_iso(timestamp), stream)

    def _trajectory(
        self, document: AtifDocument, stream: str, parent: str | None, at: str, record: Record, batch: Batch
    ) -> None:
        agent = document.agent
        model = agent.model_name if agent else None
        steps = document.steps or []
        source = self._source(record, stream, steps[0].timestamp if steps else None)
        session = read_free(document.extra, decode_session) or _NO_SESSION
        if not at:
            version = agent.version if agent else None
            batch.events.append(SessionInfo(source, "", document.session_id, model, version, session.cwd))
        open_calls = 0
        for index, step in enumerate(steps):
            if step.is_copied_context:
                batch.ignore("copied step")
                continue
            open_calls += self._step(step, stream, model, parent, f"{at}-{index}", record, batch)
        totals = document.final_metrics
        if totals is not None and (
            totals.total_prompt_tokens or totals.total_completion_tokens or totals.total_cost_usd is not None
        ):
            extra = read_free(totals.extra, decode_extra) or _NO_EXTRA
            batch.events.append(
                TokenUsage(
                    source,
                    f"{at}-total",
                    "final_metrics",
                    "session",
                    model,
                    totals.total_prompt_tokens,
                    totals.total_cached_tokens,
                    extra.cache_creation_input_tokens,
                    None,
                    totals.total_completion_tokens,
                    extra.reasoning_tokens,
                    True,
                    False,
                    totals.total_cost_usd,
                )
            )
        if not at and steps:
            last = steps[-1]
            complete = last.source == "agent" and not last.tool_calls and open_calls == 0
            status = session.status or ("complete" if complete else "unknown")
            end = self._source(record, stream, last.timestamp)
            took, certain = whole_ms(session.duration_ms), session.status is not None
            batch.events.append(SessionEnd(end, "-end", status, session.reason, None, took, certain=certain))

    def _step(
        self, step: AtifStep, stream: str, model: str | None, parent: str | None, at: str, record: Record, batch: Batch
    ) -> int:
        """Appends a step; returns the number of calls that it leaves open."""
        source = self._source(record, stream, step.timestamp)
        message_id = f"m{record.row}{at}"
        events = batch.events
        text = _text(step.message)
        if step.source != "agent":
            if has_value(text):
                events.append(UserText(source, at, text, message_id, step.source == "system"))
        else:
            model = step.model_name or model
            if has_value(step.reasoning_content):
                events.append(Reasoning(source, at, message_id, _text(step.reasoning_content), False, model))
            silent = not step.tool_calls and not has_value(step.reasoning_content) and step.metrics is not None
            if has_value(text) and (len(text) > 2 or silent):  # a model call is a turn, whatever of it the log has
                synthetic = step.llm_call_count == 0
                events.append(AssistantText(source, at, message_id, text, False, synthetic, model))
        waiting: set[str] = set()
        for i, call in enumerate(step.tool_calls or ()):
            call_id = call.tool_call_id or f"{message_id}-{i}"
            waiting.add(call_id)
            arguments = call.arguments if has_value(call.arguments) else EMPTY_OBJECT
            name = call.function_name or "unknown"
            facts = read_free(call.extra, decode_call_extra) or _NO_CALL
            caller = facts.parent_call or parent
            call_event = ToolCall(source, f"{at}-{i}", message_id, call_id, name, arguments, caller, model)
            events.append(own_call(call_event, facts))
        untimed = self._source(record, stream, None)
        for i, result in enumerate(step.observation.results if step.observation else ()):
            call_id = result.source_call_id or (next(iter(waiting)) if len(waiting) == 1 else "")
            if not call_id:
                batch.ignore("observation without a call")
                continue
            waiting.discard(call_id)
            output = result.content if has_value(result.content) else None
            extra = read_free(result.extra, decode_result_extra) or _NO_FACTS
            failed = extra.is_error or extra.tool_result_is_error
            outcome = extra.outcome or ("error" if failed else None)
            took = whole_ms(extra.duration_ms)
            events.append(ToolResult(untimed, f"{at}-{i}", call_id, output, outcome, extra.exit_code, took))
        if step.metrics is not None:
            events.append(_usage(source, at, message_id, step.metrics, model))
        return len(waiting)


def _unfold(document: AtifDocument, depth: int, record: Record, batch: Batch) -> list[AtifDocument]:
    """The sub-agents' trajectories; those of their own sub-agents follow them."""
    found: list[AtifDocument] = []
    if depth < _DEEPEST:
        children = read_each(document.subagent_trajectories or (), decode_atif, "subagent_trajectories", record, batch)
        for _, child in children:
            found.append(child)
            found.extend(_unfold(child, depth + 1, record, batch))
    return found


def _parents(document: AtifDocument) -> dict[str, str]:
    """Sub-agent -> the call whose observation names it."""
    found: dict[str, str] = {}
    for step in document.steps or ():
        for result in step.observation.results if step.observation else ():
            for reference in result.subagent_trajectory_ref or ():
                name = reference.trajectory_id or reference.session_id
                if name and result.source_call_id:
                    found[name] = result.source_call_id
    return found


def _text(raw: Raw) -> Raw:
    return raw if not has_value(raw) or first_byte(raw) == _STRING else to_raw(plain_text(decode_json(raw)))


def _usage(source: Source, at: str, key: str, metrics: AtifMetrics, model: str | None) -> TokenUsage:
    extra = read_free(metrics.extra, decode_extra) or _NO_EXTRA
    return TokenUsage(
        source,
        at,
        key,
        "call",
        model,
        metrics.prompt_tokens,
        metrics.cached_tokens,
        extra.cache_creation_input_tokens,
        None,
        metrics.completion_tokens,
        extra.reasoning_tokens,
        True,
        False,
        metrics.cost_usd,
    )
