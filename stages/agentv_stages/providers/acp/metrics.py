"""The tokens and the cost of the session so far, which OpenHands' agent adds to each update.

Source: OpenHands CLI 1.16.0, `openhands acp`; input includes cached tokens, output includes reasoning.
"""

import msgspec
from msgspec import Struct, field

from agentv_stages.model.event import Source, TokenUsage
from agentv_stages.providers.acp.state import AcpState


class Metrics(Struct, gc=False):
    """Cost in US dollars; 0.0 if the price is not known."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None


class Fields(Struct, gc=False):
    metrics: Metrics | None = field(name="openhands.dev/metrics", default=None)


class Meta(Struct, gc=False):
    field_meta: Fields | None = None


class Params(Struct, gc=False):
    meta: Meta | None = field(name="_meta", default=None)


class Update(Struct, gc=False):
    params: Params | None = None


_decode = msgspec.json.Decoder(Update).decode


def spent(state: AcpState, data: bytes, source: Source) -> TokenUsage | None:
    """The session's total from an update; None if nothing was spent since the last one."""
    try:
        params = _decode(data).params
    except msgspec.ValidationError:  # the update itself was accepted
        return None
    fields = params.meta.field_meta if params is not None and params.meta is not None else None
    told = fields.metrics if fields is not None else None
    if told is None or not told.input_tokens or (told.input_tokens, told.output_tokens) == state.spent:
        return None
    state.spent = (told.input_tokens, told.output_tokens)
    return TokenUsage(
        *(source, "-metrics", "metrics", "session", state.model, told.input_tokens, told.cache_read_tokens, None, None),
        *(told.output_tokens, told.reasoning_tokens, True, True, told.cost or None),
    )
