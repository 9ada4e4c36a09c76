"""Converts the content blocks of Claude messages to events; shared by both dialects.

A line holds one block of a message, or a few; its token usage is handled elsewhere (`usage`).
"""

import re
from collections.abc import Callable, Sequence
from zlib import crc32

import msgspec
from msgspec import Raw, Struct

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    PIECES,
    AnyEvent,
    AssistantText,
    Outcome,
    Reasoning,
    SlashCommand,
    Source,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, NULL, text_json, text_of, to_raw
from agentv_stages.providers.claude.refusals import failure
from agentv_stages.providers.claude.wire import (
    ApiMessage,
    Block,
    Structured,
    ToolUseResult,
)

# Outputs that Claude Code keeps beside a session. In: a result that only names the file. Out: the whole output.
#
# An output of more than 50,000 characters (of a shell: about 30,000) is written to `<session>/tool-results/<name>`.
# The log has the path and the first 2 KB instead. The path is not followed: only its last part is used. Source:
# Claude Code 2.1.51 to 2.1.332.

MARK = b"<persisted-output>"
_NAMED = re.compile(r"\s*<persisted-output>.{0,200}?saved to: ([^\n]{1,4096})", re.DOTALL)
_BLOCKS = msgspec.json.Decoder(list[Raw])


def put_back(content: Sequence[Block], kept: Callable[[str], bytes]) -> None:
    """Replaces the notes in results by the outputs that they name, as far as these can be read."""
    for block in content:
        if block.type == "tool_result" and block.content:
            found = _NAMED.match(text_of(block.content))
            if found is not None:
                data = kept(re.split(r"[/\\]", found[1].strip())[-1])
                if data:
                    block.content = _payload(data)


def _payload(data: bytes) -> Raw:
    """An output as JSON: a list of content blocks as it is, everything else as text."""
    try:
        _BLOCKS.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return to_raw(data.decode("utf-8", "replace"))
    return to_raw(msgspec.json.decode(data))


PARTS = tuple(f"-content-{i}" for i in range(64))
SYNTHETIC_MODEL = "<synthetic>"
_COMMAND_NAME = re.compile(r"<command-name>\s*(/[^<\s]*)\s*</command-name>")
_INJECTED = (
    "<command-message>",
    "<local-command-",
    "<bash-",
    "<task-notification>",
    "<user-memory-",
    "<system-reminder>",
    "Caveat:",
    "This session is being continued",
    "Stop hook feedback:",
    "Base directory for this skill: ",
    "[Request interrupted by user",
    "Unknown skill: ",
    "Unknown slash command: ",
)


class LastUsage(Struct):
    """The usage emitted last, so that the other lines of the same message do not emit it again; one message only."""

    message_id: str = ""
    usage: Raw = NULL  # not empty: the state must be serialisable as JSON
    final: bool = False

    def forget(self) -> None:
        """At a user line: the message's usage is not worth keeping longer. Emitting it twice does no harm."""
        if self.message_id:
            self.message_id, self.usage, self.final = "", NULL, False


def piece_of(request_id: Raw) -> int:
    """`Source.answer` of an assistant line."""
    return ~crc32(request_id) if request_id and request_id != NULL else PIECES


def part(index: int) -> str:
    """The suffix of a block's base id."""
    return PARTS[index] if index < 64 else f"-content-{index}"


def assistant_blocks(
    message: ApiMessage, message_id: str, source: Source, parent_call: str | None, batch: Batch, synthetic: bool
) -> None:
    """Appends the events of an assistant line."""
    content = message.content
    events = batch.events
    model = message.model
    if isinstance(content, str):
        events.append(AssistantText(source, "-content-0", message_id, to_raw(content), False, synthetic, model))
        return
    for i, block in enumerate(content or ()):
        kind = block.type
        at = PARTS[i] if i < 64 else part(i)
        if kind == "tool_use" or kind.endswith("tool_use"):  # server_tool_use, mcp_tool_use
            call_id = block.id or f"{source.base_id}{at}"
            used = block.input or EMPTY_OBJECT
            events.append(ToolCall(source, at, message_id, call_id, block.name or "unknown", used, parent_call, model))
        elif kind == "text":
            events.append(AssistantText(source, at, message_id, _string(block.text), False, synthetic, model))
        elif kind in ("thinking", "redacted_thinking"):
            events.append(Reasoning(source, at, message_id, text_json(block.thinking), False, model))
        elif kind.endswith("tool_result"):
            events.append(_result(source, at, block, None, False))
        else:
            batch.ignore(f"block/{kind}")


def _string(raw: Raw) -> Raw:
    """The text of a block; an absent or null one is empty. Inspecting its first byte would copy it."""
    return raw if raw and raw != NULL else EMPTY_STRING


def user_blocks(
    content: Sequence[Block],
    source: Source,
    structured: Structured,
    batch: Batch,
    message_id: str,
    injected: bool,
    unasked: bool,
    denial: Outcome | None = None,
    rejected: bool = False,
    first: int = 0,
) -> None:
    """Appends the events of a user line whose content is a list of blocks, numbered from `first`. `denial` is the
    outcome that the line itself states for a call; `rejected` means that the call did not run.
    """
    events = batch.events
    for i, block in enumerate(content, first):
        if block.type == "tool_result":
            events.append(
                _result(source, PARTS[i] if i < 64 else part(i), block, structured, unasked, denial, rejected)
            )
        elif block.type == "text":
            events.append(_user_text(source, part(i), _string(block.text), message_id, injected))
        elif block.type in ("image", "document"):
            body = to_raw([{"type": block.type, "source": block.source or None}])
            events.append(UserText(source, part(i), body, message_id, injected))
        else:
            batch.ignore(f"block/{block.type}")


def user_string(content: str, source: Source, batch: Batch, message_id: str, injected: bool) -> None:
    """Appends the event of a user line whose content is a string."""
    batch.events.append(_user_text(source, "-content-0", to_raw(content), message_id, injected))


def interrupts(event: AnyEvent) -> bool:
    """Whether an event is the sentence that the program writes when a person stops the run."""
    return isinstance(event, UserText) and event.injected and b"[Request interrupted by user" in bytes(event.body)[:64]


def slash_command(source: Source, at: str, text: str) -> SlashCommand | None:
    """The slash command that a text names in tags; None for any other text."""
    command = _COMMAND_NAME.search(text)
    if command is None:
        return None
    args, closed, _ = text.partition("<command-args>")[2].partition("</command-args>")
    return SlashCommand(source, at, command[1], args.strip() or None if closed else None)


def _user_text(source: Source, at: str, body: Raw, message_id: str, injected: bool) -> UserText | SlashCommand:
    if bytes(body)[:2] in (b'"<', b'"C', b'"T', b'"S', b'"U', b'"B', b'"['):  # the first letters of the prefixes above
        text = text_of(body)
        command = slash_command(source, at, text)
        if command:
            return command
        injected = injected or text.startswith(_INJECTED)
    return UserText(source, at, body, message_id, injected)


def _result(
    source: Source,
    at: str,
    block: Block,
    structured: Structured,
    unasked: bool,
    denial: Outcome | None = None,
    rejected: bool = False,
) -> ToolResult:
    outcome: Outcome = "ok"
    exit_code = agent = None
    if block.is_error:
        outcome, exit_code = failure(bytes(block.content), unasked, rejected)
        outcome = denial or outcome
    if type(structured) is ToolUseResult:
        agent = structured.agentId
        if structured.interrupted:
            outcome = "cancelled"
    return ToolResult(source, at, block.tool_use_id or "", block.content or None, outcome, exit_code, None, agent)
