"""Tokens in ACP: each agent counts them differently; here they get the one meaning of docs/metrics.md."""

from agentv_stages.model.acp import Spent
from agentv_stages.model.event import Source, TokenUsage
from agentv_stages.providers.acp import wire
from agentv_stages.providers.acp.habits import habits_of
from agentv_stages.providers.acp.state import AcpState


def of_call(state: AcpState, meta: wire.Meta, answer_id: str, source: Source) -> TokenUsage:
    """Qwen: one model call, in the chunk that ends its text. Input includes cached tokens, output the thoughts."""
    used = meta.usage or wire.CallUsage()
    return TokenUsage(
        source,
        "-usage",
        answer_id,
        "call",
        state.model,
        used.input,
        used.cached,
        used.cachedWriteTokens,
        None,
        used.output,
        used.thoughts,
    )


def of_prompt(state: AcpState, result: wire.Result, source: Source) -> TokenUsage | None:
    """The total of a prompt, from its answer; sub-agents are included (Copilot) or not (Gemini).

    OpenCode reports only its last step: that is the total if the prompt took one step; otherwise it is not used.
    """
    if state.usage_marks:
        return None
    key = f"prompt-{source.row}"
    count = result.meta.quota.token_count if result.meta and result.meta.quota else None
    if count is not None and count.input_tokens is not None:
        final = not state.thoughts  # Gemini omits its thoughts from the output
        return TokenUsage(
            source,
            "-usage",
            key,
            "segment",
            state.model,
            count.input_tokens,
            output=count.output_tokens,
            output_final=final,
        )
    used = result.usage
    if used is None or used.inputTokens is None or not (used.totalTokens or used.inputTokens):
        return None
    habits = habits_of(state.agent)
    if habits.last_step_only and state.called:
        return None
    read, write, output = used.cachedReadTokens or 0, used.cachedWriteTokens or 0, used.outputTokens or 0
    total, prompt, thought = used.totalTokens, used.inputTokens, used.thoughtTokens or 0
    extra = habits.cache_apart
    if not state.agent and total is not None:  # the total shows whether the cached tokens are counted beside the input
        extra = read + write > 0 and total in (
            prompt + read + write + output,
            prompt + read + write + output + thought,
        )
    separate = bool(thought) and (extra or total == prompt + output + thought)
    return TokenUsage(
        source,
        "-usage",
        key,
        "segment",
        state.model,
        prompt + (read + write if extra else 0),
        used.cachedReadTokens,
        used.cachedWriteTokens,
        None,
        None if used.outputTokens is None else output + (thought if separate else 0),
        used.thoughtTokens,
        True,
        True,
    )


def of_session(state: AcpState, metrics: Spent, source: Source) -> TokenUsage:
    """The session's total so far, from an agent that adds it to its updates."""
    return TokenUsage(
        *(source, "-metrics", "metrics", "session", state.model, metrics.input, metrics.cached, None, None),
        *(metrics.output, metrics.reasoning, True, True, metrics.cost_usd),
    )
