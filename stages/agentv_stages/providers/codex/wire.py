"""Wire shapes of Codex: only the fields that are used; payloads and fields whose type varies stay raw.

Source: Codex 0.27, 0.50, 0.80, 0.120 and 0.169, `exec --json`, rollouts, app-server; `item_completed` of 0.15x on.
"""

from typing import Any

from msgspec import MsgspecError, Raw, Struct, ValidationError, field
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT, decode_json, has_value, plain_text, text_of, to_raw
from agentv_stages.model.times import Time, whole_ms

_BYTES = tuple(bytes((value,)) for value in range(256))


def first(raw: Raw) -> bytes:
    """The first byte of a payload; payloads can be large, so nothing is copied."""
    return _BYTES[memoryview(raw)[0]] if len(raw) else b""


def word(raw: Raw) -> str:
    """A member that should be a string; "" for anything else."""
    if first(raw) != b'"':
        return ""
    value = decode_json(raw)
    return value if isinstance(value, str) else ""


def plain(raw: Raw) -> str:
    """The text of a string or of a list of parts; "" where there is none."""
    return text_of(raw) if has_value(raw) else ""


class Tokens(Struct, gc=False):
    """`input_tokens` includes the cached ones, `output_tokens` the reasoning."""

    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_output_tokens: int | None = None
    total_tokens: int | None = None


class TokenInfo(Struct, gc=False):
    total_token_usage: Tokens | None = None
    last_token_usage: Tokens | None = None


USER_SHELL = frozenset((b'"user_shell"', b'"userShell"'))
"""The `source` of commands that the person ran, in rollouts and in the app-server."""


class Item(Struct, gc=False):
    """An item of `exec --json` (snake_case types) or of `item_completed` in a rollout (PascalCase types)."""

    type: str = ""
    item_type: str = ""
    id: str = ""
    text: Raw = ABSENT
    content: Raw = ABSENT
    message: Raw = ABSENT
    command: Raw = ABSENT
    cwd: Raw = ABSENT
    source: Raw = ABSENT
    aggregated_output: Raw = ABSENT
    exit_code: int | None = None
    status: Raw = ABSENT
    duration: Raw = ABSENT
    changes: Raw = ABSENT
    stdout: Raw = ABSENT
    stderr: Raw = ABSENT
    server: str | None = None
    tool: str | None = None
    arguments: Raw = ABSENT
    result: Raw = ABSENT
    content_items: Raw = ABSENT
    error: Raw = ABSENT
    prompt: Raw = ABSENT
    receiver_thread_ids: list[str] | None = None
    agents_states: Raw = ABSENT
    query: Raw = ABSENT
    action: Raw = ABSENT
    results: Raw = ABSENT
    items: Raw = ABSENT
    path: Raw = ABSENT
    kind: Raw = ABSENT
    agent_thread_id: str | None = None
    agent_path: str | None = None


def mcp_name(item: Item) -> str:
    """The name of an MCP call; AgentV's `mcp:<server>/<skill>` stays as it is, because the table has it."""
    tool = item.tool or ""
    return tool if tool.startswith("mcp:") else f"mcp__{item.server or ''}__{tool}"


class ExecLine(Struct, gc=False):
    """A line of `exec --json`, generations B and C; AgentV's log of the SDK has it under `data`."""

    type: str = ""
    thread_id: str | None = None
    session_id: str | None = None
    item: Item | None = None
    usage: Tokens | None = None
    message: Raw = ABSENT
    error: Raw = ABSENT
    data: "ExecLine | None" = None


class ItemPayload(Struct, gc=False):
    """A response item."""

    type: str = ""
    id: str | None = None
    role: str | None = None
    content: Raw = ABSENT
    summary: Raw = ABSENT
    name: str | None = None
    namespace: str | None = None
    arguments: Raw = ABSENT
    input: Raw = ABSENT
    call_id: str | None = None
    output: Raw = ABSENT
    status: Raw = ABSENT
    action: Raw = ABSENT
    tools: Raw = ABSENT
    result: Raw = ABSENT


class OldLine(ItemPayload):
    """A line of an old rollout: a response item, the header, or a marker."""

    timestamp: Time = None
    record_type: str | None = None
    model: str | None = None
    cwd: str | None = None
    git: Raw = ABSENT


class VoiceText(Struct, gc=False):
    role: str | None = None
    text: Raw = ABSENT


class Channels(Struct, gc=False):
    """The channels of a frame in a voice session (0.171)."""

    voice_transcript: VoiceText | None = None


class Payload(ItemPayload):
    """The payload of a rollout line of any type."""

    item: Item | None = None
    thread_id: str | None = None
    info: Raw = ABSENT
    usage: Tokens | None = None
    response_id: str | None = None
    thread_token_usage: Raw = ABSENT
    message: Raw = ABSENT
    text: Raw = ABSENT
    turn_id: str | None = None
    turn_attribution: Raw = ABSENT
    reason: str | None = None
    error: Raw = ABSENT
    started_at: Raw = ABSENT
    last_agent_message: Raw = ABSENT
    duration_ms: float | None = None
    model: str | None = None
    cwd: str | None = None
    model_context_window: int | None = None
    session_id: str | None = None
    cli_version: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    source: Raw = ABSENT
    git: Raw = ABSENT
    command: Raw = ABSENT
    aggregated_output: Raw = ABSENT
    exit_code: int | None = None
    duration: Raw = ABSENT
    changes: Raw = ABSENT
    stdout: Raw = ABSENT
    stderr: Raw = ABSENT
    success: bool | None = None
    invocation: Raw = ABSENT
    thread_name: str | None = None
    num_turns: int | None = None
    history_base: Raw = ABSENT
    thread_settings: Raw = ABSENT
    channels: Channels | None = None


class LineMetadata(Struct, gc=False):
    """`compaction_output`: the model wrote the item because a compaction asked for a summary (0.169)."""

    compaction_output: bool = False


class RolloutLine(Struct, gc=False):
    """A line. `ordinal` (0.16x) counts the lines of a thread's history, over its files."""

    type: str = ""
    timestamp: Time = None
    ordinal: int | None = None
    payload: Payload = field(default_factory=Payload)
    metadata: LineMetadata | None = None


class Msg(Struct, gc=False):
    """The `msg` of the oldest exec stream (generation A)."""

    type: str = ""
    session_id: str | None = None
    model: str | None = None
    message: Raw = ABSENT
    text: Raw = ABSENT
    delta: Raw = ABSENT
    call_id: str = ""
    command: Raw = ABSENT
    cwd: str | None = None
    stdout: Raw = ABSENT
    stderr: Raw = ABSENT
    aggregated_output: Raw = ABSENT
    exit_code: int | None = None
    duration: Raw = ABSENT
    changes: Raw = ABSENT
    success: bool | None = None
    explanation: Raw = ABSENT
    plan: Raw = ABSENT
    invocation: Raw = ABSENT
    result: Raw = ABSENT
    query: Raw = ABSENT
    path: Raw = ABSENT
    reason: str | None = None
    info: TokenInfo | None = None
    model_context_window: int | None = None
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_output_tokens: int | None = None
    total_tokens: int | None = None


class OldExecLine(Struct, gc=False):
    """A line of generation A: the configuration, the prompt, or `id` and `msg`."""

    msg: Msg | None = None
    prompt: Raw = ABSENT
    workdir: str | None = None
    model: str | None = None
    type: str = ""


class Wrapped(Struct, gc=False):
    """An output of the form `{"output": …, "metadata": {"exit_code": …}}`."""

    class Metadata(Struct, gc=False):
        exit_code: int | None = None
        duration_seconds: float | None = None

    output: Raw = ABSENT
    metadata: Metadata | None = None
    success: bool | None = None


class ContentPart(Struct, gc=False):
    type: str = ""
    text: Raw = ABSENT


class Invocation(Struct, gc=False):
    server: str = ""
    tool: str = ""
    arguments: Raw = ABSENT


class Duration(Struct, gc=False):
    secs: int = 0
    nanos: int = 0


decode_exec = Decoder(ExecLine).decode
decode_rollout = Decoder(RolloutLine).decode
decode_old_line = Decoder(OldLine).decode
decode_old_exec = Decoder(OldExecLine).decode
decode_wrapped = Decoder(Wrapped).decode
_parts = Decoder(list[ContentPart]).decode
_info = Decoder(TokenInfo).decode
decode_invocation = Decoder(Invocation).decode
_duration = Decoder(Duration).decode


TOTAL = 5  # the place of the sum


def counters(tokens: Tokens) -> list[int]:
    """Input, cached, cache-written, output, reasoning, all; missing counts are 0, for differences only."""
    return [
        tokens.input_tokens or 0,
        tokens.cached_input_tokens or 0,
        tokens.cache_write_input_tokens or 0,
        tokens.output_tokens or 0,
        tokens.reasoning_output_tokens or 0,
        tokens.total_tokens or 0,
    ]


def token_info(raw: Raw) -> TokenInfo | None:
    """The counts of a rollout's `token_count`. Callers drop most of them before this, by their bytes."""
    if not has_value(raw):
        return None
    try:
        return _info(raw)
    except ValidationError as error:  # the path that it names starts in `info`; `Decode` prunes by it
        text = str(error) if "`$" in str(error) else f"{error} - at `$`"
        raise ValidationError(text.replace("`$", "`$.payload.info", 1)) from None


def duration_ms(raw: Raw) -> int | None:
    """`{"secs":…,"nanos":…}`, or a number of milliseconds, in milliseconds; None for anything else."""
    head = first(raw)
    try:
        if head == b"{":
            value = _duration(raw)
            return whole_ms(value.secs * 1000 + value.nanos // 1_000_000)
        return whole_ms(float(bytes(raw))) if head.isdigit() else None
    except (MsgspecError, ValueError, OverflowError):
        return None


def parts_of(content: Raw) -> list[ContentPart]:
    """The parts of a message's content; a plain string, or parts of another shape, make one part."""
    head = first(content)
    if head == b"[":
        try:
            return _parts(content)
        except MsgspecError:
            return [ContentPart("text", to_raw(plain_text(decode_json(content))))]
    return [ContentPart("text", content)] if head == b'"' else []


def member(raw: Raw, key: str) -> Any:
    """One member of a small object, decoded; None where there is none."""
    if first(raw) != b"{":
        return None
    value = decode_json(raw)
    return value.get(key) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
