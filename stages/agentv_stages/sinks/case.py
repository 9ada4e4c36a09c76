"""The one-line-per-case form of AgentV 4.15 (shape A): the messages in order, and the totals.

The members of a message are in camel case there; payloads are kept as they were. `element` renders each message when it
is complete; the caller stores these and passes them to `line` sorted by index, as nothing in them says their order.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from agentv_stages.model.event import MAIN
from agentv_stages.model.message import Message, PairedCall
from agentv_stages.model.times import iso_bytes
from agentv_stages.model.tokens import Tokens
from agentv_stages.sinks.transcript import Identity, text_or_blocks, valid_utf8

_encode = msgspec.json.Encoder().encode


class CaseLine:
    """Renders one case: `element` for each message, `line` once."""

    def __init__(self) -> None:
        self._input: Message | None = None

    def element(self, message: Message) -> bytes:
        """The message as an element of `output`."""
        if message.role == "user" and not message.injected and message.source.stream == MAIN:
            if self._input is None or message.index < self._input.index:
                self._input = message
        parts: list[Any] = []
        _message(message, parts)
        return valid_utf8(b"".join(parts))

    def line(
        self,
        elements: Iterable[bytes],
        identity: Identity,
        tokens: Tokens,
        cost_usd: float | None,
        duration_ms: int | None,
    ) -> Iterator[bytes]:
        """The line, piece by piece. `elements`: what `element` returned, sorted by the index of the messages."""
        prompt = self._input.text if self._input is not None else ""
        source = msgspec.json.decode(identity.source(), type=dict[str, Any])
        members: dict[str, Any] = {"input": prompt, "cost_usd": cost_usd, "source": source}
        usage = {"input": tokens.input, "output": None if tokens.unsure else tokens.output, "cached": tokens.cached}
        known = {name: value for name, value in usage.items() if value is not None}
        if known:
            members["token_usage"] = known
        if duration_ms is not None:
            members["duration_ms"] = duration_ms
        yield b'{"output":['
        before = b""
        for element in elements:
            yield before + element
            before = b","
        yield b"]," + _encode(members)[1:] + b"\n"


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
