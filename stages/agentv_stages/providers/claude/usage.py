"""Claude's token counts, as docs/metrics.md defines them: of a model call, of a session, of each of its models."""

from msgspec import structs

from agentv_stages.model.event import Source, TokenUsage
from agentv_stages.model.tokens import known_sum
from agentv_stages.providers.claude.wire import ModelUsage, Usage


def token_usage(source: Source, key: str, usage: Usage, model: str | None, final: bool) -> TokenUsage:
    """Usage of one API call; `input` includes the cache reads and writes that Anthropic counts separately."""
    cached, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    plain = usage.input_tokens
    total = None if plain is None else plain + (cached or 0) + (written or 0)
    hour = usage.cache_creation.ephemeral_1h_input_tokens if usage.cache_creation else None
    searches = usage.server_tool_use.web_search_requests if usage.server_tool_use else None
    output = usage.output_tokens
    return TokenUsage(
        source, "", key, "call", model, total, cached, written, hour, output, None, final, web_searches=searches
    )


def session_usage(source: Source, by_model: dict[str, ModelUsage], cost: float | None) -> TokenUsage:
    """The session's total over all its models, sub-agents included."""
    known = by_model.values()
    silent = any(m.input_tokens is None is not m.output_tokens for m in known)
    mute = any(m.output_tokens is None is not m.input_tokens for m in known)
    cached = known_sum(m.cache_read_input_tokens for m in known)
    written = known_sum(m.cache_creation_input_tokens for m in known)
    plain = known_sum(m.input_tokens for m in known)
    return TokenUsage(
        source,
        "",
        "modelUsage",
        "session",
        None,
        None if plain is None or silent else plain + (cached or 0) + (written or 0),
        cached,
        written,
        known_sum(m.cache_creation_ephemeral_1h_input_tokens for m in known),
        None if mute else known_sum(m.output_tokens for m in known),
        known_sum(m.thinking_tokens for m in known),
        True,
        True,
        cost,
        web_searches=known_sum(m.web_search_requests for m in known),
    )


def model_shares(source: Source, by_model: dict[str, ModelUsage]) -> list[TokenUsage]:
    """Each model's share of the session's total."""
    return [
        structs.replace(
            session_usage(source, {name: usage}, usage.cost_usd),
            part=f"-model-{n}",
            scope="share",
            model=name,
            covers_streams=False,
        )
        for n, (name, usage) in enumerate(by_model.items())
    ]


def less(total: TokenUsage, part: TokenUsage) -> TokenUsage:
    """A session's total minus a part of it; a count that either one lacks stays as in `total`."""

    def rest(of: int | None, without: int | None) -> int | None:
        return of if of is None or without is None else max(of - without, 0)

    cost = total.cost_usd
    if cost is not None and part.cost_usd is not None:
        cost = round(cost - part.cost_usd, 10)  # without binary rounding noise
    return structs.replace(
        total,
        input=rest(total.input, part.input),
        cached=rest(total.cached, part.cached),
        cache_write=rest(total.cache_write, part.cache_write),
        cache_write_1h=rest(total.cache_write_1h, part.cache_write_1h),
        output=rest(total.output, part.output),
        reasoning=rest(total.reasoning, part.reasoning),
        web_searches=rest(total.web_searches, part.web_searches),
        cost_usd=cost,
    )


def more(total: TokenUsage, part: TokenUsage) -> TokenUsage:
    """The sum of two runs' totals."""
    costs = [cost for cost in (total.cost_usd, part.cost_usd) if cost is not None]
    return structs.replace(
        total,
        input=known_sum((total.input, part.input)),
        cached=known_sum((total.cached, part.cached)),
        cache_write=known_sum((total.cache_write, part.cache_write)),
        cache_write_1h=known_sum((total.cache_write_1h, part.cache_write_1h)),
        output=known_sum((total.output, part.output)),
        reasoning=known_sum((total.reasoning, part.reasoning)),
        web_searches=known_sum((total.web_searches, part.web_searches)),
        cost_usd=sum(costs) if costs else None,
    )
