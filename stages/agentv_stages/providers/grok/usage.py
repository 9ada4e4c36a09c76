"""Grok's token counts, as docs/metrics.md defines them. Source: Grok Build 1.0.41, recordings and user guide."""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from agentv_stages.model.event import MAIN, Source, TokenUsage
from agentv_stages.model.tokens import known_sum
from agentv_stages.providers.grok.wire import Ledger, Spent

TICKS = 10_000_000_000
_MOST_MODELS = 100
_COUNTS = ("inputTokens", "cachedReadTokens", "cacheCreationTokens", "outputTokens", "reasoningTokens")


class Spending(Struct):
    """The sum of a run's model calls, so that a total that covers less is left out.

    `input_before` and `output_before` are what the calls before the last end exceeded its total by: where two runs
    write into one file at the same time, they are calls of the run that has not ended.
    """

    input: int = 0
    output: int = 0
    input_before: int = 0
    output_before: int = 0

    def add(self, usage: TokenUsage) -> None:
        self.input += usage.input or 0
        self.output += usage.output or 0

    def covers(self, usage: TokenUsage) -> bool:
        """Whether the calls cover a total: it has only the prompt's turn, they also have the turns after it."""
        told, written = self.input + self.input_before, self.output + self.output_before
        return told >= (usage.input or 0) and written >= (usage.output or 0)

    def after(self, total: TokenUsage | None) -> "Spending":
        """The calls that are not in the total with which a run has ended."""
        if total is None or not self.covers(total):
            return Spending()
        told, written = self.input + self.input_before, self.output + self.output_before
        return Spending(0, 0, told - (total.input or 0), written - (total.output or 0))


def spent(
    source: Source,
    key: str,
    model: str | None,
    usage: Spent | None,
    scope: Literal["call", "segment"] = "call",
) -> TokenUsage | None:
    """The tokens in a stream; `input` includes the caches. None if all are 0, as for an answer without counts."""
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
    """Cost so far in ticks, and each model's tokens; the cost is unknown once a turn reports none."""

    ticks: int | None = 0
    models: dict[str, Ledger] = {}

    def turn(self, ledger: Ledger) -> None:
        """Adds a finished turn of the main agent."""
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
        """The sum in dollars; None if it is not fully known."""
        return None if self.ticks is None else self.ticks / TICKS


def of_turn(source: Source, ledger: Ledger, running: Iterable[str]) -> TokenUsage:
    """The tokens of a turn on disk; the main agent's include those of its sub-agents that have ended with it, and not
    those of the sessions that are still `running`.
    """
    separate = tuple(f"subagent:{session}" for session in running)
    model = only_model(ledger.modelUsage) if source.stream != MAIN else None  # the main agent's has shares
    return _total(source, "", f"turn-{source.row}", "segment", model, ledger, separate)


def of_model(source: Source, part: str, model: str, ledger: Ledger) -> TokenUsage:
    """A model's share of the session so far."""
    return _total(source, part, model, "share", model, ledger)


def _total(
    source: Source,
    part: str,
    key: str,
    scope: Literal["segment", "share"],
    model: str | None,
    ledger: Ledger,
    separate: tuple[str, ...] = (),
) -> TokenUsage:
    return TokenUsage(
        *(source, part, key, scope, model, ledger.inputTokens, ledger.cachedReadTokens),
        *(ledger.cacheCreationTokens, None, ledger.outputTokens, ledger.reasoningTokens),
        covers_streams=scope == "segment" and source.stream == MAIN,
        apart=separate,
    )


def only_model(used: Mapping[str, object] | None) -> str | None:
    """The model of a run that used only one."""
    return next(iter(used)) if used is not None and len(used) == 1 else None
