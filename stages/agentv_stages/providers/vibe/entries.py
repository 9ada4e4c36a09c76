"""One entry of the public history of Mistral Vibe 3.x to events: a prompt, a thought, a text, or a call with its end.

Calls made by a program of `run_typescript` are entries; the program itself is not.
Source: Mistral Vibe 3.0.3, `app_server/models.py`, recordings.
"""

from collections.abc import Callable

from msgspec import Raw
from msgspec.structs import replace

from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.batch import Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AnyEvent,
    AssistantText,
    Level,
    Notification,
    Outcome,
    Reasoning,
    Source,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import has_value, text_json, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import epoch_ms, whole_ms
from agentv_stages.providers.vibe.outcomes import SHELL, failed_code, full_name
from agentv_stages.providers.vibe.wire import (
    Detail,
    Display,
    EffectState,
    Entry,
    ErrorInfo,
    decode_approval,
    decode_kept,
    decode_ran,
)

_ANSWER, _THOUGHT = "assistant-", "reasoning-"
_OPEN = frozenset(("pending", "running", "blocked"))
_DENIED = frozenset(("tool_denied", "permission_denied"))
_LEVELS: dict[str, Level] = {"info": "info", "warning": "warning", "error": "error"}

Where = Callable[[float | None], Source]
"""Makes the record's source with a time in epoch ms."""


def where_of(context: DecodeContext, record: Record) -> Where:
    return lambda time: context.source(record, epoch_ms(time))


def named(entry: Entry, record: Record, part: str) -> Entry:
    """The entry with an id; without one it gets a made one, because a call and its end are matched by it."""
    return entry if entry.id else replace(entry, id=f"row-{record.row}{part}")


def answer_of(entry: Entry) -> str:
    """The model's answer of a text or a thought; ids are `assistant-<answer>`, `reasoning-<answer>-<place>`."""
    name = entry.id or ""
    if name.startswith(_THOUGHT):
        return name.removeprefix(_THOUGHT).rpartition("-")[0]
    return name.removeprefix(_ANSWER)


def spoken(entry: Entry, message_id: str, where: Where, part: str) -> AnyEvent:
    """The event of a message or a thought, which are an answer's. A prompt that the harness wrote is injected."""
    source = where(entry.createdAt)
    if entry.type == "reasoning":
        return Reasoning(source, part, message_id, text_json(entry.text))
    if entry.role == "assistant":
        return AssistantText(source, part, message_id, text_json(entry.content))
    body = entry.content if bytes(entry.content)[:1] == b"[" else text_json(entry.content)
    injected = entry.role != "user" or entry.source == "harness"
    return UserText(source, part, body, entry.id or part, injected)


def called(entry: Entry, message_id: str, parent: str | None, where: Where, part: str) -> ToolCall:
    """The call of an effect."""
    detail = entry.detail or Detail()
    arguments = detail.input if has_value(detail.input) else EMPTY_OBJECT
    name = full_name(detail.toolName or "unknown", (detail.display or Display()).statusText)
    return ToolCall(where(entry.createdAt), part, message_id, entry.id or message_id, name, arguments, parent)


def ended(entry: Entry, where: Where, part: str) -> ToolResult | None:
    """The end of an effect's call; None while it runs. A failed one has its message as output."""
    state = entry.state or EffectState()
    if state.status in _OPEN or state.status is None:
        return None
    source, call_id = where(entry.updatedAt), entry.id or ""
    output = state.output if has_value(state.output) else None
    code = None
    stored = _stored(output) if output is not None else None
    if stored is not None:
        output = stored if has_value(stored) else output
        code = _returncode(stored)
    error = state.error.message if state.error else None
    failure = error or state.reason
    if code is None and entry.detail is not None and entry.detail.toolName == SHELL:
        code = failed_code(error)
    lasted = whole_ms(state.durationMs) if state.durationMs else None
    return ToolResult(
        source, part, call_id, to_raw(failure) if failure else output, _outcome(state, code), code, lasted
    )


def _stored(output: Raw) -> Raw | None:
    """The tool's output as sessions on disk keep it; ABSENT if they do not, None for printed entries."""
    try:
        kept = decode_kept(output)
    except REFUSED:
        return None
    return kept.structured_content if kept.type == "success" else None


def _returncode(output: Raw) -> int | None:
    try:
        return decode_ran(output).returncode
    except REFUSED:
        return None


def _outcome(state: EffectState, exit_code: int | None) -> Outcome:
    code = (state.error or ErrorInfo()).code
    if state.decision == "skip" or state.status == "skipped" or code in _DENIED:
        return "denied"
    if state.status == "cancelled":
        return "cancelled"
    failed = state.status != "completed" or (state.display or Display()).success is False
    return "error" if failed or exit_code else "ok"


def is_refusal(entry: Entry) -> bool:
    """Whether an answer to a question prevented the call (up to 2.23 the call itself has no mark of that)."""
    try:
        given_answer = decode_approval(entry.state.output) if entry.state is not None else None
    except REFUSED:
        return False
    return given_answer is not None and given_answer.decision is not None and given_answer.decision.type == "deny"


def noticed(entry: Entry, where: Where, part: str) -> Notification:
    """A notification for a notice, a compaction, or a question to the user."""
    name = entry.kind or (entry.detail.kind if entry.detail else None) or entry.type
    level = _LEVELS.get(entry.level or "", "info")
    return Notification(where(entry.createdAt), part, name, entry.message or "", level, entry.relatedEntryId)
