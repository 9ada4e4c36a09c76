"""The messages of one run, in order, to events; the end of a command may be reported two messages later."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Raw

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AssistantText,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, has_value, text_of
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import from_epoch
from agentv_stages.providers.mini_swe_agent.answers import Answer, accepted, cut_out, refused, usage_event
from agentv_stages.providers.mini_swe_agent.outcomes import (
    MARKER,
    NOT_EXECUTED,
    SUBMITTED,
    End,
    end_of,
    submits,
    told_end,
    typed,
    unexecuted,
)
from agentv_stages.providers.mini_swe_agent.wire import Config, Document, Extra, Info, Message, ModelStats, Response

_NOTHING = Extra()
_OWN_COMMAND = ("\n```bash\n", "\n```")
"""The text around a command that the user typed in 1.x, which is logged as an answer."""


class Open(NamedTuple):
    """A call without a result yet; `native` is the id in the log, which may occur again in another answer."""

    call_id: str
    native: str | None
    arguments: Raw


class Held(NamedTuple):
    """A call that the agent says was not executed; the next message gives the reason."""

    call_id: str
    part: str
    output: Raw


class Run:
    """One run of the agent; lives while its document is decoded. Appends to `batch`."""

    def __init__(
        self,
        context: DecodeContext,
        document: Document,
        messages: Sequence[tuple[int, Message]],
        record: Record,
        batch: Batch,
    ) -> None:
        self.context, self.document, self.messages = context, document, messages
        self.record, self.batch, self.events = record, batch, batch.events
        self.info = document.info or Info()
        config = self.info.config or Config()
        self.cwd = config.environment.cwd if config.environment else None
        self.regex = config.agent.action_regex if config.agent else None
        self.model = config.model.model_name if config.model else None
        self.cuts_text = not self.info.mini_version or self.info.mini_version.startswith("1.")
        self.keeps_answers = any(m.extra is not None for _, m in messages if m.role == "assistant")
        self.open: OrderedDict[str, Open] = (
            OrderedDict()
        )  # by the native id where that is no other call's of the answer
        self.held: list[Held] = []
        self.several = False  # commands in the current answer
        self.prompted = False
        self.ended = False
        self.last_ms: int | None = None
        self.call_ids: set[str] = set()

    def header(self) -> None:
        self.model = next(filter(None, (_model_of(message) for _, message in self.messages)), self.model)
        version = self.info.mini_version
        self.events.append(SessionInfo(self._source(None), "", None, self.model, version, self.cwd or None))
        instance = self.document.instance_id
        if instance is not None:  # an event of its own: it comes last, and is missing in a truncated document
            self.events.append(SessionInfo(self._source(None), "-title", title=str(instance)))

    def take(self, place: int, message: Message) -> None:
        """Handles the next message."""
        extra, role = message.extra or _NOTHING, message.role
        time_ms = from_epoch(message.timestamp if extra.timestamp is None else extra.timestamp)
        self.last_ms = time_ms or self.last_ms
        if role == "tool" or message.type == "function_call_output" or has_value(extra.raw_output):
            self._observation(place, message, extra, time_ms)
            return
        text = _text_of(message)
        if extra.exit_status or (role != "exit" and has_value(message.content)):  # else it was truncated
            self._settle(extra.exit_status, text, extra.submission)
        if role == "assistant" or message.object == "response":
            self._answer(place, message, extra, text, time_ms)
        elif role == "exit":
            self._exit(place, extra)
        elif role == "user" or role == "system":
            self._text(place, message, extra, text, time_ms)
        else:
            self.batch.unknown_type(f"message/{role or message.type or ''}", self.record)

    def end(self) -> None:
        """Called after the last message."""
        whole = self.document.trajectory_format is not None
        if whole:  # else the reason why they were not executed may have been truncated
            self._settle(None, "", EMPTY_STRING)
        info = self.info
        if self.ended or not info.exit_status:
            return
        last = _text_of(self.messages[-1][1]) if self.messages else None
        if whole or last == info.submission:
            self._end(info.exit_status, info.submission if info.exit_status != SUBMITTED else None, None)

    def _source(self, time_ms: int | None) -> Source:
        record, context = self.record, self.context
        return Source(context.file, record.row, record.offset, record.length, time_ms, context.stream)

    def _message_id(self, place: int) -> str:
        return f"m{self.record.row}-{place}"

    def _answer(self, place: int, message: Message, extra: Extra, text: str, time_ms: int | None) -> None:
        begin, end = _OWN_COMMAND
        if self.keeps_answers and message.extra is None and text.startswith(begin) and text.endswith(end):
            self._user(place, message.content, time_ms, False)
            self.open.clear()  # it is the user's own
            return
        answer = accepted(message, extra)
        if self.cuts_text and not answer.calls:
            answer = answer._replace(calls=cut_out(text, self.regex))
        self._emit(place, answer, time_ms, extra.cost)

    def _emit(self, place: int, answer: Answer, time_ms: int | None, cost: float | None) -> None:
        source = self._source(self._begun(answer) if time_ms is None else time_ms)
        message_id, events, model = self._message_id(place), self.events, answer.model or self.model
        if model != self.model:
            self.model = model
            events.append(SessionInfo(source, f"-{place}", None, model))
        for i, thought in enumerate(answer.thoughts):
            events.append(Reasoning(source, f"-{place}-{i}", message_id, thought, False, model))
        for i, text in enumerate(answer.texts):
            events.append(AssistantText(source, f"-{place}-{i}", message_id, text, False, False, model))
        self.several = len(answer.calls) > 1
        self.open.clear()
        for i, call in enumerate(answer.calls):
            call_id = call.id if call.id and call.id not in self.call_ids else f"{message_id}-{i}"
            self.call_ids.add(call_id)
            key = call.id if call.id and call.id not in self.open else call_id
            self.open[key] = Open(call_id, call.id, call.arguments)
            events.append(
                ToolCall(source, f"-{place}-{i}", message_id, call_id, call.name, call.arguments, None, model)
            )
        usage = usage_event(source, f"-{place}", message_id, answer._replace(model=model), cost)
        if usage is not None:
            events.append(usage)

    def _begun(self, answer: Answer) -> int | None:
        """The second in which the server began an answer; None if an earlier message has a later time."""
        begun_ms = from_epoch(answer.created)
        if begun_ms is not None and (self.last_ms is None or begun_ms >= self.last_ms):
            self.last_ms = begun_ms
            return begun_ms
        return None

    def _observation(self, place: int, message: Message, extra: Extra, time_ms: int | None) -> None:
        """The output of a command. With several commands all results are written at once, when the last has ended."""
        shown = message.content if has_value(message.content) else message.output
        native = message.tool_call_id or message.call_id
        if native is not None:
            opened = self.open.pop(native, None)
            call_id = opened.call_id if opened is not None else native
        elif self.open:
            call_id = self.open.popitem(last=False)[1].call_id
        else:
            self._user(place, shown, time_ms, True)
            return
        if extra.exception_info == NOT_EXECUTED:
            self.held.append(Held(call_id, f"-{place}", shown))
            return
        end = end_of(extra)
        output = shown if extra.exception_info or not has_value(extra.raw_output) else extra.raw_output
        self._result(call_id, f"-{place}", end, output, None if self.several else time_ms)

    def _settle(self, exit_status: str | None, text: str, submission: Raw) -> None:
        """Emits the ends of commands that were not executed, now that the next message is known.

        The first of them may have submitted the work; its result is not written if it ends the run.
        """
        done = submits(exit_status, text)
        for held in self.held:
            if done:
                output = submission if exit_status == SUBMITTED and has_value(submission) else None
                self._result(held.call_id, held.part, End("ok"), output, None)
                done = False
            else:
                self._result(held.call_id, held.part, End(unexecuted(text)), held.output, None)
        if self.held:
            self.held = []
            self.open.clear()

    def _text(self, place: int, message: Message, extra: Extra, text: str, time_ms: int | None) -> None:
        if extra.interrupt_type == "FormatError":
            self._refusal(place, message, extra)
            return
        if extra.actions is not None:
            self.open.clear()  # it is the user's own
            self._user(place, message.content, time_ms, False)
            return
        if not has_value(message.content):
            self.batch.ignore("message/empty")
            return
        end = told_end(text)
        if self._waits_for_words() and not (end.is_output and extra.interrupt_type):
            _, call = self.open.popitem(last=False)
            output, ended_ms = (message.content, time_ms) if end.is_output else (None, None)
            self._result(call.call_id, f"-{place}", end, output, ended_ms)
            if end.is_output:
                return
        elif message.content == EMPTY_STRING:
            self.batch.ignore("message/empty")  # 1.x: a limit was reached
            return
        first = message.role == "user" and not self.prompted
        self.prompted = self.prompted or first
        self._user(place, message.content, time_ms, not first and not typed(text))

    def _waits_for_words(self) -> bool:
        """Whether a command without an id is open, whose end a message without an id may report."""
        return bool(self.open) and next(iter(self.open.values())).native is None

    def _refusal(self, place: int, message: Message, extra: Extra) -> None:
        """A rejected answer, kept beside the rejection; none of its calls ran."""
        answer = refused(extra)
        self.open.clear()
        if answer is not None:
            self._emit(place, answer, None, extra.cost)
            for i, call in enumerate(self.open.values()):
                self._result(call.call_id, f"-{place}-{i}", End("error"), message.content, None)
            self.open.clear()
        self._user(place, message.content, None, True)

    def _exit(self, place: int, extra: Extra) -> None:
        if extra.exit_status == SUBMITTED and self.open:
            submitting = [call for call in self.open.values() if MARKER in bytes(call.arguments)]
            submitting = list(self.open.values()) if len(self.open) == 1 else submitting
            if len(submitting) == 1:
                call = submitting[0]
                output = extra.submission if has_value(extra.submission) else None
                self._result(call.call_id, f"-{place}", End("ok"), output, None)
        self.open.clear()
        if extra.exit_status:
            raws = self.document.messages
            self._end(extra.exit_status, extra.exception_str, raws[place] if raws else None)

    def _end(self, exit_status: str, detail: str | None, result: Raw | None) -> None:
        stats = self.info.model_stats or ModelStats()
        status: Status = "complete" if exit_status == SUBMITTED else "error"
        reason = f"{exit_status}: {detail}" if detail else exit_status
        cost, turns = stats.instance_cost or None, stats.api_calls
        part = "-end" if not self.ended else f"-end-{len(self.events)}"
        self.ended = True
        self.events.append(SessionEnd(self._source(self.last_ms), part, status, reason, cost, None, turns, result))

    def _result(self, call_id: str, part: str, end: End, output: Raw | None, time_ms: int | None) -> None:
        source = self._source(time_ms)
        output = output if output is not None and has_value(output) else None
        self.events.append(ToolResult(source, part, call_id, output, end.outcome, end.exit_code))

    def _user(self, place: int, body: Raw, time_ms: int | None, injected: bool) -> None:
        body = body if has_value(body) else EMPTY_STRING
        self.events.append(UserText(self._source(time_ms), f"-{place}", body, self._message_id(place) + "-u", injected))


def _model_of(message: Message) -> str | None:
    response = message.extra.response if message.extra is not None else None
    return response.model if isinstance(response, Response) else message.model


def _text_of(message: Message) -> str:
    return text_of(message.content) if has_value(message.content) else ""
