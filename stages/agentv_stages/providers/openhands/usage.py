"""The usage of a conversation, from its state: each model call by the id of its answer, and the total.

The metrics count from the conversation's beginning. They include those of sub-agents (`task:…`, `delegate:…`) once
their task is over, with the ids that their own states have; so does the total.
Source: openhands-sdk 1.21.0 and 1.58.2, `stats` in `base_state.json`.
"""

from collections.abc import Iterator

from agentv_stages.model.event import MAIN, Source, TokenUsage
from agentv_stages.model.tokens import known_sum
from agentv_stages.providers.openhands.wire import Counts, Metrics, Stats

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
