"""Wire shapes of Antigravity's stream and transcripts: only the fields that are used; payloads stay raw.

Source: agy 1.2.17 and 1.3.1, `--output-format stream-json`; agy 1.0.10 to 1.0.16, `transcript.jsonl`.
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT
from agentv_stages.model.times import Time


class Usage(Struct, gc=False):
    """Tokens of one model call, or of the conversation so far: `input_tokens` excludes cached ones, `output_tokens`
    includes thinking. All zero: unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    thinking_tokens: int | None = None
    cache_read_tokens: int | None = None
    total_tokens: int | None = None

    @property
    def known(self) -> bool:
        return any((self.input_tokens, self.output_tokens, self.cache_read_tokens, self.total_tokens))


class ToolInfo(Struct, gc=False):
    name: str | None = None
    parameters: Raw = ABSENT
    output: Raw = ABSENT
    error: Raw = ABSENT


class Step(Struct, gc=False):
    conversation_id: str | None = None
    step_index: int | None = None
    state: str | None = None
    step_type: str | None = None
    text_delta: Raw = ABSENT
    tool_name: str | None = None
    tool_info: ToolInfo | None = None
    duration_seconds: float | None = None
    usage: Usage | None = None
    subagent_info: Raw = ABSENT


class Init(Struct, gc=False):
    model: str | None = None
    cwd: str | None = None


class Denied(Struct, gc=False):
    action: str | None = None


class Result(Struct, gc=False):
    """The end of a turn; its usage, turns and duration are those of the conversation so far."""

    conversation_id: str | None = None
    status: str | None = None
    response: Raw = ABSENT
    error: Raw = ABSENT
    duration_seconds: float | None = None
    num_turns: int | None = None
    usage: Usage | None = None
    denied_actions: list[Denied] | None = None


class Line(Struct, gc=False):
    """A line of the stream: `event` names the member that has its contents."""

    event: str = ""
    conversation_id: str | None = None
    init: Init | None = None
    step_update: Step | None = None
    result: Result | None = None


class Failure(Struct, gc=False):
    type: str | None = None
    message: str | None = None


class Call(Struct, gc=False):
    name: str | None = None
    args: Raw = ABSENT


class Entry(Struct, gc=False):
    """A line of `transcript.jsonl`."""

    step_index: int | None = None
    source: str | None = None
    type: str = ""
    status: str | None = None
    created_at: Time = None
    content: Raw = ABSENT
    thinking: Raw = ABSENT
    tool_calls: list[Call] | None = None


decode_line = Decoder(Line).decode
decode_result = Decoder(Result).decode
decode_failure = Decoder(Failure).decode
decode_entry = Decoder(Entry).decode
