"""Converts one request of a VS Code chat to the events of its answers: texts, thoughts, calls with their results.

The order is that of the response's parts; calls that no part shows come before the model's next call, or before the
closing text. A text or a thought after a call begins another answer, as does a call of the model's next round.
"""

from collections.abc import Sequence
from zlib import crc32

from msgspec import Raw, Struct
from msgspec.structs import replace

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AssistantText,
    Level,
    Notification,
    Reasoning,
    Source,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from agentv_stages.model.payload import text_of, to_raw
from agentv_stages.model.times import from_epoch
from agentv_stages.providers.vscode.calls import TOOL_PART, JoinedCall, call_input, call_name, join_calls
from agentv_stages.providers.vscode.lenient import markdown, read_reference, read_thinking
from agentv_stages.providers.vscode.results import call_result
from agentv_stages.providers.vscode.wire import Part, Request

ROUND_TEXT = "-text"
TEXTS = frozenset((None, "markdownContent", "markdownVuln"))
NOTICES: dict[str, Level] = {"warning": "warning", "info": "info", "error": "error", "systemNotification": "info",
                             "hook": "info"}  # fmt: skip
GLUE = frozenset(
    ("prepareToolInvocation", "textEditGroup", "notebookEditGroup", "codeblockUri", "undoStop", "reference",
     "progressMessage", "progressTaskSerialized", "progressTask", "confirmation", "elicitation", "elicitation2",
     "elicitationSerialized", "mcpServersStarting", "command", "extensions", "multiDiffData", "questionCarousel",
     "pullRequest", "treeData", "codeCitation", "codeNotification", "move", "clearToPreviousToolInvocation",
     "agentVulnerability", "workspaceEdit", "planReview", "todoList", "attachment", "externalEdits", "externalEdit",
     "externalToolInvocationUpdate", "disabledClaudeHooks", "usage", "contextUsage", "usedContext", "textEdit",
     "notebookEdit", "progressTaskResult", "voiceProgress", "autoModeResolution", "mcpAuthenticationRequired",
     "mcpServersStartingSlow")
)  # fmt: skip


class Emitted(Struct):
    """The parts of the current request that were emitted: prompt, size and checksum of each text, calls with their
    results, tokens, and its end.
    """

    prompt: bool = False
    texts: dict[str, tuple[int, int]] = {}
    calls: dict[str, bool] = {}
    notices: list[str] = []
    tokens: tuple[int | None, int | None] | None = None
    end: str | None = None


def model_of(request: Request) -> str | None:
    """The model that answered, if known; otherwise the selected model (`copilot/auto`)."""
    metadata = request.result.metadata if request.result else None
    return (metadata.resolvedModel if metadata else None) or request.modelId


class Answers:
    """Emits one request's answers: texts, thoughts and calls in the order of the parts."""

    def __init__(
        self, request: Request, parts: Sequence[Part], source: Source, emitted: Emitted, batch: Batch, record: Record
    ) -> None:
        self.parts, self.source, self.emitted, self.batch, self.record = parts, source, emitted, batch, record
        self.untimed = replace(source, time_ms=None)  # the request's time is that of the prompt
        self.request = request
        self.model = model_of(request)
        self.metadata = request.result.metadata if request.result else None
        self.rounds = (self.metadata.toolCallRounds if self.metadata else None) or []
        self.requested, self.shown = join_calls(parts, self.metadata)
        self.answer = 0
        self.called = False
        self.thought: set[int] = set()
        self.has_thoughts = any(part.kind == "thinking" for part in parts)

    def emit(self) -> None:
        last_tool = max(self.shown, default=-1)
        rest_before = -1 if self.shown else self._closing_text()
        if not self.shown and (rest_before < 0 or self._told_rounds()):
            self._from_rounds()
            self._usage()
            return
        text: list[str] = []
        begin = -1
        for i, part in enumerate(self.parts):
            words = _words(part)
            if i == rest_before:
                self._flush_text(text, f"-{begin}")
                text, begin = [], -1
                self._rest()
            if words is not None:
                begin = i if begin < 0 else begin
                text.append(words)
                continue
            if part.kind not in (TOOL_PART, "thinking"):
                self._other(part, i)
                continue
            self._flush_text(text, f"-{begin}")
            text, begin = [], -1
            if part.kind == "thinking":
                self._think(_thought(part.value), f"-thinking-{i}")
            else:
                self._before(self.shown[i])
                self._call(self.shown[i])
                if i == last_tool:
                    self._rest()
        self._flush_text(text, f"-{begin}")
        self._usage()

    def _closing_text(self) -> int:
        """The index at which the last run of text begins; -1 if there is no text."""
        at = -1
        for i in reversed(range(len(self.parts))):
            if _words(self.parts[i]) is not None:
                at = i
            elif at >= 0 and self.parts[i].kind == "thinking":
                break
        return at

    def _told_rounds(self) -> bool:
        return any(at.endswith(ROUND_TEXT) for at in self.emitted.texts)

    def _from_rounds(self) -> None:
        """For a request whose parts show neither text nor call: emits the model's texts and calls round by round."""
        for i, part in enumerate(self.parts):
            if part.kind == "thinking":
                self._think(_thought(part.value), f"-thinking-{i}")
            elif _words(part) is None:
                self._other(part, i)
        for number, model_round in enumerate(self.rounds):
            self.answer, self.called = number, False
            self._think_of(number)
            text = text_of(model_round.response) if bytes(model_round.response)[:1] == b'"' else ""
            self._flush_text([text], f"-round-{number}{ROUND_TEXT}")
            for call in self.requested:
                if call.round == number:
                    self._call(call)

    def _usage(self) -> None:
        """The output of all model calls. The input is that of the last one, so it is only emitted for a single call."""
        meta, request = self.metadata, self.request
        used = request.promptTokens if request.promptTokens is not None else meta.promptTokens if meta else None
        output = request.completionTokens
        if len(self.rounds) > 1:
            used = None
        elif output is None and meta is not None:
            output = meta.outputTokens
        figures = (used, output)
        if figures != (None, None) and figures != self.emitted.tokens:
            at = f"-{self.record.row}" if self.emitted.tokens else ""
            self.emitted.tokens = figures
            key = f"{self.source.base_id}-usage"
            self.batch.events.append(
                TokenUsage(self.source, at, key, "call", self.model, used, None, None, None, output)
            )

    def _id(self) -> str:
        return f"{self.source.base_id}-a{self.answer}"

    def _new(self) -> None:
        """Begins another answer, for a text or a thought after a call."""
        if self.called:
            self.answer += 1
            self.called = False

    def _flush_text(self, pieces: list[str], at: str) -> None:
        text = "".join(pieces)
        if text.strip():
            self._new()
            self._piece(at, to_raw(text), AssistantText)

    def _think(self, text: str, at: str) -> None:
        if text.strip():
            self._new()
            self._piece(at, to_raw(text), Reasoning)

    def _piece(self, at: str, text: Raw, kind: type[AssistantText] | type[Reasoning]) -> None:
        """Emits a text, or the part that was added since it was last emitted."""
        body = bytes(text)[1:-1]
        size, checksum = self.emitted.texts.get(at, (0, 0))
        if len(body) <= size:
            return
        if size and crc32(body[:size]) != checksum:
            self.batch.ignore("rewritten text")
            return
        if size:
            text = Raw(b'"' + body[size:] + b'"')
        self.emitted.texts[at] = (len(body), crc32(body))
        at = f"{at}-{size}" if size else at
        if kind is Reasoning:
            self.batch.events.append(Reasoning(self.untimed, at, self._id(), text, size > 0, self.model))
        else:
            self.batch.events.append(AssistantText(self.untimed, at, self._id(), text, size > 0, False, self.model))

    def _before(self, call: JoinedCall) -> None:
        """Emits the calls that no part shows and that precede this call in the rounds."""
        if call.model_call is not None:
            for other in self.requested:
                if other is call:
                    break
                if other.part is None:
                    self._call(other)

    def _rest(self) -> None:
        for call in self.requested:
            if call.part is None:
                self._call(call)

    def _call(self, call: JoinedCall) -> None:
        emitted, part = self.emitted.calls, call.part
        if call.round > 0 and call.round not in self.thought and self.called:
            self.answer += 1
            self.called = False
        if call.round >= 0:
            self._think_of(call.round)
        self.called = True
        agent = part.subAgentInvocationId if part is not None else None
        stream = f"subagent:{agent}" if agent else self.source.stream
        time = self.rounds[call.round].timestamp if call.round >= 0 else None
        source = Source(
            self.source.file, self.source.row, self.source.offset, self.source.length, from_epoch(time), stream,
            self.source.base_id,
        )  # fmt: skip
        at = f"-call-{call.call_id}"
        if call.call_id not in emitted:
            emitted[call.call_id] = False
            message_id = f"{self._id()}-{agent}" if agent else self._id()
            self.batch.events.append(
                ToolCall(source, at, message_id, call.call_id, call_name(call), call_input(call), agent, self.model)
            )
        if not emitted[call.call_id]:
            result = call_result(call_name(call), part, call.output)
            if result is not None:
                emitted[call.call_id] = True
                ended = Source(source.file, source.row, source.offset, source.length, None, stream, source.base_id)
                self.batch.events.append(ToolResult(ended, at, call.call_id, *result))

    def _think_of(self, number: int) -> None:
        """Emits the thought of a round, if no part shows it."""
        if number not in self.thought:
            self.thought.add(number)
            thinking = self.rounds[number].thinking
            if not self.has_thoughts:
                self._think(_thought(thinking) or _thought(read_thinking(thinking).text), f"-round-{number}")

    def _other(self, part: Part, position: int) -> None:
        kind = part.kind or ""
        at = f"-{kind}-{position}"
        text = part.systemMessage or part.stopReason or markdown(part.content) or markdown(part.value)
        if kind in NOTICES and text and at not in self.emitted.notices:
            self.emitted.notices.append(at)
            level = "warning" if part.stopReason else NOTICES[kind]
            self.batch.events.append(Notification(self.source, at, kind, text, level))
        elif kind in GLUE or kind in NOTICES:
            self.batch.ignore(f"part/{kind}")
        else:
            self.batch.unknown_type(f"part/{kind}", self.record)


def _words(part: Part) -> str | None:
    """The text that a part adds; None for parts that are not text."""
    if part.kind in TEXTS:
        return markdown(part.value if part.value else part.content)
    if part.kind == "inlineReference":
        if part.name:
            return part.name
        data = bytes(part.inlineReference)
        if data[:1] == b"{":
            reference = read_reference(data)
            path = reference.path or reference.fsPath or ""
            return reference.name or path.replace("\\", "/").rpartition("/")[2]
        return ""
    return None


def _thought(raw: Raw) -> str:
    data = bytes(raw)
    return text_of(raw) if data[:1] in (b'"', b"[") else ""
