"""Tokens in Codex's logs. In: counts of a model call, or cumulative totals. Out: token usage. Codex counts as we do."""

from operator import sub
from zlib import crc32

from msgspec import Raw
from msgspec.structs import astuple, replace

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import Source, TokenUsage
from agentv_stages.providers.codex.calls import Calls, State
from agentv_stages.providers.codex.wire import TOTAL, Payload, Tokens, counters, token_info


def recorded(decoder: Calls, p: Payload, source: Source, batch: Batch) -> None:
    """A record of one model call, which ends its answer."""
    usage = p.usage
    decoder.state.records = True
    if usage is None:
        batch.ignore("token_usage_record")
        return
    grown = crc32(p.thread_token_usage)  # distinguishes calls that share an id
    if p.response_id and decoder.state.repeats.again(f"{p.response_id} {grown}"):
        batch.ignore("token_usage_record, repeated")
        return
    key = p.response_id or f"u{source.row}"
    batch.events.append(of_call(replace(source, answer=grown or None), key, decoder.state.model, usage))
    decoder.end_answer()


def baseline(state: State, raw: Raw) -> None:
    """Sets the totals that a fork starts with: they were counted in its parent's log."""
    info = token_info(raw)
    if info is not None and info.total_token_usage is not None:
        state.totals = counters(info.total_token_usage)
        state.counted = raw


def counted(state: State, raw: Raw, source: Source, batch: Batch) -> None:
    """Emits the growth of the totals as one model call; repeated rows do not grow, and a smaller total began anew."""
    info = token_info(raw)
    total = info.total_token_usage if info is not None else None
    if info is None or state.records or (total is None and info.last_token_usage is None):
        batch.ignore("token_count")
        return
    if total is None:
        assert info.last_token_usage is not None
        used = info.last_token_usage
    else:
        now, before = counters(total), state.totals
        if now == before:
            batch.ignore("token_count, repeated")
            return
        shrunk = before is not None and not (now[TOTAL] >= before[TOTAL] and now[0] >= before[0])
        if shrunk and source.time_ms is not None and source.time_ms < (state.counted_ms or 0):
            batch.ignore("token_count, repeated")  # an earlier row; a total that began anew has a current time
            return
        state.totals, state.counted, state.counted_ms = now, raw, source.time_ms
        if before is not None and not shrunk:
            now = list(map(sub, now, before))
        elif before is None and info.last_token_usage is not None:
            # A resumed session's first total includes the tokens that were spent before this file.
            now = counters(info.last_token_usage)
        used = Tokens(*[None if part is None else n for n, part in zip(now, astuple(total), strict=True)])
    if not (used.input_tokens or used.output_tokens):
        batch.ignore("token_count, repeated")
        return
    batch.events.append(of_call(source, f"{state.session_id}:{source.row}", state.model, used))


def of_call(source: Source, key: str, model: str | None, used: Tokens) -> TokenUsage:
    """The tokens of one model call."""
    return TokenUsage(
        source,
        "",
        key,
        "call",
        model,
        used.input_tokens,
        used.cached_input_tokens,
        used.cache_write_input_tokens,
        None,
        used.output_tokens,
        used.reasoning_output_tokens,
    )


def of_thread(source: Source, key: str, used: Tokens) -> TokenUsage:
    """The tokens of a thread so far."""
    return TokenUsage(
        source,
        "",
        key,
        "session",
        None,
        used.input_tokens,
        used.cached_input_tokens,
        used.cache_write_input_tokens,
        None,
        used.output_tokens,
        used.reasoning_output_tokens,
    )
