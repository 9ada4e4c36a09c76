"""Grok's token counts in the meaning of docs/metrics.md. Source: Grok Build 1.0.41, recordings and user guide."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from agentv_stages.event import MAIN, Source, TokenUsage
from agentv_stages.providers.grok.wire import Ledger, Spent
from agentv_stages.tokens import known_sum

TICKS = 10_000_000_000
_MOST_MODELS = 100
_COUNTS = ("inputTokens", "cachedReadTokens", "cacheCreationTokens", "outputTokens", "reasoningTokens")


class Spending(Struct):
    """What the model calls of one run came to, so that a total that knows less is left out."""

    input: int = 0
    output: int = 0

    def add(self, usage: TokenUsage) -> None:
        self.input += usage.input or 0
        self.output += usage.output or 0

    def covers(self, usage: TokenUsage) -> bool:
        """Whether the calls tell all that a total does: it has only the turn of the prompt, they those behind it."""
        return self.input >= (usage.input or 0) and self.output >= (usage.output or 0)


def spent(
    source: Source,
    key: str,
    model: str | None,
    usage: Spent | None,
    scope: Literal["call", "segment"] = "call",
) -> TokenUsage | None:
    """Of a stream: input gains the caches' shares. None where all is 0, which stands for an answer without counts."""
    if usage is None:
        return None
    plain, output = usage.input_tokens, usage.output_tokens
    read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    if not (plain or read or written or output):
        return None
    total = None if plain is None else plain + (read or 0) + (written or 0)
    reasoning = usage.reasoning_tokens
    covers = scope == "segment"
    return TokenUsage(
        source, "-usage", key, scope, model, total, read, written, None, output, reasoning, covers_streams=covers
    )


class Bill(Struct):
    """Cost so far in ticks, and what each model had; nothing more is said of the cost once a turn told none."""

    ticks: int | None = 0
    models: dict[str, Ledger] = {}

    def turn(self, ledger: Ledger) -> None:
        """A turn of the main agent has ended."""
        priced = ledger.costUsdTicks is not None and not ledger.costIsPartial
        self.ticks = self.ticks + (ledger.costUsdTicks or 0) if priced and self.ticks is not None else None
        for name, used in (ledger.modelUsage or {}).items():
            known = self.models.get(name)
            if known is None:
                if len(self.models) < _MOST_MODELS:
                    self.models[name] = used
                continue
            for count in _COUNTS:
                setattr(known, count, known_sum((getattr(known, count), getattr(used, count))))

    @property
    def cost_usd(self) -> float | None:
        """The sum in dollars; None where it is not known in full."""
        return None if self.ticks is None else self.ticks / TICKS


def of_turn(source: Source, ledger: Ledger) -> TokenUsage:
    """Of a turn on disk; that of the main agent holds what its sub-agents spent, too."""
    return _total(source, "", f"turn-{source.row}", "segment", None, ledger)


def of_model(source: Source, part: str, model: str, ledger: Ledger) -> TokenUsage:
    """What a model had of the session so far."""
    return _total(source, part, model, "share", model, ledger)


def _total(
    source: Source, part: str, key: str, scope: Literal["segment", "share"], model: str | None, ledger: Ledger
) -> TokenUsage:
    return TokenUsage(
        *(source, part, key, scope, model, ledger.inputTokens, ledger.cachedReadTokens),
        *(ledger.cacheCreationTokens, None, ledger.outputTokens, ledger.reasoningTokens),
        covers_streams=scope == "segment" and source.stream == MAIN,
    )


def only_model(used: Mapping[str, object] | None) -> str | None:
    """The model of a run that used one alone."""
    return next(iter(used)) if used is not None and len(used) == 1 else None
