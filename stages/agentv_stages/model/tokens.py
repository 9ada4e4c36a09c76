"""Sums of tokens: usage of model calls in, one sum and its public form out."""

from collections.abc import Iterable

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from agentv_stages.model.event import TokenUsage
from agentv_stages.model.keyed import Keyed

FIELDS = ("input", "cached", "cache_write", "cache_write_1h", "output", "reasoning")
PICO = 10**12


def is_unsure(usage: TokenUsage) -> bool:
    """Whether the output of a model call is only a placeholder, or is not in the log."""
    return not usage.output_final or usage.output is None


def is_blind(usage: TokenUsage) -> bool:
    """Whether a model call says what came out, and not what went in."""
    return usage.input is None and usage.output is not None


class Tokens(Struct, gc=False):
    """Sums as docs/metrics.md defines them; a field that no record reports stays None."""

    input: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = None
    output: int | None = None
    reasoning: int | None = None
    unsure: int = 0  # model calls whose output was only a placeholder, or is not in the log
    cost_pico: int | None = None  # in 1e-12 dollars: a sum of binary fractions depends on the order
    web_searches: int | None = None  # that the server made: billed per use, not by tokens
    blind: int = 0  # model calls whose output is in the log, but not their input

    def add(self, other: "Tokens | TokenUsage", sign: int = 1) -> None:
        """Adds another sum or one model call; with `sign` -1, subtracts it."""
        if other.input is not None:
            self.input = (self.input or 0) + sign * other.input
        if other.cached is not None:
            self.cached = (self.cached or 0) + sign * other.cached
        if other.cache_write is not None:
            self.cache_write = (self.cache_write or 0) + sign * other.cache_write
        if other.cache_write_1h is not None:
            self.cache_write_1h = (self.cache_write_1h or 0) + sign * other.cache_write_1h
        if other.output is not None:
            self.output = (self.output or 0) + sign * other.output
        if other.reasoning is not None:
            self.reasoning = (self.reasoning or 0) + sign * other.reasoning
        if other.web_searches is not None:
            self.web_searches = (self.web_searches or 0) + sign * other.web_searches
        if isinstance(other, TokenUsage):
            self.unsure += sign * is_unsure(other)
            self.blind += sign * is_blind(other)
            cost = pico(other.cost_usd) if other.cost_usd is not None else None
        else:
            self.unsure += sign * other.unsure
            self.blind += sign * other.blind
            cost = other.cost_pico
        if cost is not None:
            self.cost_pico = (self.cost_pico or 0) + sign * cost

    @property
    def cost_usd(self) -> float | None:
        return None if self.cost_pico is None else self.cost_pico / PICO

    def copy(self) -> "Tokens":
        return replace(self)

    def less(self, part: "Tokens | None") -> "Tokens":
        """A copy minus `part`."""
        rest = self.copy()
        if part is not None:
            rest.add(part, -1)
        return rest

    def lacks(self, other: "Tokens") -> bool:
        """Whether a figure is unknown here and known in `other`."""
        return any(getattr(self, name) is None is not getattr(other, name) for name in (*FIELDS, "cost_pico"))

    def known(self) -> bool:
        return self.input is not None or self.output is not None


class TokenTotals(Keyed, frozen=True):
    """Tokens of a session; None where the log does not say. `input` includes `cached` and `cache_write`, `output`
    includes `reasoning`. `output` is None and `output_at_least` set where only placeholders were seen."""

    input: int | None
    cached: int | None
    cache_write: int | None
    cache_write_1h: int | None
    output: int | None
    reasoning: int | None
    output_at_least: int | UnsetType = UNSET


def token_totals(tokens: Tokens) -> TokenTotals:
    """The public form: an output that is only a lower bound is `output_at_least`, and `output` is None. So is `input`
    where a call does not say its own.
    """
    known_input = None if tokens.blind else tokens.input
    bound = tokens.output if tokens.unsure and tokens.output is not None else UNSET
    output = tokens.output if bound is UNSET else None
    return TokenTotals(
        known_input, tokens.cached, tokens.cache_write, tokens.cache_write_1h, output, tokens.reasoning, bound
    )


def output_text(tokens: TokenTotals) -> str:
    """The output for people: `?` if unknown, `≥` before a lower bound."""
    if tokens.output_at_least is not UNSET:
        return f"≥{tokens.output_at_least:,}"
    return "?" if tokens.output is None else f"{tokens.output:,}"


def better(old: TokenUsage, new: TokenUsage) -> TokenUsage:
    """The better of two records of one model call: a final one, or the larger output. The other fills its gaps."""
    if new.output_final != old.output_final:
        first, second = (new, old) if new.output_final else (old, new)
    elif (new.output or 0) >= (old.output or 0):
        first, second = new, old
    else:
        first, second = old, new
    place = new if old.of_subagent and not new.of_subagent else old  # the sub-agent's own stream, or the first
    return TokenUsage(
        place.source,
        old.part,
        old.key,
        "call",
        old.model or new.model,
        _either(first.input, second.input),
        _either(first.cached, second.cached),
        _either(first.cache_write, second.cache_write),
        _either(first.cache_write_1h, second.cache_write_1h),
        _either(first.output, second.output),
        _either(first.reasoning, second.reasoning),
        first.output_final,
        False,
        first.cost_usd if first.cost_usd is not None else second.cost_usd,
        of_subagent=place.of_subagent,
        web_searches=_larger(old.web_searches, new.web_searches),
    )


def possible(usage: TokenUsage) -> TokenUsage:
    """The usage without impossible figures (below 0): agents subtract, and a log can claim any number."""
    u = usage  # a loop over the names would take five times as long
    if u.cost_usd is not None and possible_usd(u.cost_usd) is None:
        u = usage = replace(usage, cost_usd=None)
    if (u.web_searches or 0) < 0:
        u = usage = replace(usage, web_searches=None)
    if (u.input or 0) >= 0 and (u.cached or 0) >= 0 and (u.cache_write or 0) >= 0 and (u.cache_write_1h or 0) >= 0:
        if (u.output or 0) >= 0 and (u.reasoning or 0) >= 0:
            return usage
    return replace(usage, **{name: None for name in FIELDS if (getattr(usage, name) or 0) < 0})


def possible_usd(cost_usd: float | None) -> float | None:
    """The cost; None for an impossible cost: below 0, not finite or 1e15 and more."""
    return cost_usd if cost_usd is not None and 0 <= cost_usd < 1e15 else None


def pico(usd: float) -> int:
    """Dollars in units of 1e-12, whose sums are exact."""
    return round(usd * PICO)


def added_usd(before: float, usd: float) -> float:
    """The exact sum of two costs; the second as it is if there was nothing before."""
    return (pico(before) + pico(usd)) / PICO if before else usd


def known_sum(values: Iterable[int | None]) -> int | None:
    """The sum of the figures that are not None; None if all are."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _larger(value: int | None, other: int | None) -> int | None:
    return other if value is None else value if other is None else max(value, other)


def _either(value: int | None, other: int | None) -> int | None:
    return other if value is None else value
