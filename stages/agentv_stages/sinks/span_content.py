"""The texts of people, models and tools as attributes of spans: payloads in, JSON texts out, redacted and cut.

The forms are those of the GenAI conventions: messages are a list of roles with parts. A model call shows the new part
of its input, not the whole conversation again.
"""

from typing import Any

import msgspec
from msgspec import Raw

from agentv_stages.model.message import Message, PairedCall
from agentv_stages.model.otlp import Attribute
from agentv_stages.model.payload import decode_json, replace_surrogates, to_raw
from agentv_stages.redaction.redactor import Redactor
from agentv_stages.sinks.plain_content import plain_content

MOST_BYTES = 60 * 1024  # of an attribute
LONGEST = 20 * 1024  # of one text in it, as JSON
MOST_INPUTS = 256  # messages of one input


class SpanContent:
    """Makes the attributes of one session. `inputs` holds, by stream, the inputs since the last answer, as JSON."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self.inputs: dict[str, list[str]] = {}

    def prompted(self, message: Message) -> None:
        """A message of the user, or of the agent's program."""
        self._add(message.source.stream, _message("user", [_text(self._plain(message.content))]))

    def answered(self, message: Message) -> None:
        """An answer of the model is complete: the results of its calls are the next input."""
        for paired in message.calls:
            result = paired.result
            if result is not None and result.outcome != "unpaired":
                output = None if result.output_json is None else self._value(result.output_json)
                part = {"type": "tool_call_response", "id": paired.call.call_id, "response": output}
                self._add(message.source.stream, _message("tool", [part]))

    def _add(self, stream: str, message: str) -> None:
        inputs = self.inputs.setdefault(stream, [])
        if len(inputs) < MOST_INPUTS:
            inputs.append(message)

    def of_chat(self, message: Message) -> dict[str, Attribute]:
        """Input and output of a model call."""
        parts: list[dict[str, Any]] = []
        if message.thinking:
            parts.append({"type": "reasoning", "content": _cut(self._plain(message.thinking))})
        if message.content and (text := self._plain(message.content)):
            parts.append(_text(text))
        for paired in message.calls:
            call = paired.call
            arguments = self._value(call.input_json)
            parts.append({"type": "tool_call", "id": call.call_id, "name": call.name, "arguments": arguments})
        out: dict[str, Attribute] = {}
        inputs = self.inputs.pop(message.source.stream, [])
        if inputs:
            out["gen_ai.input.messages"] = _list(inputs)
        out["gen_ai.output.messages"] = f"[{_message('assistant', parts)}]"
        return out

    def of_call(self, paired: PairedCall) -> dict[str, Attribute]:
        """Arguments and result of a call."""
        out: dict[str, Attribute] = {"gen_ai.tool.call.arguments": _as_text(self._value(paired.call.input_json))}
        result = paired.result
        if result is not None and result.output_json is not None:
            out["gen_ai.tool.call.result"] = _as_text(self._value(result.output_json))
        return out

    @staticmethod
    def of_agent(first: str, last: str) -> dict[str, Attribute]:
        """The prompt and the last answer of an agent."""
        out: dict[str, Attribute] = {}
        if first:
            out["gen_ai.input.messages"] = f"[{_message('user', [_text(first)])}]"
        if last:
            out["gen_ai.output.messages"] = f"[{_message('assistant', [_text(last)])}]"
        return out

    def text_of(self, message: Message) -> str:
        """The text of a prompt or an answer, cut."""
        return _cut(self._plain(message.content))

    def redacted(self, text: str) -> str:
        """A text without secrets, cut."""
        found = decode_json(self._redactor.redact(bytes(to_raw(text))))
        return _cut(found) if isinstance(found, str) else ""

    def _plain(self, blocks: list[Raw]) -> str:
        """The text of blocks, redacted before anything of it is cut."""
        text = decode_json(self._redactor.redact(bytes(plain_content(blocks)[0])))
        return text if isinstance(text, str) else ""

    def _value(self, payload: Raw) -> Any:
        """A payload as a plain value, redacted; a long one as the beginning of its JSON."""
        data = self._redactor.redact(bytes(payload))
        if len(data) <= LONGEST:
            try:
                return decode_json(data)
            except (ValueError, RecursionError):
                pass
        return _cut(data.decode("utf-8", "replace"))


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "content": _cut(text)}


def _cut(text: str) -> str:
    """The beginning of a text, at most `LONGEST` bytes as JSON, and how many of its bytes are missing."""
    kept = text
    while (size := len(_json(kept).encode())) > LONGEST:
        kept = kept[: min(len(kept) - 1, len(kept) * (LONGEST - 40) // size)]
    missing = len(text.encode("utf-8", "replace")) - len(kept.encode("utf-8", "replace"))
    return f"{kept}… [cut: {missing} bytes]" if missing else text


def _message(role: str, parts: list[dict[str, Any]]) -> str:
    """A message as JSON, with as many parts as fit."""
    kept: list[str] = []
    size = 0
    for part in parts:
        text = _json(part)
        size += len(text.encode())
        if kept and size > MOST_BYTES - LONGEST:
            kept.append(_json(_text(f"[cut: {len(parts) - len(kept)} parts]")))
            break
        kept.append(text)
    return f'{{"role":"{role}","parts":[{",".join(kept)}]}}'


def _list(messages: list[str]) -> str:
    """As many of the messages as fit, as a list; the first are left out."""
    kept: list[str] = []
    size = 0
    for message in reversed(messages):
        size += len(message.encode())
        if kept and size > MOST_BYTES:
            kept.append(_message("system", [_text(f"[cut: {len(messages) - len(kept)} messages]")]))
            break
        kept.append(message)
    return f"[{','.join(reversed(kept))}]"


def _as_text(value: Any) -> str:
    """A text as it is, anything else as JSON."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        import json  # for half a character alone

        return replace_surrogates(json.dumps(value, ensure_ascii=False))
