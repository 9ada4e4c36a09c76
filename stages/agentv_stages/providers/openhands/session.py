"""A conversation of OpenHands on disk to events: a file for each event, and `base_state.json`, which is read last.

The state has what no event has: the model, the folder, the tokens and costs. The conversation's id is also the name of
its folder.
End rule: as in the stream; the state also shows whether a run was paused or stuck in a loop.
Source: OpenHands CLI 1.16.0, openhands-sdk 1.21.0 and 1.58.2.

The usage of a conversation, from its state: each model call by the id of its answer, and the total.

The metrics count from the conversation's beginning. They include those of sub-agents (`task:…`, `delegate:…`) once
their task is over, with the ids that their own states have; so does the total.
Source: openhands-sdk 1.21.0 and 1.58.2, `stats` in `base_state.json`.
"""

import re
from collections.abc import Iterator

from msgspec import Raw, Struct

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import MAIN, SessionEnd, SessionInfo, Source, Status, TokenUsage
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.tokens import known_sum
from agentv_stages.providers.openhands.events import emit, source_of
from agentv_stages.providers.openhands.wire import (
    Conversation,
    Counts,
    Metrics,
    Stats,
    decode_conversation,
    decode_event,
)

_OF_SUBAGENTS = ("task:", "delegate:")


def spent(source: Source, stats: Stats) -> Iterator[TokenUsage]:
    """The model's calls, then the total; nothing if there were none."""
    metrics = list(stats.usage_to_metrics.values())
    calls = 0
    for name, used in stats.usage_to_metrics.items():
        for counts in used.token_usages:
            key = counts.response_id or f"call-{calls}"
            yield _usage(source, f"-{calls}", key, counts, name.startswith(_OF_SUBAGENTS))
            calls += 1
    if calls:
        yield _total(source, metrics)


def _usage(source: Source, part: str, key: str, counts: Counts, of_subagent: bool) -> TokenUsage:
    return TokenUsage(
        *(source, part, key, "call", counts.model, counts.prompt_tokens, counts.cache_read_tokens),
        *(counts.cache_write_tokens, None, counts.completion_tokens, counts.reasoning_tokens),
        of_subagent=of_subagent,
    )


def _total(source: Source, metrics: list[Metrics]) -> TokenUsage:
    """The total of the session, or of a sub-agent, whose cost the session's includes. 0.0 means an unknown price."""
    main = source.stream == MAIN
    sums = [entry.accumulated_token_usage for entry in metrics if entry.accumulated_token_usage is not None]
    cost = sum(entry.accumulated_cost or 0.0 for entry in metrics) or None
    return TokenUsage(
        source,
        "-total",
        "total",
        "session",
        input=known_sum(entry.prompt_tokens for entry in sums),
        cached=known_sum(entry.cache_read_tokens for entry in sums),
        cache_write=known_sum(entry.cache_write_tokens for entry in sums),
        output=known_sum(entry.completion_tokens for entry in sums),
        reasoning=known_sum(entry.reasoning_tokens for entry in sums),
        covers_streams=main,
        cost_usd=cost if main else None,
    )


LOSSES = (
    "the agent's version; of each answer the model; tokens of a run that was killed",
    "the zone of its times, which are taken as UTC; when its state was written",
    "that the user went back in a conversation: the abandoned part still counts",
)
_ENDS: dict[str, Status] = {"paused": "interrupted", "stuck": "error"}
_FOLDER = re.compile(r"(?:\A|/)(\w{8})-?(\w{4})-?(\w{4})-?(\w{4})-?(\w{12})/events/event-[^/]*\Z")


class State(Struct):
    """`begun`: an event was read, so the session was emitted."""

    begun: bool = False


class SessionDecoder:
    """Decoder of `openhands-session`: of events, or of a conversation's state."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        context = self.context
        event = decode_event(record.data)
        if event.kind is None:
            self._conversation(decode_conversation(record.data), record, batch)
            return
        source = source_of(event, record, context.file, context.stream)
        if not self.state.begun:
            self.state.begun = True
            place = _FOLDER.search((context.place or context.file).replace("\\", "/"))
            if place is not None and context.stream == MAIN:
                batch.events.append(SessionInfo(source, "-place", "-".join(place.groups())))
        emit(event, source, record, batch)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _conversation(self, state: Conversation, record: Record, batch: Batch) -> None:
        if state.execution_status is None:
            batch.unknown_type("document", record)
            return
        source, add = self.context.source(record), batch.events.append
        model = state.agent.llm.model if state.agent is not None and state.agent.llm is not None else None
        cwd = state.workspace.working_dir if state.workspace is not None else None
        add(SessionInfo(source, "-state", state.id, model, None, cwd))
        if state.stats is not None:
            batch.events.extend(spent(source, state.stats))
        status = _ENDS.get(state.execution_status)
        if status is not None:
            add(SessionEnd(source, "-state", status, state.execution_status, result_json=Raw(b"null")))
