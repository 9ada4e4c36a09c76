"""The oldest `codex exec --json` (up to 0.43) and its proto mode: `{"id": …, "msg": {"type": …}}`.

In: a configuration line, a line with the prompt, then messages; all messages of a turn share one `id`, so it is no
event id. End rule: `task_complete`, `turn_aborted`; exec mode prints neither, so its streams have no end record.
Usage: `token_count` describes one model call: itself (flat form), or its `last_token_usage`, repeated totals dropped.
"""

from msgspec import Raw, Struct

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Notification,
    Outcome,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import decode_json, has_value, text_json, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.recent import remember
from agentv_stages.providers.codex.calls import MOST_OPEN
from agentv_stages.providers.codex.items import changes_of
from agentv_stages.providers.codex.outcome import is_bytes, is_refusal, mcp_result
from agentv_stages.providers.codex.usage import of_call
from agentv_stages.providers.codex.wire import (
    Msg,
    Tokens,
    decode_invocation,
    decode_old_exec,
    duration_ms,
    first,
    plain,
)

IGNORED = (
    frozenset({"agent_reasoning_section_break", "agent_message_delta", "agent_reasoning_delta"})
    | {"agent_reasoning_raw_content", "agent_reasoning_raw_content_delta", "turn_diff"}
    | {"exec_command_output_delta", "shutdown_complete", "user_message", "get_history_entry_response"}
    | {"mcp_list_tools_response", "list_custom_prompts_response", "conversation_path"}
    | {"entered_review_mode", "exited_review_mode", "web_search_begin"}
)
NOTICES = {"error": "error", "stream_error": "warning", "warning": "warning", "background_event": "info"}
PERMISSIONS = frozenset(("exec_approval_request", "apply_patch_approval_request"))
MESSAGES = (
    IGNORED
    | PERMISSIONS
    | set(NOTICES)
    | {
        "session_configured",
        "task_started",
        "task_complete",
        "turn_aborted",
        "agent_message",
        "agent_reasoning",
        "exec_command_begin",
        "exec_command_end",
        "patch_apply_begin",
        "patch_apply_end",
        "plan_update",
        "mcp_tool_call_begin",
        "mcp_tool_call_end",
        "web_search_end",
        "view_image_tool_call",
        "token_count",
    }
)


class State(Struct):
    """`used` is the total at the last model call; repeated counts are dropped."""

    session_id: str | None = None
    model: str | None = None
    answer: str = ""
    open: dict[str, bool] = {}
    used: int | None = None


class OldExecDecoder:
    """Decoder of `codex-exec-old`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_old_exec(record.data)
        context = self.context
        source = Source(context.file, record.row, record.offset, record.length, None, context.stream)
        if line.msg is not None:
            self._message(line.msg, source, record, batch)
        elif line.type:
            batch.unknown_type(line.type, record)
        elif has_value(line.prompt):
            self.state.answer = ""
            batch.events.append(UserText(source, "", line.prompt, f"u{record.row}"))
        elif line.workdir is not None or line.model is not None:
            self.state.model = line.model
            batch.events.append(SessionInfo(source, "", None, line.model, None, line.workdir))
        else:
            batch.unknown_type(line.type, record)

    def flush(self, batch: Batch) -> None:
        pass

    def _message(self, m: Msg, source: Source, record: Record, batch: Batch) -> None:
        kind, state, events = m.type, self.state, batch.events
        if kind == "agent_message":
            if has_value(m.message):
                events.append(
                    AssistantText(source, "", self._answer(source), text_json(m.message), False, False, state.model)
                )
        elif kind == "agent_reasoning":
            if has_value(m.text):
                events.append(Reasoning(source, "", self._answer(source), text_json(m.text), False, state.model))
        elif kind in BEGINS:
            name, value = BEGINS[kind](m)
            self._call(source, m.call_id, name, value, batch)
        elif kind in ENDS:
            if m.call_id not in state.open and kind in ("web_search_end", "mcp_tool_call_end"):
                self._call(source, m.call_id, *(_search(m) if kind == "web_search_end" else _mcp(m)), batch)
            output, outcome = ENDS[kind](m)
            state.open.pop(m.call_id, None)
            code = m.exit_code
            duration = duration_ms(m.duration)
            events.append(ToolResult(source, "", m.call_id, output, outcome, code, duration))
        elif kind == "token_count":
            self._usage(m, source, batch)
        elif kind == "plan_update" or kind == "view_image_tool_call":
            call_id = m.call_id or f"{kind}-{source.row}"
            self._call(source, call_id, *(_plan(m) if kind == "plan_update" else _image(m)), batch)
            state.open.pop(call_id, None)
            events.append(ToolResult(source, "", call_id, None))
        elif kind in IGNORED:
            batch.ignore(kind)
        elif kind in NOTICES:
            name = "retry" if kind == "stream_error" else kind
            events.append(Notification(source, "", name, plain(m.message), NOTICES[kind]))  # type: ignore[arg-type]  # the values are levels
        elif kind in PERMISSIONS:
            events.append(Notification(source, "", "permission_request", m.reason or "", "info", m.call_id or None))
        elif kind == "session_configured":
            other_session(record, m.session_id, state.session_id, batch)
            state.session_id, state.model = m.session_id or state.session_id, m.model or state.model
            events.append(SessionInfo(source, "", m.session_id, m.model))
        elif kind == "task_started":
            if m.model_context_window:
                events.append(SessionInfo(source, "", context_window=m.model_context_window))
            state.answer = ""
        elif kind == "task_complete":
            state.answer = ""
            events.append(SessionEnd(source, "", "complete"))
        elif kind == "turn_aborted":
            for i, call_id in enumerate(state.open):
                events.append(ToolResult(source, f"-{i}", call_id, None, "cancelled"))
            state.open.clear()
            state.answer = ""
            events.append(SessionEnd(source, "", "interrupted", m.reason))
        else:
            batch.unknown_type(f"msg:{kind}", record)

    def _answer(self, source: Source) -> str:
        if not self.state.answer:
            self.state.answer = f"m{source.row}"
        return self.state.answer

    def _call(self, source: Source, call_id: str, name: str, value: Raw, batch: Batch) -> None:
        state = self.state
        remember(state.open, call_id, True, MOST_OPEN)
        answer = self._answer(source)
        batch.events.append(ToolCall(source, "", answer, call_id, name, value, self.context.parent_call, state.model))

    def _usage(self, m: Msg, source: Source, batch: Batch) -> None:
        """Ends an answer: the count follows everything that a model call produced."""
        used = Tokens(m.input_tokens, m.cached_input_tokens, None, m.output_tokens, m.reasoning_output_tokens)
        if m.info is not None and m.info.last_token_usage is not None and m.info.total_token_usage is not None:
            total = m.info.total_token_usage.total_tokens
            if total == self.state.used:
                batch.ignore("token_count, repeated")
                return
            self.state.used = total
            used = m.info.last_token_usage
        self.state.answer = ""
        if used.input_tokens is None and used.output_tokens is None:
            batch.ignore("token_count")
            return
        batch.events.append(of_call(source, f"u{source.row}", self.state.model, used))


def _exec(m: Msg) -> tuple[str, Raw]:
    members = {"command": m.command} if has_value(m.command) else {}
    if m.cwd is not None:
        members["workdir"] = to_raw(m.cwd)
    return "shell", to_raw(members)


def _patch(m: Msg) -> tuple[str, Raw]:
    return "file_change", to_raw({"changes": changes_of(m.changes)})


def _mcp(m: Msg) -> tuple[str, Raw]:
    if first(m.invocation) != b"{":
        return "mcp__", EMPTY_OBJECT
    call = decode_invocation(m.invocation)
    return f"mcp__{call.server}__{call.tool}", call.arguments if has_value(call.arguments) else EMPTY_OBJECT


def _search(m: Msg) -> tuple[str, Raw]:
    return "web_search", to_raw({"query": m.query}) if has_value(m.query) else EMPTY_OBJECT


def _plan(m: Msg) -> tuple[str, Raw]:
    pairs = (("explanation", m.explanation), ("plan", m.plan))
    return "update_plan", to_raw({key: raw for key, raw in pairs if has_value(raw)})


def _image(m: Msg) -> tuple[str, Raw]:
    return "view_image", to_raw({"path": m.path}) if has_value(m.path) else EMPTY_OBJECT


def _exec_end(m: Msg) -> tuple[Raw | None, Outcome | None]:
    output = m.aggregated_output if has_value(m.aggregated_output) else m.stdout
    if not has_value(m.aggregated_output):
        output = to_raw(_text(m.stdout) + _text(m.stderr))
    elif first(output) == b"[":
        output = to_raw(_text(output))
    return output, None if m.exit_code is None else "error" if m.exit_code else "ok"


def _patch_end(m: Msg) -> tuple[Raw | None, Outcome | None]:
    output = to_raw(_text(m.stdout) + _text(m.stderr))
    return output, None if m.success is None else "ok" if m.success else "error"


def _mcp_end(m: Msg) -> tuple[Raw | None, Outcome | None]:
    output, failed = mcp_result(m.result)
    outcome: Outcome = "ok" if not failed else "denied" if is_refusal(output) else "error"
    return (output if has_value(output) else None), outcome


def _search_end(m: Msg) -> tuple[Raw | None, Outcome | None]:
    return None, None


def _text(raw: Raw) -> str:
    """A text, or one given as a list of byte values."""
    if first(raw) == b"[":
        value = decode_json(raw)
        return bytes(value).decode("utf-8", "replace") if is_bytes(value) else ""
    return plain(raw)


BEGINS = {"exec_command_begin": _exec, "patch_apply_begin": _patch, "mcp_tool_call_begin": _mcp}
ENDS = {
    "exec_command_end": _exec_end,
    "patch_apply_end": _patch_end,
    "mcp_tool_call_end": _mcp_end,
    "web_search_end": _search_end,
}
