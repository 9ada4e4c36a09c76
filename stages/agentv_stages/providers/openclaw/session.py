"""OpenClaw's transcripts to events: Pi's entries, read by Pi's decoder, and what OpenClaw adds to messages.

Tools that are not in the request are called through `tool_call`, or by a script (`exec` with `code`). The inner calls
have messages of their own before the result, and count; the outer call counts only if it made none. A call of a tool
that does not exist is removed from the answer before it is written: only its result shows it. OpenClaw may not report a
failed command as an error: the exit code decides. What OpenClaw writes as an answer, but no model gave, is `synthetic`.
Source: OpenClaw 2026.6.11 and 2026.9.6.

Wire shapes of OpenClaw's own messages. Source: OpenClaw 2026.6.11 and 2026.9.6.
"""

from msgspec import Raw, Struct, field
from msgspec.json import Decoder
from msgspec.structs import replace

from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Outcome,
    SessionEnd,
    SessionInfo,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from agentv_stages.model.payload import ABSENT, has_value
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.recent import remember
from agentv_stages.model.repeats import checksum
from agentv_stages.model.scripts import Script, hold
from agentv_stages.model.times import epoch_ms, whole_ms
from agentv_stages.providers.pi.messages import other as pi_other
from agentv_stages.providers.pi.messages import tool_result
from agentv_stages.providers.pi.session import SessionDecoder as PiSessionDecoder
from agentv_stages.providers.pi.session import State as PiState
from agentv_stages.providers.pi.wire import decode_output, first_byte


class Details(Struct, gc=False, rename="camel"):
    """Details of a result: how a command ended. Of `openclaw.nested-tool.v1`: a call by a script or `tool_call`."""

    status: str | None = None
    exit_code: int | None = None
    duration_ms: float | None = None
    parent_tool_call_id: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    input: Raw = ABSENT
    result: Raw = ABSENT
    is_error: bool | None = None
    started_at: float | None = None
    timestamp: float | None = None


class OwnMessage(Struct, gc=False, rename="camel"):
    role: str = ""
    api: str | None = None
    provider: str | None = None
    model: str | None = None
    custom_type: str | None = None
    tool_name: str | None = None
    details: Details | None = None


class MessageRecord(Struct, gc=False):
    id: str | None = None
    message: OwnMessage | None = None


class Code(Struct, gc=False):
    """The arguments of a call, as far as they distinguish a script from a command."""

    code: str | None = None
    command: Raw = ABSENT


decode_message = Decoder(MessageRecord).decode
decode_code = Decoder(Code).decode


_DISPATCH = "tool_call"
_SCRIPT = "exec"
_CODE = "code_execution"
_NESTED = "openclaw.nested-tool.v1"
_OWN_PROVIDER = "openclaw"
_OWN_MODELS = frozenset(("delivery-mirror", "gateway-injected"))
"""Who wrote what OpenClaw sent to a channel, or put into the conversation."""
_REPLY = "cli"
"""The `api` of what a run replied: its only answer if another program ran the model, else a repetition with the tokens
of the whole run, written if the reply is not the last answer's text.
"""
_MOST_TOLD = 2_000
_OBJECT = 123
_OUTCOMES: dict[str, Outcome] = {
    **dict.fromkeys(("failed", "error", "timeout"), "error"),
    **dict.fromkeys(("denied", "rejected", "approval-denied"), "denied"),
    **dict.fromkeys(("aborted", "cancelled"), "cancelled"),
}


class State(PiState):
    """`newest_calls`: the newest calls. `message_id`: that of the newest answer; `spoken`: it came after the newest
    prompt.
    """

    newest_calls: dict[str, bool] = field(default_factory=dict[str, bool], name="asked")
    message_id: str = ""
    spoken: bool = False


class SessionDecoder(PiSessionDecoder):
    """Decoder of `openclaw-session`."""

    other = staticmethod(pi_other)
    state: State  # pyright: ignore[reportIncompatibleVariableOverride] - Pi's decoder only uses what Pi's state has

    def __init__(self, context: DecodeContext) -> None:
        super().__init__(context)
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        entry = _entry(record)
        own = entry.message if entry is not None else None
        begin = len(batch.events)
        if own is not None and own.role == "custom" and own.custom_type == _NESTED and own.details is not None:
            if self.state.forked_ms is None:
                self._nested(record, own.details, batch)
                return
        model = self.state.model
        super().decode(record, batch)
        if own is not None and own.role == "user":
            self.state.spoken = False
        elif own is not None and own.role == "assistant":
            if (own.provider == _OWN_PROVIDER and own.model in _OWN_MODELS) or (
                own.api == _REPLY and self.state.spoken
            ):
                self.state.model = model
                _unasked(begin, batch)
                return
            self.state.spoken = True
        if entry is not None and own is not None and own.role == "assistant":
            if not self.state.repeats.again(entry.id, checksum(record.data)):
                self.state.message_id = entry.id or f"m{record.row}"
        self._refine(own, begin, batch)

    def _refine(self, own: OwnMessage | None, begin: int, batch: Batch) -> None:
        """Corrects the events from `begin` on; records which calls were emitted."""
        events, state = batch.events, self.state
        scripts: list[ToolCall] = []
        at = begin
        while at < len(events):
            event = events[at]
            if isinstance(event, ToolCall):
                remember(state.newest_calls, event.call_id, True, _MOST_TOLD)
                if event.name == _DISPATCH or (event.name == _SCRIPT and _is_code(event.input_json)):
                    if not _answered(event, batch, at):
                        scripts.append(event)
                        del events[at]
                        continue
            elif isinstance(event, ToolResult):
                if own is not None and own.role == "toolResult":
                    events[at] = _ended(event, own.details)
                    if event.call_id not in state.newest_calls and own.tool_name and state.message_id:
                        remember(state.newest_calls, event.call_id, True, _MOST_TOLD)
                        source, part = event.source, "-asked"
                        call = ToolCall(source, part, state.message_id, event.call_id, own.tool_name, EMPTY_OBJECT)
                        events.insert(at, call)
                        at += 1
            at += 1
        for call in scripts:
            name = _CODE if call.name == _SCRIPT else call.name  # a script is not a shell command
            hold(
                state.scripts,
                call.call_id,
                Script(name, call.source, call.part, call.message_id, call.input_json, call.parent_call, call.model),
                batch,
            )

    def _nested(self, record: Record, details: Details, batch: Batch) -> None:
        """Emits a call that a script made, with its result."""
        state = self.state
        parent = details.parent_tool_call_id or ""
        script = state.scripts.get(parent)
        if script is not None:
            script.made_calls = True
        source = self.context.source(record, epoch_ms(details.timestamp))
        call_id = details.tool_call_id or f"{parent}/{record.row}"
        message_id = script.message_id if script is not None else state.message_id or f"m{record.row}"
        arguments = details.input if has_value(details.input) else EMPTY_OBJECT
        name = details.tool_name or "unknown"
        model = state.model
        batch.events.append(ToolCall(source, "", message_id, call_id, name, arguments, parent or None, model))
        content = details.result
        if has_value(content) and first_byte(content) == _OBJECT:
            content = decode_output(content).content
        lasted = None
        if details.timestamp is not None and details.started_at is not None:
            lasted = details.timestamp - details.started_at
        batch.events.append(tool_result(source, call_id, content, details.is_error, lasted))


def _entry(record: Record) -> MessageRecord | None:
    """OpenClaw's additions to a message; None for another shape, which Pi's decoder judges."""
    try:
        return decode_message(record.data)
    except REFUSED:
        return None


def _unasked(begin: int, batch: Batch) -> None:
    """Makes the events from `begin` on those of an answer that no model gave."""
    batch.events[begin:] = [
        replace(event, synthetic=True, model=None) if isinstance(event, AssistantText) else event
        for event in batch.events[begin:]
        if not isinstance(event, SessionInfo | SessionEnd | TokenUsage)
    ]


def _is_code(arguments: Raw) -> bool:
    try:
        found = decode_code(arguments)
    except REFUSED:
        return False
    return found.code is not None and not has_value(found.command)


def _answered(call: ToolCall, batch: Batch, at: int) -> bool:
    """Whether a call has already ended, like those of a broken-off answer."""
    return call.call_id in {e.call_id for e in batch.events[at + 1 :] if isinstance(e, ToolResult)}


def _ended(result: ToolResult, details: Details | None) -> ToolResult:
    """The result with the facts in its details: exit code, duration, and how a command ended."""
    if details is None:
        return result
    outcome, code = result.outcome, result.exit_code
    if outcome != "cancelled" and details.status in _OUTCOMES:
        outcome = _OUTCOMES[details.status]
    if details.exit_code is not None:
        code = details.exit_code
        outcome = "error" if code and outcome == "ok" else outcome
    lasted = whole_ms(details.duration_ms) if result.duration_ms is None else result.duration_ms
    return ToolResult(result.source, result.part, result.call_id, result.output_json, outcome, code, lasted)
