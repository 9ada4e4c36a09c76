"""Calls and messages of a finished session in the order in which they began, with little held back.

In: batches of a `SessionReader`. A call waits for its result, and those behind it wait for their turn. Past
`MOST_WAITING` items or `MOST_BYTES` of their records the first one no longer holds up the others: it comes when it is
complete. So memory does not grow with the session, whatever stays open.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AssistantText, Reasoning, ToolCall, ToolResult, call_key
from agentv_stages.model.message import Message
from agentv_stages.model.turns import Turns
from agentv_stream.api.call import Call
from agentv_stream.summary import SessionReader

MOST_WAITING = 10_000
MOST_BYTES = 32 * 1024 * 1024


def calls_in_order(batches: Iterable[Batch]) -> Iterator[Call]:
    """Each call once, with its result; those without one come at the end of the input, or where the log closes them."""
    turns = Turns()
    waiting: deque[Call] = deque()
    open_calls: dict[str, Call] = {}
    overtaken: set[int] = set()  # indexes of open calls that no longer hold up others
    count = held = 0
    for batch in batches:
        for event in batch.events:
            if isinstance(event, AssistantText | Reasoning):
                turns.turn_of(event)
            elif isinstance(event, ToolCall):
                call = Call(count, turns.turn_of(event), event)
                count += 1
                open_calls[call_key(event)] = call
                waiting.append(call)
                held += event.source.length
            elif isinstance(event, ToolResult) and event.call is not None and not event.partial:
                call_of = open_calls.pop(call_key(event.call), None)
                if call_of is None:
                    continue
                call_of.result = event
                if call_of.index in overtaken:
                    overtaken.remove(call_of.index)
                    yield call_of
                    continue
                held += event.source.length
            while waiting and (waiting[0].result is not None or len(waiting) > MOST_WAITING or held > MOST_BYTES):
                first = waiting.popleft()
                held -= first.request.source.length
                if first.result is None:
                    overtaken.add(first.index)
                else:
                    held -= first.result.source.length
                    yield first
    yield from waiting
    yield from sorted((call for call in open_calls.values() if call.index in overtaken), key=lambda call: call.index)


def messages_in_order(reader: SessionReader, batches: Iterable[Batch]) -> Iterator[Message]:
    """Each message, complete, by `index`. `reader` must consolidate messages."""
    consolidate = reader.chain.consolidate
    assert consolidate is not None
    ready: list[tuple[int, int, Message]] = []
    held = count = 0
    for batch in batches:
        for message in batch.messages:
            count += 1
            held += _length(message)
            heappush(ready, (message.index, count, message))
        first = consolidate.first_unfinished
        while ready and (first is None or ready[0][0] < first or len(ready) > MOST_WAITING or held > MOST_BYTES):
            message = heappop(ready)[2]
            held -= _length(message)
            yield message
    while ready:
        yield heappop(ready)[2]


def _length(message: Message) -> int:
    """About how many bytes of the log a message holds."""
    calls = sum(len(call.call.input_json) + _output(call.result) for call in message.calls)
    return message.source.length + calls + sum(map(len, message.content)) + sum(map(len, message.thinking))


def _output(result: ToolResult | None) -> int:
    return 0 if result is None or result.output_json is None else len(result.output_json)
