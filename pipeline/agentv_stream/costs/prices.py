"""The cost of a session's tokens at list prices, by the price table of genai-prices (an extra); never invented.

The agent's own figure stays in `cost_usd`; the estimate is a separate field. It is null if a model is not in the table
or the log does not have the number of tokens. Prices are those of the day on which the session began. Where a
price depends on the size of a request, the session's mean request is used, because only sums are kept.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

from agentv_stages.figures.result import Result
from agentv_stages.model.tokens import TokenTotals
from agentv_stages.providers import get_provider
from agentv_stream.extras import extra

MOST_TOKENS = 10**15  # a log can claim any number, even a negative one: such are not priced
_CLOUD = re.compile(r"(?:(?:us|eu|apac|global|jp|au)\.)?(?:anthropic|amazon|meta|openai)\.|-v\d+:\d+\Z|@\d+\Z")


def check_installed() -> None:
    """Raises: UsageError where the extra is missing."""
    extra("genai_prices", "prices", "an estimate of costs")


def estimate_cost(result: Result) -> None:
    """Sets `estimated_cost_usd` and `price_table_date` of a result.

    Raises: UsageError where the extra is missing.
    """
    check_installed()
    result.price_table_date = price_table_date()
    result.estimated_cost_usd = _estimate(result)


@cache
def is_displayed(provider: str, dialect: str) -> bool:
    """Whether models have the names that are shown to people (`Auto`, `GPT-5`): which one was called is not known."""
    try:
        dialects = get_provider(provider).dialects
    except LookupError:
        return False
    return any(known.displayed_models for known in dialects if known.name == dialect)


def names_of(model: str) -> list[str]:
    """The names under which a model may be in the table: as it is, and without the parts that a cloud adds."""
    last = model.rpartition("/")[2]
    return list(dict.fromkeys((model, last, _CLOUD.sub("", last))))


def cost_text(result: Result) -> str:
    """The cost for people: the agent's own figure, the estimate, the difference; empty if neither is known."""
    reported, estimated = result.cost_usd, result.estimated_cost_usd
    if not isinstance(estimated, float):
        return f"${reported:.4f}" if reported is not None else ""
    if reported is None:
        return f"${estimated:.4f} estimated"
    percent = round(100 * (estimated - reported) / reported) if reported else 0  # an int, which has no -0
    deviation = f", {percent:+d} %" if percent else ""
    return f"${reported:.4f} (estimated ${estimated:.4f}{deviation})"


@cache
def price_table_date() -> str:
    """The newest effective date of a price in the table, and the version of the package that contains it."""
    from importlib.metadata import version

    snapshot: Any = extra("genai_prices.data_snapshot", "prices", "an estimate of costs").get_snapshot()
    newest, today = "", datetime.now(UTC).date().isoformat()
    for provider in snapshot.providers:
        for model in provider.models:
            for price in dated_prices(model.prices):
                start = getattr(price.constraint, "start_date", None)
                if start is not None and start.isoformat() <= today:
                    newest = max(newest, start.isoformat())
    return f"{newest} (genai-prices {version('genai-prices')})"


def dated_prices(prices: Any) -> list[Any]:
    """A model's prices if it has several, each with the day from which it applies."""
    return list(prices) if isinstance(prices, list) else []  # pyright: ignore[reportUnknownArgumentType] - the table's


def _estimate(result: Result) -> float | None:
    if is_displayed(result.session.provider, result.session.dialect):
        return None
    by_model = shares_of(result.session.model, result.tokens, result.tokens_by_model)
    if not by_model:
        return None
    total = Decimal(0)
    when = result.session.started_at
    at = datetime.fromisoformat(when) if when is not None else None
    for name, tokens in by_model.items():
        price = _price(name, tokens, max(1, result.model_calls), at)
        if price is None:
            return None
        total += price
    return float(total)


def shares_of(
    model: str | None, tokens: TokenTotals, tokens_by_model: Mapping[str, TokenTotals]
) -> dict[str, TokenTotals]:
    """Each model's part of the session's tokens; none if a part belongs to an unknown model."""
    by_model = {name: part for name, part in tokens_by_model.items() if any(part.values())}
    model = next(iter(by_model), model)
    if len(by_model) <= 1:
        by_model = {model: tokens} if model is not None else {}
    whole = sum(part.input or 0 for part in by_model.values()) == (tokens.input or 0)
    return by_model if whole else {}


def _price(model: str, tokens: TokenTotals, calls: int, at: datetime | None) -> Decimal | None:
    """The price of a model's tokens; None for an unknown model or unknown tokens."""
    prices = extra("genai_prices", "prices", "an estimate of costs")
    if tokens.input is None or tokens.output is None:
        return None
    fields = {
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "cache_read_tokens": tokens.cached,
        "cache_write_tokens": tokens.cache_write,
        "cache_write_1h_tokens": tokens.cache_write_1h,
    }
    if any(value is not None and not 0 <= value < MOST_TOKENS for value in fields.values()):
        return None
    with localcontext(prec=80):
        # Cut off at the same place, so that the parts of the mean input are never more than it is, which has no price.
        usage = prices.Usage(
            **{name: Decimal(value * 10**40 // calls).scaleb(-40) for name, value in fields.items() if value}
        )
        for name in names_of(model):
            try:
                found = prices.calc_price(usage, name, genai_request_timestamp=at)
            except (LookupError, ValueError):
                continue
            return Decimal(found.total_price) * calls
    return None
