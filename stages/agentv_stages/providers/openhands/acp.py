"""OpenHands' habits over ACP: arguments name their own class; each update has the tokens and the cost so far.

Source: OpenHands CLI 1.16.0, `openhands acp`; input includes cached tokens, output includes reasoning.
"""

import re

import msgspec
from msgspec import Struct, field

from agentv_stages.model.acp import AcpHabits, Arguments, Spent

_KIND = re.compile(r"(?!MCPTool)(?P<name>[A-Za-z]+)Action\Z")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


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


def name_in_arguments(arguments: Arguments) -> str | None:
    """`FileEditorAction` is the class of `file_editor`'s arguments."""
    match = _KIND.match(str(arguments.get("kind")))
    return _HUMP.sub("_", match["name"]).lower() if match else None


def spent(data: bytes) -> Spent | None:
    """The usage so far, from an update; None if the update has none."""
    try:
        params = _decode(data).params
    except msgspec.ValidationError:  # the update itself was accepted
        return None
    fields = params.meta.field_meta if params is not None and params.meta is not None else None
    metrics = fields.metrics if fields is not None else None
    if metrics is None or not metrics.input_tokens:
        return None
    return Spent(
        *(metrics.input_tokens, metrics.output_tokens, metrics.cache_read_tokens, metrics.reasoning_tokens),
        metrics.cost or None,
    )


HABITS = AcpHabits(marks=("openhands",), name_in_arguments=name_in_arguments, spent=spent)
