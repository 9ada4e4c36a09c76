"""Rows of Antigravity's conversations to events: `conversations/<id>.db`, whose steps are protobuf messages.

A result names its call by id. The tokens of a step are those of one model call; `gen_metadata` repeats them and is not
counted.
End rule: there is no end record; the reason why the last answer stopped.
Source: two conversations of agy 1.0.x; step types from the descriptors in agy 1.0.16 and 1.1.16.
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AssistantText,
    Notification,
    Outcome,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import epoch_ms, whole_ms
from agentv_stages.providers.antigravity.calls import is_refusal, requested

LOSSES = (
    "cost, the folder",
    "the outcome of a call whose step does not report an error, except shells",
    "the work of sub-agents",
    "the version of the program",
)
USER_INPUT, PLANNER, SYSTEM_MESSAGE = 14, 15, 101
CANCELLED, FAILED = 6, 7  # of a step's status
_DONE = (3, CANCELLED, FAILED)
ENDS: dict[int, Status] = {2: "complete", 3: "complete", 13: "error", 16: "interrupted"}
_NO_USE = (23, 90, 98)  # checkpoints, reminders, the history
_OUTPUTS = ("command", "view", "listing", "code", "search", "mcp", "generic")


class Time(Struct, gc=False):
    seconds: int = 0
    nanos: int = 0


class Call(Struct, gc=False):
    id: str | None = None
    name: str | None = None
    arguments: str | None = None


class Usage(Struct, gc=False):
    """Tokens of a model call: `input` excludes cached ones, `output` includes thinking. Protobuf leaves out zeros."""

    input: int = 0
    output: int = 0
    cache_write: int = 0
    cache_read: int = 0
    thinking: int = 0
    response_id: str | None = None


class Metadata(Struct, gc=False):
    created: Time | None = None
    completed: Time | None = None
    call: Call | None = None
    usage: Usage | None = None


class Items(Struct, gc=False):
    text: str | None = None


class User(Struct, gc=False):
    text: str | None = None
    items: Items | None = None


class Planner(Struct, gc=False):
    response: str | None = None
    thinking: str | None = None
    calls: list[Call] | None = None
    stop: int | None = None


class Output(Struct, gc=False):
    """The contents of a step that is a result."""

    output: str | None = None
    full: str | None = None
    exit_code: int | None = None
    combined: "Output | None" = None
    result: "Output | None" = None

    @property
    def text(self) -> str | None:
        inner = self.combined or self.result
        return self.output or self.full or (inner.output if inner is not None else None)


class Step(Struct, gc=False):
    """`model` is the one that answered, where the database names it; the session's is the last."""

    idx: int | None = None
    model: str | None = None
    type: int | None = None
    status: int | None = None
    error: str | None = None
    metadata: Metadata | None = None
    user: User | None = None
    planner: Planner | None = None
    command: Output | None = None
    view: Output | None = None
    listing: Output | None = None
    code: Output | None = None
    search: Output | None = None
    mcp: Output | None = None
    generic: Output | None = None


class Session(Struct, gc=False):
    id: str | None = None
    model: str | None = None


class Row(Struct, gc=False):
    """A line of the store."""

    session: Session | None = None
    step: Step | None = None


class State(Struct):
    session_id: str | None = None
    model: str | None = None


decode_row = Decoder(Row).decode


class StepsDecoder:
    """Decoder of `antigravity-steps`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        row = decode_row(record.data)
        state = self.state
        if row.session is not None:
            again, state.session_id, state.model = state.session_id is not None, row.session.id, row.session.model
            part = f"-{record.row}" if again else ""
            batch.events.append(SessionInfo(self.context.source(record), part, state.session_id, state.model))
        elif row.step is not None:
            self._step(row.step, record, batch)
        else:
            batch.unknown_type("row", record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _step(self, step: Step, record: Record, batch: Batch) -> None:
        metadata = step.metadata or Metadata()
        step_id = f"step-{record.row if step.idx is None else step.idx}"
        created, completed = _ms(metadata.created), _ms(metadata.completed)
        result = step.type not in (USER_INPUT, PLANNER)
        model = step.model or (self.state.model if step.type == PLANNER else None)
        source = self.context.source(record, (completed if result else created) or created, step_id)
        if metadata.usage is not None:
            usage = _usage(source, metadata.usage, step_id, model)
            if usage is not None:
                batch.events.append(usage)
        if step.type == USER_INPUT:
            user = step.user or User()
            text = user.text or (user.items.text if user.items is not None else None) or ""
            batch.events.append(UserText(source, "", to_raw(text), step_id))
        elif step.type == PLANNER:
            self._answer(step, model, step_id, source, batch)
        elif metadata.call is not None and metadata.call.id:
            duration = whole_ms(completed - created) if created is not None and completed is not None else None
            self._result(step, metadata.call.id, duration, source, batch)
        elif step.type == SYSTEM_MESSAGE:
            batch.events.append(Notification(source, "", "system_message", ""))
        elif step.type in _NO_USE:
            batch.ignore(f"step/{step.type}")
        else:
            batch.unknown_type(f"step/{step.type}", record)

    def _answer(self, step: Step, model: str | None, step_id: str, source: Source, batch: Batch) -> None:
        planner, add = step.planner or Planner(), batch.events.append
        if planner.thinking:
            add(Reasoning(source, "", step_id, to_raw(planner.thinking), model=model))
        if planner.response:
            add(AssistantText(source, "", step_id, to_raw(planner.response), model=model))
        for i, call in enumerate(planner.calls or ()):
            name, arguments = requested(call.name, _arguments(call))
            call_id = call.id or f"{step_id}-{i}"
            add(ToolCall(source, f"-{i}", step_id, call_id, name, arguments, self.context.parent_call, model))
        status = ENDS.get(planner.stop or 0) if not planner.calls else None
        ended = planner.stop is None and step.status in _DONE
        if status is None and ended and planner.response and not planner.calls:
            status = "complete"
        if status is not None:
            add(SessionEnd(source, "", status))

    def _result(self, step: Step, call_id: str, duration: int | None, source: Source, batch: Batch) -> None:
        if step.status not in _DONE:
            batch.ignore("step/running")
            return
        found = next((value for name in _OUTPUTS if (value := getattr(step, name)) is not None), None)
        text, code = (found.text, found.exit_code) if found is not None else (None, None)
        text = text or step.error
        outcome: Outcome = "error" if step.status == FAILED or step.error or code else "ok"
        if step.status == CANCELLED:
            outcome = "cancelled"
        elif step.error is not None and is_refusal(step.error):
            outcome = "denied"
        if step.command is not None and code is None and outcome == "ok":
            code = 0  # protobuf leaves out zeros
        output = None if text is None else to_raw(text)
        batch.events.append(ToolResult(source, "", call_id, output, outcome, code, duration))


def _arguments(call: Call) -> Raw:
    return Raw((call.arguments or "{}").encode("utf-8", "replace"))


def _ms(time: Time | None) -> int | None:
    return None if time is None else epoch_ms(time.seconds * 1000 + time.nanos // 1_000_000)


def _usage(source: Source, used: Usage, step_id: str, model: str | None) -> TokenUsage | None:
    if not any((used.input, used.output, used.cache_read)):
        return None
    prompt = used.input + used.cache_read + used.cache_write
    key = used.response_id or step_id
    tokens = (used.cache_read, used.cache_write, None, used.output, used.thinking)
    return TokenUsage(source, "", key, "call", model, prompt, *tokens)
