"""Qwen Code's bridge to tools that the model was not shown: a call of `tool_call` is a call of the tool that it names.

Source: Qwen Code 0.24.4, `{"name":"web_fetch","arguments":{…}}`; its telemetry and its ACP name the tool itself.
"""

from msgspec import Raw, Struct, ValidationError
from msgspec.json import Decoder

BRIDGE = "tool_call"


class _Envelope(Struct, gc=False):
    name: str
    arguments: Raw


_decode = Decoder(_Envelope).decode


def asked(name: str, given: Raw) -> tuple[str, Raw]:
    """Name and arguments of the tool that was asked for; if the envelope has another shape, those of the bridge."""
    if name != BRIDGE:
        return name, given
    try:
        envelope = _decode(given)
    except ValidationError:
        return name, given
    return (envelope.name, envelope.arguments) if envelope.name else (name, given)
