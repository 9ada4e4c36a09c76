"""Kimi's token counts, as docs/metrics.md defines them. Source: Kimi Code 2.1.0, `usage.record`."""

from agentv_stages.model.event import Source, TokenUsage
from agentv_stages.providers.kimi.wire import Usage


def usage_event(source: Source, key: str, model: str | None, usage: Usage | None) -> TokenUsage | None:
    """Usage of one model call; `input` includes the caches. None if all is 0: the call broke off."""
    if usage is None:
        return None
    plain, cached, written, output = usage.inputOther, usage.inputCacheRead, usage.inputCacheCreation, usage.output
    if not (plain or cached or written or output):
        return None
    total = None if plain is None else plain + (cached or 0) + (written or 0)
    return TokenUsage(source, "", key, "call", model, total, cached, written, None, output)
