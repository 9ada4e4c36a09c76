"""Tokens and cost of Continue's sessions: of each answer, and of the session, whose total includes more.

The total has also the calls of sub-agents and compactions, which are not in the history; in a fork it begins at 0,
while the history begins with a copy of the parent's. With Anthropic's API Continue counts prompt tokens without what
was read from and written to caches, and these apart.
Source: Continue CLI 1.5.47, `session.ts`, `streamChatResponse.helpers.ts`, its adapters and recorded runs.
"""

from collections.abc import Iterable, Sequence

from agentv_stages.model.event import Source, TokenUsage
from agentv_stages.model.tokens import Tokens
from agentv_stages.providers.continue_.wire import CompletionDetails, Item, PromptDetails, Total, TotalDetails, Usage

_GUESSED = (1, 2)
"""Dollars that Continue assumes for a million tokens of a prompt and of an answer where it knows no price."""
_SMALLEST = 1e-9  # dollars: differences below it are from rounding


def answer_usage(source: Source, part: str, key: str, used: Usage) -> TokenUsage | None:
    """The tokens of one answer; None if the server gave none, which are zeros in Anthropic's adapter."""
    prompt = used.prompt_tokens_details or PromptDetails()
    details = used.completion_tokens_details or CompletionDetails()
    read, write, tokens = prompt.cache_read_tokens, prompt.cache_write_tokens, used.prompt_tokens
    if tokens is not None and _counted_apart(used):
        tokens += (read or 0) + (write or 0)
    if not tokens and not used.completion_tokens:
        return None
    cached = prompt.cached_tokens if read is None else read
    counted = (tokens, cached, write, None, used.completion_tokens, details.reasoning_tokens)
    return TokenUsage(source, part, key, "call", used.model, *counted)


def _counted_apart(used: Usage) -> bool:
    """Whether the prompt tokens exclude cached ones: not with the AI SDK, whose models are `<provider>/<model>`."""
    prompt = used.prompt_tokens_details
    return prompt is not None and prompt.cache_read_tokens is not None and "/" not in (used.model or "")


def session_usage(source: Source, answers: Sequence[tuple[Usage, TokenUsage]], total: Total) -> TokenUsage | None:
    """The session's total; None if it contains nothing.

    It is emitted even if it is the sum of the answers: for a moment it includes an answer that the history lacks.
    """
    cost = _cost(total)
    if total.promptTokens is None or _sums(used for used, _ in answers) == (total.promptTokens, total.completionTokens):
        sums = Tokens()
        for _, counted in answers:
            sums.add(counted)
        if cost is None and not sums.known():
            return None
        tokens = (sums.input, sums.cached, sums.cache_write, None, sums.output, sums.reasoning)
        if total.promptTokens is None and total.completionTokens not in (None, sums.output):  # it is of more answers
            tokens = (None, None, None, None, total.completionTokens, None)
    else:  # the log does not say what of the rest was cached, or reasoning
        details = total.promptTokensDetails or TotalDetails()
        beside = (details.cachedTokens or 0) + (details.cacheWriteTokens or 0)
        if any("/" in (used.model or "") for used, _ in answers):
            beside = 0
        tokens = (total.promptTokens + beside, None, None, None, total.completionTokens, None)
    return TokenUsage(source, "-total", "total", "session", None, *tokens, covers_streams=True, cost_usd=cost)


def _cost(total: Total) -> float | None:
    """The cost that Continue reports; None if it knew no price, and so assumed one for all calls."""
    cost = total.totalCost
    if not cost or total.promptTokens is None or total.completionTokens is None:
        return None
    assumed = (total.promptTokens * _GUESSED[0] + total.completionTokens * _GUESSED[1]) / 1_000_000
    return None if abs(cost - assumed) < _SMALLEST else cost


def copied(items: Sequence[tuple[int, Item]], total: Total | None) -> int:
    """How many items at the beginning a fork copied from its parent, which counts them.

    The total is the sum of the session's own answers, which are the last ones, behind a prompt. 0 if there are no such.
    """
    if total is None or total.promptTokens is None or total.completionTokens is None:
        return 0
    wanted = (total.promptTokens, total.completionTokens)
    found = [(i, usage) for i, (_, item) in enumerate(items) if (usage := _usage_of(item)) is not None]
    prompt, completion = _sums(usage for _, usage in found)
    if prompt <= wanted[0] or completion < wanted[1]:
        return 0
    own, first_own = (0, 0), len(items)
    for i, usage in reversed(found):
        if own == wanted:
            return next((at for at in range(i + 1, first_own) if _is_prompt(items[at][1])), 0)
        own, first_own = (own[0] + (usage.prompt_tokens or 0), own[1] + (usage.completion_tokens or 0)), i
    return 0


def _is_prompt(item: Item) -> bool:
    return item.message is not None and item.message.role == "user"


def _usage_of(item: Item) -> Usage | None:
    return item.message.usage if item.message is not None else None


def _sums(usages: Iterable[Usage]) -> tuple[int, int]:
    """Prompt and completion tokens as Continue counts them."""
    counted = [(usage.prompt_tokens or 0, usage.completion_tokens or 0) for usage in usages]
    return sum(prompt for prompt, _ in counted), sum(completion for _, completion in counted)
