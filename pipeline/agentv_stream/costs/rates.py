"""List prices per token of a model: computed once from genai-prices, whose import takes longer than most answers.

In: a model's name, and its tokens of one day. Out: dollars. A rate depends on the day, and for some models on the
size of a request; for a span of calls the mean request decides.
"""

from bisect import bisect_right
from collections.abc import Mapping
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct

from agentv_stages.figures.dated import SLOT_MS, Span
from agentv_stages.figures.result import Result
from agentv_stages.figures.session_figures import SessionFigures
from agentv_stages.model.event import TokenUsage
from agentv_stages.model.times import nearest_date_ms, parse_iso
from agentv_stages.model.tokens import PICO, Tokens, TokenTotals
from agentv_stream.costs.prices import (
    MOST_TOKENS,
    check_installed,
    dated_prices,
    is_displayed,
    names_of,
    price_table_date,
    shares_of,
)
from agentv_stream.extras import extra
from agentv_stream.release import installed

ATTO = 10**18
_PICO_IN_ATTO = 10**6
_NOON = time(12)


class Tier(Struct, array_like=True, frozen=True):
    """Prices of one token (and of one web search) in 1e-18 dollars for requests with at least `least` input tokens."""

    least: int
    fresh: int
    cached: int
    written: int
    written_1h: int
    output: int
    web_search: int


class DatedTiers(Struct, array_like=True, frozen=True):
    """The tiers from a day on, as its number since the year 1; without tiers the model has no price.

    `window` is the largest context of the model in tokens, None if the table does not have it.
    """

    day: int
    tiers: list[Tier]
    window: int | None = None


class Spent(Struct, frozen=True):
    """The facts that decide the cost of a session; `by_model` are the parts of `tokens`."""

    provider: str
    dialect: str
    model: str | None
    started_ms: int | None
    tokens: TokenTotals
    by_model: Mapping[str, TokenTotals]
    model_calls: int


def installed_version() -> str | None:
    """The version of genai-prices; None if it is not installed."""
    return installed("genai-prices")


_decode = msgspec.json.Decoder(list[DatedTiers]).decode


class Rates:
    """Estimates costs of sessions. `known` are rates by model that an earlier run computed, `new` those of this one."""

    def __init__(self) -> None:
        self.known: dict[str, list[DatedTiers]] = {}
        self.new: dict[str, list[DatedTiers]] = {}
        self._table: str | None = None

    def take(self, model: str, data: bytes) -> None:
        """Takes the rates of a model that an earlier run computed; those of no model are the date of the table.

        Raises: msgspec.MsgspecError.
        """
        if model:
            self.known[model] = _decode(data)
        else:
            self._table = msgspec.json.decode(data, type=str)

    @property
    def table(self) -> str:
        """The date of the price table."""
        if self._table is None:
            self._table = price_table_date()
        return self._table

    def estimate(self, session: SessionFigures, spans: list[Span]) -> list[int] | None:
        """The cost of each span in 1e-12 dollars. None if a model has no price, or tokens are not known."""
        tokens = session.figures.tokens
        if tokens.unsure or not tokens.sums.keys() >= {"input", "output"}:
            return None
        if is_displayed(session.provider, session.dialect) or not any(map(_used, spans)):
            return None
        costs: list[int] = []
        for span in spans:
            cost = self._cost(span) if _used(span) else 0
            if cost is None:
                return None
            costs.append(cost)
        return costs

    def of_result(self, result: Result) -> float | None:
        """The cost of a session in dollars, by the prices of its first day and its mean request."""
        session = result.session
        started_ms = None if session.started_at is None else parse_iso(session.started_at)
        return self.cost_of(Spent(
            session.provider, session.dialect, session.model, started_ms, result.tokens, result.tokens_by_model,
            result.model_calls,
        ))  # fmt: skip

    def cost_of(self, spent: Spent) -> float | None:
        """As `of_result`, from the facts that it needs."""
        tokens = spent.tokens
        if is_displayed(spent.provider, spent.dialect) or tokens.input is None or tokens.output is None:
            return None
        models = shares_of(spent.model, tokens, spent.by_model)
        slot = None if spent.started_ms is None else spent.started_ms // SLOT_MS
        costs = [
            None if part.output is None else self._cost(Span(slot, model, model_calls=spent.model_calls, tokens=Tokens(
                part.input, part.cached, part.cache_write, part.cache_write_1h, part.output, part.reasoning
            )))
            for model, part in models.items()
        ]  # fmt: skip
        known = [cost for cost in costs if cost is not None]
        return sum(known) / PICO if known and len(known) == len(costs) else None

    def of_call(self, usage: TokenUsage, model: str | None) -> float | None:
        """The cost of a model call in dollars; None if the model has no price or tokens are not known."""
        if usage.input is None or usage.output is None or not usage.output_final:
            return None
        at = usage.source.time_ms
        parts = (usage.input, usage.cached, usage.cache_write, usage.cache_write_1h, usage.output, usage.reasoning)
        slot = None if at is None else at // SLOT_MS
        cost = self._cost(Span(slot, usage.model or model, model_calls=1, tokens=Tokens(*parts)))
        return None if cost is None else cost / PICO

    def window(self, model: str | None) -> int | None:
        """The largest context of a model in tokens; None if it is not known. An agent may use less of it."""
        return self._rates(model)[0].window if model is not None else None

    def _cost(self, span: Span) -> int | None:
        tiers = self._tiers(span.model, span.slot) if span.model is not None else None
        parts = _parts(span.tokens)
        if not tiers or parts is None:
            return None
        mean = (span.tokens.input or 0) // max(1, span.model_calls)
        tier = tiers[max(0, bisect_right([band.least for band in tiers], mean) - 1)]
        rates = (tier.fresh, tier.cached, tier.written, tier.written_1h, tier.output)
        searches = tier.web_search * (span.tokens.web_searches or 0)
        return round((searches + sum(rate * count for rate, count in zip(rates, parts, strict=True))) / _PICO_IN_ATTO)

    def _rates(self, model: str) -> list[DatedTiers]:
        rates = self.known.get(model)
        if rates is None:
            rates = self.known[model] = self.new[model] = rates_of(model)
        return rates

    def _tiers(self, model: str, slot: int | None) -> list[Tier]:
        rates = self._rates(model)
        day = (datetime.now(UTC) if slot is None else _moment(slot)).toordinal()
        return next((dated.tiers for dated in reversed(rates) if dated.day <= day), rates[0].tiers)


def rates_of(model: str) -> list[DatedTiers]:
    """The rates of a model by the first day on which they apply. Of prices that depend on the hour, those at noon UTC.

    Raises: UsageError where genai-prices is not installed.
    """
    prices = extra("genai_prices", "prices", "an estimate of costs")
    snapshot: Any = extra("genai_prices.data_snapshot", "prices", "an estimate of costs").get_snapshot()
    for name in names_of(model):
        try:
            _, info = snapshot.find_provider_model(name, None, None, None)
        except (LookupError, ValueError):
            continue
        starts = (getattr(price.constraint, "start_date", None) for price in dated_prices(info.prices))
        days = sorted({datetime.min.date(), *(start for start in starts if start is not None)})
        try:
            return [DatedTiers(day.toordinal(), _tiers_on(prices, info, day), info.context_window) for day in days]
        except (LookupError, ValueError, ArithmeticError):
            continue
    return [DatedTiers(1, [])]


def _tiers_on(prices: Any, info: Any, day: Any) -> list[Tier]:
    price: Any = info.get_prices(datetime.combine(day, _NOON, UTC))
    members: dict[str, Any] = price.__dict__
    starts: set[int] = {tier.start for value in members.values() for tier in getattr(value, "tiers", ())}
    out: list[Tier] = []
    for least in sorted({0, *(start + 1 for start in starts)}):
        size = Decimal(max(1, least))

        def of(size: Decimal = size, **usage: Decimal) -> Decimal:
            return Decimal(price.calc_price(prices.Usage(input_tokens=size, **usage))["total_price"])

        fresh = of()
        each = (
            fresh / size,
            of(cache_read_tokens=size) / size,
            of(cache_write_tokens=size) / size,
            of(cache_write_tokens=size, cache_write_1h_tokens=size) / size,
            of(output_tokens=Decimal(1)) - fresh,
            of(web_searches=Decimal(1)) - fresh,
        )
        out.append(Tier(least, *(round(rate * ATTO) for rate in each)))
    return out


def _used(span: Span) -> bool:
    tokens = span.tokens
    return bool(tokens.input or tokens.output or tokens.cached or tokens.cache_write)


def _parts(tokens: Tokens) -> tuple[int, int, int, int, int] | None:
    """Fresh, cached and written input, that which is kept for an hour, and output; None for impossible figures."""
    cached, written, written_1h = tokens.cached or 0, tokens.cache_write or 0, tokens.cache_write_1h or 0
    fresh = (tokens.input or 0) - cached - written
    parts = (fresh, cached, written - written_1h, written_1h, tokens.output or 0)
    return parts if all(0 <= count < MOST_TOKENS for count in parts) else None


def _moment(slot: int) -> datetime:
    return datetime.fromtimestamp(nearest_date_ms(slot * SLOT_MS) / 1000, UTC)


def rates_if(wanted: bool | None) -> Rates | None:
    """Returns an estimator of costs; None if estimates are not wanted, or (`wanted` None) not installed.

    Raises: UsageError where it is wanted and not installed.
    """
    if wanted is False:
        return None
    if installed_version() is None:
        if wanted:
            check_installed()
        return None
    return Rates()
