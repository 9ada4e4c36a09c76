"""The one-line-per-case form of AgentV 4.15 (shape A): messages as they come, totals at the end, in bounded memory.

The members of a message are in camel case there; payloads stay as they were. The line is `{"output":[…],"input":…}`:
the order of members means nothing in JSON, and so nothing has to be held back.
"""

from typing import Any

import msgspec

from agentv_stages.message import Message, PairedCall
from agentv_stages.sinks.transcript import Identity, text_or_blocks, valid_utf8
from agentv_stages.times import iso_bytes
from agentv_stages.tokens import Tokens

_encode = msgspec.json.Encoder().encode


class CaseLine:
    """Renders one case; `render` for each batch of messages, `close` once."""

    def __init__(self) -> None:
        self._begun = False
        self._input: str | None = None

    def render(self, messages: list[Message]) -> bytes:
        """The messages as array elements; the first call opens the line."""
        parts: list[Any] = []
        for message in messages:
            parts.append(b"," if self._begun else b'{"output":[')
            self._begun = True
            if self._input is None and message.role == "user" and not message.injected:
                self._input = message.text
            _message(message, parts)
        return valid_utf8(b"".join(parts))

    def close(self, identity: Identity, tokens: Tokens, cost_usd: float | None, duration_ms: int | None) -> bytes:
        """The end of the line."""
        source = msgspec.json.decode(identity.source(), type=dict[str, Any])
        members: dict[str, Any] = {"input": self._input or "", "cost_usd": cost_usd, "source": source}
        usage = {"input": tokens.input, "output": None if tokens.unsure else tokens.output, "cached": tokens.cached}
        known = {name: value for name, value in usage.items() if value is not None}
        if known:
            members["token_usage"] = known
        if duration_ms is not None:
            members["duration_ms"] = duration_ms
        opening = b"" if self._begun else b'{"output":['
        return opening + b"]," + _encode(members)[1:] + b"\n"


def _message(message: Message, parts: list[Any]) -> None:
    parts.append(b'{"role":"%b"' % message.role.encode())
    content = message.content
    if len(content) == 1:
        parts += (b',"content":', text_or_blocks(content[0]))
    elif content:
        parts += (b',"content":', _encode(message.text))
    if message.calls and message.role != "tool":
        parts.append(b',"toolCalls":[')
        for i, paired in enumerate(message.calls):
            if i:
                parts.append(b",")
            _call(paired, parts)
        parts.append(b"]")
    started, ended = message.source.time_ms, message.end_ms
    if started is not None:
        parts.append(b',"startTime":"%b"' % iso_bytes(started))
        if ended is not None and ended >= started:
            parts.append(b',"endTime":"%b","durationMs":%d' % (iso_bytes(ended), ended - started))
    parts.append(b"}")


def _call(paired: PairedCall, parts: list[Any]) -> None:
    call, result = paired.call, paired.result
    parts += (
        b'{"tool":',
        _encode(call.tool or call.name),
        b',"input":',
        call.input_json,
        b',"id":',
        _encode(call.call_id),
    )
    if result is not None and result.output_json is not None:
        parts += (b',"output":', result.output_json)
    if result is not None and result.duration_ms is not None:
        parts.append(b',"durationMs":%d' % result.duration_ms)
    parts.append(b"}")
