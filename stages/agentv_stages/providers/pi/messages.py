"""Pi messages to events: shared by the streams, the session files and the sub-agents' transcripts.

In: a message of any role. Out: user texts, answers with their calls, results and usage.
"""

import re

from msgspec import Raw

from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Outcome,
    Reasoning,
    Source,
    Status,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, decode_json, has_value, text_json, text_of, to_raw
from agentv_stages.model.scripts import Script, hold
from agentv_stages.model.times import whole_ms
from agentv_stages.providers.pi.scripts import TOOL
from agentv_stages.providers.pi.wire import Answer, Block, PiMessage, Prompt, Usage, decode_blocks, first_byte

PARTS = tuple(f"-{i}" for i in range(64))
STATUS_OF_STOP: dict[str, Status] = {
    "stop": "complete",
    "length": "complete",
    "error": "error",
    "aborted": "interrupted",
}
_BROKEN = ("error", "aborted")
_ABORTED = "This operation was aborted"
_EXIT_CODE = re.compile(rb"Command exited with code (-?\d{1,10})(?:\\n)*\"")
_CANCELLED = (b"Command aborted", b"Operation aborted", b"Skipped due to queued user message", b"Request was aborted")
_DENIED = (b"Tool execution was blocked", b"Blocked by user", b"blocked by user", b"Permission denied by")
_TAIL = 240
_STRING = 34
_SKILL_HEADS = (b'[{"type":"text","text":"<skill name=', b'"<skill name=')
_SKILL_HEAD = len(_SKILL_HEADS[0])
_SKILL = re.compile(r'<skill name="([^"]+)" location="[^"]+">\n.*?\n</skill>(?:\n\n(.+))?\Z', re.DOTALL)


def part(index: int) -> str:
    """The suffix of a block's base id."""
    return PARTS[index] if index < 64 else f"-{index}"


def status_of(stop: str | None, error: str | None) -> Status | None:
    """How a run ended, by the stop reason of its last answer; None if the run continues.

    Before 1.5.1, Escape during a tool call ended the run with an empty answer whose stop reason was `error`.
    """
    if stop == "error" and error == _ABORTED:
        return "interrupted"
    return STATUS_OF_STOP.get(stop or "")


def failure(content: bytes) -> tuple[Outcome, int | None]:
    """The outcome of an `isError` result, from its text: an exit code, an interrupt, a refusal, or just an error.

    Source: pi 0.73 `bash`, `read`; extensions refuse with reasons of their own, which count as errors.
    """
    tail = content[-_TAIL:]
    code = _EXIT_CODE.search(tail)
    if code:
        return "error", int(code[1])
    if any(mark in tail for mark in _CANCELLED):
        return "cancelled", None
    if any(mark in content[:_TAIL] for mark in _DENIED):
        return "denied", None
    return "error", None


def tool_result(
    source: Source, call_id: str, content: Raw, is_error: bool | None, duration_ms: float | None = None
) -> ToolResult:
    """The result of a call; `isError` false is Pi's word that it went well (even for a shell killed by a signal)."""
    outcome: Outcome | None = None if is_error is None else "ok"
    code = None
    if is_error:
        outcome, code = failure(bytes(content))
    lasted = whole_ms(duration_ms)
    return ToolResult(source, "", call_id, content if has_value(content) else None, outcome, code, lasted)


def usage_event(source: Source, key: str, message: PiMessage | Answer) -> TokenUsage | None:
    """Usage of one answer; `input` includes the cached tokens. None if a broken answer shows only zeros."""
    usage = message.usage
    if usage is None or (message.stop_reason in _BROKEN and not spent(usage)):
        return None
    return tokens(source, key, message.model, usage)


def spent(usage: Usage) -> bool:
    return bool(usage.input or usage.cache_read or usage.cache_write or usage.output)


def tokens(source: Source, key: str, model: str | None, usage: Usage) -> TokenUsage:
    """The tokens of one model call of any caller: an answer, a tool, a compaction, or the warming of a cache."""
    plain, cached, written = usage.input, usage.cache_read, usage.cache_write
    total = None if plain is None else plain + (cached or 0) + (written or 0)
    cost = usage.cost.total if usage.cost else None
    return TokenUsage(
        source,
        "",
        key,
        "call",
        model,
        total,
        cached,
        written,
        usage.cache_write_1h,
        usage.output,
        usage.reasoning if usage.reasoning is not None else usage.reasoning_tokens,
        True,
        False,
        cost,
    )


def usage_key(message: PiMessage | Answer, message_id: str, session_id: str | None) -> str:
    """Identifies an answer wherever it is copied: a fork of a session repeats the entries of its parent."""
    if message.response_id:
        return f"{message.response_id}@{message.timestamp}"
    if message.timestamp is not None and not message_id.startswith("m"):
        return f"{message_id}@{message.timestamp}"
    return f"{session_id or ''}:{message_id}"


def blocks_of(message: PiMessage) -> list[Block]:
    """The content blocks of an answer; a plain string is a text block.

    Raises: msgspec.ValidationError when they have another shape; so it is called before anything is appended.
    """
    content = message.content
    if not has_value(content):
        return []
    if first_byte(content) == _STRING:
        return [Block("text", content)]
    return decode_member(content, decode_blocks, "message.content")


def assistant(
    message: PiMessage | Answer,
    blocks: list[Block],
    message_id: str,
    source: Source,
    batch: Batch,
    parent_call: str | None,
    scripts: dict[str, Script],
    whole: bool = True,
) -> list[str]:
    """Appends the texts, thoughts and calls of an answer in block order; returns the ids of the calls that now wait.

    Scripts go to `scripts`: they may turn out not to be calls. The calls of a broken-off answer are never run: they get
    a `cancelled` result; a call whose arguments were still incomplete is left out, if the log still has its
    `partialJson` (not in 0.73 and later). With `whole` False only texts and thoughts are taken.
    """
    events = batch.events
    model = message.model
    broken = message.stop_reason in _BROKEN
    opened: list[str] = []
    for i, block in enumerate(blocks):
        kind = block.type
        at = PARTS[i] if i < 64 else part(i)
        if kind == "toolCall":
            if not whole or (broken and has_value(block.partialJson)):
                continue
            call_id = block.id or f"{message_id}{at}"
            arguments = block.arguments if has_value(block.arguments) else EMPTY_OBJECT
            if first_byte(arguments) == _STRING:
                arguments = unwrapped(arguments)
            if block.name == TOOL and not broken:
                hold(scripts, call_id, Script(TOOL, source, at, message_id, arguments, parent_call, model), batch)
                continue
            events.append(
                ToolCall(source, at, message_id, call_id, block.name or "unknown", arguments, parent_call, model)
            )
            if broken:
                events.append(ToolResult(source, at, call_id, None, "cancelled"))
            else:
                opened.append(call_id)
        elif kind == "text":
            events.append(AssistantText(source, at, message_id, block.text or EMPTY_STRING, False, False, model))
        elif kind == "thinking":
            events.append(Reasoning(source, at, message_id, text_json(block.thinking), False, model))
        else:
            batch.ignore(f"block/{kind}")
    return opened


def unwrapped(arguments: Raw) -> Raw:
    """Arguments that came as a JSON string: the object in it, or the string unchanged."""
    text = text_of(arguments)
    try:
        value = decode_json(text.encode())
    except ValueError:
        return arguments
    return to_raw(value) if isinstance(value, dict) else arguments


def user(message: PiMessage | Prompt, message_id: str, source: Source, batch: Batch) -> None:
    """Appends a prompt; where Pi replaced `/skill:NAME …` by the skill's text, the command and then that text."""
    content = message.content
    if not has_value(content):
        return
    command = _skill_command(content)
    if command is None:
        batch.events.append(UserText(source, "", content, message_id))
    else:
        batch.events.append(UserText(source, "", to_raw(command), message_id))
        batch.events.append(UserText(source, "-skill", content, f"{message_id}-skill", True))


def _skill_command(content: Raw) -> str | None:
    """The command that a person typed to get a skill's text; None for any other prompt.

    Source: pi 0.87, `parseSkillBlock`.
    """
    if not bytes(memoryview(content)[:_SKILL_HEAD]).startswith(_SKILL_HEADS):
        return None
    try:
        skill = _SKILL.match(text_of(content))
    except ValueError:  # bytes that are not valid text: passed on unchanged, as in any prompt
        return None
    if skill is None:
        return None
    return f"/skill:{skill[1]} {skill[2]}" if skill[2] else f"/skill:{skill[1]}"


def other(message: PiMessage, message_id: str, source: Source, batch: Batch, record: Record) -> None:
    """Appends a message that Pi or an extension added to the context in the user's name."""
    role = message.role
    if role in ("custom", "hookMessage"):
        body = message.content
    elif role in ("branchSummary", "compactionSummary"):
        body = message.summary
    elif role == "bashExecution":
        mark = "!!" if message.exclude_from_context else "!"
        code = "" if message.exit_code is None else f"\n(exit code {message.exit_code})"
        end = "\n(cancelled)" if message.cancelled else code
        body = to_raw(f"{mark}{message.command or ''}\n{message.output or ''}{end}")
    elif role in ("system", "developer"):
        batch.ignore(f"message/{role}")
        return
    else:
        batch.unknown_type(f"message/{role}", record)
        return
    if has_value(body):
        batch.events.append(UserText(source, "", body, message_id, True))
