"""Turns of AgentV's normalised transcript to events."""

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import EMPTY_OBJECT, AssistantText, Reasoning, Source, ToolCall, ToolResult, UserText
from agentv_stages.model.payload import given, text_json
from agentv_stages.model.times import whole_ms
from agentv_stages.providers.generic.messages import OUTCOMES, at_time, usage_event
from agentv_stages.providers.generic.wire import Tokens, Turn


def turn_events(turn: Turn, made_id: str, source: Source, at: str, batch: Batch) -> int:
    """Appends the events of a turn; returns the number of its calls without a result.

    The format does not keep the order of texts and calls within a turn; `tool_name` is a category, `name` the tool.
    """
    message_id = turn.id or made_id
    source = at_time(source, turn.ts)
    events = batch.events
    unanswered = 0
    for i, block in enumerate(turn.content or ()):
        own = f"{at}-{i}"
        kind = block.type
        if turn.type != "assistant":
            if given(block.text):
                events.append(UserText(source, own, block.text, message_id, turn.type == "system"))
            else:
                batch.ignore(f"block/{kind}")
        elif kind == "text" and given(block.text):
            events.append(AssistantText(source, own, message_id, block.text, False, False, turn.model))
        elif kind == "thinking" and given(block.text):
            events.append(Reasoning(source, own, message_id, text_json(block.text), False, turn.model))
        elif kind == "tool_use":
            call_id = block.id or f"{message_id}-tool-{i + 1}"
            name = block.name or block.tool_name or "unknown"
            arguments = block.input if given(block.input) else EMPTY_OBJECT
            events.append(ToolCall(source, own, message_id, call_id, name, arguments, None, turn.model))
            result = block.result
            outcome = OUTCOMES.get(result.status or "") if result else None
            output = result.output if result and given(result.output) else None
            if result is None or (outcome is None and output is None):
                unanswered += 1
            else:
                duration = whole_ms(result.duration_ms)
                events.append(ToolResult(at_time(source, None), own, call_id, output, outcome, None, duration))
        else:
            batch.ignore(f"block/{kind}")
    if turn.input_tokens is not None or turn.output_tokens is not None:
        tokens = Tokens(turn.input_tokens, turn.output_tokens)
        events.append(usage_event(source, at, message_id, tokens, turn.model))
    return unanswered
