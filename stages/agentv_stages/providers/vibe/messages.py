"""Messages of Mistral Vibe 1.x and 2.x to events: its output (`vibe -p … --output streaming`, `json`), its sessions.

A record is one message in chat-completions form: a prompt, a whole answer with its calls, or one result. Nothing has a
time; tokens are given only as totals of the session, in `meta.json` beside `messages.jsonl`, which is read after it,
and in the one document of 1.x.
End rule: there is no end record; a session whose last answer asks for no tool is complete, one whose last call was
cancelled, or whose output says goodbye (after Ctrl-C), interrupted.
Source: Mistral Vibe 1.0.0 to 2.26.1.
"""

from msgspec import Raw, Struct, field
from msgspec.json import encode
from msgspec.structs import replace

from agentv_stages.chain.pruning import read_each
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    MAIN,
    AssistantText,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, has_value, inner_json, one_line, text_json
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.repeats import Repeats, checksum
from agentv_stages.model.shapes import Function
from agentv_stages.model.times import parse_iso, whole_ms
from agentv_stages.providers.vibe.outcomes import GOODBYE, ending, full_name
from agentv_stages.providers.vibe.wire import (
    AskedCall,
    Config,
    Message,
    Meta,
    Stats,
    decode_document,
    decode_kind,
    decode_message,
    decode_meta,
)

STREAM_LOSSES = (
    "times, durations, tokens and costs; the session's id, the model, the version, the working directory",
    "work of sub-agents; only the calls that start them are printed",
    "which messages a run that resumed a session printed again",
    "before 1.3, thinking; before 2.7, which prompts the agent wrote in the user's name",
    "why a run stopped before its end (a limit, an error, the user): it is printed as text on standard error",
)
SESSION_LOSSES = (
    "times of messages and calls, before 2.23 also durations; the version",
    "tokens of single answers, cached and reasoning tokens; what sub-agents cost",
    "tokens and cost of a session that a compaction began",
    "which messages a run that resumed a session copied from it",
    "before 1.3, thinking; before 2.7, which prompts the agent wrote in the user's name",
    "why a run stopped before its end (a limit, an error, the user); since 2.23, that a call was refused",
)
FILLER = b'"Understood."'
"""What the agent adds after a result that no answer followed. 2.7 still adds it, but only up to 2.6, whose messages do
not say whether they were injected, is it taken as the agent's: a model may say it, too.
"""
INJECTED = (b'"<vibe_warning>', b'"<vibe_stop_event>')


class State(Struct):
    """`begun`: the session's id was emitted. `gave`: the last message was a result."""

    begun: bool = False
    gave: bool = False
    repeats: Repeats = field(default_factory=Repeats, name="told")


class MessagesDecoder:
    """Decoder of `vibe-messages` and of `vibe-session`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        if record.data == GOODBYE:
            batch.events.append(SessionEnd(self.context.source(record), "-end", "interrupted", GOODBYE.decode()))
            return
        data = one_line(record.data)
        kind = decode_kind(data)
        if kind.role:
            message = decode_message(data)
            self._begin(record, batch)
            self._message(message, "", f"m{record.row}", record, batch)
        elif has_value(kind.messages):
            self._document(data, record, batch)
        elif kind.session_id:
            self._meta(decode_meta(data), "", record, batch)
        else:
            batch.unknown_type("record", record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _begin(self, record: Record, batch: Batch) -> None:
        """Emits the session's id before its first message, if the file beside it has one."""
        state, context = self.state, self.context
        if not state.begun and context.session_id is not None and context.stream == MAIN:
            batch.events.append(SessionInfo(self.context.source(record), "-session", context.session_id))
        state.begun = True

    def _document(self, data: bytes, record: Record, batch: Batch) -> None:
        document = decode_document(data)
        messages = read_each(document.messages or (), decode_message, "messages", record, batch)
        if document.metadata is not None:
            self._meta(document.metadata, "-meta", record, batch)
        for place, message in messages:
            self._message(message, f"-{place}", f"m{record.row}-{place}", record, batch)

    def _meta(self, meta: Meta, part: str, record: Record, batch: Batch) -> None:
        batch.events.append(session_info(meta, self.context.source(record), part))
        if meta.parent_session_id is not None and self.context.stream == MAIN:
            return  # a compaction began it; its counts continue those of the previous session
        stats = meta.stats or Stats()
        tokens, output = stats.session_prompt_tokens, stats.session_completion_tokens
        if tokens or output:
            cost = stats.session_cost or None if self.context.stream == MAIN else None  # one cost per session
            source = self.context.source(record, parse_iso(meta.end_time))
            key = meta.session_id or self.context.stream
            used = TokenUsage(source, part, key, "session", None, tokens, output=output, cost_usd=cost)
            batch.events.append(used)

    def _message(self, message: Message, part: str, message_id: str, record: Record, batch: Batch) -> None:
        source, role = self.context.source(record), message.role
        if self.state.repeats.again(message.message_id, checksum(encode(message))):
            batch.ignore(f"message/{role}, repeated")
            return
        message_id = message.message_id or message_id
        gave, self.state.gave = self.state.gave, role == "tool"
        if role == "assistant":
            if gave and message.injected is None and not message.tool_calls and bytes(message.content) == FILLER:
                batch.events.append(AssistantText(source, part, message_id, message.content, synthetic=True))
            else:
                self._answer(message, part, message_id, source, batch)
        elif role == "tool":
            output = message.content if has_value(message.content) else None
            outcome, code = ending(message.name, message.content)
            call_id = message.tool_call_id or message_id
            lasted = message.tool_result.duration if message.tool_result else None
            lasted_ms = whole_ms(lasted * 1000) if lasted is not None else None
            batch.events.append(ToolResult(source, part, call_id, output, outcome, code, lasted_ms))
            if outcome == "cancelled":
                batch.events.append(SessionEnd(source, f"{part}-end", "interrupted", "a call was cancelled"))
        elif role == "user" or role == "system":
            body = text_json(message.content)
            injected = role == "system" or bool(message.injected) or bytes(body).startswith(INJECTED)
            batch.events.append(UserText(source, part, body, message_id, injected))
        else:
            batch.unknown_type(f"message/{role}", record)

    def _answer(self, message: Message, part: str, message_id: str, source: Source, batch: Batch) -> None:
        add = batch.events.append
        thought, text = text_json(message.reasoning_content), text_json(message.content)
        if thought != EMPTY_STRING:
            add(Reasoning(source, part, message_id, thought))
        calls = message.tool_calls or ()
        if text != EMPTY_STRING or not calls:
            add(AssistantText(source, part, message_id, text))
        for i, call in enumerate(calls):
            name, arguments = named_call(call)
            call_id = call.id or f"{message_id}-{i}"
            add(ToolCall(source, f"{part}-{i}", message_id, call_id, name, arguments, self.context.parent_call))
        if not calls:
            add(SessionEnd(source, f"{part}-end", "complete", "answered"))


def session_info(meta: Meta, source: Source, part: str) -> SessionInfo:
    """The facts in `meta.json` about a session, with the time when it began."""
    folder = meta.environment.working_directory if meta.environment else None
    begun = replace(source, time_ms=parse_iso(meta.start_time))
    model = _model(meta.config or meta.agent_config or Config())
    places = (folder, meta.git_branch, meta.parent_session_id, meta.title)
    return SessionInfo(begun, part, meta.session_id, model, None, *places)


def named_call(call: AskedCall) -> tuple[str, Raw]:
    """Name and arguments of a call; arguments that are not JSON stay a string."""
    function = call.function or Function()
    arguments, shown = function.arguments, call.presentation.display if call.presentation else None
    name = full_name(function.name or "unknown", shown.statusText if shown else None)
    return name, inner_json(arguments) if has_value(arguments) else EMPTY_OBJECT


def _model(config: Config) -> str | None:
    if config.model_name:
        return config.model_name
    models = config.models.values() if isinstance(config.models, dict) else config.models or ()
    named = (model.name for model in models if config.active_model in (model.alias, model.name))
    return next(named, None) or config.active_model
