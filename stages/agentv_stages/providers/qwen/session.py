"""Qwen Code sessions on disk: lines of `~/.qwen/projects/*/chats/*.jsonl` to events.

Source: Qwen Code 0.14 to 0.24.4. One assistant line is one model answer, in Gemini's parts. Sub-agents have no lines of
their own: their answers and calls are in the telemetry, which also repeats the main thread and adds times to its calls.
From 0.24 on each sub-agent also has a file below `subagents/`, in the same form; as a companion it only gives outputs.
"""

from msgspec.structs import replace

from agentv_stages.chain.foreign import COPIED, other_session
from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    MAIN,
    AssistantText,
    Notification,
    Outcome,
    Reasoning,
    Retract,
    SessionEnd,
    SessionInfo,
    Source,
    ToolCall,
    ToolResult,
    sidechain,
)
from agentv_stages.model.payload import text_json
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.recent import remember
from agentv_stages.model.repeats import checksum
from agentv_stages.model.scripts import Script, emit_output, hold, let_all_go, let_go
from agentv_stages.model.times import parse_iso, whole_ms
from agentv_stages.providers.gemini.outcome import SHELL_TOOLS, failure_outcome, shell_outcome, success_outcome
from agentv_stages.providers.qwen import prompts
from agentv_stages.providers.qwen.notices import QUIET, notice
from agentv_stages.providers.qwen.parts import EMPTY, effective_call, model_call, read_output
from agentv_stages.providers.qwen.repeated_telemetry import call_key, repeats, take_end, tell_compression
from agentv_stages.providers.qwen.state import KEEP, SessionState
from agentv_stages.providers.qwen.stream import API_ERROR, RETRY
from agentv_stages.providers.qwen.telemetry import agent_answer, agent_call, agent_of, in_stream, script_call
from agentv_stages.providers.qwen.wire import (
    FunctionResponse,
    Payload,
    SessionLine,
    UiEvent,
    decode_payload,
    decode_session,
)

LOSSES = (
    "if the session ran over ACP, its last records, and that reads and edits failed",
    "sub-agents' thoughts, and before 0.24 what their tools returned",
    "results of the calls of an exec script",
    "an answer that an API error cut off",
    "commands (`!`) and questions (`/btw`) of a person, and model calls for summaries and suggestions",
    "the answer to `--json-schema` (it is redacted)",
    "tokens of empty answers that were asked for again",
    "costs",
)
EXEC = "exec"
STRUCTURED = "structured_output"
"""The tool that receives the answer to `--json-schema`; the run ends with it, without a text."""
_NO_PAYLOAD = Payload()


class SessionDecoder:
    """Decodes the lines of one session."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.stream = context.stream
        self.companion = context.stream != MAIN
        self.parent_call = context.parent_call
        self.state = SessionState()

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_session(record.data)
        kind = line.type
        if self.companion and kind != "tool_result":
            batch.ignore("subagent's file, told by telemetry")
            return
        if line.isSidechain and self.stream == MAIN:  # a sub-agent's file, read by itself
            self.stream = sidechain(line.agentId or "unknown")
        payload, timed = _NO_PAYLOAD, False
        info = (line.sessionId, line.version, line.cwd, line.gitBranch)
        if line.forkedFrom is not None:
            self._copied(info, line.forkedFrom.sessionId, record, batch)
            return
        if kind == "system":
            system = line.systemPayload
            payload = decode_member(system, decode_payload, "systemPayload") if system else _NO_PAYLOAD
            timed = line.subtype == "ui_telemetry"
            if not timed and info == self.state.info and self._is_quiet(line.subtype or "", payload, record.row, batch):
                return
        if kind != "tool_result" and line.uuid is not None:  # older versions write two lines with one id
            if self.state.repeats.again(f"{line.sessionId} {line.uuid} {line.timestamp}", checksum(record.data)):
                batch.ignore(f"{kind}/again")
                return
        # Repeated telemetry of a call must not be taken for telemetry of the next call.
        if timed and info == self.state.info and self._is_quiet("ui_telemetry", payload, record.row, batch):
            return
        source = Source(
            self.file,
            record.row,
            record.offset,
            record.length,
            parse_iso(line.timestamp),
            self.stream,
            line.uuid or "",
        )
        if line.uuid is not None and line.uuid == line.parentUuid:  # one word was put in the place of all ids
            source = replace(source, answer=source.time_ms)
        if self.companion:
            self._result(line, source, batch)
            return
        if info != self.state.info:
            self._session(info, source, record, batch)
        if kind == "system":
            self._system(line, payload, source, record, batch)
            return
        self.state.failed = None
        if kind == "tool_result":
            self._result(line, source, batch)
        elif kind == "assistant":
            self._assistant(line, source, batch)
        elif kind == "user":
            if line.message is not None and line.message.parts is None:
                batch.strangers.append(record)  # Claude's messages have `content`
            self._user(line, source, batch)
        else:
            batch.unknown_type(kind or "(no type)", record)

    def flush(self, batch: Batch) -> None:
        """Emits an API error as the session's end if nothing came after it; most errors are retried."""
        state = self.state
        let_all_go(state.scripts, batch)
        if state.failed is not None and self.stream == MAIN:
            source = Source(self.file, state.failed_row, state.failed_offset, 0)
            batch.events.append(SessionEnd(source, "-end", "error", state.failed))

    def _session(self, info: tuple[str | None, ...], source: Source, record: Record, batch: Batch) -> None:
        known = self.state.info[0] if self.state.info else None
        self.state.info = info
        if self.stream == MAIN:
            session_id, version, cwd, branch = info
            other_session(record, session_id, known, batch)
            batch.events.append(SessionInfo(source, "", session_id, None, version, cwd, branch))

    def _copied(self, info: tuple[str | None, ...], parent: str | None, record: Record, batch: Batch) -> None:
        """History that a branch copied from its parent, whose log reports it; only the branch's origin is emitted."""
        batch.ignore(COPIED)
        if self.state.info[0] is None and self.stream == MAIN:
            self.state.info = info
            session_id, version, cwd, branch = info
            source = Source(self.file, record.row, record.offset, record.length)
            batch.events.append(SessionInfo(source, "", session_id, None, version, cwd, branch, parent))

    def _begin(self, line: SessionLine, source: Source) -> tuple[str, int]:
        """Id and first part of a message. Two lines with one id are one message."""
        state = self.state
        message_id = line.uuid or f"m{source.row}"
        count = len(line.message.parts or ()) if line.message else 0
        if message_id == state.last_id:
            first = state.last_parts
            state.last_parts += count
            return message_id, first
        state.last_id, state.last_parts = message_id, count
        if len(state.messages) >= KEEP:
            del state.messages[: KEEP // 4]
        state.messages.append(message_id)
        return message_id, 0

    def _assistant(self, line: SessionLine, source: Source, batch: Batch) -> None:
        state, model = self.state, line.model
        self._model(line, source, batch)
        message_id, first = self._begin(line, source)
        events = batch.events
        parts = (line.message.parts if line.message else None) or ()
        asks = any(part.functionCall for part in parts)
        self._attempted(message_id, line, asks, source, batch)
        for i, part in enumerate(parts, first):
            at = f"-{i}"
            call = part.functionCall
            if call is not None:
                name, arguments = effective_call(call.name or "unknown", call.args or EMPTY_OBJECT)
                call_id = call.id or f"{message_id}{at}"
                remember(state.calls, call_id, call_key(name, arguments), KEEP)
                if name == EXEC:
                    hold(
                        state.scripts,
                        call_id,
                        Script(name, source, at, message_id, arguments, self.parent_call, model),
                        batch,
                    )
                    continue
                events.append(ToolCall(source, at, message_id, call_id, name, arguments, self.parent_call, model))
            elif bytes(part.text) in EMPTY:
                batch.ignore("part/empty")
            elif part.thought:
                events.append(Reasoning(source, at, message_id, text_json(part.text), False, model))
            else:
                synthetic = bytes(part.text).startswith(API_ERROR)
                events.append(AssistantText(source, at, message_id, part.text, False, synthetic, model))
        usage = line.usageMetadata
        if usage is not None and usage.promptTokenCount is None and usage.candidatesTokenCount is None:
            usage = None
        if usage is not None:
            events.append(
                model_call(
                    source,
                    message_id,
                    model,
                    usage.promptTokenCount,
                    usage.cachedContentTokenCount,
                    usage.candidatesTokenCount,
                    usage.thoughtsTokenCount,
                    usage.totalTokenCount,
                )
            )
            state.counted = model
        # An answer that Escape broke off has no usage; a whole one without a call is the last of its turn.
        if self.stream == MAIN and parts and not asks:
            if usage is not None:
                events.append(SessionEnd(source, f"-end-{first}", "complete", "answered"))
            elif model == state.counted is not None:
                events.append(SessionEnd(source, f"-end-{first}", "interrupted", "the answer was broken off"))

    def _attempted(self, message_id: str, line: SessionLine, asks: bool, source: Source, batch: Batch) -> None:
        """Retracts the answer before this one if the same request was sent again: no answer to its calls was sent, or
        the prompt is equally long. Qwen discards an answer that hits the output limit.
        """
        state = self.state
        prompt = line.usageMetadata.promptTokenCount if line.usageMetadata else None
        before, state.attempt = state.attempt, (message_id, prompt, asks)
        if before is None:
            return
        void, spent, asked_before = before
        if void == message_id:
            state.attempt = message_id, prompt or spent, asks or asked_before
        elif asked_before or (prompt and prompt == spent):
            for call_id in [i for i, script in state.scripts.items() if script.message_id == void]:
                let_go(state.scripts, call_id, batch)
            batch.events.append(Retract(source, "-retry", (void,), RETRY))

    def _model(self, line: SessionLine, source: Source, batch: Batch) -> None:
        state = self.state
        model = line.model if line.model != state.model else None
        window = line.contextWindowSize if line.contextWindowSize != state.window else None
        if (model or window) and self.stream == MAIN:
            state.model, state.window = model or state.model, window or state.window
            batch.events.append(SessionInfo(source, "-model", model=model, context_window=window))

    def _user(self, line: SessionLine, source: Source, batch: Batch) -> None:
        state = self.state
        state.attempt = None
        message_id, first = self._begin(line, source)
        parts = (line.message.parts if line.message else None) or []
        for i, part in enumerate(parts):
            if part.functionResponse is not None:
                self._response(part.functionResponse, line, f"-{first + i}", source, batch)
        remember(state.prompts, line.parentUuid or "", message_id, KEEP)
        command_text, state.command_text = state.command_text, None
        prompts.emit(line, parts, command_text, message_id, first, source, batch)

    def _result(self, line: SessionLine, source: Source, batch: Batch) -> None:
        self.state.attempt = None
        parts = (line.message.parts if line.message else None) or ()
        results = 0
        for i, part in enumerate(parts):
            if part.functionResponse is not None:
                results += 1
                self._response(part.functionResponse, line, f"-{i}" if i else "", source, batch)
        if results:
            return
        call_id = line.toolCallResult.callId if line.toolCallResult else None
        if call_id is None:
            batch.ignore("tool_result/empty")
            return
        self._response(FunctionResponse(call_id), line, "", source, batch)

    def _response(self, response: FunctionResponse, line: SessionLine, at: str, source: Source, batch: Batch) -> None:
        call_id = response.id or (line.toolCallResult.callId if line.toolCallResult else None) or ""
        output, failed = read_output(response.response)
        data = bytes(output) if output is not None else b""
        key = self.state.calls.pop(call_id, None)
        ended = take_end(key, self.state) if key else None
        status = line.toolCallResult.status if line.toolCallResult else None
        error_type = line.toolCallResult.errorType if line.toolCallResult else None
        outcome: Outcome | None = None
        exit_code = None
        if ended is not None and ended.rejected:
            outcome = "denied"
        elif failed or status in ("error", "cancelled"):
            outcome = failure_outcome(data, error_type, status == "cancelled")
            exit_code = shell_outcome(data)[1] if response.name in SHELL_TOOLS else None
        elif status == "success":
            outcome, exit_code = success_outcome(data, response.name in SHELL_TOOLS)
        duration = ended.duration_ms if ended else None
        if duration is None and line.toolCallResult is not None and line.toolCallResult.durationMs is not None:
            duration = whole_ms(line.toolCallResult.durationMs)
        if call_id in self.state.scripts and not let_go(self.state.scripts, call_id, batch):
            emit_output(EXEC, source, call_id, output, outcome != "ok", batch)
        else:
            batch.events.append(ToolResult(source, at, call_id, output, outcome, exit_code, duration))
        if status == "cancelled" and self.stream == MAIN:
            reason = "a call was denied" if outcome == "denied" else "a call was cancelled"
            batch.events.append(SessionEnd(source, f"{at}-end", "interrupted", reason))
        elif response.name == STRUCTURED and outcome == "ok" and self.stream == MAIN:
            batch.events.append(SessionEnd(source, f"{at}-end", "complete", STRUCTURED))

    def _system(self, line: SessionLine, payload: Payload, source: Source, record: Record, batch: Batch) -> None:
        name = line.subtype or ""
        if self._is_quiet(name, payload, record.row, batch):
            return
        if name == "ui_telemetry" and payload.uiEvent is not None:
            self._telemetry(payload.uiEvent, source, batch)
        elif name == "rewind":
            self._rewind(payload.targetUuid, line.parentUuid, source, batch)
        else:
            notice(name, payload, source, record, batch)
            if name == "slash_command" and payload.phase != "result":
                self.state.command_text = prompts.asked_by(payload)
            elif name == "chat_compression":
                tell_compression(source, self.state, batch)

    def _is_quiet(self, name: str, payload: Payload, row: int, batch: Batch) -> bool:
        """Counts a record without new content: most telemetry repeats the main thread, with call times."""
        if name == "ui_telemetry":
            if payload.uiEvent is not None and not repeats(payload.uiEvent, row, self.state):
                return False
        elif name not in QUIET:
            return False
        batch.ignore(name)
        return True

    def _rewind(self, target: str | None, parent: str | None, source: Source, batch: Batch) -> None:
        """Retracts what follows the target, which stays; if none is named, the prompt after the same record."""
        self.state.attempt = None
        messages, prompt = self.state.messages, self.state.prompts.get(parent or "")
        if target in messages:
            start = messages.index(target) + 1
        elif target is None and prompt in messages:
            start = messages.index(prompt)
        else:
            batch.events.append(Notification(source, "", "rewind", "went back to an earlier message"))
            return
        void = tuple(messages[start:])
        del messages[start:]
        if void:
            batch.events.append(Retract(source, "", void, "rewind", parent if target is None else None))
        else:
            batch.ignore("rewind")

    def _telemetry(self, event: UiEvent, source: Source, batch: Batch) -> None:
        agent = agent_of(event)
        if event.error_message is not None:
            text = event.error_message[:2000]
            batch.events.append(Notification(source, "", "api_error", text, "warning"))
            if agent is None:
                state = self.state
                state.failed, state.failed_row, state.failed_offset = text, source.row, source.offset
        elif agent is not None and event.function_name is not None:
            agent_call(event, event.function_name, in_stream(source, agent), batch)
        elif event.function_name is not None and event.parent_call_id:
            script = self.state.scripts[event.parent_call_id]
            script.made_calls = True
            script_call(event, event.function_name, script.message_id, source, batch)
        elif agent is not None:
            agent_answer(event, in_stream(source, agent), batch)
